/** Machines with low limits: few open files, small files, no /proc. Failures are reported, and the run can be resumed. */
import { execFileSync, spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanEnv, cli, home } from '../support/in-process.ts';

const pipeline = `digraph g {
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="echo one >> log.txt"]
  two [shape=parallelogram, tool_command="echo two >> log.txt"]
  exit [shape=Msquare]
  start -> one -> two -> exit
}`;

/** A workdir that is a repository, so that git is called as well. */
async function project() {
  const it = await home({ 'p.dot': pipeline });
  const git = ['-c', 'user.name=A', '-c', 'user.email=a@b.c'];
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    [...git, 'commit', '-qm', 'x'],
  ])
    execFileSync('git', args, { cwd: it.path, env: cleanEnv({ HOME: it.path }) });
  /** `factory …words`, started by a shell that does `first` and becomes it. */
  const after = (first: string, ...words: string[]) => {
    const ran = spawnSync('sh', ['-c', `${first}; exec "$0" "$@"`, process.execPath, cli, ...words], {
      cwd: it.path,
      env: cleanEnv({ HOME: it.path }),
      encoding: 'utf8',
    });
    expect(ran.signal, ran.stderr).toBe(null);
    expect(ran.stderr).not.toMatch(/^\s+at .*:\d+:\d+/m);
    return ran;
  };
  return Object.assign(it, { after });
}

const onLinux = process.platform === 'linux';

test.skipIf(!onLinux).for([21, 22, 23, 24, 26, 28, 30])(
  '%i open files are told as too few, or are enough',
  async (most) => {
    await using it = await project();
    const ran = it.after(`ulimit -n ${most}`, 'run', 'p.dot', '--run-id', 'r1');
    if (ran.status === 0) return;
    expect(ran.status).toBe(1);
    expect(ran.stderr).toMatch(/^error\[\w+\]: .*too many files are open.*ulimit -n/m);
  },
);

test.skipIf(!onLinux)('a file-size limit also stops a run after git was called', async () => {
  await using it = await project();
  const stopped = it.after('ulimit -f 4', 'run', 'p.dot', '--run-id', 'r1');
  expect(stopped.status, stopped.stderr).toBe(1);
  expect(stopped.stderr).toContain('ulimit -f');
  const resumed = await it.factory(['resume', 'r1']);
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await it.read('.factory/runs/r1/workspace/log.txt')).toBe('one\ntwo\n');
});

test.skipIf(!onLinux)(
  'if neither a snapshot nor the result can be written, the run has not ended and can be resumed',
  async () => {
    const some = 'for i in 1 2 3 4 5 6; do seq $i 2500 > $i; done; echo two >> log.txt';
    await using it = await home({ 'p.dot': pipeline.replace('echo two >> log.txt', some) });
    const words = [process.execPath, cli, 'run', 'p.dot', '--run-id', 'r1'];
    // Enough for each file, but not for a pack of all of them.
    const ran = spawnSync('sh', ['-c', 'ulimit -f 60; exec "$0" "$@"', ...words], {
      cwd: it.path,
      env: cleanEnv({ HOME: it.path }),
      encoding: 'utf8',
    });
    expect(ran.stderr).toContain('cannot write a snapshot');
    expect(ran.status).toBe(1);
    await rm(join(it.path, '.factory/runs/r1/result.json'));
    const resumed = await it.factory(['resume', 'r1']);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(await it.read('.factory/runs/r1/workspace/log.txt')).toBe('one\ntwo\n');
  },
);

const withoutProc = ['unshare', ['-m', 'sh', '-c', 'umount -l /proc']] as const;
test.skipIf(!onLinux || spawnSync(...withoutProc).status !== 0)('a machine without /proc runs', async () => {
  await using it = await project();
  const words = [process.execPath, cli, 'run', 'p.dot', '--run-id', 'r1'];
  const ran = spawnSync('unshare', ['-m', 'sh', '-c', 'umount -l /proc; exec "$0" "$@"', ...words], {
    cwd: it.path,
    env: cleanEnv({ HOME: it.path }),
    encoding: 'utf8',
  });
  expect(ran.status, ran.stderr).toBe(0);
  expect(await it.read('.factory/runs/r1/workspace/log.txt')).toBe('one\ntwo\n');
});

test.for(['gone', 'p.dot'])('a TMPDIR that is no folder (%s) is passed over', async (name) => {
  await using it = await home({ 'p.dot': '', 'scenarios/a.sh': '#!/bin/sh\nexit 0\n', 'app/x': '' });
  const env = { TMPDIR: join(it.path, name) };
  const lint = await it.factory(['scenario', 'lint', 'scenarios'], { env });
  expect(lint.stderr).not.toContain('an error of factory itself');
  const judged = await it.factory(['scenario', 'run', 'scenarios', '--app', 'app'], { env });
  expect(judged.stderr).not.toContain('an error of factory itself');
  expect(judged.code, judged.stderr).toBe(0);
});

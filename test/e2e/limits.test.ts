/** Machines with low limits: few open files, small files, no /proc. Failures are reported, and the run can be resumed. */
import { execFileSync, spawnSync } from 'node:child_process';
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

test.skipIf(!onLinux).for([21, 24, 28])(
  '%i open files are reported as too few, or are enough',
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
  const stopped = it.after('ulimit -f 6', 'run', 'p.dot', '--run-id', 'r1');
  expect(stopped.status, stopped.stderr).toBe(1);
  expect(stopped.stderr).toContain('ulimit -f');
  const resumed = await it.factory(['resume', 'r1']);
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await it.read('.factory/runs/r1/workspace/log.txt')).toBe('one\ntwo\n');
});

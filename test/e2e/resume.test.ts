import { appendFile, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { emptySha } from '../builder/support.ts';
import type { Options } from '../support/cli.ts';
import { type Home, home, root } from '../support/in-process.ts';

const chain = `digraph g {
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="echo one >> log.txt"]
  two [shape=parallelogram, tool_command="echo two >> log.txt; echo started; cat gate/* 2>/dev/null; if [ ! -e go ]; then exec sleep 600; fi; echo finished >> log.txt"]
  three [shape=parallelogram, tool_command="echo three >> log.txt"]
  exit [shape=Msquare]
  start -> one -> two -> three -> exit
}`;
const visited = (records: readonly Record<string, unknown>[]) =>
  records.filter((r) => r['type'] === 'StageStarted').map((r) => r['node_id']);

/** Kills once that node has started and its process has written a file into the folder `flag`. */
function whenAtWork(it: Home, node: string, signal: NodeJS.Signals): NonNullable<Options['watch']> {
  let acted = false;
  return (line, process) => {
    if (acted || !line.includes(`node started node=${node} `)) return;
    acted = true;
    const poll = async (): Promise<void> => {
      const found: readonly string[] = await it.list('.').catch(() => []);
      if (found.includes('flag')) process.kill(signal);
      else setImmediate(poll);
    };
    void poll();
  };
}

/** A pipeline in which one node hangs the first time and ends at once the second time: a file outside the
 *  workspace distinguishes the two. */
const waitsOnce = (flag: string) =>
  `digraph g {
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="echo one >> log.txt"]
  two [shape=parallelogram, tool_command="echo two >> log.txt; if mkdir \\"$FLAG\\" 2>/dev/null; then exec sleep 600; fi; echo finished >> log.txt"]
  three [shape=parallelogram, tool_command="echo three >> log.txt"]
  exit [shape=Msquare]
  start -> one -> two -> three -> exit
}`.replace('$FLAG', `$${flag}`);

describe.each(['SIGKILL', 'SIGTERM'] as const)('%s during a node', (signal) => {
  test('ends its process, and the resume gives the same result as an uninterrupted run', async () => {
    await using it = await home({ 'p.dot': waitsOnce('FLAG_DIR'), 'work/seed.txt': 'seed\n' });
    // The node writes a file outside of its workspace.
    const env = { FLAG_DIR: join(it.path, 'flag'), FACTORY_SANDBOX: 'none' };
    const args = ['p.dot', '--workdir', 'work', '--run-id', 'r1'];
    const first = await it.program(['run', ...args], { env, watch: whenAtWork(it, 'two', signal) });
    if (signal === 'SIGKILL') expect(first.signal).toBe('SIGKILL');
    else {
      expect(first.code).toBe(130);
      expect(first.stdout.trimEnd().split('\n').at(-1)).toMatch(/next +node \S.+cli\.js'? resume r1$/);
    }
    const second = await it.factory(['run', ...args, '--resume'], { env });
    expect(second.code, second.stderr).toBe(0);
    expect(await it.read('.factory/runs/r1/workspace/log.txt')).toBe('one\ntwo\nfinished\nthree\n');
    expect(visited(await it.records('.factory/runs/r1/events.jsonl'))).toEqual([
      'start',
      'one',
      'two',
      'two',
      'three',
      'exit',
    ]);
    const seqs = (await it.records('.factory/runs/r1/events.jsonl')).map((r) => r['seq']);
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
  });
});

test('files that were stale before a killed node are stale again, so a build tool rebuilds them', async () => {
  // Compares file times as a build tool does. The second time the file `gate` exists.
  const build = `if [ source -nt product ]; then cp source product; fi; if mkdir "$FLAG_DIR" 2>/dev/null; then exec sleep 600; fi; cat product`;
  await using it = await home({
    'p.dot': `digraph g {
      start [shape=Mdiamond]
      edit [shape=parallelogram, tool_command="echo new > source; touch -t 200101010000 source"]
      build [shape=parallelogram, tool_command="sh build.sh"]
      exit [shape=Msquare]
      start -> edit -> build -> exit
    }`,
    'work/source': 'old\n',
    'work/product': 'old\n',
    'work/build.sh': build,
  });
  await utimes(join(it.path, 'work/product'), 0, 0);
  const env = { FLAG_DIR: join(it.path, 'flag'), FACTORY_SANDBOX: 'none' };
  const args = ['p.dot', '--workdir', 'work', '--run-id', 'r1'];
  const first = await it.program(['run', ...args], { env, watch: whenAtWork(it, 'build', 'SIGKILL') });
  expect(first.signal).toBe('SIGKILL');
  expect(await it.read('.factory/runs/r1/workspace/product')).toBe('new\n');
  const second = await it.factory(['resume', 'r1'], { env });
  expect(second.code, second.stderr).toBe(0);
  expect(await it.read('.factory/runs/r1/build/tool.stdout.txt')).toBe('new\n');
  expect(await it.read('.factory/runs/r1/workspace/product')).toBe('new\n');
});

const order = (id: string, path: string, check: string) => ({
  ...{ id, title: `Write ${path}`, intent: 'One file.', notes: null, forbidden: [], preconditions: [] },
  postconditions: [{ kind: 'file_exists', path }],
  allowed_files: [path],
  acceptance_commands: [check],
  context_files: [path],
});
const proposal = (path: string, content: string) => ({
  json: { summary: 's', writes: [{ path, base_sha256: emptySha, content }] },
});
/** A plan of two work orders, and answers to them; the second is rolled back once. */
const script = JSON.stringify({
  format: 'factory-script/1',
  answers: {
    plan: [
      {
        json: {
          system_overview: ['Two files.'],
          verify_contract: {
            command: 'bash scripts/verify.sh',
            requires: [{ kind: 'file_exists', path: 'scripts/verify.sh' }],
          },
          work_orders: [
            order('WO-01', 'scripts/verify.sh', 'test -s scripts/verify.sh'),
            order('WO-02', 'f.txt', 'grep -q right f.txt'),
          ],
        },
      },
    ],
    propose: [
      proposal('scripts/verify.sh', 'test -s scripts/verify.sh\n'),
      proposal('f.txt', 'wrong\n'),
      proposal('f.txt', 'right\n'),
    ],
  },
});

test('the main job, killed after every few nodes, ends with the same commits', async () => {
  await using it = await home({ 'spec.md': '# Two files\n', 'agent.json': script });
  const pipeline = join(root, 'pipelines/compile-and-build.dot');
  const run = (args: readonly string[], stopAt: string | undefined) => {
    let done = false;
    return it.program(args, {
      watch: (line, process) => {
        if (stopAt !== undefined && !done && line.includes(stopAt)) {
          done = true;
          process.kill('SIGKILL');
        }
      },
    });
  };
  const flags = ['--var', 'spec=spec.md', '--agent', 'scripted', '--script', 'agent.json'];
  let ran = await run(['run', pipeline, '--run-id', 'r1', ...flags], 'node completed node=plan');
  expect(ran.signal, ran.stderr).toBe('SIGKILL');
  for (const stop of ['node started node=apply', 'node completed node=rollback', 'node started node=proof']) {
    ran = await run(['resume', 'r1'], stop);
    expect(ran.signal, `${stop}\n${ran.stderr}`).toBe('SIGKILL');
  }
  ran = await run(['resume', 'r1', '--json'], undefined);
  expect(ran.code, ran.stderr).toBe(0);
  const { commits } = JSON.parse(ran.stdout);
  expect(commits.map((c: { work_order: string; attempts: number }) => [c.work_order, c.attempts])).toEqual([
    ['WO-01', 1],
    ['WO-02', 2],
  ]);
  // A finished run stays unchanged.
  const before = await it.read('.factory/runs/r1/events.jsonl');
  const again = await it.factory(['resume', 'r1']);
  expect(again.code).toBe(0);
  expect(await it.read('.factory/runs/r1/events.jsonl')).toBe(before);
}, 180_000);

const plain = chain.replace(
  /two \[.*\]\n/,
  'two [shape=parallelogram, tool_command="echo two >> log.txt"]\n',
);
const stopped = async () => {
  const it = await home({ 'p.dot': plain, 'work/seed.txt': 'seed\n' });
  const ran = await it.factory(['run', 'p.dot', '--workdir', 'work', '--run-id', 'r1'], {
    env: { ATTRACTION_TEST_STOP_AFTER_NODE: 'one' },
  });
  expect(ran.code).toBe(1);
  return it;
};
test('a pipeline that has changed, unless the change is accepted', async () => {
  await using it = await stopped();
  await writeFile(join(it.path, 'p.dot'), plain.replace('echo three', 'echo drei'));
  const refused = await it.factory(['resume', 'r1']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('p.dot has changed');
  const accepted = await it.factory(['resume', 'r1', '--accept-changes']);
  expect(accepted.code, accepted.stderr).toBe(0);
  expect(await it.read('.factory/runs/r1/workspace/log.txt')).toContain('drei');
});
test('a node added before finished ones is named as one that will not run, with the fork that runs it', async () => {
  await using it = await stopped();
  const added = plain.replace(
    'start -> one',
    'zero [shape=parallelogram, tool_command="true"]\n  start -> zero -> one',
  );
  await writeFile(join(it.path, 'p.dot'), added);
  const { code, stderr } = await it.factory(['resume', 'r1', '--accept-changes']);
  expect(code, stderr).toBe(0);
  const [, fork = ''] =
    /node "zero" is new .*: it will not run; to run it: \S+ (fork r1 [^"\n]*)/.exec(stderr) ?? [];
  const forked = await it.factory([...fork.trim().split(' '), '--run-id', 'r2']);
  expect(forked.code, forked.stderr).toBe(0);
  expect(visited(await it.records('.factory/runs/r2/events.jsonl'))).toContain('zero');
});
test('a resume refuses: another workdir', async () => {
  await using it = await stopped();
  const refused = await it.factory(['run', 'p.dot', '--workdir', '.', '--resume', '--run-id', 'r1']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('--workdir');
});
test('a variable that it cannot take over, with a missing pipeline or in a replay', async () => {
  await using it = await stopped();
  const other = ['--accept-changes', '--var', 'n=other'];
  await rename(join(it.path, 'p.dot'), join(it.path, 'q.dot'));
  const gone = await it.factory(['resume', 'r1', ...other]);
  expect(gone.stderr).toContain('--var n cannot be changed: the pipeline p.dot cannot be read');
  expect(gone.code).toBe(2);
  const kept = await it.factory(['resume', 'r1', '--accept-changes']);
  expect(kept.stderr).toContain('the run keeps its texts');
  expect(kept.code, kept.stderr).toBe(0);
  const env = { ATTRACTION_TEST_STOP_AFTER_NODE: 'one' };
  await it.factory(['replay', 'r1', '--run-id', 'r2'], { env });
  const replay = await it.factory(['resume', 'r2', ...other]);
  expect(replay.stderr).toContain('--var n cannot be changed: run r2 is a replay');
  expect(replay.code).toBe(2);
});
test('a resume refuses: changed records, and names the file', async () => {
  await using it = await stopped();
  const harms = [
    ['journal.jsonl', 'succ', 'fail', /journal\.jsonl was changed: line \d+ does not have the hash/],
    [
      'manifest.json',
      '"env_pass": []',
      '"env_pass": ["A_KEY"]',
      /manifest\.json was changed after .*\n.*fork \S*r1 --at/,
    ],
  ] as const;
  for (const [name, was, is, says] of harms) {
    const path = join(it.path, '.factory/runs/r1', name);
    const whole = await readFile(path, 'utf8');
    await writeFile(path, whole.replace(was, is));
    expect(await readFile(path, 'utf8')).not.toBe(whole);
    const refused = await it.factory(['resume', 'r1', '--accept-changes']);
    expect(refused.stderr).toMatch(says);
    expect(refused.stderr).toContain('error[records-changed]');
    expect(refused.code).toBe(2);
    if (name === 'journal.jsonl')
      expect(await it.factory(['fork', 'r1', '--at', 'one'])).toMatchObject({ code: 2 });
    await writeFile(path, whole);
  }
  // What is derived from the journal is no reason to refuse: it is written again, or named by verify.
  await writeFile(join(it.path, '.factory/runs/r1/checkpoint.json'), '{');
  // Data after the last valid record may be incomplete.
  await appendFile(join(it.path, '.factory/runs/r1/journal.jsonl'), '{"type":"Vi');
  await appendFile(join(it.path, '.factory/runs/r1/events.jsonl'), '{"type":"St');
  const resumed = await it.factory(['resume', 'r1']);
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(resumed.stderr).toContain('checkpoint.json rewritten from the journal');
  expect((await it.factory(['verify', 'r1'])).code).toBe(0);
});

test('a run of an earlier version is refused by every command that reads one', async () => {
  await using it = await stopped();
  await rm(join(it.path, '.factory/runs/r1/journal.jsonl'));
  for (const verb of ['resume', 'show', 'verify', 'fork', 'replay']) {
    const refused = await it.factory([verb, 'r1', ...(verb === 'fork' ? ['--at', 'one'] : [])]);
    expect(`${refused.stdout}${refused.stderr}`.replace(/\s+/g, ' ')).toContain(
      'begun by an earlier version',
    );
    expect(refused.code).not.toBe(0);
  }
  expect((await it.factory(['runs'])).stdout).toMatch(/r1 +\? unreadable/);
});
test('a missing run', async () => {
  await using it = await home({ 'p.dot': plain });
  const refused = await it.factory(['run', 'p.dot', '--resume', '--run-id', 'nope']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('nope');
  expect(await it.list('.')).toEqual(['p.dot']);
});

test('a text passed to a resume stays part of the run although that resume is killed before its first checkpoint', async () => {
  await using it = await home({
    'p.dot': `digraph g {
      graph [workdir="none", vars="spec=@spec.md"]
      start [shape=Mdiamond]
      a [shape=parallelogram, tool_command="cat .factory/in/spec.md > seen; test -z $CUT || kill -9 $PPID"]
      done [shape=Msquare]
      start -> a -> done
    }`,
    'spec.md': 'first\n',
    'other.md': 'other\n',
    'third.md': 'third\n',
  });
  const cut = { env: { CUT: 'yes' } };
  const seen = () => it.read('.factory/runs/r1/workspace/seen');
  expect(await it.program(['run', 'p.dot', '--run-id', 'r1'], cut)).toMatchObject({ signal: 'SIGKILL' });
  for (const name of ['third', 'other']) {
    await it.program(['resume', 'r1', '--accept-changes', '--var', `spec=@${name}.md`], cut);
    expect(await seen()).toBe(`${name}\n`);
    expect(await it.program(['resume', 'r1'], cut)).toMatchObject({ signal: 'SIGKILL' });
    expect(await seen()).toBe(`${name}\n`);
  }
  const ended = await it.factory(['resume', 'r1']);
  expect(ended.code, ended.stderr).toBe(0);
  expect(await seen()).toBe('other\n');
  const held = await it.factory(['verify', 'r1']);
  expect(held.code, held.stdout).toBe(0);
});

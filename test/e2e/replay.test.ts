/** Records and replays through the built command line. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home, root } from '../support/in-process.ts';

const pipeline = `digraph g {
  start [shape=Mdiamond] exit [shape=Msquare]
  a [prompt="Do it", agent.backend=codex, codex.json=true]
  t [shape=parallelogram, tool_command="cat made.txt"]
  start -> a
  a -> t [condition="outcome=success"]
  t -> exit [condition="outcome=success"]
}`;

test('a run that was killed in a call and resumed is replayed as one that was not', async () => {
  await using it = await home({ 'p.dot': pipeline, 'w/x': 'x' });
  const does =
    'if [ ! -e "$HOME/begun" ]; then echo half > half.txt; touch "$HOME/begun"; exec sleep 1000; fi; echo whole > made.txt; ok';
  const env = { STAND_IN: does, ATTRACTOR_CODEX_PATH: join(root, 'test/support/codex-stand-in.sh') };
  const cut = await it.program(['run', 'p.dot', '--run-id', 'base', '--workdir', 'w'], {
    env,
    watch: (line, factory) => {
      if (!line.includes('codex exec started')) return;
      const look = setInterval(() => {
        if (!existsSync(join(it.path, 'begun'))) return;
        clearInterval(look);
        factory.kill('SIGKILL');
      }, 5);
    },
  });
  expect(cut.signal).toBe('SIGKILL');
  const resumed = await it.factory(['resume', 'base', '-q'], { env });
  expect(resumed.code, resumed.stderr).toBe(0);
  const calls = await it.records('.factory/runs/base/exchanges/calls.jsonl');
  expect(calls.map(({ call, complete, prompt }) => [call, complete, prompt])).toEqual([[1, true, 'Do it']]);

  const replayed = await it.factory(['replay', 'base', '--check', '--json', '--run-id', 'r', '-q']);
  expect(replayed.code, replayed.stderr).toBe(0);
  expect(JSON.parse(replayed.stdout)).toMatchObject({ equal: true, recorded: 'base', replayed: 'r' });
  expect(await it.list('.factory/runs/r/workspace')).toEqual(['made.txt', 'x']);
  const script = await it.factory(['record', 'export', 'base']);
  expect(JSON.parse(script.stdout).answers.a).toMatchObject([
    { finished: { outcome: 'success' }, files: [{ path: 'made.txt', content: 'whole\n', mode: '644' }] },
  ]);
  const kept = await it.factory(['record', 'export', 'base', '-o', 'one.json']);
  expect(kept.stderr).toContain('one.json has 1 answer of run base; use it with');
  for (const [out, why] of [
    ['.factory', 'it is a directory'],
    ['one.json/x', 'a part of the path is not a directory'],
  ] as const) {
    const refused = await it.factory(['record', 'export', 'base', '-o', out]);
    expect(refused.stderr).toContain(`-o ${out}: ${why}`);
    expect(refused.code).toBe(2);
  }
  const wrong = await it.factory(['replay', 'base', '--agent', 'fake']);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('add --live');
});

test('a write to the holdout is a violation in a replay too', async () => {
  const dot = `digraph g { holdout="judge/"; agent_script="s.json"
    start [shape=Mdiamond] exit [shape=Msquare] a [prompt="Do it", agent.backend=scripted]
    start -> a -> exit }`;
  const files = [{ path: 'judge/j', content: 'mine' }];
  const script = {
    format: 'factory-script/1',
    answers: { a: [{ finished: { outcome: 'success' }, files }] },
  };
  await using it = await home({ 'p.dot': dot, 's.json': JSON.stringify(script), 'w/judge/j': 'theirs' });
  expect((await it.factory(['run', 'p.dot', '--run-id', 'base', '--workdir', 'w', '-q'])).code).toBe(1);
  const replayed = await it.factory(['replay', 'base', '--check', '--json', '--run-id', 'r', '-q']);
  expect(replayed.stderr).toBe('');
  expect(JSON.parse(replayed.stdout)).toMatchObject({ equal: true });
});

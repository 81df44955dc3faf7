/** The agent program codex in whole runs, through the built command line; a script replaces the program. */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Home, home, root } from '../support/in-process.ts';

const pipeline = (attributes: string) => `digraph g {
  start [shape=Mdiamond] exit [shape=Msquare]
  a [prompt="Do it", agent.backend=codex, ${attributes}]
  start -> a
  a -> exit [condition="outcome=success"]
}`;
const project = (attributes: string) =>
  home({
    'p.dot': pipeline(attributes),
    'w/scripts/scenarios/judge.sh': 'the real judge\n',
    'w/secret/notes.txt': 'the real notes\n',
    'w/src/main.txt': 'main\n',
  });
const env = (does: string) => ({
  STAND_IN: does,
  ATTRACTOR_CODEX_PATH: join(root, 'test/support/codex-stand-in.sh'),
});
const run = (it: Home, does: string, more: Parameters<Home['program']>[1] = {}) =>
  it.program(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w'], {
    ...more,
    env: { ...env(does), ...more.env },
  });
const unconfined = { env: { FACTORY_SANDBOX: 'none' } };
// Files hidden from one agent only, not holdout.
const notes = '.factory/runs/r1/workspace/secret/notes.txt';
const blocked = 'codex.block_read_paths="secret/"';

test.for([
  ['changes it', 'echo forged > ../.hidden/0/notes.txt'],
  ['takes the workspace away', 'rm -r "$PWD"'],
])('an agent that finds the hidden files and %s changes nothing', async ([, deed]) => {
  await using it = await project(blocked);
  // Without a sandbox the hidden files are only moved to the run directory.
  const ran = await run(it, `chmod 700 ../.hidden; ${deed}; ok`, unconfined);
  expect(ran.code).toBe(deed?.includes('PWD') ? 0 : 1);
  expect(await it.read(notes)).toBe('the real notes\n');
  if (ran.code === 0) return;
  expect(await it.json('.factory/runs/r1/a/status.json')).toMatchObject({
    failure_class: 'guardrail',
    failure_reason: expect.stringContaining('secret/notes.txt'),
  });
});

test('a run killed while files are hidden has them unchanged when it is resumed', async () => {
  await using it = await project(blocked);
  const hanging = 'if [ ! -e "$HOME/begun" ]; then touch "$HOME/begun"; exec sleep 1000; fi; ok';
  const before = await stat(join(it.path, 'w/secret/notes.txt'));
  const cut = await run(it, hanging, {
    ...unconfined,
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
  expect(existsSync(join(it.path, notes))).toBe(false);
  const resumed = await it.factory(['resume', 'r1'], {
    env: { ...env(hanging), ...unconfined.env },
  });
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await it.read(notes)).toBe('the real notes\n');
  expect((await stat(join(it.path, notes))).mtimeMs).toBeCloseTo(before.mtimeMs, -1);
  expect((await it.list('.factory/runs/r1')).filter((name) => name.startsWith('.hidden'))).toEqual([]);
  expect(await it.json('.factory/runs/r1/a/workspace.diff.json')).toEqual({
    created: [],
    modified: [],
    deleted: [],
  });
});

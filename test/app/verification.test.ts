/** What a verification node leaves behind of what it checked, however it ends. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const at = '.factory/runs/r1';

/** A plan that a tool sets, and a node that holds it to `allowed`. */
async function verified(plan: object, allowed: string, attributes = '') {
  const it = await house({
    'w/app/a.txt': 'one\n',
    'w/said.json': JSON.stringify({ context_updates: { 'verification.plan': plan } }),
    'p.dot': `digraph g { start [shape=Mdiamond] exit [shape=Msquare]
      t [shape=parallelogram, sets_plan=true, tool_command="cat said.json > $FACTORY_OUTPUT"]
      v [type=verification, verification.allowed_commands="${allowed}" ${attributes}]
      start -> t -> v -> exit }`,
  });
  await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
  const evidence = existsSync(join(it.path, at, 'v/verification.results.json'));
  return {
    it,
    status: it.json(`${at}/v/status.json`),
    results: evidence ? it.json(`${at}/v/verification.results.json`) : undefined,
    seconds: evidence ? it.json(`${at}/v/verification.seconds.json`) : undefined,
  };
}

const ran = (command: string, exit_code: number, stdout = '', stderr = '') => ({
  command,
  exit_code,
  stdout,
  stderr,
});
const failure = (failure_class: string, failure_reason: unknown) => ({
  outcome: 'fail',
  failure_class,
  failure_reason,
});

test.for([
  [
    'success, in a separate folder',
    { files: ['app/a.txt'], commands: ['cat a.txt', 'ls'] },
    'cat,ls',
    ', verification.workdir="app/"',
    { outcome: 'success' },
    { checked_files: ['app/a.txt'], commands: [ran('cat a.txt', 0, 'one\n'), ran('ls', 0, 'a.txt\n')] },
  ],
  [
    'a file is missing',
    { files: ['app/a.txt', 'app'], commands: ['true'] },
    'true',
    '',
    failure('product', 'required file missing: app'),
    { checked_files: ['app/a.txt'], commands: [] },
  ],
  [
    'one that fails ends it',
    { commands: ['true', 'ls nowhere', 'true'] },
    'true,ls',
    '',
    failure('product', expect.stringMatching(/^verification command failed: ls nowhere \(exit=\d\)$/)),
    {
      checked_files: [],
      commands: [
        ran('true', 0),
        { ...ran('ls nowhere', 0), exit_code: expect.any(Number), stderr: expect.stringMatching(/nowhere/) },
      ],
    },
  ],
  [
    'one that is not allowed is not run, and what ran before it stays told',
    { commands: ['true', 'touch made'] },
    'true',
    '',
    failure('guardrail', expect.stringContaining('does not list it: touch made')),
    { checked_files: [], commands: [ran('true', 0)] },
  ],
  [
    'one that is not there',
    { commands: ['no-such-program x'] },
    'no-such-program',
    '',
    failure('config', expect.stringMatching(/^verification command cannot start: no-such-program x \(/)),
    { checked_files: [], commands: [{ ...ran('no-such-program x', -1), stderr: expect.any(String) }] },
  ],
  [
    'one that does not end',
    { commands: ['sleep 1000'] },
    'sleep',
    ', timeout="300ms"',
    failure(
      'timeout',
      expect.stringMatching(/still running after 300ms: sleep 1000 \(set timeout on node "v"\)/),
    ),
    { checked_files: [], commands: [ran('sleep 1000', -1)] },
  ],
  [
    'its folder is a file',
    { commands: ['true'] },
    'true',
    ', verification.workdir="app/a.txt"',
    failure('product', 'verification.workdir "app/a.txt" is a file, not a folder'),
    { checked_files: [], commands: [] },
  ],
] as const)('%s', async ([, plan, allowed, attributes, wanted, evidence]) => {
  const { it, status, results, seconds } = await verified(plan, allowed, attributes);
  await using _ = it;
  expect(status).toMatchObject(wanted);
  expect(results).toEqual(evidence);
  expect(seconds).toHaveLength(evidence.commands.length);
  for (const one of seconds) expect(one).toBeLessThan(60);
});

test.for([
  ['npm test test/a.test.mjs', 'success', ''],
  ['npm test own.test.mjs', 'fail', 'the run has made or changed own.test.mjs'],
  ['npm test changed.test.mjs', 'fail', 'the run has made or changed changed.test.mjs'],
] as const)('a plan of an agent that names %s is a %s', async ([command, outcome, why]) => {
  const suite = 'import { test } from "node:test"; test("adds", () => {});';
  await using it = await house({
    'w/package.json': JSON.stringify({ scripts: { test: 'node --test' } }),
    'w/test/a.test.mjs': suite,
    'w/changed.test.mjs': 'throw new Error()',
    'p.dot': `digraph g { start [shape=Mdiamond] exit [shape=Msquare]
      t [shape=parallelogram, tool_command="cp test/a.test.mjs own.test.mjs; cp test/a.test.mjs changed.test.mjs"]
      a [prompt=x, "test.verification_plan_json"=${JSON.stringify(JSON.stringify({ commands: [command] }))}]
      v [type=verification, verification.allowed_commands="npm test"]
      start -> t -> a -> v -> exit }`,
  });
  await it.run('p.dot', { agent: 'fake', workdir: 'w', runId: 'r1', quiet: true, json: true });
  const status = it.json(`${at}/v/status.json`);
  expect(status.outcome, JSON.stringify(status)).toBe(outcome);
  expect(status.failure_reason ?? '').toContain(why);
});

/** Results of failed scenarios go back to the builder: what was expected and observed, and no text of the scenarios. */
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { RunResult } from '../../src/model/result.ts';
import { home, root } from '../support/in-process.ts';

const pipeline = join(root, 'pipelines/compile-and-build.dot');
const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const plan = {
  system_overview: ['One module.'],
  verify_contract: { command: 'node --test', requires: [{ kind: 'file_exists', path: 'add.test.js' }] },
  work_orders: [
    {
      id: 'WO-01',
      title: 'Add numbers',
      intent: 'A function that adds.',
      preconditions: [],
      postconditions: ['add.js', 'add.test.js'].map((path) => ({ kind: 'file_exists', path })),
      allowed_files: ['add.js', 'add.test.js'],
      forbidden: [],
      acceptance_commands: ['node --check add.js'],
      context_files: ['add.js', 'add.test.js'],
      notes: null,
    },
  ],
};
const code = (operator: string): string => `exports.add = (a, b) => a ${operator} b;\n`;
const tests =
  "const test = require('node:test');\nconst { add } = require('./add.js');\ntest('adds', () => add(0, 0) === 0 || process.exit(1));\n";
const sha = async (text: string) => (await execa('sha256sum', { input: text })).stdout.slice(0, 64);

const scenario = `#!/usr/bin/env bash
# canary: marten-3051-fix-loop
[ "\${BREAK:-}" = "" ] || exit 3
if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi
sum=$(node -p "require('$1/add.js').add(19, 23)") # nobody who builds may see this line
[ "$sum" = 42 ] || { printf 'FAIL: add(19, 23)\\n  expected: 42\\n  observed: %s\\n' "$sum"; exit 1; }
`;

test('a failing product is fixed; a broken scenario, or a builder without attempts left, ends the run', async () => {
  const write = (path: string, base_sha256: string, content: string) => ({ path, base_sha256, content });
  const proposal = (summary: string, ...writes: readonly object[]) => ({ json: { summary, writes } });
  await using it = await home({
    'work/spec.md': '# Adder\n\nA function that adds two numbers.\n',
    'work/scenarios/adder_user_scenarios.sh': scenario,
    'agent.json': JSON.stringify({
      format: 'factory-script/1',
      answers: {
        plan: [{ json: plan }],
        propose: [
          proposal('minus', write('add.js', empty, code('-')), write('add.test.js', empty, tests)),
          proposal('plus', write('add.js', await sha(code('-')), code('+'))),
        ],
      },
    }),
  });
  const args = ['--var', 'spec=work/spec.md', '--agent', 'scripted', '--script', 'agent.json'];
  const ran = await it.factory(['run', pipeline, ...args, '--run-id', 'r1', '--json']);
  expect(ran.code, ran.stderr).toBe(0);
  const result = RunResult.parse(JSON.parse(ran.stdout));
  expect(result).toMatchObject({ status: 'completed', exit_node: 'exit' });
  expect(result.commits.map((one) => one.work_order)).toEqual(['WO-01', 'FIX-01']);
  const events = await it.records('.factory/runs/r1/events.jsonl');
  const visited = events.filter((one) => one['type'] === 'StageStarted').map((one) => one['node_id']);
  expect(visited.filter((node) => ['judge', 'mend', 'propose', 'exit'].includes(String(node)))).toEqual([
    'propose',
    'judge',
    'mend',
    'propose',
    'judge',
    'exit',
  ]);
  // The builder gets what was expected and observed, and no line of the scenario.
  const asked = await it.read('.factory/runs/r1/propose/prompt.md');
  expect(asked).toContain('FAIL: add(19, 23)\n  expected: 42\n  observed: -4');
  const leaked = await execa(
    'grep',
    ['-rlE', 'nobody who builds may see|marten-3051', '--exclude-dir=scripts', join(it.path, '.factory')],
    { reject: false },
  );
  expect(leaked.stdout).toBe('');

  const unfit = await it.factory([
    'fork',
    'r1',
    '--at',
    'judge@1',
    '--before',
    '--var',
    'fixes=0',
    '--run-id',
    'r2',
    '--json',
  ]);
  expect(unfit.code, unfit.stderr).toBe(1);
  expect(JSON.parse(unfit.stdout)).toMatchObject({ exit_node: 'exit_judged_unfit' });

  const broken = await it.factory(['fork', 'r1', '--at', 'judge@1', '--before', '--run-id', 'r3', '--json'], {
    env: { BREAK: '1' },
  });
  expect(broken.code, broken.stderr).toBe(1);
  expect(JSON.parse(broken.stdout)).toMatchObject({ exit_node: 'exit_judge_broken' });
  expect(await it.json('.factory/runs/r3/judge/status.json')).toMatchObject({ failure_class: 'scenario' });
}, 180_000);

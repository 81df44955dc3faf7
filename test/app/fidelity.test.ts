/** What prompts say of the run so far: in whole runs, killed and resumed ones, forks and replays. */
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const secret = 'tok-4711-verysecret';
const sealed = 'assert the ninth drawer opens twice';

const pipeline = `digraph t {
  goal="Ship the parser."; workdir=work; default_fidelity=compact
  start [shape=Mdiamond]; done [shape=Msquare]
  plan [prompt="Plan it."]
  show [shape=parallelogram, goal_gate=true, retry_target=plan, tool_command="echo in $PWD/src; cat scripts/scenarios/one.sh; sed 's/ninth/\\x1b[31m&\\x1b[0m/' scripts/scenarios/one.sh"]
  build [prompt="Build it."]
  edit [prompt="Edit it.", fidelity=truncate]
  last [prompt="Say it."]
  start -> plan -> show -> build -> edit
  edit -> last [fidelity="summary:high"]
  last -> done
}`;
const answers = {
  plan: [{ finished: { outcome: 'success', notes: `three steps, ${secret}`, response: 'Step 1 in $RUN' } }],
  build: [{ finished: { outcome: 'success', notes: 'built' }, files: [{ path: 'src/a.ts', content: 'a' }] }],
  edit: [{ text: 'Edited: see the list.' }],
  last: [{ text: 'Said.' }],
};
const files = {
  'p.dot': pipeline,
  'script.json': JSON.stringify({ format: 'factory-script/1', answers }),
  'work/x.txt': 'x',
  'work/scripts/scenarios/one.sh': `# ${sealed}\n`,
};
const env = () => ({ API_TOKEN: secret });
const r1 = '.factory/runs/r1';
const flags = { script: 'script.json', runId: 'r1' };

/** Of a node's latest execution in each of these runs. */
const promptsOf = (it: { read(file: string): string }, node: string, ...runs: readonly string[]) =>
  runs.map((run) => it.read(`${run}/${node}/prompt.md`));

test('a prompt begins with what its fidelity says, without secrets, names of the run and lines of the holdout', async () => {
  await using it = await house(files, env);
  const ran = await it.run('p.dot', flags);
  expect(ran.code, ran.err).toBe(0);
  const prompts = ['plan', 'build', 'edit', 'last'].flatMap((node) => promptsOf(it, node, r1));
  expect(prompts).toMatchInlineSnapshot(`
    [
      "<run_so_far>
    Goal: Ship the parser.
    </run_so_far>

    Plan it.
    ",
      "<run_so_far>
    Goal: Ship the parser.
    Executed so far, the latest last:
    - plan@1 (codergen): success
      notes: three steps, ***
    - show@1 (tool): success
    </run_so_far>

    Build it.
    ",
      "<run_so_far>
    Goal: Ship the parser.
    </run_so_far>

    Edit it.
    ",
      "<run_so_far>
    Goal: Ship the parser.
    Executed so far, the latest last:
    - plan@1 (codergen): success
      notes: three steps, ***
      answer: Step 1 in $RUN
    - show@1 (tool): success
      output:
        in src
        [a line of the scenario itself is left out]
        [a line of the scenario itself is left out]
    - build@1 (codergen): success
      notes: built
      files: created src/a.ts
    - edit@1 (codergen): success
      answer: Edited: see the list.
    </run_so_far>

    Say it.
    ",
    ]
  `);
});

test('a killed run that is resumed, a fork and a replay have the same prompts', async () => {
  await using it = await house(files, env);
  it.environment({ ...env(), ATTRACTION_TEST_STOP_AFTER_NODE: 'build' });
  await it.run('p.dot', flags);
  it.environment(env());
  const whole = await it.run('p.dot', { ...flags, runId: 'a-run-of-another-name' });
  expect(whole.code, whole.err).toBe(0);
  const resumed = await it.resume('r1');
  expect(resumed.code, resumed.err).toBe(0);
  const forked = await it.fork('r1', { at: 'show', runId: 'r2', runsdir: 'elsewhere/and/deeper' });
  expect(forked.code, forked.err).toBe(0);
  const replayed = await it.replay('r1', { runId: 'r3', runsdir: 'elsewhere/and/deeper' });
  expect(replayed.code, replayed.err).toBe(0);
  const runs = [
    r1,
    '.factory/runs/a-run-of-another-name',
    ...['r2', 'r3'].map((run) => `elsewhere/and/deeper/${run}`),
  ];
  for (const node of ['build', 'last']) expect(new Set(promptsOf(it, node, ...runs)).size).toBe(1);
});

test('--fidelity stands before the word of the graph, and after that of node and edge', async () => {
  await using it = await house(files, env);
  const ran = await it.run('p.dot', { ...flags, fidelity: 'summary:low' });
  expect(ran.code, ran.err).toBe(0);
  const prompts = ['build', 'edit', 'last'].flatMap((node) => promptsOf(it, node, r1));
  expect(prompts.map((text) => [text.includes('output:'), text.includes('notes: built')])).toEqual([
    [true, false],
    [false, false],
    [true, true],
  ]);
  expect(it.json(`${r1}/manifest.json`).agent.fidelity).toBe('summary:low');
  const wrong = await it.run('p.dot', { ...flags, runId: 'r2', fidelity: 'sumary:low' });
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('is none of full, truncate, compact')]);
});

test('without fidelity only a tab node, which cannot look for itself, is given what ran, and a person has answered', async () => {
  const gate = `digraph t {
    workdir=work; goal="Ship."
    start [shape=Mdiamond]; done [shape=Msquare]
    plan [prompt="Plan it."]; ask [shape=hexagon, label="How?"]; tab [shape=tab, prompt="Judge it."]
    last [prompt="Say it.", fidelity="summary:low"]
    start -> plan -> ask -> tab -> last -> done
  }`;
  const script = { format: 'factory-script/1', answers: { ...answers, tab: [{ text: 'Good.' }] } };
  const replies = JSON.stringify({ ask: { text: 'With care, please.' } });
  await using it = await house(
    { ...files, 'p.dot': gate, 'script.json': JSON.stringify(script), 'a.json': replies },
    env,
  );
  const ran = await it.run('p.dot', { ...flags, autoAnswer: 'a.json' });
  expect(ran.code, ran.err).toBe(0);
  const [plan = '', tab = '', last = ''] = ['plan', 'tab', 'last'].flatMap((node) => promptsOf(it, node, r1));
  expect(plan).toBe('Plan it.\n');
  expect(tab).toMatch(
    /^<run_so_far>\nGoal: Ship\.\n[\s\S]*- ask@1 \(wait\.human\): success[\s\S]*\n\nJudge it\.\n$/,
  );
  expect(last).toContain('answer: With care, please.');
});

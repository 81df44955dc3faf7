/** A line of the holdout in each place where an agent or a tool could leave it fails the run. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { base, done, inDot, judge, line, pipeline, script, wrote } from '../support/sealed-run.ts';

const at = '.factory/runs/r1';

/** Where a leak is planted, and what the run says of it. */
const leaks: readonly (readonly [string, Parameters<typeof pipeline>[0], object[], string])[] = [
  [
    'in a prompt',
    { prompt: inDot(`Mind this: ${line}`) },
    [done()],
    'the prompt of node "work" shows line 4',
  ],
  ['in an answer', {}, [done({ notes: `I saw: ${line}` })], 'what node "work" reports shows line 4'],
  [
    'in a context update',
    {},
    [done({ context_updates: { seen: ['zx81-blue-heron'] } })],
    'a context update of node "work" shows line 3',
  ],
  [
    'in the names of the nodes that it suggests',
    {},
    [done({ suggested_next_ids: ['tool', 'zx81-blue-heron'] })],
    'what node "work" reports shows line 3',
  ],
  [
    'in what a link points at',
    { tool: 'ln -s zx81-blue-heron src/door' },
    [done()],
    'src/door:1, written by node "tool", shows line 3',
  ],
  [
    'in a file',
    {},
    [wrote('src/notes.md', `so:\n\n    ${line}\n`)],
    'src/notes.md:3, written by node "work", shows line 4',
  ],
  [
    'in a file, in base64',
    {},
    [wrote('src/data.txt', Buffer.from(judge).toString('base64'))],
    'src/data.txt, written by node "work", shows line ',
  ],
  [
    'by a tool that sees it',
    { tool: 'tail -n 4 scripts/scenarios/judge.sh > src/copied.sh' },
    [done()],
    'src/copied.sh:3, written by node "tool", shows line 8',
  ],
  [
    'in a file that is too large to be held at once',
    { tool: 'truncate -s 16777200 src/big && tail -n 4 scripts/scenarios/judge.sh >> src/big' },
    [done()],
    'src/big',
  ],
];

test.for(leaks)(
  'a line of the holdout %s fails the run, and no file keeps it',
  async ([, more, answers, said]) => {
    await using it = await house({ ...base, 'p.dot': pipeline(more), 'agent.json': script(...answers) });
    const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
    expect(ran.code, ran.err + ran.out).toBe(1);
    const result = JSON.parse(ran.out);
    expect(result).toMatchObject({ status: 'failed', exit_node: null, failure_class: 'guardrail' });
    expect(result.reason).toContain(`holdout_leak: ${said}`);
    expect(result.reason).not.toContain('judge');
    expect(ran.out + ran.err).not.toMatch(/kittiwake berthed|zx81/);
    expect(readdirSync(join(it.path, at, 'workspace/src'))).toEqual(['app.py']);
    const told = it.records(`${at}/events.jsonl`);
    expect(told.at(-1)).toMatchObject({ type: 'PipelineFailed', error: result.reason });
    // A resume repeats the node, with the failures before it: none.
    expect(JSON.parse(it.read(`${at}/checkpoint.json`)).last_failure).toBe(null);
  },
);

/** A failing scenario that prints its own text, and the prompt of the next agent. */
const told: readonly (readonly [string, string, string])[] = [
  [
    'the texts that it compares',
    'expected="gannet draught northern basin"\nprintf "FAIL: %s\\n  expected: %s\\n" listing \\\n  "gannet draught northern basin"\nexit 1\n',
    'FAIL: listing',
  ],
  [
    'itself',
    'grep -q "gannet draught northern basin" src/app.py\ncat "$0"\nexit 1\n',
    'a line of the scenario itself is left out',
  ],
  [
    'itself in lines of forty columns',
    'test "kittiwake berthed at quay 4821 beside the northern basin" = draught || { fold -s -w 40 "$0"; exit 1; }\n',
    'a line of the scenario itself is left out',
  ],
  [
    'its trace',
    'set -x\nbasin="northern basin"\ntest "kittiwake berthed gannet $basin" = draught\n',
    'a line of the scenario itself is left out',
  ],
];

test.for(told)(
  'a scenario that fails and prints %s shows nothing of it to the agent',
  async ([, text, shown]) => {
    const loop = pipeline({ tool: 'sh scripts/scenarios/judge.sh' }).replace(
      'start -> work',
      'start -> tool work',
    );
    await using it = await house({
      ...base,
      'w/scripts/scenarios/judge.sh': text,
      'p.dot': loop,
      'agent.json': script(done()),
    });
    const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
    expect(JSON.parse(ran.out).reason).not.toContain('holdout_leak');
    const prompt = it.read(`${at}/work/visits/1/prompt.md`);
    expect(prompt).toContain(shown);
    expect(prompt).not.toContain('northern basin');
  },
);

test('a marker in the file of a variable ends the run before anybody is asked', async () => {
  const spec = '# Harbour\n\nzx81-blue-heron\n';
  await using it = await house({
    ...base,
    'spec.md': spec,
    'p.dot': pipeline(),
    'agent.json': script(done()),
  });
  const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
  expect(JSON.parse(ran.out).reason).toBe(
    'holdout_leak: the file of the variable "spec" shows line 3 of a sealed file',
  );
});

const failsFirst = (command: string) =>
  pipeline({ tool: command }).replace('start -> work', 'start -> tool work');

test('a node that is stopped during a leak is repeated, and is checked when it has ended', async () => {
  const tool = 'tail -n 4 scripts/scenarios/judge.sh > src/copied.sh; test -n "$GO" || sleep 60';
  const files = { ...base, 'p.dot': pipeline({ tool: inDot(tool) }), 'agent.json': script(done()) };
  await using it = await house(files);
  const wanted = { workdir: 'w', runId: 'r1', quiet: true, json: true };
  const copied = join(it.path, at, 'workspace/src/copied.sh');
  const cut = await it.runUntil('p.dot', wanted, () => existsSync(copied) && statSync(copied).size > 0);
  expect(cut.code, cut.err).toBe(130);
  expect(JSON.parse(cut.out)).toMatchObject({ status: 'interrupted' });
  it.environment({ GO: '1' });
  const ended = await it.resume('r1', { quiet: true, json: true });
  expect(JSON.parse(ended.out).reason).toContain('src/copied.sh:3, written by node "tool", shows line 8');
  expect(existsSync(copied)).toBe(false);
});

test('the changes of a node that showed a holdout line are reported without secrets', async () => {
  const env = { PIN_TOKEN: 'hush-hush-4711' };
  const tool = 'echo $PIN_TOKEN > src/$PIN_TOKEN; tail -n 4 scripts/scenarios/judge.sh > src/copied.sh';
  const files = {
    ...base,
    'p.dot': pipeline({ tool: inDot(tool), graph: 'env_pass="PIN_TOKEN"' }),
    'agent.json': script(done()),
  };
  await using it = await house(files, () => env);
  const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
  expect(JSON.parse(ran.out).reason).toContain('src/copied.sh:3, written by node "tool"');
  const { created } = it.json(`${at}/tool/workspace.diff.json`);
  expect(created).toHaveLength(2);
  expect(created.join()).not.toContain(env.PIN_TOKEN);
});

test('a line that a tool puts into the context ends the run before the next agent is asked', async () => {
  const says =
    'printf \'{\\"context_updates\\":{\\"seen\\":[\\"zx81-blue-heron\\"]}}\' > $FACTORY_OUTPUT; exit 1';
  await using it = await house({ ...base, 'p.dot': failsFirst(says), 'agent.json': script(done()) });
  const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
  expect(JSON.parse(ran.out).reason).toBe(
    'holdout_leak: the context of node "work" shows line 3 of a sealed file',
  );
  expect(readdirSync(join(it.path, at, 'work'))).not.toContain('response.md');
});

test("a tool's copy of the whole holdout is removed and reported, and the run continues", async () => {
  const copies = 'test -e src/done || { cp scripts/scenarios/judge.sh src/mine; touch src/done; }';
  await using it = await house({
    ...base,
    'p.dot': failsFirst(copies),
    'agent.json': script(wrote('src/done', '')),
  });
  const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
  expect(ran.code, ran.err + ran.out).toBe(0);
  expect(it.json(`${at}/tool/visits/1/status.json`)).toMatchObject({
    failure_class: 'guardrail',
    failure_reason: expect.stringContaining('src/mine (1 of them copies of sealed files)'),
  });
  expect(readdirSync(join(it.path, at, 'workspace/src')).sort()).toEqual(['app.py', 'done']);
});

test('a file that is no secret stays one though a sealed file has the same bytes', async () => {
  const rows = 'heron 17 berthed\ngannet 4 at sea, kittiwake 9\n';
  await using it = await house({
    ...base,
    'w/rows.txt': rows,
    'w/scripts/scenarios/rows.txt': rows,
    'p.dot': pipeline({ tool: 'cp rows.txt src/rows.txt' }),
    'agent.json': script(done()),
  });
  const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
  expect(ran.code, ran.err + ran.out).toBe(0);
  expect(it.read(`${at}/workspace/src/rows.txt`)).toBe(rows);
});

test('of a file that showed a sealed line before, the line that is new ends the run and is named', async () => {
  await using it = await house({
    ...base,
    'p.dot': pipeline({
      agent: 'codex.allow_read_scenarios=true,',
      tool: 'sed -n 8p scripts/scenarios/judge.sh >> src/notes.md',
    }),
    'agent.json': script(wrote('src/notes.md', `${line}\n`)),
  });
  const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
  expect(JSON.parse(ran.out).reason).toBe(
    'holdout_leak: src/notes.md:2, written by node "tool", shows line 8 of a sealed file',
  );
  expect(it.read(`${at}/workspace/src/notes.md`)).toBe(`${line}\n`);
});

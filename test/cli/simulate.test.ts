/** `factory simulate`: the router of real runs, with outcomes that are given. */
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { call } from '../support/verb.ts';

const doors = { cwd: import.meta.dirname, env: { PATH: process.env['PATH'] } };
const simulated = (pipeline: string, ...outcome: readonly string[]) =>
  call(['simulate', pipeline], { outcome, json: true }, doors);

async function routeOf(pipeline: string, ...outcome: readonly string[]) {
  const { code, out } = await simulated(pipeline, ...outcome);
  const { steps, end } = JSON.parse(out) as {
    steps: { node: string; visit: number }[];
    end: { reason: string; exit_node: string | null } | null;
  };
  return {
    code,
    route: steps.map(({ node, visit }) => (visit === 1 ? node : `${node}@${visit}`)).join(' '),
    end,
  };
}

test('without outcomes every node succeeds', async () => {
  expect(await routeOf('fix-loop')).toMatchObject({
    code: 0,
    route: 'start draft check verify done',
    end: { exit_node: 'done' },
  });
});

test('outcomes are used one after the other, and the last one is repeated', async () => {
  const { code, route } = await routeOf('fix-loop', 'check=fail,fail,success');
  expect(code).toBe(0);
  expect(route).toBe('start draft check fix apply check@2 fix@2 apply@2 check@3 verify done');
  expect(await routeOf('fix-loop', 'check=fail')).toMatchObject({
    code: 1,
    end: { reason: expect.stringMatching(/^max_visits: node "fix" ran 3 times/) },
  });
});

test('labels, classes and context keys choose the edges as they do in a run', async () => {
  const more = ['next=order,done', 'verify=fail,success', 'rollback=again'];
  expect((await routeOf('compile-and-build', ...more)).route).toBe(
    'start brief plan check emit next prompt propose apply verify rollback prompt@2 propose@2 apply@2 verify@2 promises accept commit next@2 proof judge exit',
  );
  const infra = await routeOf('compile-and-build', 'next=done', 'judge=fail+infra');
  expect(infra).toMatchObject({ code: 1, end: { exit_node: 'exit_judge_broken' } });
  const weak = await routeOf('compile-and-build', 'next=done', 'judge=fail+scenario+label=too_weak');
  expect(weak).toMatchObject({ code: 1, end: { exit_node: 'exit_judge_too_weak' } });
  const stage = 'rollback=success+label=stop+order.stage=exception';
  expect(await routeOf('compile-and-build', 'next=order', 'propose=fail+agent', stage)).toMatchObject({
    end: { exit_node: 'exit_model_failed' },
  });
});

test('a human gate chooses its default or its first option, or the one that is named', async () => {
  await using it = await house({
    'p.dot': `digraph g { start [shape=Mdiamond]; done [shape=Msquare]
      check [shape=parallelogram, tool_command="true"]; ask [shape=hexagon, mode=yes_no]
      start -> check; check -> ask [condition="outcome=success || outcome=fail"]; ask -> done [label="[Y] Ship"]
      ask -> check [label="[R] Redo"] }`,
  });
  const route = (...outcome: readonly string[]) =>
    call(['simulate', 'p.dot'], { outcome, json: true }, { ...doors, cwd: it.path });
  expect(JSON.parse((await route()).out).steps).toHaveLength(4);
  const redone = JSON.parse((await route('ask=label:redo,label:Y')).out);
  expect(redone.steps.map((one: { next: string | null }) => one.next)).toEqual([
    ...['check', 'ask', 'check', 'ask', 'done', null],
  ]);
  const overridden = JSON.parse((await route('check=fail')).out);
  expect(overridden.end).toMatchObject({ ok: false, reason: expect.stringMatching(/^overridden: check@1/) });
  expect(await route('ask=label:Never')).toMatchObject({
    code: 2,
    err: expect.stringContaining('ask has no option "Never"; there are Y (Ship), R (Redo)'),
  });
});

test('the text says why each edge was taken and the others were not', async () => {
  const { out } = await call(
    ['simulate', 'fix-loop'],
    { outcome: ['check=fail,success', 'fix=success,fail'] },
    doors,
  );
  expect(out).toMatch(/^3 +check +fail product +→ fix: outcome=fail$/m);
  expect(out).toMatch(/^ +not verify: its condition is false \(outcome=success\)$/m);
  expect(out).toMatch(/^not used: 1 outcome of fix$/m);
  expect(out).toMatch(/^✓ success at done after 8 steps; nothing was executed$/m);
});

test('the line of an exit with outcome=fail says fail', async () => {
  const { out } = await call(
    ['simulate', 'compile-and-build'],
    { outcome: ['next=done', 'proof=fail'] },
    doors,
  );
  expect(out).toMatch(/^\d+ +exit_proof_failed +fail$/m);
});

test('a simulation that does not end stops after so many steps', async () => {
  const { code, out } = await call(['simulate', 'fix-loop'], { outcome: ['check=fail'], steps: '5' }, doors);
  expect(code).toBe(1);
  expect(out).toContain('■ stopped after 5 steps');
});

test.each([
  ['ceck=fail', 'there is no node "ceck"', 'did you mean check?'],
  ['check', 'is not NODE=OUTCOME', 'for example'],
  ['check=a b', '"a b" is no outcome', 'for example'],
  [
    'check=sucess',
    '"sucess" is no outcome, and no edge of the node names it; did you mean success?',
    'for example',
  ],
  ['check=fail,rejected', '"rejected" is no outcome', 'for example'],
  ['check=success+timeout', 'only fail has a class', 'for example'],
  ['start=fail', 'start is a start node', 'name a node that does work'],
])('--outcome %s is refused: %s', async (outcome, why, fix) => {
  const { code, err } = await call(['simulate', 'fix-loop'], { outcome: [outcome] }, doors);
  expect(code).toBe(2);
  expect(err).toContain(why);
  expect(err).toContain(fix);
});

test('outcomes of one node in two flags are refused, with the flag that was meant', async () => {
  const { code, err } = await call(
    ['simulate', 'fix-loop'],
    { outcome: ['check=fail', 'check=success'] },
    doors,
  );
  expect(code).toBe(2);
  expect(err).toContain('--outcome names check twice');
  expect(err).toContain('write --outcome check=fail,success');
});

test('an attempt that asks for a retry is followed by the next one of the same execution, as in a run', async () => {
  await using it = await house({
    'p.dot': `digraph g { workdir="none"; start [shape=Mdiamond]; done [shape=Msquare]; bad [shape=Msquare, outcome=fail]
      a [shape=parallelogram, max_retries=2, tool_command="true"]; b [shape=parallelogram, max_retries=1, retry_on=fail, tool_command="true"]
      start -> a; a -> b [condition="outcome=success"]; a -> bad [condition="outcome=fail"]
      b -> done [condition="outcome=success"]; b -> a [condition="outcome=fail"] }`,
  });
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['a=retry,success'], 'start a b done'],
    [['a=retry,retry,success'], 'start a b done'],
    [['a=retry'], 'start a bad'],
    [['b=fail,success'], 'start a b done'],
    [['b=fail,fail,success'], 'start a b a@2 b@2 done'],
  ];
  for (const [outcome, route] of cases)
    expect([outcome, (await routeOf(`${it.path}/p.dot`, ...outcome)).route]).toEqual([outcome, route]);
  const { out } = await call(['simulate', `${it.path}/p.dot`], { outcome: ['a=retry,success,fail'] }, doors);
  expect(out).toMatch(/^2 +a +success after 2 attempts +→ b/m);
  expect(out).toContain('not used: 1 outcome of a');
});

const forked = `digraph g { start [shape=Mdiamond]; done [shape=Msquare]; list [shape=parallelogram, tool_command=x]
  f [shape=component]; a [prompt=a]; b [prompt=b]; b2 [prompt=c]; j [shape=tripleoctagon]
  each [shape=component, for_each="\${ctx.l}"]; w [prompt="\${item}"]; all [prompt=all]; bad [shape=Msquare, outcome=fail]
  start -> list -> f -> a -> j; f -> b -> b2; b2 -> j [condition="outcome=success"]; b2 -> b [condition="outcome=fail"]
  j -> each [condition="outcome!=fail"]; j -> bad [condition="outcome=fail"]; each -> w -> all -> done }`;

test.for([
  ['every branch is walked to the join', [], 'start list f a b b2 j each w.1 all done', 0],
  ['a branch that fails makes a part of a success', ['a=fail'], 'start list f a b b2 j each w.1 all done', 0],
  [
    'a loop is walked in its branch',
    ['b2=fail,success'],
    'start list f a b b2 b@2 b2@2 j each w.1 all done',
    0,
  ],
  ['no branch succeeds', ['a=fail', 'b2=skipped'], 'start list f a b b2 j bad', 1],
  ['an outcome of the join stands for a conflict', ['j=fail'], 'start list f a b b2 j bad', 1],
  [
    'a list that is given has its items',
    ['list=success+l=["x"%2C"y"]', 'w=success,fail'],
    'start list f a b b2 j each w.1 w.2 all done',
    0,
  ],
] as const)('branches: %s', async ([, outcome, route, code]) => {
  await using it = await house({ 'p.dot': forked });
  const told = await it.called(['simulate', 'p.dot'], { outcome, json: true });
  const { steps } = JSON.parse(told.out) as { steps: { node: string; visit: number; branch?: string }[] };
  expect(steps.map(({ node, visit }) => (visit === 1 ? node : `${node}@${visit}`)).join(' ')).toBe(route);
  expect(told.code).toBe(code);
  expect(steps.filter(({ node }) => node.startsWith('b2')).map(({ branch }) => branch)).toContain('b');
});

test('a simulation shows which branches meet, and which of them have failed', async () => {
  await using it = await house({ 'p.dot': forked });
  const { out } = await it.called(['simulate', 'p.dot'], { outcome: ['a=fail'] });
  expect(out).toContain('→ a, b: meet in j');
  expect(out).toContain('  a ');
  expect(out).toContain('branch a failed: simulated failure');
});

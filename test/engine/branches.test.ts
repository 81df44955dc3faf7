/** Branches: what each commits, what ends one of them or all, and that a run that is killed anywhere ends as it would have. */
import { mkdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NodeKind } from '../../src/core/contracts/node-kind.ts';
import { branchesOf } from '../../src/core/fork.ts';
import type { Graph } from '../../src/core/graph.ts';
import { failed, type Outcome, succeeded } from '../../src/core/outcome.ts';
import type { RunState } from '../../src/core/records/checkpoint.ts';
import { layout } from '../../src/core/records/layout.ts';
import { LimitReached } from '../../src/engine/layers/layer.ts';
import { runLoop } from '../../src/engine/loop.ts';
import type { Run } from '../../src/engine/run-context.ts';
import { conditional } from '../../src/nodes/conditional.ts';
import { exit } from '../../src/nodes/exit.ts';
import { parallel } from '../../src/nodes/parallel.ts';
import { start } from '../../src/nodes/start.ts';
import { openRun } from '../../src/run/open-run.ts';
import type { Snapshots } from '../../src/workspace/snapshot.ts';
import { temp } from '../platform/temp.ts';
import { defaultCaps } from '../support/caps.ts';
import { graphOf } from '../support/graph.ts';
import { attempts, noSnapshots, prepared, work } from './prepared-run.ts';

const kinds: readonly NodeKind[] = [start, exit, conditional, parallel, work(() => succeeded())];
const snapshots: Snapshots = {
  ...noSnapshots,
  checkout: async (_, folder) => {
    mkdirSync(folder, { recursive: true });
    return new Map();
  },
};
type Ends = Readonly<Record<string, readonly (Outcome | Error)[]>>;

/** Runs with these outcomes: of each node for its first execution, its second and so on, the last one for all further ones. */
async function run(dir: string, graph: Graph, ends: Ends, more: { left?: string; run?: Partial<Run> } = {}) {
  const seen: string[] = [];
  const ready = await prepared(dir, graph, {
    kinds,
    snapshots,
    ...more,
    execute: attempts(async ({ node, kind, visit, state }) => {
      seen.push(`${node.id}@${visit}`);
      const its = ends[node.id] ?? [];
      const outcome = kind.type === 'conditional' ? state.last_outcome : its[Math.min(visit, its.length) - 1];
      if (outcome instanceof Error) throw outcome;
      return {
        outcome: { ...(outcome ?? succeeded()) },
        snapshot: { id: `${node.id}-${visit}`, tree: new Map() },
      };
    }),
  });
  const end = await runLoop(ready);
  await ready.close();
  const history = openRun(dir).history();
  if (!history.ok) throw new Error(history.why);
  const { completed_nodes: _, ...state } = history.checkpoint;
  expect(state).toEqual(end.state);
  return { ...end, seen, records: history.records, journal: readFileSync(layout(dir).journal, 'utf8') };
}

/** A loop around two fan-outs, one in a branch of the other. */
const nested = graphOf(`
  start [shape=Mdiamond]
  fan [shape=component, max_parallel=2]
  a [shape=parallelogram]
  inner [shape=component]
  x [shape=parallelogram]
  y [shape=parallelogram]
  meet [shape=parallelogram]
  b [shape=parallelogram, goal_gate=true, retry_target=b0]
  b0 [shape=parallelogram]
  c [shape=diamond]
  join [shape=parallelogram]
  done [shape=Msquare]
  start -> fan -> a -> inner -> x -> meet
  inner -> y -> meet -> join
  a -> a [condition="outcome=fail", loop_restart=true]
  fan -> b0 -> b -> join
  b -> b0 [condition="outcome=fail && failure_class=infra"]
  fan -> c -> join
  join -> done [condition="outcome=success"]
  join -> fan [condition="outcome=fail && internal.node_visit_count<2"]
`);
const outcome = fc.constantFrom<Outcome>(
  succeeded({ updates: { k: 1 } }),
  succeeded(),
  failed('no', 'product'),
  failed('gone', 'infra', { broke: true }),
  failed('wrong', 'config'),
);
const given: fc.Arbitrary<Ends> = fc.record(
  Object.fromEntries(
    ['a', 'x', 'y', 'meet', 'b', 'b0', 'join'].map((id) => [
      id,
      fc.array(outcome, { minLength: 1, maxLength: 3 }),
    ]),
  ),
);

/** What does not depend on the order in which branches commit. */
function facts({ state, ending }: { readonly state: RunState; readonly ending: object }) {
  const { visits, outcomes, context, next_node, steps } = state;
  const open = branchesOf(state).map(({ id, cursor }) => ({
    id,
    ended: cursor.ended,
    context: cursor.context,
  }));
  return { ending, visits, outcomes, context, next_node, steps, open };
}

test('a run with branches that is killed after any line ends as it would have, and its journal gives its state', async () => {
  await fc.assert(
    fc.asyncProperty(given, fc.nat(), async (ends, at) => {
      await using it = await temp();
      const caps = { ...defaultCaps, max_steps: 1000 };
      const whole = await run(it.dir, nested, ends, { run: { caps } });
      const lines = whole.journal.split('\n');
      const left = lines.slice(0, 1 + (at % (lines.length - 1))).join('\n');
      const resumed = await run(it.dir, nested, ends, { left: `${left}\n`, run: { caps } });
      expect(facts(resumed)).toEqual(facts(whole));
    }),
    { numRuns: 25 },
  );
});

const three = (more = '', attributes = '') =>
  graphOf(`
    start [shape=Mdiamond]
    fan [shape=component ${attributes}]
    a [shape=parallelogram]
    b [shape=parallelogram]
    c [shape=parallelogram]
    join [shape=parallelogram]
    done [shape=Msquare]
    start -> fan -> a -> join
    fan -> b -> join
    fan -> c -> join
    join -> done
    ${more}
  `);
const ended = ({ records }: Awaited<ReturnType<typeof run>>) =>
  Object.fromEntries(
    records.flatMap((one) => {
      if (one.type === 'Visit' && one.branch_ended !== undefined)
        return [[one.branch, `${one.branch_ended.status}: ${one.branch_ended.reason}`]];
      return one.type === 'BranchStopped' ? [[one.branch, `${one.status}: ${one.reason}`]] : [];
    }),
  );

test.for<readonly [string, string, Ends, Record<string, string>]>([
  [
    'has no route',
    '',
    { b: [failed('down', 'infra', { broke: true })] },
    { b: 'failed: no route from node b for outcome fail: down' },
  ],
  [
    'fails for its configuration',
    '',
    { b: [failed('which?', 'config')] },
    { b: 'failed: no route from node b for outcome fail: which?' },
  ],
  ['failed before its join', '', { b: [failed('red', 'product')] }, { b: 'failed: red' }],
  [
    'is executed too often',
    'b -> b [condition="outcome=fail"]',
    { b: [failed('red', 'product')] },
    { b: 'failed: max_visits: node "b" ran 8 times' },
  ],
  [
    'restarts too often',
    'b -> b [condition="outcome=fail", loop_restart=true]; graph [max_restarts=1]',
    { b: [failed('red', 'product')] },
    { b: 'failed: max_restarts: ' },
  ],
  [
    'has a limit that is reached',
    '',
    { b: [new LimitReached({ reason: 'max_wall: node "b" took 9s', ofBranch: true })] },
    { b: 'failed: max_wall: node "b" took 9s' },
  ],
])('a branch whose node %s has failed, and the others end', async ([, more, ends, expected]) => {
  await using it = await temp();
  const end = await run(it.dir, three(more), ends);
  const [[id = '', reason = ''] = []] = Object.entries(expected);
  expect(ended(end)[id]).toContain(reason);
  expect(ended(end)).toMatchObject({ a: 'completed: ', c: 'completed: ' });
  expect(end.ending).toMatchObject({ ok: true });
  expect(end.state.visits).toMatchObject({ join: 1, done: 1 });
});

test('a limit of the run ends it with all branches', async () => {
  await using it = await temp();
  const end = await run(it.dir, three(), {
    b: [new LimitReached({ reason: 'max_cost_usd: the run has spent 2 USD' })],
  });
  expect(end.ending.reason).toBe('max_cost_usd: the run has spent 2 USD');
  expect(end.state.visits).not.toHaveProperty('join');
});

test('only edges whose condition holds begin branches', async () => {
  await using it = await temp();
  const graph = graphOf(`
    start [shape=Mdiamond]
    fan [shape=component]
    a [shape=parallelogram]
    b [shape=parallelogram]
    join [shape=parallelogram]
    done [shape=Msquare]
    start -> fan
    fan -> a [condition="context.k=1"]
    fan -> b
    a -> join
    b -> join -> done
  `);
  const end = await run(it.dir, graph, {});
  expect(ended(end)).toEqual({ b: 'completed: ' });
  expect(end.records.find((one) => one.type === 'Visit' && one.node === 'fan')).toMatchObject({
    next_node: 'join',
    fork: { join: 'join', branches: [{ id: 'b' }] },
    route: {
      next: 'join',
      how: 'parallel',
      candidates: [
        { to: 'a', matched: false },
        { to: 'b', matched: true },
      ],
    },
  });
});

test('at most max_parallel branches run at the same time', async () => {
  await using it = await temp();
  let [now, most] = [0, 0];
  const ready = await prepared(it.dir, three('', 'max_parallel=2'), {
    kinds,
    snapshots,
    execute: attempts(async () => {
      most = Math.max(most, ++now);
      await new Promise((soon) => setImmediate(soon));
      now--;
      return { outcome: succeeded(), snapshot: { id: 's', tree: new Map() } };
    }),
  });
  await runLoop(ready);
  await ready.close();
  expect(most).toBe(2);
});

const gate = (more: string) =>
  three(
    `b [goal_gate=true ${more}]; b -> join [condition="outcome=fail"]; graph [max_goal_gate_redirects=2]`,
  );
const no = failed('no', 'product');
test.for<readonly [string, string, Ends, string, number, boolean]>([
  ['sends its branch back', ', retry_target=b', { b: [no, succeeded()] }, 'completed: ', 2, true],
  [
    'fails its branch when its targets are spent',
    ', retry_target=b',
    { b: [no] },
    'failed: goal gate b is not satisfied',
    3,
    false,
  ],
  ['without a target in the branch is looked at at the exit', '', { b: [no] }, 'failed: no', 1, false],
])('a goal gate in a branch %s', async ([, more, ends, expected, visits, ok]) => {
  await using it = await temp();
  const end = await run(it.dir, gate(more), ends);
  expect(ended(end)['b']).toContain(expected);
  expect(end.state.visits).toMatchObject({ b: visits, join: 1 });
  expect(end.ending.ok).toBe(ok);
});

test.for([
  ['error_policy=fail_fast', { a: [no] }, 'error_policy=fail_fast'],
  ['join_policy=first_success', {}, 'join_policy=first_success'],
] as const)(
  'with %s the branches that have not ended are cancelled, each with a line',
  async ([attribute, ends, why]) => {
    await using it = await temp();
    const end = await run(it.dir, three('', `max_parallel=1, ${attribute}`), ends);
    const reason = `cancelled: the other branches have decided the join (${why})`;
    expect(ended(end)).toMatchObject({ b: reason, c: reason });
    expect(end.seen).toEqual(['start@1', 'fan@1', 'a@1', 'join@1', 'done@1']);
  },
);

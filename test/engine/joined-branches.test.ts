/** What the prompt of the first agent after a join says of its branches. */
import { expect, test } from 'vitest';
import type { RunState } from '../../src/core/records/checkpoint.ts';
import type { RunRecord } from '../../src/core/records/visit.ts';
import { joinedBranches } from '../../src/engine/joined-branches.ts';
import type { Run } from '../../src/engine/run-context.ts';
import { freshState, graphOf } from '../support/graph.ts';

const secret = 'tok-4711-verysecret';
const sealed = 'the ninth drawer opens twice';
const graph = graphOf(
  'start; fan; a; a2; b; join; after; start -> fan -> a -> a2 -> join; fan -> b -> join -> after',
);

type Line = Readonly<Record<string, unknown>> & { readonly node: string };

/** The journal's lines of these executions, in this order; those of `codergen` nodes answer `answer of NODE`. */
function pastOf(lines: readonly Line[]) {
  const records = lines.map((line, at) => ({
    ...{ type: 'Visit', node_type: 'codergen', visit: 1, steps: at + 1, context: { set: {}, unset: [] } },
    outcome: { status: 'success', label: '', suggested: [], updates: {}, notes: `notes of ${line.node}` },
    ...line,
  })) as unknown as RunRecord[];
  const exchanges = lines.flatMap(({ node, node_type = 'codergen', text = `answer of ${node}` }) => {
    const report = JSON.stringify({ kind: 'answered', text });
    return node_type === 'codergen' ? [{ node, visit: 1, attributes: {}, report }] : [];
  });
  return { history: () => ({ records, exchanges }), withoutNames: (of: string) => of };
}

const fork = { join: 'join', branches: [{ id: 'a' }, { id: 'b' }] };
const opening: readonly Line[] = [
  { node: 'start', node_type: 'start' },
  { node: 'fan', node_type: 'parallel', fork },
];
const inBranches: readonly Line[] = [
  { node: 'b', branch: 'b' },
  { node: 'a', branch: 'a' },
  { node: 'a2', branch: 'a', node_type: 'tool', context: { set: { 'tool.output': 'printed' }, unset: [] } },
];
const met: Line = { node: 'join', node_type: 'parallel.fan_in', joined: 'fan' };
const results = [
  { id: 'a', status: 'success', failure_class: null, reason: '' },
  { id: 'b', status: 'fail', failure_class: 'product', reason: 'tests fail' },
];

function joinedAt(node: string, lines: readonly Line[], state: Partial<RunState> = {}, run: object = {}) {
  const leaks = {
    printable: async (text: string) =>
      text
        .split('\n')
        .filter((line) => !line.includes(sealed))
        .join('\n'),
  };
  const at = graph.nodes.get(node);
  if (at === undefined) throw new Error(`no node ${node}`);
  return joinedBranches(
    {
      run: { graph, leaks, past: pastOf(lines), ...run } as unknown as Run,
      node: at,
      state: { ...freshState(node), context: { 'parallel.results': results }, ...state } as RunState,
    },
    (text) => text.replaceAll(secret, '***'),
  );
}

const all = `Results of the branches that met in join:
- a: success
  notes: notes of a
  answer: answer of a
- b: fail (product)
  reason: tests fail
  notes: notes of b
  answer: answer of b`;

test('the first agent after a join finds notes and answers of its branches, in the order of the edges', async () => {
  const lines = [...opening, ...inBranches, met];
  expect(await joinedAt('after', lines)).toBe(all);
  expect(await joinedAt('after', [...lines, { node: 'x', node_type: 'tool' }])).toBe(all);
});

test('an agent in which branches meet is the first itself', async () => {
  const open = { node: 'fan', join: 'join', base: 's', step: 2, branches: {} };
  expect(await joinedAt('join', [...opening, ...inBranches], { fork: open })).toBe(all);
  expect(await joinedAt('after', [...opening, ...inBranches, { ...met, node_type: 'codergen' }])).toBe('');
});

test.for([
  ['another agent', [{ node: 'x' }], {}],
  ['a new round', [], { round_step: 6 }],
  ['no join', [], { context: {} }],
] as const)('after %s there is nothing to say', async ([, more, state]) => {
  expect(await joinedAt('after', [...opening, ...inBranches, met, ...more], state)).toBe('');
});

test('a call that has ended is no join of branches', async () => {
  const call = [
    {
      node: 'fan',
      node_type: 'subgraph',
      fork: { ...fork, call: true, branches: [{ id: 'a', fresh: true }] },
    },
  ];
  const lines = [
    ...call,
    { node: 'a', branch: 'a', node_type: 'tool' },
    { node: 'done', node_type: 'exit', joined: 'fan' },
  ];
  expect(await joinedAt('after', lines)).toBe('');
});

test('the first agents of branches that begin behind a join are each the first after it', async () => {
  const next = {
    node: 'fan2',
    node_type: 'parallel',
    fork: { join: 'j2', branches: [{ id: 'p' }, { id: 'q' }] },
  };
  const lines = [...opening, ...inBranches, met, next, { node: 'q', branch: 'q' }];
  expect(await joinedAt('after', lines, {}, { branch: 'p' })).toBe(all);
  expect(await joinedAt('after', lines, {}, { branch: 'q' })).toBe('');
});

test('a branch without an agent says what its last tool printed, one without an execution how it ended', async () => {
  const lines = [...opening, { ...inBranches[2], node: 'a' } as Line, met];
  expect(await joinedAt('after', lines)).toBe(`Results of the branches that met in join:
- a: success
  notes: notes of a
  output: printed
- b: fail (product)
  reason: tests fail`);
});

test('what is said fits 8 KiB, has no secret and no line of the holdout', async () => {
  const text = `${secret}\n${sealed}\n${'long line\n'.repeat(2000)}`;
  const lines = [...opening, ...inBranches.map((line) => ({ ...line, text })), met];
  const found = await joinedAt('after', lines);
  expect(found).not.toContain(secret);
  expect(found).not.toContain(sealed);
  expect(Buffer.byteLength(found)).toBeLessThanOrEqual(8 * 1024);
  expect(found.match(/\[cut\]/g)).toHaveLength(2);
  const many = Array.from({ length: 1000 }, (_, n) => ({ ...results[0], id: `branch${n}` }));
  const short = await joinedAt('after', lines, { context: { 'parallel.results': many } });
  expect(Buffer.byteLength(short)).toBeLessThanOrEqual(8 * 1024);
  expect(short).toMatch(/\[\d+ more branches are left out\]$/);
});

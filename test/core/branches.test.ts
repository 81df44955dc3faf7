/** Fan-outs, their branches and joins: tables of graphs, and laws over graphs that are put together or thrown. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { branchAt, branchProblems, regionJoinedAt, regionsOf } from '../../src/core/branches.ts';
import { fanOutType, type Graph } from '../../src/core/graph.ts';
import { postDominators } from '../../src/core/post-dominators.ts';
import { forkedGraph } from '../support/branches.ts';

/** `f>j: a=a c | b=b`, with the branch that contains the fan-out before it. */
const regions = (graph: Graph): readonly string[] =>
  [...regionsOf(graph).values()].map(({ node: at, join, branches, within }) => {
    const shown = branches.map(({ id, nodes }) => `${id}=${[...nodes].sort().join(' ')}`);
    return `${within === undefined ? '' : `${within}: `}${at}>${join}: ${shown.join(' | ')}`;
  });

const problems = (graph: Graph): readonly string[] =>
  branchProblems(graph).map((one) =>
    'edge' in one
      ? `${one.what} ${one.edge.from}->${one.edge.to} of ${one.branch}, ${one.node}>${one.join}${one.other === undefined ? '' : `, ${one.other}`}`
      : `${one.what} ${one.node}${one.what === 'shared-join' ? ` ${one.outer}>${one.join}` : ''}`,
  );

test.for([
  ['nothing without a fan-out', 'start -> a -> x', []],
  ['two nodes that meet in a fan-in', 'start -> f -> {a b} -> j -> x', ['f>j: a=a | b=b']],
  ['two nodes that meet in any node', 'start -> f -> {a b} -> c -> x', ['f>c: a=a | b=b']],
  ['branches in the order of the edges', 'start -> f; f -> b; f -> a; {a b} -> j -> x', ['f>j: b=b | a=a']],
  [
    'paths and loops in a branch',
    'start -> f -> a -> c -> a; c -> d -> j; f -> b -> b -> j -> x',
    ['f>j: a=a c d | b=b'],
  ],
  ['loops around a region', 'start -> s -> f -> {a b} -> j -> c -> {s f x}', ['f>j: a=a | b=b']],
  [
    'a loop from one region to an earlier one',
    'start -> f -> {a b} -> j -> f2 -> {c d} -> j2 -> {f f2 x}',
    ['f>j: a=a | b=b', 'f2>j2: c=c | d=d'],
  ],
  [
    'the nearest node of all branches before a later fan-in',
    'start -> f -> {a b} -> c -> f2 -> {d e} -> j -> x',
    ['f>c: a=a | b=b', 'f2>j: d=d | e=e'],
  ],
  [
    'a region in a branch',
    'start -> f -> a -> f2 -> {c d} -> j2 -> j; f -> b -> j -> x',
    ['f>j: a=a c d f2 j2 | b=b', 'a: f2>j2: c=c | d=d'],
  ],
  [
    'a branch that begins with a fan-out',
    'start -> f -> f2 -> {c d} -> j2 -> j; f -> b -> j -> x',
    ['f>j: f2=c d f2 j2 | b=b', 'f2: f2>j2: c=c | d=d'],
  ],
  ['a single branch up to its fan-in', 'start -> f -> a -> b -> j -> x', ['f>j: a=a b']],
  [
    'a single branch with a region in it',
    'start -> f -> a -> f2 -> {c d} -> j2 -> b -> j -> x',
    ['f>j: a=a b c d f2 j2', 'a: f2>j2: c=c | d=d'],
  ],
  [
    'a single branch that begins with a fan-out',
    'start -> f -> f2 -> {c d} -> j2 -> j -> x',
    ['f>j: f2=c d f2 j2', 'f2: f2>j2: c=c | d=d'],
  ],
  [
    'a single branch in a single branch',
    'start -> f -> a -> f2 -> b -> j2 -> j -> x',
    ['f>j: a=a b f2 j2', 'a: f2>j2: b=b'],
  ],
  [
    'a single branch without a fan-in, which ends before the next node',
    'start -> f -> a -> b -> x',
    ['f>b: a=a'],
  ],
  [
    'two edges to one branch',
    'start -> f; f -> a [condition="outcome=success"]; f -> a [condition="outcome=fail"]; f -> b; {a b} -> j -> x',
    ['f>j: a=a | b=b'],
  ],
  [
    'fan-outs on different paths with one join',
    'start -> s -> {f f2}; f -> {a b} -> j; f2 -> {c d} -> j -> x',
    ['f>j: a=a | b=b', 'f2>j: c=c | d=d'],
  ],
  [
    'a join that is a fan-out itself',
    'start -> f -> {a b} -> f2 -> {c d} -> j -> x',
    ['f>f2: a=a | b=b', 'f2>j: c=c | d=d'],
  ],
  [
    'a join that is reached without the fan-out, too',
    'start -> s -> f -> {a b} -> c -> x; s -> c',
    ['f>c: a=a | b=b'],
  ],
  ['a pipeline from which nothing leads to an exit', 'start -> f -> {a b} -> j -> f', ['f>j: a=a | b=b']],
] as const)('%s', ([, edges, expected]) => {
  const graph = forkedGraph(edges);
  expect(regions(graph)).toEqual(expected);
  expect(problems(graph)).toEqual([]);
});

describe('an edge that a branch must not have is found where', () => {
  test.for([
    ['the branches only share an exit', 'start -> f -> {a b} -> x', ['no-join f']],
    ['there is no edge', 'start -> f; a -> x; start -> a', ['no-join f']],
    ['a branch reaches an exit', 'start -> f -> {a b} -> j -> x; a -> x', ['exit a->x of a, f>j']],
    ['a branch reaches another exit', 'start -> f -> {a b} -> j -> x; a -> x2', ['exit a->x2 of a, f>j']],
    ['the fan-out leads to an exit', 'start -> f -> {a b} -> j -> x; f -> x', ['exit f->x of x, f>j']],
    ['the fan-out leads to its join', 'start -> f -> {a b} -> j -> x; f -> j', ['empty f->j of j, f>j']],
    ['the fan-out leads to itself', 'start -> f -> {a b} -> j -> x; f -> f', ['back f->f of f, f>j']],
    ['a branch leads back to its fan-out', 'start -> f -> {a b} -> j -> x; a -> f', ['back a->f of a, f>j']],
    [
      'a branch leads to a node before the fan-out',
      'start -> s -> f -> {a b} -> j -> x; a -> s',
      ['past a->s of a, f>j'],
    ],
    [
      'a branch leads to a node behind its join',
      'start -> f -> {a b} -> j -> c -> x; a -> c',
      ['past a->c of a, f>j'],
    ],
    ['a branch ends', 'start -> f -> {a b c} -> j -> x; a -> d', ['past a->d of a, f>j']],
    ['a branch leads into another', 'start -> f -> {a b} -> j -> x; a -> b', ['other a->b of a, f>j, b']],
    [
      'a branch leads into the middle of another',
      'start -> f -> {a b} -> j -> x; b -> c -> j; a -> c',
      ['other b->c of b, f>j, a'],
    ],
    [
      'an edge from before the fan-out leads into a branch',
      'start -> s -> f -> {a b} -> j -> x; s -> a',
      ['enters s->a of a, f>j'],
    ],
    [
      'an edge from behind the join leads into a branch',
      'start -> f -> {a b} -> j -> c -> x; c -> a',
      ['enters c->a of a, f>j'],
    ],
    ['the join leads into a branch', 'start -> f -> {a b} -> j -> x; j -> b', ['enters j->b of b, f>j']],
    [
      'a node that nothing reaches leads into a branch',
      'start -> f -> {a b} -> j -> x; o -> a',
      ['enters o->a of a, f>j'],
    ],
    [
      'an inner region ends at the join of the outer one',
      'start -> f -> f2 -> {c d} -> j; f -> b -> j -> x',
      ['shared-join f2 f>j'],
    ],
    [
      'a branch of an inner region leads past its join',
      'start -> f -> a -> f2 -> {c d} -> j2 -> j; c -> j; f -> b -> j -> x',
      ['past c->j of c, f2>j2'],
    ],
    [
      'one of three branches leads elsewhere',
      'start -> f -> {a b c} -> j -> x; c -> d -> x',
      ['past c->d of c, f>j'],
    ],
  ] as const)('%s', ([, edges, expected]) => {
    expect(problems(forkedGraph(edges))).toEqual(expected);
  });
});

test('a node belongs to its innermost branch, and a join to the branch around its region', () => {
  const graph = forkedGraph('start -> f -> a -> f2 -> {c d} -> j2 -> j; f -> b -> j -> x');
  expect(['start', 'f', 'a', 'f2', 'c', 'j2', 'b', 'j'].map((id) => branchAt(graph, id))).toEqual([
    undefined,
    undefined,
    'a',
    'a',
    'c',
    'a',
    'b',
    undefined,
  ]);
  expect(regionJoinedAt(graph, 'j2')?.node).toBe('f2');
  expect(regionJoinedAt(graph, 'a')).toBeUndefined();
});

/* Graphs that are put together: a part is a node, a sequence, a choice, a loop or a region, and the regions are known. */

type Part =
  | { readonly is: 'node' }
  | { readonly is: 'sequence' | 'choice' | 'region'; readonly of: readonly Part[] }
  | { readonly is: 'loop'; readonly of: Part };

const part: fc.Arbitrary<Part> = fc.letrec<{ part: Part }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constant<Part>({ is: 'node' }),
    fc.record({
      is: fc.constantFrom('sequence' as const, 'choice' as const),
      of: fc.array(tie('part'), { minLength: 2, maxLength: 3 }),
    }),
    fc.record({
      is: fc.constant('region' as const),
      of: fc.array(tie('part'), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ is: fc.constant('loop' as const), of: tie('part') }),
  ),
})).part;

/** The text of a part's edges, and its regions as `regions` shows them. */
function build(whole: Part): { readonly edges: string; readonly expected: readonly string[] } {
  const edges: string[] = [];
  const expected: string[] = [];
  let count = 0;
  const link = (from: string, to: string) => edges.push(`${from} -> ${to}`);
  /** First and last node, and all nodes. */
  const lay = (one: Part, within: string | undefined): { first: string; last: string; nodes: string[] } => {
    const name = (letter: string) => `${letter}${count++}`;
    if (one.is === 'node') {
      const id = name('n');
      return { first: id, last: id, nodes: [id] };
    }
    if (one.is === 'loop') {
      const head = name('n');
      const body = lay(one.of, within);
      const end = name('n');
      link(head, body.first);
      link(body.last, end);
      link(end, head);
      return { first: head, last: end, nodes: [head, ...body.nodes, end] };
    }
    if (one.is === 'sequence') {
      const parts = one.of.map((of) => lay(of, within));
      for (const [at, next] of parts.slice(1).entries()) link(parts[at]?.last ?? '', next.first);
      return {
        first: parts[0]?.first ?? '',
        last: parts.at(-1)?.last ?? '',
        nodes: parts.flatMap(({ nodes }) => nodes),
      };
    }
    const isRegion = one.is === 'region';
    const open = name(isRegion ? 'f' : 'n');
    const close = name(isRegion ? 'j' : 'n');
    const at = expected.push('') - 1;
    const parts = one.of.map((of) => {
      // Where a branch begins is its id, known only when it is laid: every part begins with a node of its own here.
      const id = name('n');
      const body = lay(of, isRegion ? id : within);
      link(open, id);
      link(id, body.first);
      link(body.last, close);
      return { id, nodes: [id, ...body.nodes] };
    });
    if (isRegion)
      expected[at] =
        `${within === undefined ? '' : `${within}: `}${open}>${close}: ${parts.map(({ id, nodes }) => `${id}=${[...nodes].sort().join(' ')}`).join(' | ')}`;
    return { first: open, last: close, nodes: [open, ...parts.flatMap(({ nodes }) => nodes), close] };
  };
  const body = lay(whole, undefined);
  link('start', body.first);
  link(body.last, 'x');
  return { edges: edges.join('\n'), expected: expected.filter((line) => line !== '') };
}

test('the regions of a graph that is put together from regions, loops, choices and sequences are found', () => {
  fc.assert(
    fc.property(part, (whole) => {
      const { edges, expected } = build(whole);
      const graph = forkedGraph(edges);
      expect([...regions(graph)].sort()).toEqual([...expected].sort());
      expect(problems(graph)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

/* Any graph. */

const ids = ['start', 'f', 'g', 'j', 'a', 'b', 'c', 'd', 'x'];
const anyGraph = fc
  .array(fc.tuple(fc.constantFrom(...ids.slice(0, -1)), fc.constantFrom(...ids.slice(1))), {
    minLength: 4,
    maxLength: 16,
  })
  .map((pairs) =>
    forkedGraph(
      [
        `start -> f; f -> a; f -> b; a -> j; b -> j; j -> x; g; c; d`,
        ...pairs.map(([from, to]) => `${from} -> ${to}`),
      ].join('\n'),
    ),
  );

/** Nodes from which a path leads on without passing one of `walls`. */
function reached(graph: Graph, first: string, walls: readonly string[]): ReadonlySet<string> {
  const found = new Set([first]);
  for (const at of found)
    if (!walls.includes(at)) for (const { from, to } of graph.edges) if (from === at) found.add(to);
  return found;
}

/** Whether the branches of `fork`, in the words of their definition, are separate from each other and from the rest up to `join`. */
function isRegion(graph: Graph, fork: string, join: string): boolean {
  const targets = [...new Set(graph.edges.filter(({ from }) => from === fork).map(({ to }) => to))];
  const owner = new Map<string, string>();
  for (const target of targets) {
    if (target === join) return false;
    for (const id of reached(graph, target, [join])) {
      if (id === join) continue;
      if (id === fork || owner.has(id) || graph.nodes.get(id)?.type === 'exit') return false;
      if (!reached(graph, id, []).has(join)) return false;
      owner.set(id, target);
    }
  }
  return graph.edges.every(
    ({ from, to }) =>
      !owner.has(to) || owner.get(from) === owner.get(to) || (from === fork && owner.get(to) === to),
  );
}

test('in any graph, a fan-out has a region where its branches are separate up to a common node, and a problem elsewhere', () => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const found = regionsOf(graph);
      const failed = new Set(branchProblems(graph).map((one) => one.node));
      for (const { id, type } of graph.nodes.values()) {
        if (type !== fanOutType) continue;
        const region = found.get(id);
        expect(failed.has(id)).toBe(region === undefined);
        if (region !== undefined) {
          expect(isRegion(graph, id, region.join)).toBe(true);
          continue;
        }
        const isShared = branchProblems(graph).some((one) => one.what === 'shared-join' && one.node === id);
        const several = new Set(graph.edges.filter(({ from }) => from === id).map(({ to }) => to)).size > 1;
        const joins = several && !isShared ? [...graph.nodes.keys()] : [];
        expect(
          joins.filter((join) => graph.nodes.get(join)?.type !== 'exit' && isRegion(graph, id, join)),
        ).toEqual([]);
      }
    }),
    { numRuns: 120 },
  );
});

test('the nearest node that all paths pass is that of the definition', () => {
  const edges = fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 20 });
  fc.assert(
    fc.property(edges, (pairs) => {
      const names = Array.from({ length: 8 }, (_, at) => `${at}`);
      const after = new Map(
        names.map((id) => [id, pairs.filter(([from]) => `${from}` === id).map(([, to]) => `${to}`)]),
      );
      const ends = names.filter((id) => after.get(id)?.length === 0);
      const reaches = (from: string, wall: string): boolean => {
        const found = new Set(from === wall ? [] : [from]);
        for (const at of found) for (const to of after.get(at) ?? []) if (to !== wall) found.add(to);
        return ends.some((end) => found.has(end));
      };
      const passed = (from: string) =>
        names.filter((id) => id !== from && reaches(from, '') && !reaches(from, id));
      const nearest = postDominators(after);
      for (const id of names) {
        const expected = passed(id).find((one) => passed(one).length === passed(id).length - 1);
        expect([id, nearest.get(id)]).toEqual([id, expected]);
      }
    }),
    { numRuns: 120 },
  );
});

test.for([
  [
    'a sequence of regions',
    (at: number) => `f${at} -> {a${at} b${at}} -> j${at} -> f${at + 1}`,
    'f2500 -> a -> j -> x',
  ],
  [
    'regions in regions, twenty deep',
    (at: number) =>
      at % 20 < 19
        ? `f${at} -> a${at} -> f${at + 1}; f${at} -> b${at} -> j${at}; j${at + 1} -> j${at}`
        : `f${at} -> {a${at} b${at}} -> j${at}; j${at - 19} -> f${at + 1}`,
    'f2500 -> a -> j -> x',
  ],
  [
    'fan-outs whose branches never meet',
    (at: number) => `f${at} -> {a${at} b${at}}; a${at} -> x; b${at} -> f${at + 1}`,
    'f2500 -> a -> x',
  ],
] as const)('a graph of ten thousand nodes is read in time: %s', ([, piece, end]) => {
  const graph = forkedGraph(
    ['start -> f0', ...Array.from({ length: 2500 }, (_, at) => piece(at)), end].join('\n'),
  );
  // One that needs the square of the nodes comes to the time limit of tests.
  expect(regionsOf(graph).size + branchProblems(graph).length).toBeGreaterThan(2400);
});

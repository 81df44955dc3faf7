/** The layout of formatted pipelines, and that no part is lost. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ParsedGraph } from '../../src/core/graph.ts';
import type { Attributes } from '../../src/core/settings/types.ts';
import { printGraph } from '../../src/dot/format.ts';
import { rewrite } from '../../src/dot/prepass.ts';
import { readGraph } from '../../src/dot/read.ts';

test('each statement and each short attribute list is on one line, and comments keep their position', () => {
  const text = `#!/usr/bin/env factory
# What it does
digraph my-pipeline { // the header
  /* one
     two */


  graph [goal="g", timeout=900s
    // a net only
    , default_max_visits = 600 # of a node
  ];
  a [codex.workdir="x"][prompt="raw
  newline" + "joined", model=gpt-5.4]; a -> /* where to */ {b c} [weight=3];; b

  subgraph cluster_x { label="X"; // trailing
    c }  # end
} // after
`;
  expect(printGraph(text)).toBe(`#!/usr/bin/env factory
// What it does
digraph "my-pipeline" {  // the header
  /* one
     two */

  graph [
    goal="g",
    timeout="900s",
    // a net only
    default_max_visits=600  // of a node
  ]
  a [
    "codex.workdir"="x",
    prompt="raw
  newline" + "joined",
    model="gpt-5.4"
  ]
  /* where to */
  a -> { b c } [weight=3]
  b

  subgraph cluster_x {
    label="X"  // trailing
    c
  }  // end
}  // after
`);
});

test.for([
  ['a long list', `a [prompt="${'x'.repeat(120)}", y=1]`, 'a [\n'],
  ['keywords as names and values', 'a [node=graph, edge="x"]', '["node"="graph", "edge"="x"]'],
  ['a bare value with a backslash', 'a [x=a\\b]', 'x="a\\\\b"'],
  ['numbers', 'a [x=-5, y=.5, z=+1, w=1e3]', '[x=-5, y=.5, z="+1", w="1e3"]'],
  ['an empty list of defaults', 'node []; a', 'digraph g {\n  a\n}\n'],
])('%s is printed in a form that Graphviz reads', ([, body, wanted]) => {
  expect(printGraph(`digraph g { ${body} }`)).toContain(wanted);
});

test('line endings are the author’s', () => {
  expect(printGraph('digraph g {\r\na // c\r\n}')).toBe('digraph g {\r\n  a  // c\r\n}\r\n');
});

const plain = (attrs: Attributes) =>
  [...attrs].map(([key, { written, value }]) => [key, written, value.text]);
const meaning = (graph: ParsedGraph | undefined) =>
  graph && [
    graph.name,
    plain(graph.attrs),
    graph.ofSubgraphs.map(({ key, value }) => [key, value.text]),
    [...graph.nodes.values()].map(({ id, attrs, classes, declared }) => [
      id,
      declared,
      classes,
      plain(attrs),
    ]),
    graph.edges.map(({ from, to, attrs }) => [from, to, plain(attrs)]),
  ];
const commentsOf = (text: string) =>
  rewrite(text)
    .comments.map(({ start, end }) => text.slice(start, end).trimEnd().replace(/^#/, '//'))
    .sort();

const id = fc.constantFrom('a', 'b', 'node_c', '"edge"', 'subgraph_d');
const keys = ['label', 'codex.workdir', '"verification.allowed_commands"', 'xml:lang', 'node'];
const value = fc.constantFrom(
  '900s',
  'gpt-5.4',
  '"x"',
  '"two\nlines"',
  '"a" + "b"',
  '-5',
  'a\\b',
  '"q \\" # //"',
  '""',
);
const blank = fc.constantFrom(
  ' ',
  ' ',
  '\n',
  '\n\n\n',
  ' // why\n',
  ' # how\n',
  ' /* what */ ',
  '\t/* two\n lines */\n',
);
const spaced = (...parts: readonly (fc.Arbitrary<string> | string)[]) =>
  fc
    .tuple(...parts.flatMap((part) => [typeof part === 'string' ? fc.constant(part) : part, blank]))
    .map((all) => all.join(''));
const many = (one: fc.Arbitrary<string>, most = 4) =>
  fc.array(one, { maxLength: most }).map((all) => all.join(''));
const attribute = (key: string) => spaced(key, '=', value, fc.constantFrom(',', ';', ' ', ',,'));
const attributes = fc
  .shuffledSubarray(keys)
  .chain((some) => fc.tuple(...some.map(attribute)).map((all) => all.join('')));
const list = spaced('[', attributes, ']');
const end = fc.oneof(id, spaced('{', id, fc.constantFrom(',', ';', ''), id, '}'));
const { statement } = fc.letrec<{ statement: string; statements: string }>((tie) => ({
  statement: fc.oneof(
    { maxDepth: 2 },
    spaced(id, fc.constantFrom('', ';', ';;')),
    spaced(id, list),
    spaced(end, '->', end, '->', id, fc.oneof(list, fc.constant('')), ';'),
    spaced(fc.constantFrom('node', 'edge', 'graph'), list),
    spaced(fc.constantFrom('label', 'codex.workdir', '"a.b"'), '=', value, ';'),
    spaced(fc.constantFrom('subgraph', 'subgraph s', 'subgraph "t u"', ''), '{', tie('statements'), '}'),
  ),
  statements: many(tie('statement')),
}));

test('a printed pipeline has the same meaning and comments, and printing it again changes nothing', () => {
  const graph = spaced(
    'digraph',
    fc.constantFrom('', 'g', 'my-pipeline', '"p q"'),
    '{',
    many(statement, 6),
    '}',
  );
  fc.assert(
    fc.property(
      fc.tuple(blank, graph).map((all) => all.join('')),
      (text) => {
        const before = readGraph('p.dot', text);
        expect(before.diagnostics).toEqual([]);
        const printed = printGraph(text);
        expect(meaning(readGraph('p.dot', printed).graph)).toEqual(meaning(before.graph));
        expect(commentsOf(printed)).toEqual(commentsOf(text));
        expect(printGraph(printed)).toBe(printed);
      },
    ),
    { numRuns: 100 },
  );
});

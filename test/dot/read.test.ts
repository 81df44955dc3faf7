import { expect, test } from 'vitest';
import type { ParsedGraph } from '../../src/core/graph.ts';
import type { Attributes } from '../../src/core/settings/types.ts';
import { readGraph } from '../../src/dot/read.ts';

/** The graph of a valid text. */
function graphOf(text: string): ParsedGraph {
  const { graph, diagnostics } = readGraph('p.dot', text);
  expect(diagnostics).toEqual([]);
  if (graph === undefined) throw new Error('no graph');
  return graph;
}
const body = (text: string): ParsedGraph => graphOf(`digraph G {\n${text}\n}`);
const plain = (attrs: Attributes | undefined): Record<string, string> =>
  Object.fromEntries([...(attrs ?? [])].map(([key, { value }]) => [key, value.text]));
const hops = (graph: ParsedGraph): string[] => graph.edges.map(({ from, to }) => `${from}>${to}`);

test('a graph has its name, attributes, nodes, edges and text', () => {
  const graph = graphOf(
    'digraph G {\n  goal="ship"\n  a [prompt="x"]; b\n  a -> b [label=go, weight=3, condition="outcome=fail"]\n}',
  );
  expect(graph).toMatchObject({ name: 'G', file: 'p.dot' });
  expect(plain(graph.attrs)).toEqual({ goal: 'ship' });
  expect([...graph.nodes.keys()]).toEqual(['a', 'b']);
  expect(graph.edges[0]).toMatchObject({
    from: 'a',
    to: 'b',
    label: 'go',
    weight: 3,
    conditionText: 'outcome=fail',
    condition: { op: 'compare', key: 'outcome', test: '=', literal: 'fail' },
    span: { start: { line: 4, column: 3 }, end: { line: 4, column: 9 } },
  });
  expect(graph.span).toEqual({
    start: { offset: 8, line: 1, column: 9 },
    end: { offset: 9, line: 1, column: 10 },
  });
  expect(graph.nodes.get('b')?.span.start).toEqual({ offset: 44, line: 3, column: 19 });
});

test.for([
  ['an empty body', 'digraph{}', 0],
  ['a name in quotes', 'digraph "My pipeline" {a}', 1],
  ['a name with a hyphen', 'digraph my-pipeline {a}', 1],
  ['a keyword in capitals', 'DiGraph G {a}', 1],
  ['a byte order mark', '\uFEFFdigraph G {a}', 1],
  [
    'comments before, within and after',
    '// x "\n# y "\n/* z " */digraph/*a*/G/*b*/{a/*c*/->/*d*/b/*e*/[/*f*/x/*g*/=/*h*/1/*i*/]/*j*/}// end',
    2,
  ],
  ['comments at the end of lines', 'digraph G { # one\na -> b // two\nc [x=1] # three\n}', 3],
  ['a comment right after =', 'digraph G { a -> b; c [x=# one\n1, y=#\n2] }', 3],
  ['no separators', 'digraph G{a b c a->b b->c[x=1]d}', 4],
  ['separators everywhere', 'digraph G{;;a;;b;}; ;', 2],
  ['carriage returns', 'digraph G {\r\na\r\n-> b\r\n}\r\n', 2],
  ['ids that begin with keywords', 'digraph G{node_a; edges -> graph1; subgraph_x; strictly}', 5],
  ['quoted ids', 'digraph G{"a" -> "node"}', 2],
  ['ids joined from strings', 'digraph G{"a" + "b" -> c}', 2],
  ['a line continued by a backslash', 'digraph G{a \\\n -> b}', 2],
  ['keyword statements without lists', 'digraph G{graph; node; edge; a}', 1],
] as const)('%s is read', ([, text, nodes]) => {
  expect(graphOf(text).nodes.size).toBe(nodes);
});

test.for([
  ['[x=1, y=2]', { x: '1', y: '2' }],
  ['[x=1 y=2]', { x: '1', y: '2' }],
  ['[x=1; y=2]', { x: '1', y: '2' }],
  ['[x=1\n y=2\n]', { x: '1', y: '2' }],
  ['[,x=1,,y=2;,]', { x: '1', y: '2' }],
  ['[x=1][y=2]', { x: '1', y: '2' }],
  ['[x=1,] [] [y=2]', { x: '1', y: '2' }],
  ['[]', {}],
  ['["x"="1"]', { x: '1' }],
  ['[codex.workdir="a"]', { 'codex.workdir': 'a' }],
  ['["codex.workdir"=a]', { 'codex.workdir': 'a' }],
  ['[a-b=c, xml:lang=d]', { 'a-b': 'c', 'xml:lang': 'd' }],
  ['[node=graph, edge="subgraph"]', { node: 'graph', edge: 'subgraph' }],
  ['[m=gpt-5.2 p=a/b.md q=10% u=http:x]', { m: 'gpt-5.2', p: 'a/b.md', q: '10%', u: 'http:x' }],
  ['[t=900s, n=-5, f=-.5, g=+1, h=1e3]', { t: '900s', n: '-5', f: '-.5', g: '+1', h: '1e3' }],
  ['[condition=outcome=success, d=x!=y, e=n>=5]', { condition: 'outcome=success', d: 'x!=y', e: 'n>=5' }],
  ['[x="a" + "b"\n + "c"]', { x: 'abc' }],
  ['[x="a" /* why */ + // not\n "b"]', { x: 'ab' }],
  ['[x="a\nb\r\nc\rd\\re"]', { x: 'a\nb\nc\nd\re' }],
  ['[x="a\\\nb\\\r\nc"]', { x: 'abc' }],
  ['[x="a\\nb\\tc\\rd\\"e\\\\f"]', { x: 'a\nb\tc\rd"e\\f' }],
  ['[x="\\q \\$ \\l \\\\n"]', { x: '\\q \\$ \\l \\n' }],
  ['[x="a\\\\"]', { x: 'a\\' }],
  ['[x="http://x # y /* z */ -- {}[];"]', { x: 'http://x # y /* z */ -- {}[];' }],
  ['[x=""]', { x: '' }],
  ['[x="日本 😀"]', { x: '日本 😀' }],
  ['[cmd=--flag]', { cmd: '--flag' }],
  ['[__proto__=a, constructor=b, toString=c]', { ['__proto__']: 'a', constructor: 'b', toString: 'c' }],
] as const)('the attribute list %s is read', ([list, wanted]) => {
  const attrs = body(`a ${list}`).nodes.get('a')?.attrs ?? new Map();
  expect([...attrs].map(([key, { value }]) => [key, value.text])).toEqual(Object.entries(wanted));
});

test.for([
  ['true', { kind: 'boolean', value: true }],
  ['false', { kind: 'boolean', value: false }],
  ['True', { kind: 'string' }],
  ['5', { kind: 'integer', value: 5 }],
  ['-007', { kind: 'integer', value: -7 }],
  ['1.5', { kind: 'float', value: 1.5 }],
  ['1.', { kind: 'float', value: 1 }],
  ['.5', { kind: 'float', value: 0.5 }],
  ['1e3', { kind: 'float', value: 1000 }],
  ['250ms', { kind: 'duration', ms: 250 }],
  ['900s', { kind: 'duration', ms: 900_000 }],
  ['15m', { kind: 'duration', ms: 900_000 }],
  ['2h', { kind: 'duration', ms: 7_200_000 }],
  ['1d', { kind: 'duration', ms: 86_400_000 }],
  ['1.5h', { kind: 'string' }],
  ['-5s', { kind: 'string' }],
  ['nan', { kind: 'string' }],
  ['inf', { kind: 'string' }],
  ['0x1f', { kind: 'string' }],
  ['1e999', { kind: 'string' }],
  ['"5"', { kind: 'string', text: '5' }],
  ['"true"', { kind: 'string', text: 'true' }],
] as const)('the value %s is typed', ([value, wanted]) => {
  expect(body(`a [x=${value}]`).nodes.get('a')?.attrs.get('x')?.value).toMatchObject(wanted);
});

test.for([
  ['node_type', 'type'],
  ['script', 'tool_command'],
  ['llm_prompt', 'prompt'],
  ['model', 'llm_model'],
  ['provider', 'llm_provider'],
  ['max_node_visits', 'max_visits'],
  ['agent', 'agent.backend'],
  ['default_max_retry', 'default_max_retries'],
  ['prompt', 'prompt'],
] as const)('%s is read as %s', ([written, key]) => {
  const graph = body(`a [${written}=x]`);
  expect(graph.nodes.get('a')?.attrs.get(key)).toMatchObject({ key, written });
});

test('an attribute has the places of its name and its value', () => {
  const attr = graphOf('digraph{\n\ta /*😀*/ [x=1]\n}').nodes.get('a')?.attrs.get('x');
  expect(attr?.keySpan.start).toEqual({ offset: 20, line: 2, column: 11 });
  expect(attr?.valueSpan).toEqual({
    start: { offset: 22, line: 2, column: 13 },
    end: { offset: 23, line: 2, column: 14 },
  });
});

test('a byte order mark has no column', () => {
  expect(graphOf('\uFEFFdigraph G {}').span.start).toEqual({ offset: 9, line: 1, column: 9 });
});

test('node defaults reach nodes declared later in their scope, once', () => {
  const graph = body(`
    a
    node [x=1, y=1]
    b [y=2]
    subgraph s { node [x=3]; c; b [z=1] }
    d
    node [x=9]
    b [w=1]
    e`);
  const attrs = Object.fromEntries([...graph.nodes].map(([id, node]) => [id, plain(node.attrs)]));
  expect(attrs).toEqual({
    a: {},
    b: { x: '1', y: '2', z: '1', w: '1' },
    c: { x: '3', y: '1' },
    d: { x: '1', y: '1' },
    e: { x: '9', y: '1' },
  });
});

test('a node named by an edge first gets the defaults of its declaration', () => {
  const graph = body('node [x=1]; a -> b; node [x=2]; b');
  expect(plain(graph.nodes.get('a')?.attrs)).toEqual({ x: '1' });
  expect(plain(graph.nodes.get('b')?.attrs)).toEqual({ x: '2' });
  expect(graph.nodes.get('a')).toMatchObject({ declared: false });
  expect(graph.nodes.get('b')).toMatchObject({ declared: true, span: { start: { column: 33 } } });
});

test('edge defaults reach later edges of their scope only', () => {
  const graph = body(
    'a->b; edge [weight=7, label=l]; b->c; subgraph { edge [weight=8] c->d } d->e [weight=1]; e->f',
  );
  expect(graph.edges.map((e) => e.weight)).toEqual([0, 7, 8, 1, 7]);
  expect(graph.edges.map((e) => e.label)).toEqual(['', 'l', 'l', 'l', 'l']);
});

test('a chain is one edge per hop, each with the attributes', () => {
  const graph = body('a -> b -> c [weight="5"]');
  expect(hops(graph)).toEqual(['a>b', 'b>c']);
  expect(graph.edges.map((e) => e.weight)).toEqual([5, 5]);
  expect(graph.edges[1]?.span).toMatchObject({ start: { column: 6 }, end: { column: 12 } });
});

test.for([
  ['a -> {b c}', ['a>b', 'a>c']],
  ['{a b} -> c', ['a>c', 'b>c']],
  ['{a b} -> {c; d}', ['a>c', 'a>d', 'b>c', 'b>d']],
  ['a -> {b, c;} -> d', ['a>b', 'a>c', 'b>d', 'c>d']],
  ['a -> b; {c; d}; {e}; e -> f', ['a>b', 'e>f']],
  ['{a} {b} a -> b', ['a>b']],
] as const)('%s has the edges %j', ([text, wanted]) => {
  expect(hops(body(text))).toEqual(wanted);
});

test('nodes are in the order of their first mention', () => {
  expect([...body('z -> {y x}; w; a').nodes.keys()]).toEqual(['z', 'y', 'x', 'w', 'a']);
});

test('a subgraph’s label becomes a class of the nodes inside, at any position', () => {
  const graph = body(`
    label="Whole ParsedGraph"
    subgraph cluster_a {
      n1
      label="Fix & Verify Loop"
      subgraph { graph [label=Inner]; n2 }
      subgraph { n3 }
      n1 -> outside
    }
    outside; n4`);
  const classes = Object.fromEntries([...graph.nodes].map(([id, node]) => [id, node.classes]));
  expect(classes).toEqual({
    n1: ['fix--verify-loop'],
    n2: ['fix--verify-loop', 'inner'],
    n3: ['fix--verify-loop'],
    outside: [],
    n4: [],
  });
  expect(plain(graph.attrs)).toEqual({ label: 'Whole ParsedGraph' });
});

test('attributes of a subgraph stay out of the graph', () => {
  const graph = body('subgraph { goal=a; graph [workdir=b]; x }');
  expect(graph.attrs.size).toBe(0);
});

test('a blank condition is ignored, one that does not parse is left to lint', () => {
  const graph = body('a -> b [condition="  "]; a -> c [condition="outcome="]');
  expect(graph.edges.map(({ conditionText, condition }) => [conditionText, condition])).toEqual([
    ['', undefined],
    ['outcome=', undefined],
  ]);
});

test.for([
  ['', 'no-graph', '1:1'],
  [' \n', 'no-graph', '2:1'],
  ['// only a comment', 'no-graph', '1:18'],
  ['hello', 'no-graph', '1:1'],
  ['graph G { a }', 'undirected-graph', '1:1'],
  ['strict digraph G { a }', 'strict-graph', '1:1'],
  ['digraph G { a -- b }', 'undirected-edge', '1:15'],
  ['digraph G { a--b }', 'undirected-edge', '1:14'],
  ['digraph A { a }\ndigraph B { b }', 'several-graphs', '2:1'],
  ['digraph G { a [label=<b>x</b>] }', 'html-value', '1:22'],
  ['digraph G { a:p -> b:q:ne }', 'port', '1:14 1:21'],
  ['digraph G { 1a }', 'bad-id', '1:13'],
  ['digraph G { my-node -> my.other }', 'bad-id', '1:13 1:24'],
  ['digraph G { "two words"; "" }', 'bad-id', '1:13 1:26'],
  ['digraph G { é }', 'bad-id', '1:13'],
  ['digraph G { a [x="never] }', 'unclosed-string', '1:18'],
  ['digraph G { a /* never }', 'unclosed-comment', '1:15'],
  ['digraph G { a [x=1 }', 'unclosed-list', '1:15'],
  ['digraph G { a', 'unclosed-brace', '1:11'],
  ['digraph G { subgraph { a }', 'unclosed-brace', '1:11'],
  ['digraph G', 'no-body', '1:9'],
  ['digraph', 'no-body', '1:1'],
  ['digraph G [', 'no-body', '1:11'],
  ['digraph G { a } b', 'text-after-graph', '1:17'],
  ['digraph G { a } }', 'text-after-graph', '1:17'],
  ['digraph G { [x=1] }', 'stray-list', '1:13'],
  ['digraph G { subgraph { a } [x=1] }', 'stray-list', '1:28'],
  ['digraph G { subgraph x; }', 'keyword-id', '1:13'],
  ['digraph G { subgraph s {a -> b} -> c }', 'subgraph-end', '1:13'],
  ['digraph G { a -> subgraph t {b c} }', 'subgraph-end', '1:18'],
  ['digraph G { a -> {b [x=1]; c} -> d }', 'subgraph-end', '1:18'],
  ['digraph G { {a -> b} -> c }', 'subgraph-end', '1:13'],
  ['digraph G { a -> {b {c}} }', 'subgraph-end', '1:18'],
  ['digraph G { a -> {} }', 'subgraph-end', '1:18'],
  ['digraph G { {a}; -> b }', 'syntax', '1:18'],
  ['digraph G { a -> }', 'syntax', '1:15'],
  ['digraph G { -> a }', 'syntax', '1:13'],
  ['digraph G { a -> -> b }', 'syntax', '1:15'],
  ['digraph G { a [x=] }', 'syntax', '1:17'],
  ['digraph G { a [x=, y=1] }', 'syntax', '1:17'],
  ['digraph G { a [x] }', 'syntax', '1:16'],
  ['digraph G { a [x=hello world] }', 'syntax', '1:18'],
  ["digraph G { a [x='one'] }", 'quotes', '1:18'],
  ['digraph G { node -> a }', 'keyword-id', '1:13'],
  ['digraph G { a [x="y" + z] }', 'syntax', '1:22'],
  ['digraph G { a [x: y] }', 'syntax', '1:16'],
  ['digraph G { a [x="y" z: 3] }', 'syntax', '1:22'],
  ['digraph G { a [x="say "hi" now"] }', 'unclosed-string', '1:18'],
  ['digraph G { a => b }', 'syntax', '1:15'],
  ['digraph G { a -> b (x=1) }', 'syntax', '1:20'],
  ['digraph G { a, b }', 'syntax', '1:14'],
  ['digraph G { a\0 }', 'binary-text', '1:14'],
  ['digraph G { a --> b }', 'syntax', '1:15'],
  ['digraph G { a <- b }', 'syntax', '1:15'],
  ['digraph G { a <-> b }', 'syntax', '1:15'],
  ['digraph G { a - > b }', 'syntax', '1:15'],
  ['digraph G { a ->> b }', 'syntax', '1:15'],
  ['digraph G { a –> b → c }', 'syntax', '1:15 1:20'],
  ['digraph G { a [x=“y”] }', 'quotes', '1:18'],
  ['digraph G { a [x=\u200B1,\u00A0y=2] }', 'invisible', '1:18 1:21'],
  ['digraph G { a [u=http://x.y/z, v=1] }', 'syntax', '1:18'],
  ['digraph G { a [color=#ff0000] b }', 'syntax', '1:22'],
  ['digraph G { a [x=1, y=2', 'unclosed-list', '1:15'],
  ['digraph G { a [x="1"\n b -> { c } [y=2]\n d [z=3] }', 'unclosed-list', '1:15'],
  ["digraph G { a [x='two words'] }", 'quotes', '1:18'],
  ['digraph G { a [x=“two words”] }', 'quotes', '1:18'],
  ['digraph G { a [x="one, y="two"] }', 'unclosed-string', '1:18'],
  ['digraph G { a [x="one""]\n b [y="two words"]\n}', 'unclosed-string', '1:18'],
  ['digraph G { a [x="1]\n b [y="2"]\n c [z="3"] # "\n}', 'unclosed-string', '1:18'],
  ['digraph G { a ["x="1"] }', 'unclosed-string', '1:16'],
] as const)('%j is refused as %s at %s', ([text, code, places]) => {
  const { diagnostics } = readGraph('p.dot', text);
  const where = diagnostics
    .map(({ place }) => `${place?.span.start.line}:${place?.span.start.column}`)
    .join(' ');
  expect([[...new Set(diagnostics.map((d) => d.code))].join(' '), where]).toEqual([code, places]);
  for (const d of diagnostics) {
    expect(d.severity).toBe('error');
    expect(d.fix).toBeTruthy();
  }
});

test('all problems are reported, in the order of the text', () => {
  const { diagnostics } = readGraph(
    'p.dot',
    'strict graph G {\n a -- b\n c:port\n d [x=]\n 9e\n f [y=<b>]\n g ->\n}\ndigraph H {}',
  );
  expect(diagnostics.map((d) => `${d.code}@${d.place?.span.start.line}`)).toEqual([
    ...'strict-graph@1 undirected-graph@1 undirected-edge@2 port@3 syntax@4 bad-id@5'.split(' '),
    ...'html-value@6 syntax@7 several-graphs@9'.split(' '),
  ]);
});

test('similar statements keep their texts, values and places', () => {
  const lines = Array.from({ length: 500 }, (_, i) =>
    i % 7 === 3 ? `n${i} [k=]` : `n${i} [k=v${i}, l="${i}"]`,
  );
  const { diagnostics } = readGraph('p.dot', `digraph G {\n${lines.join('\n')}\n}`);
  expect(diagnostics.map(({ code, place }) => `${code} ${place?.span.start.line}`)).toEqual(
    lines.flatMap((line, i) => (line.endsWith('k=]') ? [`syntax ${i + 2}`] : [])),
  );

  const graph = body(lines.filter((line) => !line.endsWith('k=]')).join('\n'));
  for (const [id, { attrs }] of graph.nodes)
    expect(plain(attrs)).toEqual({ k: `v${id.slice(1)}`, l: id.slice(1) });
});

test('a refusal that does not affect the rest leaves a graph for lint', () => {
  expect(readGraph('p.dot', 'digraph { a:p -> b [label=<x>] }').graph?.edges).toHaveLength(1);
  expect(readGraph('p.dot', 'digraph { a -> }').graph).toBeUndefined();
});

test('ten thousand nodes are read', () => {
  const many = 10_000;
  const nodes = Array.from(
    { length: many },
    (_, i) => `n${i} [prompt="line one\nline ${i}"]\nn${i} -> n${i + 1}`,
  );
  const graph = body(nodes.join('\n'));
  expect([graph.nodes.size, graph.edges.length]).toEqual([many + 1, many]);
  expect(graph.nodes.get('n9999')?.span.start.line).toBe(2 + 3 * 9999);
});

test.for([
  ['a chain of a hundred thousand nodes', `${'n->'.repeat(100_000)}n`],
  ['ten thousand nested subgraphs', `${'{ a '.repeat(10_000)}${'}'.repeat(10_000)}`],
])('%s is refused as too large', ([, text]) => {
  const { graph, diagnostics } = readGraph('p.dot', `digraph { ${text} }`);
  expect(graph).toBeUndefined();
  expect(diagnostics).toMatchObject([
    { message: expect.stringContaining('too large'), fix: expect.any(String) },
  ]);
});

test('an edge between large subgraphs that would exhaust the memory is refused', () => {
  const many = Array.from({ length: 1500 }, (_, i) => `n${i}`).join(' ');
  expect(readGraph('p.dot', `digraph { {${many}} -> {${many}} }`).diagnostics).toMatchObject([
    { code: 'too-many-edges' },
  ]);
});

test.for([
  ['a [x: y]', 'write x=…'],
  ['a [x="y" z: 3]', 'write z=…'],
  [
    'a [x="say "hi" now"]',
    'close the string where it should end, remove the quote, or write \\" for one inside a string',
  ],
  ['a => b', 'write ->'],
  ['a --> b', 'write ->'],
  ['a <- b', 'edges go from left to right: write b -> a instead of a <- b'],
  ['a [x=#fff]', 'write the value in double quotes'],
  [
    'a, b -> c',
    'write ; between statements, { a b } for several nodes at one end of an edge, quotes around a value with a comma',
  ],
  [
    '{ a b } [x=1]',
    'put it after a node, an edge, or the word graph, node or edge; for all nodes of a subgraph write node [ … ] in it',
  ],
] as const)('the fix for %s is: %s', ([statement, fix]) => {
  expect(readGraph('p.dot', `digraph G { ${statement} }`).diagnostics.map((d) => d.fix)).toEqual([fix]);
});

test('a string without its closing quote is reported once, with the line where it ends', () => {
  const text = `digraph G {
  a [prompt="say, max_visits=3]
  b [prompt="go home", label="B"]
  a -> b [condition="outcome=success"]
}`;
  const { graph, diagnostics } = readGraph('p.dot', text);
  expect(graph).toBeUndefined();
  expect(diagnostics).toMatchObject([
    {
      message: 'this ends in line 3 right before "go": a quote is missing, or one too many',
      place: { span: { start: { line: 2, column: 13 }, end: { line: 3, column: 14 } } },
    },
  ]);
});

test('a string followed by a word without a blank is accepted if the text has no other problem', () => {
  expect(plain(body('a [x="q="y=1]').nodes.get('a')?.attrs)).toEqual({ x: 'q=', y: '1' });
  expect(hops(body('a [x=1]//c\nb -> c#d\n'))).toEqual(['b>c']);
});

test('a text of more than ten million characters is refused', () => {
  const { graph, diagnostics } = readGraph('p.dot', `digraph { ${';'.repeat(11_000_000)} }`);
  expect(graph).toBeUndefined();
  expect(diagnostics.map(({ code }) => code)).toEqual(['too-large']);
});

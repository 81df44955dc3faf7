/** What is found in pipelines that call others, and the graph that they make together. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPipeline } from '../../src/app/read-pipeline.ts';
import { allNodes, graphWith, nodeOf } from '../../src/core/graph.ts';
import { house } from '../support/house.ts';

let place: Awaited<ReturnType<typeof house>>;
beforeAll(async () => {
  place = await house({});
});
afterAll(() => place[Symbol.asyncDispose]());

const ends = 'start [shape=Mdiamond]; done [shape=Msquare];';
/** A pipeline with one call. */
const calling = (attrs: string, more = '') =>
  `digraph main { ${more} ${ends} CALL [${attrs}]; start -> CALL -> done }`;
const child = (body = 'work [shape=parallelogram, tool_command=ls]; start -> work -> done', more = '') =>
  `digraph child { ${more} ${ends} ${body} }`;
/** A chain of pipelines, each calling the next. */
const chain = (length: number) =>
  Object.fromEntries(
    Array.from({ length }, (_, at) => [
      `c${at}.dot`,
      at === length - 1 ? child() : calling(`type=subgraph, graph_ref="c${at + 1}.dot"`),
    ]),
  );

type Row = readonly [what: string, files: Readonly<Record<string, string>>, found: readonly string[]];
const rows: readonly Row[] = [
  [
    'a called pipeline in another folder is fine',
    { 'a/p.dot': calling('type=subgraph, graph_ref="../b/child.dot"'), 'b/child.dot': child() },
    [],
  ],
  [
    'the other words for the file are read',
    {
      'p.dot': `digraph m { ${ends} "stack.child_dotfile"="x.dot"; a [type=subgraph, pipeline="x.dot"]; b [shape=house, stack.child_workflow="x.dot"];
        c [type="stack.manager_loop", child_graph="x.dot"]; d [shape=house]; start -> a -> b -> c -> d -> done }`,
      'x.dot': child(),
    },
    [],
  ],
  [
    'a missing file is an error at the path',
    { 'p.dot': calling('type=subgraph, graph_ref="gone.dot"') },
    ['error call-file p.dot "gone.dot"'],
  ],
  [
    'a call without a file, and one with two, are errors',
    {
      'p.dot': `digraph m { ${ends} a [type=subgraph]; b [shape=house, child_graph=x, stack.child_dotfile=y]; start -> a -> b -> done }`,
    },
    ['error subgraph-file p.dot a', 'error manager-file p.dot child_graph'],
  ],
  [
    'a circle of calls is an error with the files',
    {
      'p.dot': calling('type=subgraph, graph_ref="b/q.dot"'),
      'b/q.dot': calling('type=subgraph, graph_ref="../p.dot"'),
    },
    ['error call-nesting b/q.dot "../p.dot"'],
  ],
  ['ten calls in a row are fine', chain(11), []],
  ['eleven are an error', chain(12), ['error call-nesting c10.dot "c11.dot"']],
  [
    'inputs are those that the called pipeline declares',
    {
      'p.dot': calling('type=subgraph, graph_ref="x.dot", var.a=1, stack.child.var.typo=2'),
      'x.dot': child(undefined, 'vars="a, b, c=3, d=@file.md"'),
    },
    [
      'error call-input p.dot "x.dot"',
      'error call-input p.dot "x.dot"',
      'error call-input p.dot stack.child.var.typo',
    ],
  ],
  [
    'a return that no node can set is an error, one that none is seen to set a warning',
    {
      'p.dot': `digraph m { ${ends} a [type=subgraph, graph_ref="x.dot", returns="verdict"]; b [type=subgraph, graph_ref="y.dot", returns="verdict, tool.output, outcome"];
        start -> a -> b -> done }`,
      'x.dot': child('ask [shape=hexagon, label="Go?"]; start -> ask; ask -> done [label=Yes]'),
      'y.dot': child(),
    },
    [
      'error call-return p.dot "verdict"',
      'warning call-return p.dot "verdict, tool.output, outcome"',
      'error call-return p.dot "verdict, tool.output, outcome"',
    ],
  ],
  [
    'a return that the prompt file of the called pipeline names is fine',
    {
      'a/p.dot': calling('type=subgraph, graph_ref="../b/x.dot", returns=verdict'),
      'b/x.dot': child(
        'look [prompt="@look.md", max_visits=3]; start -> look; look -> done [condition="outcome=success"]; look -> look',
      ),
      'b/look.md': 'Set the context key verdict.',
    },
    [],
  ],
  [
    'settings of a whole run have no effect in a called pipeline',
    {
      'p.dot': calling('type=subgraph, graph_ref="x.dot"'),
      'x.dot': child(
        undefined,
        'max_cost_usd=1; holdout="judge/"; model_stylesheet="* { model: x; }"; goal=g',
      ),
    },
    ['warning call-setting x.dot max_cost_usd', 'warning call-setting x.dot holdout'],
  ],
  [
    'a condition on an input is one on a key that is set',
    {
      'p.dot': calling('type=subgraph, graph_ref="x.dot", var.mode=fast'),
      'x.dot': child(
        'd [shape=diamond]; start -> d; d -> done [condition="context.mode=fast"]; d -> work; work [shape=parallelogram, tool_command=ls]; work -> done',
        'vars=mode',
      ),
    },
    [],
  ],
  [
    'errors of a called pipeline are told once, in its file',
    {
      'p.dot': `digraph m { ${ends} a [type=subgraph, graph_ref="x.dot"]; b [type=subgraph, graph_ref="x.dot"]; start -> a -> b -> done }`,
      'x.dot': child('work [shape=parallelogram]; start -> work -> done'),
    },
    ['error tool-command x.dot work'],
  ],
  [
    'a call whose nodes would have the name of a file of the run is an error',
    {
      'p.dot': `digraph m { ${ends} events [type=subgraph, graph_ref="x.dot"]; start -> events -> done }`,
      'x.dot': child('jsonl [shape=parallelogram, tool_command=ls]; start -> jsonl -> done'),
    },
    ['error reserved-id p.dot events'],
  ],
  [
    'a stop condition is parsed',
    {
      'p.dot': calling('shape=house, child_graph="x.dot", manager.stop_condition="a = = b"'),
      'x.dot': child(),
    },
    ['error manager-stop p.dot "a = = b"'],
  ],
];

/** About paths of runs: of no interest here. */
const others = ['failure-to-success', 'outcome-uncovered', 'not-graphviz', 'unset-key'];

test.for(rows)('%s', async ([, files, expected]) => {
  await using it = await house(files);
  const [first = ''] = Object.keys(files);
  const { found, graph } = await readPipeline(first, it.path, { toRun: false });
  const told = found
    .filter(({ code }) => !others.includes(code))
    .map(({ severity, code, place: at }) => {
      const { file = '', span } = at ?? {};
      const under = files[file]?.slice(span?.start.offset, span?.end.offset) ?? '';
      return `${severity} ${code} ${file} ${under}`;
    });
  expect(told).toEqual(expected);
  expect(graph === undefined).toBe(expected.some((one) => one.startsWith('error')));
});

test('the nodes of called pipelines have ids from outside in, and settings of their own pipeline', async () => {
  await using it = await house({
    'a/p.dot': `digraph m { goal=outer; sandbox=none; default_max_visits=7; secrets=ONE; ${ends}
      CALL [type=subgraph, graph_ref="../b/x.dot"]; again [type=subgraph, graph_ref="../b/x.dot"]; start -> CALL -> again -> done }`,
    'b/x.dot': `digraph x { goal=inner; sandbox=bwrap; default_max_visits=3; secrets=TWO; model_stylesheet="#look { model: big; }"; ${ends}
      look [prompt="@look.md", retry_target=start, goal_gate=true]; SUB [shape=house, child_graph="sub/y.dot"]; start -> look -> SUB -> done }`,
    'b/look.md': 'Look.',
    'b/sub/y.dot': child('deep [prompt="@../deep.md"]; start -> deep -> done'),
    'b/deep.md': 'Deep.',
  });
  const { graph } = await readPipeline('a/p.dot', it.path);
  expect(graph).toBeDefined();
  if (graph === undefined) return;
  expect([...allNodes(graph).keys()].filter((id) => id.includes('.')).sort()).toEqual(
    ['CALL', 'again'].flatMap((call) =>
      ['SUB', 'SUB.deep', 'SUB.done', 'SUB.start', 'done', 'look', 'start'].map((id) => `${call}.${id}`),
    ),
  );
  const look = nodeOf(graph, 'CALL.look');
  const { max_visits, sandbox, llm_model, retry_target, prompt } = look?.settings ?? {};
  expect({ max_visits, sandbox, llm_model, retry_target, prompt }).toEqual({
    max_visits: 3,
    sandbox: 'none',
    llm_model: ['big'],
    retry_target: 'CALL.start',
    prompt: '@../b/look.md',
  });
  expect(nodeOf(graph, 'again.SUB.deep')?.settings.prompt).toBe('@../b/deep.md');
  expect(graphWith(graph, 'CALL.look').settings.goal?.text).toBe('inner');
  expect(graph.settings.secrets).toEqual(['ONE', 'TWO']);
  expect(graphWith(graph, 'CALL.SUB.deep').settings.secrets).toEqual(['ONE', 'TWO']);
});

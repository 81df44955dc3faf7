/** What an editor offers at a place: rows of texts with a cursor (¦), most of them unfinished. */
import { expect, test } from 'vitest';
import { graphNear } from '../../src/lsp/analysis.ts';
import { suggestionsAt } from '../../src/lsp/complete.ts';
import { hoverAt } from '../../src/lsp/hover.ts';
import { nodePlaces } from '../../src/lsp/node-places.ts';
import { idProblem, renamed } from '../../src/lsp/rename.ts';
import { fixLoop } from '../support/authors.ts';

const path = '/nowhere/p.dot';
function at(marked: string) {
  const offset = marked.indexOf('¦');
  const text = marked.replace('¦', '');
  return { text, offset, path, graph: graphNear(path, text, offset) };
}
const inLoop = (right: string, wrong: string): string => fixLoop.replace(right, () => wrong);
const labels = (marked: string): readonly string[] => suggestionsAt(at(marked)).map(({ label }) => label);

test.for([
  ['an edge ends at a node', inLoop('start -> test', 'start -> te¦'), ['test', 'fix', 'done'], ['shape']],
  [
    'a node has attributes of its type',
    inLoop('max_retries=2', '¦'),
    ['tool_command', 'timeout'],
    ['goal', 'prompt'],
  ],
  ['an agent has others', inLoop('max_visits=4', 'pro¦'), ['prompt', 'llm_model'], ['tool_command']],
  ['an edge has its own', inLoop('[condition="outcome=success"]', '[¦]'), ['condition', 'weight'], ['shape']],
  ['the graph has its own', inLoop('workdir="none"', 'def¦'), ['default_timeout', 'goal'], ['tool_command']],
  [
    'a list that is not closed',
    inLoop('fix  [shape=box, prompt="Fix it", max_visits=4]', 'fix [shape=box, pro¦'),
    ['prompt'],
    [],
  ],
  [
    'a string that is not closed',
    inLoop('"outcome=success"]', '"outcome=¦'),
    ['success', 'fail', 'retry'],
    [],
  ],
  [
    'classes of failures',
    inLoop('outcome=fail"]', 'outcome=fail && failure_class=¦"]'),
    ['product', 'infra', 'timeout'],
    ['success'],
  ],
  [
    'keys of a condition',
    inLoop('outcome=fail"]', 'outcome=fail && con¦"]'),
    ['outcome', 'context.tool.output', 'context.response.fix'],
    [],
  ],
  ['shapes', inLoop('shape=box', 'shape=¦'), ['parallelogram', 'hexagon', 'Msquare'], []],
  ['words of an attribute', inLoop('max_visits=4', 'retry_on=¦'), ['retry', 'fail'], []],
  ['agents', inLoop('max_visits=4', 'agent.backend="c¦"'), ['codex', 'claude'], []],
  ['nodes as targets', inLoop('max_visits=4', 'retry_target=¦'), ['test', 'done'], []],
  ['references in a command', inLoop('make test', 'echo ${¦'), ['var.name', 'node.fix.outcome', 'goal'], []],
  ['selectors and properties', inLoop('vars=', 'model_stylesheet="#¦" vars='), ['#fix', '*'], []],
  ['properties of a rule', inLoop('vars=', 'model_stylesheet="* { ¦" vars='), ['llm_model'], []],
  ['nothing in a comment', inLoop('start -> test', 'start -> test // ¦'), [], ['test', 'shape']],
] as const)('%s', ([, marked, offered, others]) => {
  const found = labels(marked);
  for (const one of offered) expect(found).toContain(one);
  for (const one of others) expect(found).not.toContain(one);
});

test('a word is replaced from its beginning, and quoted where it must be', () => {
  const marked = inLoop('max_visits=4', 'agent.b¦');
  const found = suggestionsAt(at(marked)).find(({ label }) => label === 'agent.backend');
  expect(found).toMatchObject({ insert: '"agent.backend"=', start: marked.indexOf('agent.b¦') });
});

test.for([
  [inLoop('max_retries', 'max_¦retries'), 'Attempts after the first'],
  [inLoop('max_retries=2', 'max_retries=¦2'), 'Attempts after the first'],
  [inLoop('start -> test', 'start -> t¦est'), '**test**: tool'],
  [inLoop('shape=parallelogram', 'shape=para¦llelogram'), '**tool**'],
  [inLoop('workdir', 'work¦dir'), '**workdir**'],
  [inLoop('make test', 'echo ${var.na¦me}'), '**name**: a variable; default `world`'],
  [inLoop('name=world', 'nab=x, name=world').replace('make test', 'echo ${var.na¦me}'), '**name**'],
  [inLoop('start -> test', 'start -> test -'), ''],
] as const)('hover: %s', ([marked, said]) => {
  const place = at(marked.includes('¦') ? marked : `${marked}¦`);
  expect(hoverAt(place.text, place.offset, place.graph)?.markdown ?? '').toContain(said);
});

const everywhere = `digraph g {
  model_stylesheet="#fix { llm_model: x; } .fix { llm_model: y; }"
  start [shape=Mdiamond]
  fix [prompt="fix", class="fix", retry_target="fix"]
  "check" [shape=parallelogram, tool_command="echo fix \${node.fix.outcome} \${ctx.response.fix}", label="fix"]
  done [shape=Msquare]
  start -> fix -> check
  check -> { fix } [condition="context.response.fix=fix || parallel.results.fix.outcome=fail && fix=1"]
  check -> done
}
`;

test('a node is renamed where it is meant, and nowhere else', () => {
  const { graph } = at(`${everywhere}¦`);
  if (graph === undefined) throw new Error('the text has a graph');
  let text = everywhere;
  for (const { start, end, text: to } of [...renamed(graph, 'fix', 'repair')].reverse())
    text = text.slice(0, start) + to + text.slice(end);
  expect(text).toBe(`digraph g {
  model_stylesheet="#repair { llm_model: x; } .fix { llm_model: y; }"
  start [shape=Mdiamond]
  repair [prompt="fix", class="fix", retry_target="repair"]
  "check" [shape=parallelogram, tool_command="echo fix \${node.repair.outcome} \${ctx.response.repair}", label="fix"]
  done [shape=Msquare]
  start -> repair -> check
  check -> { repair } [condition="context.response.repair=fix || parallel.results.repair.outcome=fail && fix=1"]
  check -> done
}
`);
  expect(nodePlaces(graph).filter(({ id }) => id === 'check')).toHaveLength(4);
  expect([
    idProblem(graph, '1a'),
    idProblem(graph, 'done'),
    idProblem(graph, 'node'),
    idProblem(graph, 'new'),
  ]).toEqual([
    expect.stringContaining('not a node id'),
    expect.stringContaining('already'),
    expect.stringContaining('keyword'),
    undefined,
  ]);
});

/** Mistakes that authors make: each is named first, at its place, and nothing that follows from it is listed. */
import { expect, test } from 'vitest';
import { checkPipeline } from '../../src/app/read-pipeline.ts';
import { unknownAgentNames } from '../../src/app/resolve-agents.ts';
import { findingsOf } from '../support/graph.ts';

const loop = `digraph fix {
  workdir="none"
  vars="name=world"
  start [shape=Mdiamond]
  test [shape=parallelogram, tool_command="make test", timeout="60s", max_retries=2]
  fix  [shape=box, prompt="Fix it", max_visits=4]
  done [shape=Msquare]
  bad [shape=Msquare, outcome=fail]
  start -> test
  test -> done [condition="outcome=success"]
  test -> fix [condition="outcome=fail"]
  fix -> test [condition="outcome=success"]
  fix -> bad [condition="outcome!=success"]
}
`;

/** What `factory validate` finds: code, line:column, and the fix. */
function found(text: string): readonly (readonly [string, string, string])[] {
  const { found: all, anyGraph } = checkPipeline('p.dot', text, { toRun: false });
  const agents = anyGraph === undefined ? [] : unknownAgentNames(anyGraph);
  return [...all, ...agents].map(({ code, place, fix }) => [
    code,
    `${place?.span.start.line}:${place?.span.start.column}`,
    fix ?? '',
  ]);
}

function replaced(wrong: readonly string[]): string {
  let text = loop;
  for (let at = 0; at < wrong.length; at += 2) {
    expect(text).toContain(wrong[at]);
    text = text.replace(wrong[at] ?? '', () => wrong[at + 1] ?? '');
  }
  return text;
}

test('the loop without a mistake has no finding', () => {
  expect(found(loop)).toEqual([]);
});

type Row = readonly [code: string, place: string, fix: string, ...wrong: string[]];
const rows: readonly Row[] = [
  ['attribute-value', '5:62', 'shell="bash -eo pipefail"', 'timeout="60s"', 'shell="bash -eo pipefial"'],
  [
    ...(['unknown-class', '11:62', 'write last_failure.class=product'] as const),
    ...['"outcome=fail"', '"outcome=fail && last_failure.class=produkt"'],
  ],
  ['unset-key', '10:28', 'write outcome', 'outcome=success', 'status=success'],
  ['unset-key', '10:28', 'write outcome', 'outcome=success', 'node.test.outcome=success'],
  // Keywords, brackets, quotes.
  ['no-graph', '1:1', 'write digraph', 'digraph', 'digraf'],
  ['undirected-graph', '1:1', 'write digraph', 'digraph', 'graph'],
  ['strict-graph', '1:1', 'remove the word strict', 'digraph', 'strict digraph'],
  ['unclosed-brace', '1:13', 'close it with }', '!=success"]\n}', '!=success"]\n'],
  ['text-after-graph', '15:1', 'remove it', '!=success"]\n}', '!=success"]\n}\n}'],
  ['unclosed-list', '7:8', 'close it with ]', 'done [shape=Msquare]', 'done [shape=Msquare'],
  ['syntax', '7:23', 'a bracket', 'done [shape=Msquare]', 'done [shape=Msquare]]'],
  ['syntax', '7:8', 'in [ ]', 'done [shape=Msquare]', 'done (shape=Msquare)'],
  ['quotes', '6:27', 'double quotes', '"Fix it"', "'Fix it'"],
  ['quotes', '6:27', 'double quotes', '"Fix it"', '“Fix it”'],
  ['quotes', '10:27', 'double quotes', '"outcome=success"', "'outcome=success'"],
  ['unclosed-string', '6:27', 'close the string', '"Fix it"', '"Fix it'],
  ['unclosed-string', '6:27', 'write \\"', '"Fix it"', '"Fix "it" now"'],
  ['syntax', '5:43', 'double quotes', '"make test"', 'make test'],
  ['syntax', '6:37', 'write max_visits=', 'max_visits=4', 'max_visits: 4'],
  ['html-value', '6:27', 'double quotes', '"Fix it"', '<b>Fix it</b>'],
  ['unclosed-comment', '9:3', '*/', 'start -> test', '/* start -> test'],
  ['duplicate-attribute', '6:51', 'keep one', 'max_visits=4', 'max_visits=4, max_visits=5'],
  // Edges.
  ['undirected-edge', '9:9', 'write ->', 'start -> test', 'start -- test'],
  ['syntax', '9:9', 'write ->', 'start -> test', 'start => test'],
  ['syntax', '9:9', 'write ->', 'start -> test', 'start - test'],
  ['syntax', '9:9', 'write ->', 'start -> test', 'start > test'],
  ['start-incoming', '9:3', 'write start -> test', 'start -> test', 'test -> start'],
  ['exit-outgoing', '10:3', 'write test -> done', 'test -> done', 'done -> test'],
  ['undeclared-node', '9:12', 'write test', 'start -> test', 'start -> tset'],
  ['undeclared-node', '10:11', 'write done', 'test -> done', 'test -> doen'],
  ['undeclared-node', '11:11', 'write fix', 'test -> fix', 'test -> fxi'],
  ['undeclared-node', '12:10', 'write test', 'fix -> test', 'fix -> tests'],
  ['undeclared-node', '12:3', 'write fix', 'fix -> test', 'fxi -> test'],
  ['undeclared-node', '10:3', 'write test', 'test -> done', 'tst -> done'],
  ['undeclared-node', '9:3', 'write start', 'start -> test', 'strat -> test'],
  ['undeclared-node', '13:10', 'write bad', 'fix -> bad', 'fix -> nowhere'],
  [
    'bad-id',
    '6:3',
    'letters, digits',
    'fix  [',
    'fix-it [',
    '-> fix',
    '-> fix-it',
    'fix -> bad',
    'fix-it -> bad',
  ],
  ['outcome-uncovered', '5:3', 'add the edge test -> fix', '  test -> fix [condition="outcome=fail"]\n', ''],
  [
    'outcome-uncovered',
    '5:3',
    'add the edge test -> done',
    '  test -> done [condition="outcome=success"]\n',
    '',
  ],
  ['outcome-uncovered', '6:3', 'outcome=success', '  fix -> test [condition="outcome=success"]\n', ''],
  ['outcome-uncovered', '4:3', 'add the edge start -> test', '  start -> test\n', ''],
  // Shapes and types.
  ['unknown-shape', '5:15', 'write shape=parallelogram', 'parallelogram', 'paralelogram'],
  ['unknown-shape', '4:16', 'write shape=Mdiamond', 'Mdiamond', 'mdiamond'],
  ['unknown-shape', '4:16', 'write shape=Mdiamond', 'Mdiamond', 'circle'],
  ['unknown-shape', '7:15', 'write shape=Msquare', 'Msquare', 'square'],
  ['unknown-shape', '6:15', 'write shape=box', 'shape=box', 'shape=rect'],
  ['unknown-type', '5:14', 'write type=tool', 'shape=parallelogram', 'type=tol'],
  ['start-count', '4:16', 'write start [shape=Mdiamond]', 'Mdiamond', 'diamond'],
  ['start-count', '4:3', 'start -> go', 'start [shape=Mdiamond]', 'go [prompt=x]', 'start ->', 'go ->'],
  ['attribute-kind', '4:21', 'another id', 'shape=Mdiamond', 'shape=box, prompt="x"'],
  ['outcome-uncovered', '7:3', 'done [shape=Msquare]', 'done [shape=Msquare]', 'done'],
  [
    'exit-missing',
    '7:3',
    'done [shape=Msquare]',
    'done [shape=Msquare]',
    'done',
    'bad [shape=Msquare, outcome=fail]',
    'bad',
  ],
  ['attribute-kind', '5:9', 'add shape=parallelogram', 'shape=parallelogram, ', ''],
  ['attribute-kind', '5:20', 'add shape=parallelogram', 'shape=parallelogram', 'shape=box'],
  [
    'duplicate-node',
    '8:3',
    'one declaration',
    'done [shape=Msquare]',
    'done [shape=Msquare]\n  done [outcome=success]',
  ],
  // Attributes and their values.
  ['unknown-attribute', '5:30', 'write tool_command', 'tool_command', 'tool_comand'],
  ['unknown-attribute', '5:30', 'write tool_command', 'tool_command', 'run'],
  ['unknown-attribute', '6:20', 'write prompt', 'prompt=', 'promt='],
  ['unknown-attribute', '6:20', 'write prompt', 'prompt=', 'instructions='],
  ['unknown-attribute', '5:71', 'write max_retries', 'max_retries', 'max_retry'],
  ['unknown-attribute', '5:71', 'write max_retries', 'max_retries', 'retries'],
  ['unknown-attribute', '6:37', 'write max_visits', 'max_visits', 'maxVisits'],
  ['unknown-attribute', '6:51', 'write max_cost_usd', 'max_visits=4', 'max_visits=4, budget=5'],
  [
    'unknown-attribute',
    '6:51',
    'write allowed_write_paths',
    'max_visits=4',
    'max_visits=4, allowed_writes="src"',
  ],
  ['unknown-attribute', '11:16', 'write condition', 'fix [condition', 'fix [conditon'],
  ['unknown-attribute', '11:16', 'write condition', 'fix [condition', 'fix [when'],
  ['unknown-attribute', '2:3', 'write workdir', 'workdir', 'workdr'],
  ['attribute-value', '5:64', 'write timeout=1m', '"60s"', '"1 minute"'],
  ['attribute-value', '5:64', 'write timeout=90m', '"60s"', '"1h30m"'],
  ['attribute-value', '5:64', 'a duration such as', '"60s"', '"soon"'],
  ['attribute-value', '6:48', 'a whole number', 'max_visits=4', 'max_visits=four'],
  ['attribute-value', '8:31', 'write outcome=fail', 'outcome=fail]', 'outcome=failed]'],
  [
    'attribute-value',
    '6:61',
    'write goal_gate=true',
    'max_visits=4',
    'max_visits=4, goal_gate=yes, retry_target=test',
  ],
  ['attribute-value', '5:94', 'write network=off', 'max_retries=2', 'max_retries=2, network=of'],
  [
    'target-missing',
    '6:80',
    'write retry_target="test"',
    'max_visits=4',
    'max_visits=4, goal_gate=true, retry_target=tset',
  ],
  ['agent-unknown', '6:67', '"claude"', 'max_visits=4', 'max_visits=4, "agent.backend"=cluade'],
  ['empty-prompt', '6:3', 'prompt=', 'prompt="Fix it", ', ''],
  ['endless-cycle', '6:3', 'max_visits=5', ', max_visits=4', ''],
  // Commands and references.
  ['refused-command', '5:43', 'relative to the workspace', 'make test', 'cat /etc/hostname'],
  ['masked-failure', '5:44', 'shell="bash -eo pipefail"', 'make test', 'make test | tee log'],
  ['masked-failure', '5:44', 'shell="bash -eo pipefail"', 'make test', 'make test; echo done'],
  ['unknown-reference', '5:49', 'write ${var.name}', 'make test', 'echo ${var.nmae}'],
  ['shell-variable', '5:49', 'write ${var.name}', 'make test', 'echo ${name}'],
  ['shell-variable', '5:49', 'write ${var.name}', 'make test', 'echo $name'],
  ['shell-variable', '6:32', 'write ${var.name}', 'Fix it', 'Fix ${name}'],
  ['vars-syntax', '3:9', 'name=default', 'name=world', 'name:world'],
  // Conditions.
  ['condition-syntax', '10:35', 'write =', 'outcome=success', 'outcome==success'],
  ['condition-syntax', '10:36', 'write =', 'outcome=success', 'outcome is success'],
  ['condition-syntax', '10:28', 'write outcome=', 'outcome=success', 'outcome: success'],
  ['condition-syntax', '11:40', 'write &&', 'outcome=fail"', 'outcome=fail and failure_class=product"'],
  ['condition-syntax', '11:39', 'write &&', 'outcome=fail"', 'outcome=fail, failure_class=product"'],
  ['unknown-outcome', '10:36', 'write success', 'outcome=success', 'outcome=sucess'],
  ['condition-key', '11:27', 'write outcome', 'outcome=fail"', 'outcom=fail"'],
  ['condition-key', '11:27', 'write outcome=fail', 'outcome=fail"', 'fail"'],
  ['unknown-class', '11:57', 'write failure_class=product', '=fail"', '=fail && failure_class=produkt"'],
  ['unknown-class', '11:57', 'product, scenario', '=fail"', '=fail && failure_class=bug"'],
];

test.for(rows)('%s is the only finding, at %s, with the fix %s', ([code, place, fix, ...wrong]) => {
  const all = found(replaced(wrong));
  expect(all.map(([one, at]) => [one, at])).toEqual([[code, place]]);
  expect(all[0]?.[2]).toContain(fix);
});

test.for([
  ['a duration of seconds', '"60s"', '"60"', []],
  ['an alias', 'max_visits=4', 'max_visits=4, model="m"', []],
  ['a list whose first command only prepares', 'make test', 'cd src; make test', []],
  ['a duration without quotes', '"60s"', '60s', ['not-graphviz']],
  ['a comment after a statement', 'start -> test', 'start -> test # first', ['not-graphviz']],
  ['a condition without quotes', '"outcome=success"', 'outcome=success', ['not-graphviz']],
] as const)('%s is no mistake', ([, from, to, codes]) => {
  expect(found(replaced([from, to])).map(([code]) => code)).toEqual(codes);
});

test('a mistake whose consequences are errors is an error, another one a warning', () => {
  const severities = (...wrong: string[]) => findingsOf(replaced(wrong)).map(({ severity }) => severity);
  expect(severities('tool_command', 'tool_comand')).toEqual(['error']);
  expect(severities('max_retries', 'max_retry')).toEqual(['warning']);
});

test('mistakes that have nothing to do with each other are all reported', () => {
  const text = replaced([
    'promt="Fix it"'.replace('promt', 'prompt'),
    'promt="Fix it"',
    '=fail"]',
    '=fial"]',
    '60s',
    'soon',
  ]);
  expect(found(text).map(([code]) => code)).toEqual([
    'unknown-attribute',
    'unknown-outcome',
    'attribute-value',
  ]);
});

const files = { workdir: 'there', has: () => false } as const;
const codes = (text: string, options: Parameters<typeof findingsOf>[1]) =>
  findingsOf(text, options).map(({ code, severity }) => `${severity} ${code}`);

test('a missing workdir is an error of validate, and so is a prompt_file that nothing can write', () => {
  const workdir = replaced(['workdir="none"', 'workdir="nope"']);
  expect(codes(workdir, { files: { ...files, workdir: 'missing' } })).toEqual(['error workdir-missing']);
  const file = replaced(['prompt="Fix it"', 'prompt_file="fix.md"']);
  expect(codes(file, { files })).toEqual(['warning prompt-file-missing']);
  expect(codes(file, { files: { ...files, has: (path) => path === 'fix.md' } })).toEqual([]);
  expect(codes(file.replace('make test', 'sh write-prompt.sh'), { files })).toEqual([]);
  expect(codes(file.replace('make test', 'echo now > fix.md'), { files })).toEqual([]);
  expect(codes('digraph { start -> a -> exit; a [prompt_file="x.md"] }', { files })).toEqual([
    'error prompt-file-missing',
  ]);
});

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findingsOf } from '../support/graph.ts';
import { house } from '../support/house.ts';

test.for([
  ['command="true"', 'unknown-attribute', 'write tool_command'],
  ['cmd="true"', 'unknown-attribute', 'write tool_command'],
  ['label="x"', 'tool-command', 'give it tool_command="…", the shell text to run in the workspace'],
] as const)('a tool with %s and no tool_command is the error %s: %s', ([attribute, code, fix]) => {
  const text = `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]; a [type=tool, ${attribute}]; start -> a -> exit }`;
  expect(findingsOf(text)).toMatchObject([{ severity: 'error', code, fix }]);
});

const piped = (graph: string, node: string, command: string) =>
  `digraph g { workdir="none"; ${graph} start [shape=Mdiamond]; exit [shape=Msquare]; bad [shape=Msquare, outcome=fail]
    a [shape=parallelogram, ${node} tool_command="${command}"]
    start -> a; a -> exit [condition="outcome=success"]; a -> bad [condition="outcome=fail"] }`;

test.for([
  ['', '', 'false | cat; echo done', 'exit'],
  ['shell="bash -eo pipefail";', '', 'false | cat', 'bad'],
  ['shell="bash -eo pipefail";', '', 'echo a | cat; [[ -n $BASH_VERSION ]]', 'exit'],
  ['', 'shell="bash -e",', 'false; echo done', 'bad'],
  ['shell="bash -e";', 'shell=sh,', 'false; echo done', 'exit'],
  ['', 'shell="sh -e", max_file_size=1M,', 'false; echo done', 'bad'],
] as const)(
  'with %s on the graph and %s on the tool, %s ends at %s',
  async ([graph, node, command, exit]) => {
    await using it = await house({ 'p.dot': piped(graph, node, command) });
    const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
    expect(it.json('.factory/runs/r1/result.json').exit_node, ran.err).toBe(exit);
  },
);

/** A shell that is not installed here. */
const absent = ['mksh', 'zsh', 'ksh', 'ash'].find(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0,
);

test.for([
  ['shell="bash -eo pipefail",', 'cat ../x', 'rejected by guardrail', 'guardrail'],
  [`shell="${absent} -e",`, 'true', 'tool_exit_code_127', 'config'],
] as const)('with %s, %s fails: %s', async ([node, command, reason, of]) => {
  await using it = await house({ 'p.dot': piped('', node, command) });
  await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(it.json('.factory/runs/r1/a/status.json')).toMatchObject({
    failure_class: of,
    failure_reason: expect.stringContaining(reason),
  });
});

test.for([
  ['/bin/bash -e', 'write shell="bash -e": '],
  ['bash -c', 'shell takes a shell (sh, bash'],
  ['bash -s', 'shell takes'],
  ['bash --rcfile x', 'shell takes'],
  ['bash script.sh', 'shell takes'],
  ['python3', 'shell takes'],
] as const)('the shell %s is refused: %s', ([shell, fix]) => {
  expect(findingsOf(piped(`shell="${shell}";`, '', 'true'))).toMatchObject([
    { severity: 'error', code: 'attribute-value', fix: expect.stringContaining(fix) },
  ]);
});

test('a command that is too long with its values fails, and the reason names where to read them', async () => {
  await using it = await house({
    'p.dot': `digraph g { workdir="none"
      start [shape=Mdiamond]; exit [shape=Msquare]; bad [shape=Msquare, outcome=fail]
      big [shape=parallelogram, tool_command="node -p 'JSON.stringify({context_updates:{big:\\"y\\".repeat(200000)}})' > $FACTORY_OUTPUT"]
      a [shape=parallelogram, tool_command="printf %s \${ctx.big} | wc -c"]
      start -> big; big -> a; a -> exit [condition="outcome=success"]; a -> bad [condition="outcome=fail"] }`,
  });
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(ran.code).toBe(1);
  expect(it.json('.factory/runs/r1/a/status.json')).toMatchObject({
    failure_class: 'config',
    failure_reason: expect.stringContaining('$FACTORY_CONTEXT'),
  });
});

test.for([
  ['the last line of a long output', 'yes filler | head -c 300000; echo; echo all-done', 'done'],
  ['nothing', 'true', 'more'],
  ['something else', 'echo almost', 'more'],
] as const)('an edge is chosen by what a tool printed: %s', async ([, command, exit]) => {
  await using it = await house({
    'p.dot': `digraph g { workdir="none"
      start [shape=Mdiamond]; a [shape=parallelogram, tool_command="${command}"]
      done [shape=Msquare]; more [shape=Msquare]
      start -> a
      a -> done [condition="outcome=success && context.tool_stdout contains all-done && tool.output contains all-done"]
      a -> more [condition="outcome=success && !(tool.output contains all-done)"] }`,
  });
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(ran.code, ran.err + ran.out).toBe(0);
  expect(it.json('.factory/runs/r1/result.json').exit_node).toBe(exit);
});

test('what a tool writes to $FACTORY_STATE is there for the next tool, also after a failure, and an attempt starts from what is committed', async () => {
  const count = `node -e 'const fs=require("fs"), f=process.env.FACTORY_STATE; let s={n:0}; try{s=JSON.parse(fs.readFileSync(f))}catch{}; s.n++; fs.writeFileSync(f,JSON.stringify(s)); console.log(s.n); process.exit(s.n<2?1:0)'`;
  await using it = await house({
    'p.dot': `digraph g { workdir="none"
      start [shape=Mdiamond]; exit [shape=Msquare]
      a [shape=parallelogram, max_retries=2, retry_on=fail, retry_delay=1ms, tool_command="${count.replaceAll('"', '\\"')}"]
      b [shape=parallelogram, tool_command="${count.replaceAll('"', '\\"')}"]
      start -> a; a -> b; b -> exit }`,
  });
  const ran = await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
  expect(ran.code, ran.err).toBe(0);
  const at = (path: string) => readFileSync(join(it.path, '.factory/runs/r1', path), 'utf8');
  expect([at('a/tool.stdout.txt'), at('b/tool.stdout.txt')]).toEqual(['1\n', '2\n']);
  const states = at('journal.jsonl')
    .split('\n')
    .filter((line) => line.includes('"type":"Visit"'))
    .map((line) => JSON.parse(line).tool_state);
  expect(states).toEqual([undefined, { n: 1 }, { n: 2 }, undefined]);
});

test.for([
  ['no JSON', 'echo x', '$FACTORY_STATE is not JSON'],
  ['a list', 'echo []', '$FACTORY_STATE is not a JSON object'],
  [
    'too much',
    'node -p \'JSON.stringify({a:\\"y\\".repeat(1100000)})\'',
    '$FACTORY_STATE is larger than 1 MiB',
  ],
] as const)('%s in $FACTORY_STATE is a failure of class config', async ([, command, reason]) => {
  await using it = await house({
    'p.dot': `digraph g { workdir="none"
      start [shape=Mdiamond]; exit [shape=Msquare]
      a [shape=parallelogram, tool_command="${command} > $FACTORY_STATE"]
      start -> a; a -> exit [condition="outcome=success"] }`,
  });
  expect((await it.run('p.dot', { runId: 'r1', quiet: true, json: true })).code).toBe(1);
  expect(it.json('.factory/runs/r1/a/status.json')).toMatchObject({
    failure_class: 'config',
    failure_reason: expect.stringContaining(reason),
  });
});

const product = `import { writeFileSync } from 'node:fs';
writeFileSync(process.env.FACTORY_OUTPUT, JSON.stringify({ context_updates: { KEY: { commands: ['true'] } } }));
process.exit(Number(process.argv[2]));
`;

test.for([
  ['sets_plan=true, ', 'verification.plan', 0, 'success', ''],
  ['', 'verification.plan', 0, 'fail', 'config'],
  ['', 'verification.plan', 1, 'fail', 'config'],
  ['', 'my.plan', 0, 'fail', 'config'],
  ['', 'order.accept', 0, 'success', ''],
] as const)(
  'a tool with "%s" whose product sets %s and exits with %i is %s',
  async ([may, key, code, outcome, of]) => {
    const verify = `type=verification, verification.allowed_commands="@plan"`;
    await using it = await house({
      'w/product.mjs': product.replace('KEY', JSON.stringify(key)),
      'p.dot': `digraph g { workdir="w"
      start [shape=Mdiamond]; exit [shape=Msquare]; bad [shape=Msquare, outcome=fail]
      a [shape=parallelogram, ${may}tool_command="node product.mjs ${code}"]
      v [${verify}]; other [${verify}, verification.plan_context_key="my.plan"]
      start -> a; a -> v [condition="outcome=success"]; a -> bad [condition="failure_class=config"]; a -> other [condition="outcome=fail"]
      v -> exit; other -> exit }`,
    });
    await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
    const status = it.json('.factory/runs/r1/a/status.json');
    expect({ ...status, failure_class: status.failure_class ?? '' }).toMatchObject({
      outcome,
      failure_class: of,
    });
    if (outcome === 'fail') expect(status.failure_reason).toContain(`"${key}"`);
    if (outcome === 'fail') expect(status.failure_reason).toContain('add sets_plan=true to node "a"');
  },
);

test.for([
  ['node --test', 'a.test.mjs', 'export {};', '', 'fail', '0 tests ran'],
  ['npm test', 'a.test.mjs', 'process.exit(0);', '', 'fail', '0 tests ran'],
  ['npm test', 'a.test.mjs', 'process.exit(0);', 'allow_no_tests=true, ', 'success', ''],
  ['npm test > log.txt', 'a.test.mjs', 'process.exit(0);', '', 'success', ''],
  ['npm test', 'a.test.mjs', 'import { test } from "node:test"; test("adds", () => {});', '', 'success', ''],
  ['sh check.sh', 'test_a.py', 'import os\nos._exit(0)', '', 'fail', 'the output has no summary of unittest'],
  [
    'sh check.sh',
    'test_a.py',
    'import unittest\nclass T(unittest.TestCase):\n  def test_a(self): pass',
    '',
    'success',
    '',
  ],
  ['node a.test.mjs', 'a.test.mjs', 'process.exit(0);', '', 'success', ''],
] as const)(
  'a tool that runs %s with %s (%j, %j) is a %s',
  async ([command, file, text, accepts, outcome, why]) => {
    await using it = await house({
      'w/package.json': JSON.stringify({ scripts: { test: 'node --test' } }),
      'w/check.sh': 'set -e\npython3 -m unittest\n',
      [`w/${file}`]: text,
      'p.dot': `digraph g { workdir="w"; start [shape=Mdiamond]; exit [shape=Msquare]
      a [shape=parallelogram, ${accepts}tool_command="${command}"]; start -> a -> exit }`,
    });
    await it.run('p.dot', { runId: 'r1', quiet: true, json: true });
    const status = it.json('.factory/runs/r1/a/status.json');
    expect(status.outcome, JSON.stringify(status)).toBe(outcome);
    if (outcome === 'fail')
      expect(status).toMatchObject({
        failure_class: 'product',
        failure_reason: expect.stringContaining(why),
      });
    if (outcome === 'fail')
      expect(status.failure_reason).toContain('allow_no_tests=true on node "a" accepts that');
  },
);

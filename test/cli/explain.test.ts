/** `factory explain`: what an attribute, a node type or a code means. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';

async function explained(...words: readonly string[]) {
  await using it = await home({});
  const { code, stdout, stderr } = await it.factory(['explain', ...words]);
  return { code, out: stdout, err: stderr };
}

test('an attribute is explained for every element that reads it', async () => {
  const { code, out } = await explained('retry_target');
  expect(code).toBe(0);
  expect(out).toMatchInlineSnapshot(`
    "retry_target: attribute of the graph
      Where an unmet goal gate sends the run.
      value     the id of a node
      default   the run fails
      example   retry_target=name

    retry_target: attribute of every node
      Where the run goes while this goal gate is unmet.
      value     the id of a node
      default   retry_target of the graph, else the run fails
      example   a [retry_target=name]
    "
  `);
});

test.for([
  ['tool', /^tool: node type \(shape=parallelogram\)\n {2}Runs a shell command/],
  ['parallelogram', /^tool: node type/],
  ['unknown-type', /^unknown-type: error of factory validate\n {2}Every `type` exists/],
  ['E101', /^E101: finding of factory plan check\n/],
  ['script', /^tool_command: attribute of tool nodes\n/],
  ['house', /^stack\.manager_loop: node type \(shape=house\)/],
  ['provider', /^llm_provider: attribute of /],
  ['fontname', /^fontname: an attribute of Graphviz/],
  ['cwd', /without effect here: write codex\.workdir/],
] as const)('%s is explained', async ([word, text]) => {
  const { code, out, err } = await explained(word);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(text);
});

test('an unknown word is an error that names the nearest one', async () => {
  const { code, err } = await explained('max_retrys');
  expect(code).toBe(2);
  expect(err).toContain('did you mean "max_retries"?');
});

test('the meanings are JSON on request, and without a word all words are listed', async () => {
  const { out } = await explained('tool_command', '--json');
  expect(JSON.parse(out)).toMatchObject({
    meanings: [{ kind: 'attribute', name: 'tool_command', on: 'tool nodes', synonyms: ['script'] }],
  });
  const all = await explained();
  expect(all.out).toMatch(/^attributes of the graph\n/);
  expect(all.out).toContain('unknown-type');
});

const pipeline = `digraph t {
  default_timeout="5m"
  model_stylesheet="
    * { llm_model: claude-sonnet-4-5; llm_provider: anthropic; }
    .hard { model: claude-opus-4-6; reasoning_effort: high; }
  "
  start [shape=Mdiamond]; exit [shape=Msquare]
  node [max_retries=2]
  a [label=a, class="hard, x", allow_partial=true]
  b [shape=parallelogram, tool_command="true"]
  start -> a -> b -> exit
}`;

test('a node is explained: its agent, and each of its settings with who says it and where', async () => {
  await using it = await home({ 'p.dot': pipeline });
  const { code, stdout } = await it.factory([
    ...['explain', 'a', '--pipeline', 'p.dot', '--agent', 'codex', '--max-visits', '3'],
  ]);
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(0, 12).join('\n')).toMatchInlineSnapshot(`
    "a: codergen node, class hard, x (p.dot:9)
      agent: codex (the agent program, with its own login or key), by --agent
      model: its own default, not claude-opus-4-6: it has no models of that provider
      label                          a                  the node (p.dot:9)
      class                          hard, x            the node (p.dot:9)
      max_visits                     3                  --max-visits
      timeout                        5m                 default_timeout of the graph (p.dot:2)
      max_retries                    2                  node [ ] above it (p.dot:8)
      allow_partial                  true               the node (p.dot:9)
      llm_model                      claude-opus-4-6    rule .hard of the stylesheet (p.dot:5)
      llm_provider                   anthropic          rule * of the stylesheet (p.dot:4)
      reasoning_effort               high               rule .hard of the stylesheet (p.dot:5)"
  `);
});

test('the same is JSON on request, with the provider that has chosen the agent', async () => {
  await using it = await home({ 'p.dot': pipeline });
  const claude = join(it.path, 'claude');
  await writeFile(claude, '#!/bin/sh\n', { mode: 0o755 });
  const { stdout } = await it.factory(['explain', 'a', '--pipeline', 'p.dot', '--json'], {
    env: { PATH: `${it.path}:/usr/bin:/bin` },
  });
  const said = JSON.parse(stdout);
  expect(said).toMatchObject({
    ...{ node: 'a', type: 'codergen', place: 'p.dot:9', classes: ['hard', 'x'] },
    agent: { name: 'claude', by: 'llm_provider=anthropic', models: ['claude-opus-4-6'], withheld: [] },
  });
  expect(said.settings).toContainEqual({
    ...{ name: 'llm_model', value: 'claude-opus-4-6' },
    ...{ from: 'rule .hard of the stylesheet', place: 'p.dot:5' },
  });
});

test.for([
  [['explain', 'aa', '--pipeline', 'p.dot'], 'p.dot has no node "aa"'],
  [['explain', '--pipeline', 'p.dot'], '--pipeline explains one node'],
  [['explain', 'a', '--pipeline', 'q.dot'], 'there is no pipeline file'],
] as const)('%s is refused', async ([words, message]) => {
  await using it = await home({ 'p.dot': pipeline });
  const { code, stderr } = await it.factory([...words]);
  expect([code, stderr.includes(message)]).toEqual([2, true]);
});

/** `factory explain`: what an attribute, a node type or a code means. */
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
  ['component', /no handler here/],
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

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentAttributes } from '../../src/agents/index.ts';
import { strictScope } from '../../src/nodes/agent-attributes.ts';
import { graphOf } from '../support/graph.ts';

const pages = ['agents.md', 'codex.md', 'openai-tools.md']
  .map((name) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8'))
  .join('\n');

test.for(Object.keys(agentAttributes))('%s is documented', (name) => {
  // Three attributes are documented without their prefix.
  const short = name.replace(/^command\.(?=(?:prompt_via|response_via|response_format)$)/, '');
  expect(pages).toContain(`\`${short}\``);
});

const scope = (attributes: string) => {
  const graph = graphOf(`a [label=a, ${attributes}]`);
  const node = graph.nodes.get('a');
  if (node === undefined) throw new Error('no node');
  return strictScope(node, graph).map(({ code, severity }) => `${severity} ${code}`);
};

test.for(['', 'codex.workdir="."', 'codex.workdir="./"', 'codex.workdir=""', 'codex.add_dirs="./"'])(
  'a strict read scope with "%s" hides nothing, which is an error',
  (attributes) => {
    expect(scope(`codex.strict_read_scope=true, ${attributes}`)).toEqual(['error strict-read-scope']);
    expect(scope(`codex.strict_read_scope=false, ${attributes}`)).toEqual([]);
  },
);

test.for([
  'codex.workdir=app',
  'codex.add_dirs="docs,lib"',
  'codex.workdir="/abs/app"',
  'codex.workdir="./app"',
])('a strict read scope with %s is none', (attributes) => {
  expect(scope(`codex.strict_read_scope=true, ${attributes}`)).toEqual([]);
});

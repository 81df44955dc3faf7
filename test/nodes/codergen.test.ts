import { expect, test } from 'vitest';
import { strictScope } from '../../src/nodes/codergen.ts';
import { graphOf } from '../support/graph.ts';

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

/** Graphs with fan-outs for a test, from their edges. */
import { kinds } from '../../src/app/kinds.ts';
import { fanInType, fanOutType, type Graph } from '../../src/core/graph.ts';
import { forEachAttributes } from '../../src/core/settings/for-each.ts';
import { typed } from '../../src/core/settings/typing.ts';
import { readGraph } from '../../src/dot/read.ts';

const kind = (type: string, shape: string) => ({
  ...{ type, shapes: [shape], ids: [], attributes: forEachAttributes, does: '', executable: false },
});
const all = [kind(fanOutType, 'component'), kind(fanInType, 'tripleoctagon'), ...kinds];

const shapes: Readonly<Record<string, string>> = { f: 'component', j: 'tripleoctagon', x: 'Msquare' };

/** Ids that begin with f are fan-outs, those with j fan-ins, those with x exits; the others are plain nodes. `nodes`: attributes. */
export function forkedGraph(edges: string, nodes: Readonly<Record<string, string>> = {}): Graph {
  const ids = [...new Set(edges.replaceAll(/\[.*?\]/g, '').match(/\w+/g))];
  const declared = ids.map((id) => {
    const shape = id === 'start' ? 'Mdiamond' : (shapes[id[0] ?? ''] ?? 'box');
    return `${id} [shape=${shape}${nodes[id] === undefined ? '' : `, ${nodes[id]}`}]`;
  });
  const { graph, diagnostics } = readGraph('g.dot', `digraph g {\n${declared.join('\n')}\n${edges}\n}`);
  if (graph === undefined) throw new Error(`a test graph does not read: ${diagnostics[0]?.message}`);
  return typed(graph, all).graph;
}

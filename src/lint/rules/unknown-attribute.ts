/** An unknown attribute that is probably a misspelt known one. */
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { Attributes, Graph } from '../../model/graph.ts';
import { nearest } from '../../model/nearest.ts';
import { finding, type Rule } from '../rule.ts';
import { edgeAttributes, graphAttributes, unchecked } from '../words.ts';

type Meant = (key: string, known: ReadonlySet<string>) => string | undefined;

/** Defaults put one attribute on thousands of nodes and edges: the nearest known name is computed once. */
function meanings(): Meant {
  const found = new Map<ReadonlySet<string>, Map<string, string | undefined>>();
  return (key, known) => {
    const of = found.get(known) ?? new Map<string, string | undefined>();
    found.set(known, of);
    if (!of.has(key)) of.set(key, nearest(key, known));
    return of.get(key);
  };
}

function* unknown(
  graph: Graph,
  near: Meant,
  attrs: Attributes,
  own: ReadonlySet<string>,
  known: ReadonlySet<string>,
  perhaps = known,
): Generator<Diagnostic> {
  for (const { key, written, keySpan } of attrs.values()) {
    if (known.has(key) || unchecked.has(key)) continue;
    // Without an explicit kind, attributes of other kinds are suggested too: the shape may be missing.
    const meant = near(key, own) ?? near(key, perhaps);
    if (meant === undefined) continue;
    yield finding(graph, 'unknown-attribute', 'warning', {
      message: `the attribute "${written}" is unknown; the nearest is "${meant}"`,
      span: keySpan,
      fix: `write ${meant}`,
    });
  }
}

export const unknownAttribute: Rule = function* ({ graph, kinds, kindOf }) {
  const near = meanings();
  const ofGraph = new Set(Object.keys(graphAttributes));
  const ofEdges = new Set(Object.keys(edgeAttributes));
  // Nodes may have attributes of other kinds: a default for all nodes is written once.
  const ofNodes = new Set(kinds.flatMap((kind) => Object.keys(kind.attributes)));
  const ofKinds = new Map(kinds.map((kind) => [kind, new Set(Object.keys(kind.attributes))]));
  yield* unknown(graph, near, graph.attrs, ofGraph, ofGraph);
  for (const node of graph.nodes.values()) {
    const kind = kindOf.get(node.id);
    const own = (kind && ofKinds.get(kind)) ?? ofNodes;
    // Attributes of every kind are known; only the suggestions depend on the kind.
    const named = node.attrs.has('type') || node.attrs.has('shape');
    yield* unknown(graph, near, node.attrs, own, ofNodes, named ? own : ofNodes);
  }
  for (const edge of graph.edges) yield* unknown(graph, near, edge.attrs, ofEdges, ofEdges);
};

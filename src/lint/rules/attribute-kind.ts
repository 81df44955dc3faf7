/** An attribute does something on the node that carries it. */
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { Attribute, Graph, Node } from '../../model/graph.ts';
import { finding, type LintKind, type Rule } from '../rule.ts';
import { unchecked } from '../words.ts';

/** An attribute that only other kinds read, set on this very node: the shape or type was probably forgotten. A default
 *  for all nodes is written once, and is nobody's mistake. */
function* ofOthers(
  graph: Graph,
  node: Node,
  kind: LintKind,
  kinds: readonly LintKind[],
  shared: ReadonlySet<Attribute>,
): Generator<Diagnostic> {
  for (const attribute of node.attrs.values()) {
    const { key, written, keySpan } = attribute;
    if (kind.attributes[key] !== undefined || unchecked.has(key) || shared.has(attribute)) continue;
    const readers = kinds.filter((one) => one.attributes[key] !== undefined);
    const [reader] = readers;
    // What several kinds read says nothing about which of them was meant.
    if (reader === undefined || readers.length > 1) continue;
    const [shape] = reader.shapes;
    const say = shape === undefined ? `type=${reader.type}` : `shape=${shape}`;
    yield finding(graph, 'attribute-kind', 'warning', {
      message: `${written} has no effect on "${node.id}", a ${kind.type} node: only a ${reader.type} node reads it`,
      span: keySpan,
      fix: `if it is one, add ${say}; else remove ${written}`,
    });
  }
}

/** Attributes that stand on several nodes because they are defaults. */
function defaultsOf(graph: Graph): ReadonlySet<Attribute> {
  const once = new Set<Attribute>();
  const more = new Set<Attribute>();
  for (const { attrs } of graph.nodes.values())
    for (const attribute of attrs.values()) (once.has(attribute) ? more : once).add(attribute);
  return more;
}

export const attributeKind: Rule = function* ({ graph, kinds, kindOf }) {
  const shared = defaultsOf(graph);
  for (const node of graph.nodes.values()) {
    const kind = kindOf.get(node.id);
    if (kind !== undefined) yield* ofOthers(graph, node, kind, kinds, shared);
  }
};

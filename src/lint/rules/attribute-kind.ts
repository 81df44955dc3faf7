/** Every attribute has an effect on its node. */

import type { AttributeTable } from '../../model/attribute.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { Attribute, Attributes, Graph, Node } from '../../model/graph.ts';
import { finding, type LintKind, type Rule } from '../rule.ts';
import { edgeAttributes, graphAttributes, isDrawing, noEffectOf } from '../words.ts';

/** An attribute that only other kinds read, set on this node itself: the shape or type is probably missing. A default for
 *  all nodes is no mistake. */
function* ofOthers(
  graph: Graph,
  node: Node,
  kind: LintKind,
  kinds: readonly LintKind[],
  shared: ReadonlySet<Attribute>,
): Generator<Diagnostic> {
  for (const attribute of node.attrs.values()) {
    const { key, written, keySpan } = attribute;
    if (
      kind.attributes[key] !== undefined ||
      isDrawing(key) ||
      noEffectOf(key) !== undefined ||
      shared.has(attribute)
    )
      continue;
    const readers = kinds.filter((one) => one.attributes[key] !== undefined);
    const [reader] = readers;
    // If several kinds read it, the intended kind is unknown.
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

/** Attributes that several nodes have because they are defaults. */
function defaultsOf(graph: Graph): ReadonlySet<Attribute> {
  const once = new Set<Attribute>();
  const more = new Set<Attribute>();
  for (const { attrs } of graph.nodes.values())
    for (const attribute of attrs.values()) (once.has(attribute) ? more : once).add(attribute);
  return more;
}

/** Attributes of one kind of element, and how to write one of them. */
type Reader = {
  readonly keys: ReadonlySet<string>;
  readonly name: string;
  readonly say: (key: string) => string;
};

/** Values of Graphviz's graph attribute `model`; else `model` is a synonym of a node's llm_model. */
const layoutModels: ReadonlySet<string> = new Set(['circuit', 'subset', 'mds', 'shortpath']);

/** Attributes without effect where they are, but with effect elsewhere: brackets or a keyword are probably missing. */
function* misplaced(
  graph: Graph,
  attributes: Iterable<Attribute>,
  where: string,
  readers: readonly Reader[],
): Generator<Diagnostic> {
  for (const { key, written, keySpan, value } of attributes) {
    if (written === 'model' && layoutModels.has(value.text)) continue;
    const reader = readers.find(({ keys }) => keys.has(key));
    if (reader === undefined || isDrawing(key)) continue;
    yield finding(graph, 'attribute-kind', 'warning', {
      message: `${written} has no effect ${where}: only ${reader.name} reads it`,
      span: keySpan,
      fix: reader.say(key),
    });
  }
}

const keysOf = (table: AttributeTable): ReadonlySet<string> => new Set(Object.keys(table));
const without = (attrs: Attributes, keys: ReadonlySet<string>): readonly Attribute[] =>
  [...attrs.values()].filter(({ key }) => !keys.has(key));

function* ofElsewhere(
  graph: Graph,
  kinds: readonly LintKind[],
  shared: ReadonlySet<Attribute>,
): Generator<Diagnostic> {
  const ofGraph: Reader = {
    keys: keysOf(graphAttributes),
    name: 'the graph',
    say: (key) => `write ${key}=… on the graph itself, outside of every node and subgraph`,
  };
  const ofNodes: Reader = {
    keys: new Set(kinds.flatMap((kind) => Object.keys(kind.attributes))),
    name: 'a node',
    say: (key) =>
      Object.hasOwn(graphAttributes, `default_${key}`)
        ? `write it into the [ ] of a node, or default_${key}=… on the graph`
        : `write it into the [ ] of a node, or node [${key}=…] for all that follow`,
  };
  const ofEdges: Reader = {
    keys: keysOf(edgeAttributes),
    name: 'an edge',
    say: (key) => `write it into the [ ] of an edge: a -> b [${key}=…]`,
  };
  const readOnEdges = keysOf(edgeAttributes);
  yield* misplaced(graph, without(graph.attrs, ofGraph.keys), 'on the graph', [ofNodes, ofEdges]);
  yield* misplaced(graph, graph.ofSubgraphs, 'on a subgraph', [ofNodes, ofEdges, ofGraph]);
  const ofDefaults = new Set<Attribute>();
  for (const { id, attrs } of graph.nodes.values()) {
    const own = without(attrs, ofNodes.keys);
    for (const attribute of own) if (shared.has(attribute)) ofDefaults.add(attribute);
    const alone = own.filter((attribute) => !shared.has(attribute));
    yield* misplaced(graph, alone, `on the node "${id}"`, [ofEdges, ofGraph]);
  }
  yield* misplaced(graph, ofDefaults, 'on nodes', [ofEdges]);
  for (const { attrs } of graph.edges)
    yield* misplaced(graph, without(attrs, readOnEdges), 'on an edge', [ofNodes]);
}

export const attributeKind: Rule = function* ({ graph, kinds, kindOf }) {
  const shared = defaultsOf(graph);
  for (const node of graph.nodes.values()) {
    const kind = kindOf.get(node.id);
    if (kind !== undefined) yield* ofOthers(graph, node, kind, kinds, shared);
  }
  yield* ofElsewhere(graph, kinds, shared);
};

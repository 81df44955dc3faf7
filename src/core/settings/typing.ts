/** Turns the attribute text of a parsed graph into settings, once: what an element says itself, else what the stylesheet or the
 *  graph says for it, else the default. */
import type { CodeDescription } from '../diagnostic.ts';
import type { Fidelity } from '../fidelity.ts';
import { type Graph, isAgentType, type Node, type ParsedGraph, type ParsedNode } from '../graph.ts';
import { own } from '../json.ts';
import { kindOf, type Recognised } from '../pipeline.ts';
import { edgeAttributes, type GraphSettings, graphAttributes } from './graph.ts';
import { idleAttributes, idleCodes } from './idle.ts';
import type { Caps } from './limits.ts';
import { type NodeSettings, nodeAttributes } from './node.ts';
import { type Finding, withText } from './repair.ts';
import { type Stylesheet, stylesheetOf, stylesOf } from './stylesheet.ts';
import {
  type Attribute,
  type AttributeSpec,
  type Attributes,
  type AttributeTable,
  isBlank,
  type Read,
} from './types.ts';

/** A node type with its attributes. */
export type NodeType = Recognised & { readonly attributes: AttributeTable };

export type Typed<K extends NodeType = NodeType> = {
  readonly graph: Graph;
  readonly kinds: readonly K[];
  /** Invalid values, and attributes that nothing reads where they are. */
  readonly diagnostics: readonly Finding[];
  /** Attributes with an invalid value: their settings are as if the text were silent. */
  readonly invalid: ReadonlySet<Attribute>;
};

type Values = Record<string, unknown>;

/** Where a setting comes from. */
type Source = 'node' | 'sheet' | 'flag' | 'graph' | 'default';

/** Settings inherit from each other, a node's from the graph's, those from the defaults. Of the shared levels, where they come
 *  from. */
const sources = new WeakMap<object, Source>();

const over = (base: object | null, values: Values): Values =>
  Object.assign(Object.create(base) as Values, values);

const level = (base: object | null, source: Source, values: Values): Values => {
  const settings = over(base, values);
  sources.set(settings, source);
  return settings;
};

/** Who has set this setting of a node or a graph. */
export function sourceOf(settings: object, key: string): Source {
  for (let at: object | null = settings; at !== null; at = Object.getPrototypeOf(at) as object | null)
    if (Object.hasOwn(at, key)) return sources.get(at) ?? 'node';
  return 'default';
}

/** The graph as a run with these flags executes it. */
export function withFlags(
  graph: Graph,
  {
    max_visits,
    command_timeout: timeout,
    fidelity,
  }: Pick<Caps, 'max_visits' | 'command_timeout'> & { readonly fidelity?: Fidelity | undefined },
): Graph {
  if (max_visits === undefined && timeout === undefined && fidelity === undefined) return graph;
  // The stylesheet is the author's word about single nodes, as with models.
  const ofCalls = ({ settings }: Node) => ({
    ...(timeout === undefined ? {} : { timeout }),
    ...(fidelity === undefined || sourceOf(settings, 'fidelity') === 'sheet' ? {} : { fidelity }),
  });
  const flagged = (node: Node): Node => {
    const inherited = Object.getPrototypeOf(node.settings) as object;
    const base = level(inherited, 'flag', isAgentType(node.type) ? ofCalls(node) : {});
    const own = over(base, { ...node.settings });
    const settings = max_visits === undefined ? own : level(own, 'flag', { max_visits });
    return { ...node, settings: settings as NodeSettings };
  };
  const flags = { max_visits, command_timeout: timeout, fidelity };
  return {
    ...graph,
    nodes: new Map([...graph.nodes].map(([id, node]) => [id, flagged(node)])),
    ...(graph.children === undefined
      ? {}
      : { children: new Map([...graph.children].map(([id, child]) => [id, withFlags(child, flags)])) }),
  };
}

/** The graph with other values of some of its settings. A spread of them would lose what they inherit. */
export const withGraphSettings = (graph: Graph, values: Partial<Graph['settings']>): Graph => ({
  ...graph,
  settings: over(graph.settings, values) as Graph['settings'],
});

/** The node with other values of some of its settings, where they differ. */
export function withNodeSettings(node: Node, values: Partial<NodeSettings>): Node {
  const { settings } = node;
  const changed = Object.entries(values).filter(([key, value]) => own(settings, key) !== value);
  if (changed.length === 0) return node;
  const inherited = Object.getPrototypeOf(settings) as object;
  return {
    ...node,
    settings: over(inherited, { ...settings, ...Object.fromEntries(changed) }) as NodeSettings,
  };
}

/** The codes of what the typing finds. */
export const typingCodes: readonly CodeDescription[] = [
  {
    code: 'attribute-value',
    severity: 'error',
    rule: "Every value has its attribute's type.",
    wrong: 'start; exit; a [label=a, max_retries=two]; start -> a -> exit',
    fix: '`max_retries=2`',
  },
  ...idleCodes,
];

/** The graph with its settings, and everything that is wrong with its attributes. Pure. */
export function typed<K extends NodeType>(parsed: ParsedGraph, kinds: readonly K[]): Typed<K> {
  const reader = readerOf(parsed.file);
  const defaults = level(null, 'default', defaultsOf(graphAttributes));
  const ofGraph = level(defaults, 'graph', reader.values(parsed.attrs, graphAttributes));
  for (const edge of parsed.edges) reader.values(edge.attrs, edgeAttributes);
  const bases = new Map<K | undefined, Values>();
  const baseOf = (kind: K | undefined): Values => {
    const known = bases.get(kind) ?? baseFor({ ...nodeAttributes, ...kind?.attributes }, ofGraph);
    bases.set(kind, known);
    return known;
  };
  const sheet = stylesheetOf(parsed.attrs);
  const nodes = new Map<string, Node>();
  const typeOf = new Map<ParsedNode, K | undefined>();
  for (const node of parsed.nodes.values()) {
    const kind = kindOf(node, kinds);
    typeOf.set(node, kind);
    const base = baseOf(kind);
    const values = kind === undefined ? {} : reader.values(node.attrs, kind.attributes, base);
    const styled =
      sheet === undefined || kind === undefined ? {} : styledValues(sheet, node, kind.attributes);
    const inherited = Object.keys(styled).length === 0 ? base : level(base, 'sheet', styled);
    const settings = over(inherited, values) as NodeSettings;
    nodes.set(node.id, { ...node, type: kind?.type ?? '', settings });
  }
  return {
    graph: { ...parsed, nodes, settings: ofGraph as GraphSettings },
    kinds,
    diagnostics: [...reader.found, ...idleAttributes(parsed, kinds, (node) => typeOf.get(node))],
    invalid: reader.invalid,
  };
}

/** What the stylesheet of the graph says for a node; lint reports invalid values. */
const styledValues = (sheet: Stylesheet, node: ParsedNode, table: AttributeTable): Values =>
  Object.fromEntries(
    [...stylesOf(sheet, node)].flatMap(([key, { property }]) => {
      const read = own(table, key)?.read({ kind: 'string', text: property.value });
      return read?.ok === true ? [[key, read.value]] : [];
    }),
  );

const defaultsOf = (table: AttributeTable): Values =>
  Object.fromEntries(Object.entries(table).map(([key, { otherwise }]) => [key, otherwise]));

/** What the nodes of one type have where their text is silent. */
function baseFor(table: AttributeTable, ofGraph: Values): Values {
  const inherited = Object.entries(table).flatMap(([key, { graph = '' }]) =>
    Object.hasOwn(ofGraph, graph) ? [[key, ofGraph[graph]] as const] : [],
  );
  return level(level(null, 'default', defaultsOf(table)), 'graph', Object.fromEntries(inherited));
}

/** The settings of a node of this type of which the text says nothing, with these values. */
export const settingsOfGraph = (graph: Graph, kind: NodeType, values: Partial<NodeSettings>): NodeSettings =>
  over(
    baseFor({ ...nodeAttributes, ...kind.attributes }, graph.settings as unknown as Values),
    values,
  ) as NodeSettings;

/** Reads each attribute once, also where it is a default of many nodes. */
function readerOf(file: string) {
  const found: Finding[] = [];
  const invalid = new Set<Attribute>();
  const known = new Map<Attribute, { readonly spec: AttributeSpec; readonly read: Read<unknown> }>();
  const read = (attribute: Attribute, spec: AttributeSpec): Read<unknown> => {
    const before = known.get(attribute);
    if (before?.spec === spec) return before.read;
    const now = spec.read(attribute.value);
    known.set(attribute, { spec, read: now });
    if (!now.ok) {
      invalid.add(attribute);
      for (const why of [now.why, ...(now.also ?? [])])
        found.push(badValue(file, attribute, { why, wants: spec.wants, meant: now.meant }));
    }
    return now;
  };
  return {
    found,
    invalid,
    /** The valid values of the attributes of `table`; lists join those of `base`. */
    values(attrs: Attributes, table: AttributeTable, base: Values = {}): Values {
      const values: Values = {};
      // An element has few attributes, a table has many.
      for (const [key, attribute] of attrs) {
        const spec = own(table, key);
        if (spec === undefined || isBlank(attribute)) continue;
        const got = read(attribute, spec);
        if (!got.ok) continue;
        const joins = spec.joined === true && Array.isArray(base[key]) && Array.isArray(got.value);
        values[key] = joins ? [...(base[key] as unknown[]), ...(got.value as unknown[])] : got.value;
      }
      return values;
    },
  };
}

function badValue(
  file: string,
  attribute: Attribute,
  { why, wants, meant }: { readonly why: string; readonly wants: string; readonly meant: string | undefined },
): Finding {
  const { written, value, valueSpan } = attribute;
  const shown = value.text.length > 60 ? `${value.text.slice(0, 60)}…` : value.text;
  const quoted = /^\w+$/.test(meant ?? '') ? meant : `"${meant}"`;
  return {
    code: 'attribute-value',
    severity: 'error',
    message: why.startsWith('"') ? `${written}: ${why}` : `${written} "${shown}" ${why}`,
    place: { file, span: valueSpan },
    fix: `${meant === undefined ? '' : `write ${written}=${quoted}: `}${written} takes ${wants}`,
    ...(meant === undefined ? {} : { repairs: [{ attribute, instead: withText(attribute, meant) }] }),
  };
}

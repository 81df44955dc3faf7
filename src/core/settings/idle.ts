/** Attributes that have no effect where they are: misspelt ones, those of other implementations of the language, and those that
 *  only another element or node type reads. */
import type { CodeDescription } from '../diagnostic.ts';
import type { ParsedGraph, ParsedNode } from '../graph.ts';
import { isHumanGate } from '../human-gate.ts';
import { nearest } from '../nearest.ts';
import { inputPrefixes } from './calls.ts';
import { isDrawing, noEffectOf } from './foreign.ts';
import { edgeAttributes, graphAttributes } from './graph.ts';
import type { Finding, Repair } from './repair.ts';
import type { Attribute, Attributes, AttributeTable } from './types.ts';
import type { NodeType } from './typing.ts';

export const idleCodes: readonly CodeDescription[] = [
  {
    code: 'attribute-kind',
    severity: 'warning',
    rule: 'Every attribute has an effect where it is: it is on a node of its kind, not on the graph, a subgraph or an edge instead of a node, nor on a node instead of the graph.',
    wrong: 'start; exit; a [label=a, tool_command=x]; start -> a -> exit',
    fix: '`shape=parallelogram`, or remove it',
  },
  {
    code: 'no-effect',
    severity: 'warning',
    rule: 'No attribute of other implementations is set where nothing reads it (an error with `--strict`).',
    wrong: 'start; exit; a [label=a, context_keys=stop]; start -> a -> exit',
    fix: 'remove it',
  },
  {
    code: 'unknown-attribute',
    severity: 'warning',
    rule: 'Every attribute is known (an error with `--strict`).',
    wrong: 'start; exit; a [label=a, max_retris=1]; start -> a -> exit',
    fix: '`max_retries=1`',
  },
];

/** An element, as messages name it, and the attributes that are read there. */
type Where = { readonly on: string; readonly known: ReadonlySet<string>; readonly attrs: Attributes };
/** Elements that read an attribute, and how to write one for them. */
type Reader = {
  readonly keys: ReadonlySet<string>;
  readonly name: string;
  readonly say: (key: string) => string;
};

const keysOf = (...tables: readonly AttributeTable[]): ReadonlySet<string> =>
  new Set(tables.flatMap((table) => Object.keys(table)));
const keysOfGraph = keysOf(graphAttributes);
const keysOfEdges = keysOf(edgeAttributes);
/** Values of Graphviz's graph attribute `model`; else `model` is a synonym of a node's llm_model. */
const layoutModels: ReadonlySet<string> = new Set(['circuit', 'subset', 'mds', 'shortpath']);

const onGraph: Reader = {
  keys: keysOfGraph,
  name: 'the graph',
  say: (key) => `write ${key}=… on the graph itself, outside of every node and subgraph`,
};
const onEdges: Reader = {
  keys: keysOfEdges,
  name: 'an edge',
  say: (key) => `write it into the [ ] of an edge: a -> b [${key}=…]`,
};
const onNodes = (keys: ReadonlySet<string>): Reader => ({
  keys,
  name: 'a node',
  say: (key) =>
    keysOfGraph.has(`default_${key}`)
      ? `write it into the [ ] of a node, or default_${key}=… on the graph`
      : `write it into the [ ] of a node, or node [${key}=…] for all that follow`,
});

export const idleAttributes = <K extends NodeType>(
  graph: ParsedGraph,
  kinds: readonly K[],
  kindOf: (node: ParsedNode) => K | undefined,
): readonly Finding[] => new IdleSearch(graph, kinds, kindOf).findings();

class IdleSearch<K extends NodeType> {
  private readonly found: Finding[] = [];
  private readonly ofNodes: Reader;
  private readonly ofKinds: ReadonlyMap<K, ReadonlySet<string>>;
  private readonly everywhere: ReadonlySet<string>;
  private readonly shared: ReadonlySet<Attribute>;
  /** The uses of attributes that no element reads, by their names. */
  private readonly unread = new Map<string, { readonly attribute: Attribute; readonly where: Where }[]>();

  constructor(
    private readonly graph: ParsedGraph,
    private readonly kinds: readonly K[],
    private readonly kindOf: (node: ParsedNode) => K | undefined,
  ) {
    this.ofNodes = onNodes(keysOf(...kinds.map(({ attributes }) => attributes)));
    this.ofKinds = new Map(kinds.map((kind) => [kind, keysOf(kind.attributes)]));
    this.everywhere = new Set([...keysOfGraph, ...keysOfEdges, ...this.ofNodes.keys]);
    this.shared = defaultsOf(graph);
  }

  findings(): readonly Finding[] {
    const { graph, ofNodes } = this;
    for (const attribute of graph.attrs.values())
      if (
        !keysOfGraph.has(attribute.key) &&
        this.isRead(attribute, { on: 'the graph', known: keysOfGraph, attrs: graph.attrs })
      )
        this.misplaced(attribute, 'on the graph', [ofNodes, onEdges]);
    for (const attribute of graph.ofSubgraphs)
      this.misplaced(attribute, 'on a subgraph', [ofNodes, onEdges, onGraph]);
    for (const node of graph.nodes.values()) this.onNode(node);
    for (const edge of graph.edges)
      for (const attribute of edge.attrs.values()) {
        const where = { on: `${edge.from} -> ${edge.to}`, known: keysOfEdges, attrs: edge.attrs };
        if (!keysOfEdges.has(attribute.key) && this.isRead(attribute, where))
          this.misplaced(attribute, 'on an edge', [ofNodes]);
      }
    for (const [name, uses] of this.unread) this.report(name, uses);
    return this.found;
  }

  private onNode(node: ParsedNode): void {
    const { ofNodes, ofKinds, shared } = this;
    const kind = this.kindOf(node);
    const ofKind = kind === undefined ? undefined : ofKinds.get(kind);
    // Without an explicit type, attributes of other types are suggested too: the shape may be missing.
    const named = node.attrs.has('type') || node.attrs.has('shape');
    const where = {
      on: `"${node.id}"`,
      known: (named ? ofKind : undefined) ?? ofNodes.keys,
      attrs: node.attrs,
    };
    // The names of inputs are those of the called pipeline.
    const isInput = ({ key }: Attribute): boolean =>
      ofKind?.has('returns') === true && inputPrefixes.some((prefix) => key.startsWith(prefix));
    for (const attribute of node.attrs.values()) {
      if (ofKind?.has(attribute.key) === true || isInput(attribute) || !this.isRead(attribute, where))
        continue;
      const isElsewhere = !ofNodes.keys.has(attribute.key);
      if (isElsewhere && shared.has(attribute)) this.misplaced(attribute, 'on nodes', [onEdges]);
      else if (isElsewhere) this.misplaced(attribute, `on the node "${node.id}"`, [onEdges, onGraph]);
      else if (kind !== undefined && !shared.has(attribute)) this.ofOtherType(attribute, node, kind);
    }
  }

  /** An attribute that only other elements read: brackets or a keyword are probably missing. */
  private misplaced(attribute: Attribute, where: string, readers: readonly Reader[]): void {
    const { key, written, value } = attribute;
    if (isDrawing(key) || (written === 'model' && layoutModels.has(value.text))) return;
    const reader = readers.find(({ keys }) => keys.has(key));
    if (reader === undefined) return;
    const message = `${written} has no effect ${where}: only ${reader.name} reads it`;
    this.add('attribute-kind', message, attribute, reader.say(key));
  }

  /** An attribute that only another node type reads, set on this node itself: the shape or type is probably missing. If
   *  several types read it, the intended one is unknown. */
  private ofOtherType(attribute: Attribute, node: ParsedNode, { type, shapes }: K): void {
    const { id } = node;
    const { key, written } = attribute;
    const all = this.kinds.filter((kind) => this.ofKinds.get(kind)?.has(key) === true);
    // A gate reads some attributes of agents, and a single call most; without their shapes they are rarely meant.
    const [reader, another] =
      all.length > 1 ? all.filter((kind) => !isHumanGate(kind) && kind.type !== 'prompt') : all;
    if (isDrawing(key) || reader === undefined || another !== undefined) return;
    const [shape] = reader.shapes;
    const say = shape === undefined ? `type=${reader.type}` : `shape=${shape}`;
    const only = `only a ${reader.type} node reads it`;
    if (node.attrs.get('shape')?.value.text.trim() === shape) {
      // A box called start, exit or end is the node that its id names.
      const message = `${written} has no effect on "${id}", which its id makes the ${type} node, whatever this shape: ${only}`;
      const fix = `give the ${reader.type} node another id, or remove ${written} and write shape=${shapes[0]}`;
      this.add('attribute-kind', message, attribute, fix);
      return;
    }
    const message = `${written} has no effect on "${id}", a ${type} node: ${only}`;
    const fix = `if it is one, add ${say}; else remove ${written}`;
    const repairs = shape === undefined || node.attrs.has('type') ? [] : [{ node: id, shape }];
    this.add('attribute-kind', message, attribute, fix, repairs);
  }

  /** Whether any element reads the attribute; if none does, it is reported once by its name. */
  private isRead(attribute: Attribute, where: Where): boolean {
    const { key, written } = attribute;
    if (this.everywhere.has(key)) return true;
    // Syntax that is refused already: `(shape=box)`.
    if (/^[^\w"]/.test(written)) return false;
    // `class` is an attribute of Graphviz on graphs and edges, and one of the pipeline language on nodes.
    if (isDrawing(key) && !(key === 'class' && where.on.startsWith('"'))) return false;
    const uses = this.unread.get(written);
    if (uses === undefined) this.unread.set(written, [{ attribute, where }]);
    else uses.push({ attribute, where });
    return false;
  }

  private report(
    name: string,
    uses: readonly { readonly attribute: Attribute; readonly where: Where }[],
  ): void {
    const [first] = uses;
    if (first === undefined) return;
    const { attribute, where } = first;
    const on = onlyFew([...new Set(uses.map((use) => use.where.on))]);
    const instead = noEffectOf(attribute.key);
    if (instead !== undefined) {
      const message = `the attribute "${name}" has no effect here (on ${on})`;
      this.add('no-effect', message, attribute, instead || 'remove it');
      return;
    }
    const meant = meantBy(attribute.key, where.known);
    const near = meant === undefined ? '' : `; the nearest is "${meant}"`;
    const message = `the attribute "${name}" is unknown${near} (on ${on})`;
    // Twice in one list it would be an error.
    const isWritten = uses.some(({ where: { known, attrs } }) => {
      const there = attrs.get(meantBy(attribute.key, known) ?? '');
      return there !== undefined && there.byDefault !== true;
    });
    const repairs = uses.flatMap((use): Repair[] => {
      const key = meantBy(attribute.key, use.where.known);
      return key === undefined || isWritten
        ? []
        : [{ attribute: use.attribute, instead: { ...use.attribute, key } }];
    });
    const fix = isWritten
      ? `remove it, or the ${meant ?? attribute.key} that is there too`
      : meant === undefined
        ? 'remove it'
        : `write ${meant}`;
    this.add('unknown-attribute', message, attribute, fix, repairs);
  }

  private add(
    code: string,
    message: string,
    { keySpan }: Attribute,
    fix: string,
    repairs: readonly Repair[] = [],
  ): void {
    const place = { file: this.graph.file, span: keySpan };
    this.found.push({ code, severity: 'warning', message, place, fix, repairs });
  }
}

/** Attributes that several nodes have because they are defaults. */
function defaultsOf(graph: ParsedGraph): ReadonlySet<Attribute> {
  const once = new Set<Attribute>();
  const more = new Set<Attribute>();
  for (const { attrs } of graph.nodes.values())
    for (const attribute of attrs.values()) (once.has(attribute) ? more : once).add(attribute);
  return more;
}

/** What other tools call our attributes. */
const elsewhere: ReadonlyMap<string, string> = new Map(
  Object.entries({
    tool_command: 'command cmd run exec bash execute shell_command',
    prompt: 'instructions instruction message task text ask question',
    condition: 'if when cond on guard',
    max_retries: 'attempts max_attempts tries max_tries',
    max_visits: 'max_iterations iterations max_loops loops max_runs limit',
    max_cost_usd: 'budget cost cost_limit price_limit max_usd budget_usd',
    max_tokens: 'token_limit tokens',
    timeout: 'time_limit deadline max_time',
    allowed_write_paths: 'write_paths writable writes files paths allow_write',
    response_file: 'output output_file out outfile',
    workdir: 'dir directory folder working_directory repo root',
  }).flatMap(([key, words]) => words.split(' ').map((word) => [word, key] as const)),
);

/** The nearest known name, else one that contains it: `retries` for `max_retries`. */
function meantBy(key: string, known: ReadonlySet<string>): string | undefined {
  const place = elsewhere.get(key.toLowerCase());
  if (place !== undefined && known.has(place)) return place;
  const near = nearest(key, known);
  if (near !== undefined || key.length < 5) return near;
  const stem = key.replace(/(?:ies|es|s|y)$/, '');
  return [key, stem].flatMap((part) => [...known].filter((name) => name.includes(part)))[0];
}

const onlyFew = (names: readonly string[]): string =>
  names.length <= 4 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`;

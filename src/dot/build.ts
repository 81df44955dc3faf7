/** Builds a `ParsedGraph` from syntax trees: defaults in scope order, subgraphs flattened, chains as single edges. */
import { type EdgeCondition, parseCondition } from '../core/conditions.ts';
import type { Span } from '../core/diagnostic.ts';
import type { Edge, ParsedGraph, ParsedNode } from '../core/graph.ts';
import {
  type Attribute,
  type Attributes,
  durationMs,
  flag,
  integer,
  present,
  type Value,
} from '../core/settings/types.ts';
import type { BadText, Range } from './lex.ts';
import { literalText, type Positions } from './literals.ts';
import { type Piece, rangeOf, type SyntaxTree } from './parse.ts';
import type { Rewritten } from './prepass.ts';

// One line with two big subgraphs could otherwise exhaust the memory.
const mostEdges = 1_000_000;
const idForm = /^[A-Za-z_][A-Za-z0-9_]*$/;

type Attrs = Map<string, Attribute>;
type ScopeState = {
  readonly parent: ScopeState | undefined;
  readonly nodeDefaults: Attrs;
  readonly edgeDefaults: Attrs;
  label: string;
};
type Draft = {
  readonly id: string;
  attrs: Attrs;
  /** The place of its declaration, else of its first mention. */
  place: Range;
  readonly first: Range;
  declared: boolean;
  scopes: Set<ScopeState>;
};

/** A subgraph's label as a class: lower case, blanks become `-`, other characters are dropped. */
const subgraphClass = (label: string): string =>
  label
    .toLowerCase()
    .replace(/\s/g, '-')
    .replace(/[^a-z0-9-]/g, '');

type Classes = Map<ScopeState, readonly string[]>;

/** The classes of a scope, outermost first; the graph's own label is a title, not a class. */
function classesWithin(scope: ScopeState, known: Classes): readonly string[] {
  const inward: ScopeState[] = [];
  for (let at = scope; at.parent !== undefined && !known.has(at); at = at.parent) inward.push(at);
  let classes = known.get(inward.at(-1)?.parent ?? scope) ?? [];
  for (let at = inward.pop(); at !== undefined; at = inward.pop()) {
    const name = subgraphClass(at.label);
    // Scopes without a label share the list of their parent.
    if (name !== '' && !classes.includes(name)) classes = [...classes, name];
    known.set(at, classes);
  }
  return classes;
}

function classesOf(scopes: Iterable<ScopeState>, known: Classes): readonly string[] {
  const found = new Set<string>();
  const reported = new Set<readonly string[]>();
  for (const scope of scopes) {
    const classes = classesWithin(scope, known);
    if (reported.has(classes)) continue;
    reported.add(classes);
    for (const name of classes) found.add(name);
  }
  return [...found];
}

/** An edge's condition; lint reports text that does not parse. */
function conditionOf(text: string, known: Map<string, EdgeCondition | undefined>): EdgeCondition | undefined {
  if (text === '') return undefined;
  if (!known.has(text)) {
    const read = parseCondition(text);
    known.set(text, 'condition' in read ? read.condition : undefined);
  }
  return known.get(text);
}

export type DotSource = { readonly file: string; readonly text: string; readonly positions: Positions };

/** Builds the graph from statements in the author's order; `header` is the graph's name or the word digraph. `bad` lists
 *  everything that is refused. */
export function build(
  source: DotSource,
  header: NonNullable<Rewritten['header']>,
  pieces: Iterable<Piece>,
  notGraphviz: readonly Range[],
): { readonly graph: ParsedGraph; readonly bad: readonly BadText[] } {
  const builder = new Builder(source);
  const root: ScopeState = { parent: undefined, nodeDefaults: new Map(), edgeDefaults: new Map(), label: '' };
  for (const { base, trees } of pieces) builder.add(trees, base, root);
  return { graph: builder.graph(header, notGraphviz), bad: builder.bad };
}

const givenTwice = ({ written }: Attribute, first: Attribute) => ({
  code: 'duplicate-attribute',
  message:
    written === first.written
      ? `"${written}" is given twice here`
      : `"${written}" and "${first.written}" are the same attribute, given twice here`,
  fix: 'keep one of them',
});

type End = { readonly ids: readonly string[]; readonly place: Range };
type Literal = Parameters<typeof rangeOf>[1];

class Builder {
  readonly bad: BadText[] = [];
  private readonly graphAttrs: Attrs = new Map();
  private readonly drafts = new Map<string, Draft>();
  private readonly edges: Edge[] = [];
  private readonly ofSubgraphs: Attribute[] = [];
  /** Nodes that have a declaration with attributes, and the further ones. */
  private readonly described = new Set<string>();
  private readonly declaredTwice: { readonly id: string; readonly span: Span }[] = [];
  private readonly conditions = new Map<string, EdgeCondition | undefined>();
  private full = false;
  /** Ids that are reported, once each. */
  private readonly badIds = new Set<string>();

  constructor(private readonly source: DotSource) {}

  add(trees: readonly SyntaxTree[], base: number, scope: ScopeState): void {
    for (const tree of trees) {
      if (tree.type === 'Subgraph') {
        const { nodeDefaults, edgeDefaults } = scope;
        this.add(tree.children, base, {
          parent: scope,
          nodeDefaults: new Map(nodeDefaults),
          edgeDefaults: new Map(edgeDefaults),
          label: '',
        });
      } else if (tree.type === 'Attribute') this.set([this.attribute(tree, base)], scope);
      else if (tree.type === 'AttributeList') {
        const attrs = this.attributes(tree.children, base);
        if (tree.kind === 'Graph') this.set(attrs, scope);
        else {
          const defaults = tree.kind === 'Node' ? scope.nodeDefaults : scope.edgeDefaults;
          for (const one of attrs) defaults.set(one.key, { ...one, byDefault: true });
        }
      } else if (tree.type === 'Node')
        this.declare(rangeOf(base, tree.id), this.attributes(tree.children, base), scope);
      else if (tree.type === 'Edge') {
        const attrs = new Map(scope.edgeDefaults);
        for (const one of this.attributes(tree.children, base)) attrs.set(one.key, one);
        const ends = tree.targets.map((target): End => {
          const place = rangeOf(base, target);
          if (target.type === 'NodeRef')
            return { place, ids: [this.mention(rangeOf(base, target.id), scope)] };
          return { place, ids: target.children.map(({ id }) => this.declare(rangeOf(base, id), [], scope)) };
        });
        this.connect(ends, attrs);
      }
    }
  }

  graph(header: NonNullable<Rewritten['header']>, notGraphviz: readonly Range[]): ParsedGraph {
    const { file, text, positions } = this.source;
    const classes: Classes = new Map();
    const nodes = new Map<string, ParsedNode>();
    for (const draft of [...this.drafts.values()].sort((a, b) => a.first.start - b.first.start)) {
      nodes.set(draft.id, {
        id: draft.id,
        attrs: draft.attrs,
        classes: classesOf(draft.scopes, classes),
        span: positions.span(draft.place.start, draft.place.end),
        declared: draft.declared,
      });
    }
    return {
      file,
      text,
      name: header.isName ? literalText(text, header) : '',
      attrs: this.graphAttrs,
      nodes,
      edges: this.edges,
      ofSubgraphs: this.ofSubgraphs,
      declaredTwice: this.declaredTwice,
      notGraphviz: notGraphviz.map(({ start, end }) => positions.span(start, end)),
      span: positions.span(header.start, header.end),
    };
  }

  private spanOf({ start, end }: Range): Span {
    return this.source.positions.span(start, end);
  }

  private attribute(
    { key, value }: { readonly key: Literal; readonly value: Literal },
    base: number,
  ): Attribute {
    return attributeOf(this.source.text, rangeOf(base, key), rangeOf(base, value), this.source.positions);
  }

  /** The attributes of one statement. A name given twice there is refused: one of the values would be lost silently. */
  private attributes(trees: readonly SyntaxTree[], base: number): readonly Attribute[] {
    const found = new Map<string, Attribute>();
    for (const tree of trees) {
      if (tree.type !== 'Attribute') continue;
      const one = this.attribute(tree, base);
      const first = found.get(one.key);
      if (first === undefined) found.set(one.key, one);
      else this.bad.push({ ...rangeOf(base, tree.key), ...givenTwice(one, first) });
    }
    return [...found.values()];
  }

  /** Sets attributes of the graph, or of a subgraph, where only the label is used. */
  private set(attrs: readonly Attribute[], scope: ScopeState): void {
    for (const one of attrs) {
      if (scope.parent === undefined) this.graphAttrs.set(one.key, one);
      else if (one.key === 'label') scope.label = one.value.text;
      else this.ofSubgraphs.push(one);
    }
  }

  private idAt(place: Range): string {
    const id = literalText(this.source.text, place);
    if (!idForm.test(id) && !this.badIds.has(id)) {
      this.badIds.add(id);
      this.bad.push({
        ...place,
        code: 'bad-id',
        message: `"${id.length > 40 ? `${id.slice(0, 40)}…` : id}" is not a node id`,
        fix: 'an id is made of letters, digits and _, and does not begin with a digit',
      });
    }
    return id;
  }

  /** A node mentioned by an edge: it belongs to the scope of its first mention until it is declared. */
  private mention(place: Range, scope: ScopeState): string {
    const id = this.idAt(place);
    if (!this.drafts.has(id)) {
      const attrs = new Map(scope.nodeDefaults);
      this.drafts.set(id, { id, attrs, place, first: place, declared: false, scopes: new Set([scope]) });
    }
    return id;
  }

  private declare(place: Range, own: readonly Attribute[], scope: ScopeState): string {
    const id = this.idAt(place);
    let draft = this.drafts.get(id);
    if (draft === undefined || !draft.declared) {
      const attrs = new Map(scope.nodeDefaults);
      draft = { id, attrs, place, first: draft?.first ?? place, declared: true, scopes: new Set() };
      this.drafts.set(id, draft);
    }
    for (const one of own) draft.attrs.set(one.key, one);
    if (own.length > 0) {
      if (this.described.has(id)) this.declaredTwice.push({ id, span: this.spanOf(place) });
      this.described.add(id);
    }
    draft.scopes.add(scope);
    return id;
  }

  private connect(ends: readonly End[], attrs: Attributes): void {
    const text = present(attrs, 'condition')?.value.text ?? '';
    const weight = present(attrs, 'weight');
    const read = weight === undefined ? undefined : integer().read(weight.value);
    const restart = present(attrs, 'loop_restart');
    const restarts = restart === undefined ? undefined : flag().read(restart.value);
    const condition = conditionOf(text, this.conditions);
    const shared = {
      attrs,
      label: attrs.get('label')?.value.text ?? '',
      weight: read?.ok === true ? read.value : 0,
      ...(restarts?.ok === true && restarts.value ? { restarts: true as const } : {}),
      conditionText: text,
      ...(condition === undefined ? {} : { condition }),
    };
    for (const [i, to] of ends.entries()) {
      const from = ends[i - 1];
      if (from === undefined || this.full) continue;
      this.full = this.edges.length + from.ids.length * to.ids.length > mostEdges;
      if (this.full)
        this.bad.push({
          ...from.place,
          code: 'too-many-edges',
          message: `the graph has more than ${mostEdges} edges`,
          fix: 'split the pipeline',
        });
      else {
        const span = this.source.positions.span(from.place.start, to.place.end);
        for (const a of from.ids)
          for (const b of to.ids) this.edges.push({ from: a, to: b, ...shared, span });
      }
    }
  }
}

/* Canonical names and typed values of attributes. */

/** Synonyms of attribute names that other pipelines use. */
export const synonyms: Readonly<Record<string, string>> = {
  node_type: 'type',
  script: 'tool_command',
  llm_prompt: 'prompt',
  model: 'llm_model',
  provider: 'llm_provider',
  max_node_visits: 'max_visits',
  agent: 'agent.backend',
  default_max_retry: 'default_max_retries',
  context_thread_default: 'default_thread',
  context_fidelity_default: 'default_fidelity',
  default_choice: 'human.default_choice',
  human_default_choice: 'human.default_choice',
  human_timeout_seconds: 'human.timeout',
  join_k: 'k',
  quorum_ratio: 'quorum_fraction',
};

const float = /^[+-]?(\d+\.\d*|\.\d+|\d+)(e[+-]?\d+)?$/i;

/** The value of an unquoted word. Everything except booleans, numbers and durations is a string (`nan`, `inf`, `0x1f`). */
export function bareValue(text: string): Value {
  if (text === 'true' || text === 'false') return { kind: 'boolean', text, value: text === 'true' };
  const ms = durationMs(text);
  if (ms !== undefined) return { kind: 'duration', text, ms };
  if (/^[+-]?\d+$/.test(text)) return { kind: 'integer', text, value: Number(text) };
  if (float.test(text) && Number.isFinite(Number(text))) return { kind: 'float', text, value: Number(text) };
  return { kind: 'string', text };
}

/** One `key=value` from the text, under its canonical name. */
function attributeOf(text: string, key: Range, value: Range, positions: Positions): Attribute {
  const written = literalText(text, key);
  const literal = literalText(text, value);
  const quoted = text[value.start] === '"';
  return {
    key: Object.hasOwn(synonyms, written) ? (synonyms[written] ?? written) : written,
    written,
    value: quoted ? { kind: 'string', text: literal } : bareValue(literal),
    quoted,
    keySpan: positions.span(key.start, key.end),
    valueSpan: positions.span(value.start, value.end),
  };
}

/** Syntax trees to a `Graph`: defaults in scope order, subgraphs flattened, chains as single edges. */

import { integer, present } from '../model/attribute.ts';
import type { Condition } from '../model/condition.ts';
import type { Attribute, Attributes, Edge, Graph, Node } from '../model/graph.ts';
import { parseCondition } from './condition.ts';
import type { Outline, Scope } from './dialect.ts';
import type { BadText, Token } from './lex.ts';
import type { Parsed, Tree, Trees } from './parse.ts';
import type { Positions } from './positions.ts';
import { attributeOf } from './value.ts';

// A product of two big subgraphs could otherwise fill the memory from one line of text.
const mostEdges = 1_000_000;
const idForm = /^[A-Za-z_][A-Za-z0-9_]*$/;

type Attrs = Map<string, Attribute>;
type ScopeState = {
  readonly parent: ScopeState | undefined;
  readonly nodeDefaults: Attrs;
  readonly edgeDefaults: Attrs;
  label: string;
  /** Nodes that stand in it, and the scopes inside, in order. */
  readonly members: Set<string>;
  readonly inner: ScopeState[];
};
type Draft = {
  readonly id: string;
  attrs: Attrs;
  /** The token that declared it, else the first that named it. */
  token: Token;
  readonly first: Token;
  declared: boolean;
  scopes: Set<ScopeState>;
};

/** A subgraph's label as a class: lower case, blanks to `-`, the rest dropped. */
export const classOf = (label: string): string =>
  label
    .toLowerCase()
    .replace(/\s/g, '-')
    .replace(/[^a-z0-9-]/g, '');

/** Of a subgraph that stands at an end of an edge, and so is closed: the members of those inside become its own, and
 *  the next one around it does not look into them again. */
function membersOf(scope: ScopeState): readonly string[] {
  const open = scope.inner.splice(0).reverse();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const id of next.members) scope.members.add(id);
    for (let i = next.inner.length - 1; i >= 0; i--) {
      const inner = next.inner[i];
      if (inner !== undefined) open.push(inner);
    }
  }
  return [...scope.members];
}

type Classes = Map<ScopeState, readonly string[]>;

/** The classes that a scope gives, the outermost first; the graph's own label is a title, not a class. */
function classesWithin(scope: ScopeState, known: Classes): readonly string[] {
  const inward: ScopeState[] = [];
  for (let at = scope; at.parent !== undefined && !known.has(at); at = at.parent) inward.push(at);
  let classes = known.get(inward.at(-1)?.parent ?? scope) ?? [];
  for (let at = inward.pop(); at !== undefined; at = inward.pop()) {
    const name = classOf(at.label);
    // Scopes without a label of their own share one list, however deep they lie.
    if (name !== '' && !classes.includes(name)) classes = [...classes, name];
    known.set(at, classes);
  }
  return classes;
}

function classesOf(scopes: Iterable<ScopeState>, known: Classes): readonly string[] {
  const found = new Set<string>();
  const told = new Set<readonly string[]>();
  for (const scope of scopes) {
    const classes = classesWithin(scope, known);
    if (told.has(classes)) continue;
    told.add(classes);
    for (const name of classes) found.add(name);
  }
  return [...found];
}

/** An edge's condition; a text that does not parse is left to lint, which says where it fails. */
function conditionOf(text: string, known: Map<string, Condition | undefined>): Condition | undefined {
  if (text === '') return undefined;
  if (!known.has(text)) {
    const read = parseCondition(text);
    known.set(text, 'condition' in read ? read.condition : undefined);
  }
  return known.get(text);
}

export type Source = { readonly file: string; readonly text: string; readonly positions: Positions };

/** Builds the graph of statements in the author's order. Everything refused on the way is in `bad`. */
export function build(
  source: Source,
  header: NonNullable<Outline['header']>,
  items: Outline['items'],
  trees: Pick<Trees, 'get'>,
): { readonly graph: Graph; readonly bad: readonly BadText[] } {
  const { positions } = source;
  const bad: BadText[] = [];
  const states = new Map<Scope, ScopeState>();
  const byBrace = new Map<Token, ScopeState>();
  const graphAttrs: Attrs = new Map();
  const drafts = new Map<string, Draft>();
  const edges: Edge[] = [];
  const ofSubgraphs: Attribute[] = [];
  const conditions = new Map<string, Condition | undefined>();
  let full = false;

  const stateOf = (scope: Scope): ScopeState => {
    const known = states.get(scope);
    if (known !== undefined) return known;
    const parent = scope.parent === undefined ? undefined : stateOf(scope.parent);
    const state: ScopeState = {
      parent,
      nodeDefaults: new Map(parent?.nodeDefaults),
      edgeDefaults: new Map(parent?.edgeDefaults),
      label: '',
      members: new Set(),
      inner: [],
    };
    parent?.inner.push(state);
    states.set(scope, state);
    byBrace.set(scope.open, state);
    return state;
  };

  const readAttrs = (children: Tree['children'], token: Parsed['token'], into: Attrs): void => {
    for (const child of children) {
      if (child.type !== 'Attribute') continue;
      const attribute = attributeOf(token(child.key), token(child.value), positions);
      into.set(attribute.key, attribute);
    }
  };

  const idOf = (token: Token): string => {
    if (!idForm.test(token.text))
      bad.push({
        code: 'bad-id',
        message: `"${token.text.length > 40 ? `${token.text.slice(0, 40)}…` : token.text}" is no node id`,
        start: token.start,
        end: token.end,
        fix: 'an id is made of letters, digits and _, and does not begin with a digit',
      });
    return token.text;
  };

  /** A node that an edge names: it stands in the scope of its first mention until it is declared. */
  const mention = (token: Token, state: ScopeState): string => {
    const id = idOf(token);
    state.members.add(id);
    if (!drafts.has(id)) {
      const attrs = new Map(state.nodeDefaults);
      drafts.set(id, { id, attrs, token, first: token, declared: false, scopes: new Set([state]) });
    }
    return id;
  };

  const declare = (token: Token, own: Attrs, state: ScopeState): void => {
    const id = idOf(token);
    state.members.add(id);
    let draft = drafts.get(id);
    if (draft === undefined || !draft.declared) {
      const attrs = new Map(state.nodeDefaults);
      draft = { id, attrs, token, first: draft?.first ?? token, declared: true, scopes: new Set() };
      // Setting an existing key keeps the order of first mention.
      drafts.set(id, draft);
    }
    for (const [key, attribute] of own) draft.attrs.set(key, attribute);
    draft.scopes.add(state);
  };

  const connect = (ends: readonly { ids: readonly string[]; token: Token }[], attrs: Attributes): void => {
    const text = present(attrs, 'condition')?.value.text ?? '';
    const weight = present(attrs, 'weight');
    const read = weight === undefined ? undefined : integer().read(weight.value);
    const condition = conditionOf(text, conditions);
    const shared = {
      attrs,
      label: attrs.get('label')?.value.text ?? '',
      weight: read?.ok === true ? read.value : 0,
      conditionText: text,
      ...(condition === undefined ? {} : { condition }),
    };
    for (let i = 1; i < ends.length; i++) {
      const from = ends[i - 1];
      const to = ends[i];
      if (from === undefined || to === undefined) continue;
      if (edges.length + from.ids.length * to.ids.length > mostEdges) {
        if (!full)
          bad.push({
            code: 'too-many-edges',
            message: `the graph has more than ${mostEdges} edges`,
            start: from.token.start,
            end: from.token.end,
            fix: 'split the pipeline',
          });
        full = true;
        return;
      }
      const span = positions.span(from.token.start, to.token.end);
      for (const a of from.ids) for (const b of to.ids) edges.push({ from: a, to: b, ...shared, span });
    }
  };

  for (const item of items) {
    const state = stateOf(item.scope);
    if (item.kind === 'open') continue;
    const one = trees.get(item);
    if (one === undefined) continue;
    const { tree, token } = one;
    switch (tree.type) {
      case 'Attribute': {
        const attribute = attributeOf(token(tree.key), token(tree.value), positions);
        if (state.parent === undefined) graphAttrs.set(attribute.key, attribute);
        else if (attribute.key === 'label') state.label = attribute.value.text;
        else ofSubgraphs.push(attribute);
        break;
      }
      case 'AttributeList': {
        const into: Attrs =
          tree.kind === 'Node'
            ? state.nodeDefaults
            : tree.kind === 'Edge'
              ? state.edgeDefaults
              : state.parent === undefined
                ? graphAttrs
                : new Map();
        readAttrs(tree.children, token, into);
        if (tree.kind === 'Graph' && state.parent !== undefined) {
          state.label = into.get('label')?.value.text ?? state.label;
          ofSubgraphs.push(...[...into.values()].filter(({ key }) => key !== 'label'));
        }
        break;
      }
      case 'Node': {
        const own: Attrs = new Map();
        readAttrs(tree.children, token, own);
        declare(token(tree.id), own, state);
        break;
      }
      case 'Edge': {
        const attrs: Attrs = new Map(state.edgeDefaults);
        readAttrs(tree.children, token, attrs);
        const ends = tree.targets.flatMap((target) => {
          if (target.type !== 'NodeRef') return [];
          const at = token(target.id);
          const group = at.kind === '{' ? byBrace.get(at) : undefined;
          if (group === undefined) return [{ token: at, ids: [mention(at, state)] }];
          return [{ token: at, ids: full ? [] : membersOf(group) }];
        });
        connect(ends, attrs);
        break;
      }
    }
  }

  const classes: Classes = new Map();
  const nodes = new Map<string, Node>();
  for (const draft of [...drafts.values()].sort((a, b) => a.first.start - b.first.start)) {
    nodes.set(draft.id, {
      id: draft.id,
      attrs: draft.attrs,
      classes: classesOf(draft.scopes, classes),
      span: positions.span(draft.token.start, draft.token.end),
      declared: draft.declared,
    });
  }
  const graph: Graph = {
    file: source.file,
    text: source.text,
    name: header.name,
    attrs: graphAttrs,
    nodes,
    edges,
    ofSubgraphs,
    span: positions.span(header.token.start, header.token.end),
  };
  return { graph, bad };
}

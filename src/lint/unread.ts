/** Attributes that nothing reads: misspelt ones, and those of other implementations of the language. Each name is reported once. */
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Attribute } from '../model/graph.ts';
import { nearest } from '../model/nearest.ts';
import { finding, type Subject } from './rule.ts';
import { edgeAttributes, graphAttributes, isDrawing, noEffectOf } from './words.ts';

/** An attribute on one element, as messages name the element, and the attributes that are read there. */
type Use = { readonly attribute: Attribute; readonly on: string; readonly known: ReadonlySet<string> };

function* usesOf({ graph, kinds, kindOf }: Subject): Generator<Use> {
  const ofGraph = new Set(Object.keys(graphAttributes));
  const ofEdges = new Set(Object.keys(edgeAttributes));
  const ofNodes = new Set(kinds.flatMap((kind) => Object.keys(kind.attributes)));
  const ofKinds = new Map(kinds.map((kind) => [kind, new Set(Object.keys(kind.attributes))]));
  for (const attribute of graph.attrs.values()) yield { attribute, on: 'the graph', known: ofGraph };
  for (const node of graph.nodes.values()) {
    const kind = kindOf.get(node.id);
    // Without an explicit kind, attributes of other kinds are suggested too: the shape may be missing.
    const named = node.attrs.has('type') || node.attrs.has('shape');
    const known = (named && kind !== undefined ? ofKinds.get(kind) : undefined) ?? ofNodes;
    for (const attribute of node.attrs.values()) yield { attribute, on: `"${node.id}"`, known };
  }
  for (const edge of graph.edges)
    for (const attribute of edge.attrs.values())
      yield { attribute, on: `${edge.from} -> ${edge.to}`, known: ofEdges };
}

/** The names that something reads somewhere: `attribute-kind` reports those that are in the wrong place. */
const readSomewhere = ({ kinds }: Subject): ReadonlySet<string> =>
  new Set([
    ...Object.keys(graphAttributes),
    ...Object.keys(edgeAttributes),
    ...kinds.flatMap((kind) => Object.keys(kind.attributes)),
  ]);

/** `class` is an attribute of Graphviz on graphs and edges, and one of the pipeline language on nodes. */
const isIgnored = ({ attribute: { key }, on }: Use): boolean =>
  isDrawing(key) && !(key === 'class' && on.startsWith('"'));

/** The findings about attributes of the language without effect here, or about unknown ones. */
export function* unread(subject: Subject, code: 'no-effect' | 'unknown-attribute'): Generator<Diagnostic> {
  const read = readSomewhere(subject);
  const byName = new Map<string, Use[]>();
  for (const use of usesOf(subject)) {
    const { key, written } = use.attribute;
    if (use.known.has(key) || read.has(key) || isIgnored(use)) continue;
    if ((noEffectOf(key) === undefined) !== (code === 'unknown-attribute')) continue;
    const uses = byName.get(written);
    if (uses === undefined) byName.set(written, [use]);
    else uses.push(use);
  }
  for (const [name, uses] of byName) yield* reportOf(subject, name, uses);
}

function* reportOf({ graph, options }: Subject, name: string, uses: readonly Use[]): Generator<Diagnostic> {
  const [first] = uses;
  if (first === undefined) return;
  const instead = noEffectOf(first.attribute.key);
  const meant = instead === undefined ? meantBy(first) : undefined;
  const where = onlyFew([...new Set(uses.map(({ on }) => on))]);
  yield finding(
    graph,
    instead === undefined ? 'unknown-attribute' : 'no-effect',
    options.strict === true ? 'error' : 'warning',
    {
      message:
        instead === undefined
          ? `the attribute "${name}" is unknown${meant === undefined ? '' : `; the nearest is "${meant}"`} (on ${where})`
          : `the attribute "${name}" has no effect here (on ${where})`,
      span: first.attribute.keySpan,
      fix: instead || (meant === undefined ? 'remove it' : `write ${meant}`),
    },
  );
}

/** The nearest known name, else one that contains it: `retries` for `max_retries`. */
function meantBy({ attribute: { key }, known }: Use): string | undefined {
  const near = nearest(key, known);
  if (near !== undefined || key.length < 5) return near;
  const stem = key.replace(/(?:ies|es|s|y)$/, '');
  return [key, stem].flatMap((part) => [...known].filter((name) => name.includes(part)))[0];
}

const onlyFew = (names: readonly string[]): string =>
  names.length <= 4 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`;

/** What a repair of the graph is in the author's text. */
import type { Diagnostic, TextEdit } from '../core/diagnostic.ts';
import type { Edge, ParsedGraph } from '../core/graph.ts';
import type { Repair } from '../core/settings/repair.ts';
import type { Attribute } from '../core/settings/types.ts';
import { positionsIn, spanInValue } from '../dot/literals.ts';
import { mentionsIn } from '../dot/mentions.ts';
import { isGraphvizWord, rewrite } from '../dot/prepass.ts';

/** Names and words that are misspelt have one right form. Edges and shapes that are missing are for the author to choose. */
export function editsOf(
  graph: ParsedGraph,
  repairs: readonly Repair[],
): Pick<Diagnostic, 'edits' | 'sure'> | undefined {
  const made = repairs.map((repair) => editOf(graph, repair));
  const edits = made.flatMap((one) => one ?? []);
  if (edits.length === 0 || made.includes(undefined)) return undefined;
  const isSure = repairs.every((repair) => 'attribute' in repair || 'id' in repair);
  return isSure ? { edits, sure: true } : { edits };
}

/** Undefined where the text has no one place for it, or it is the author's choice. */
function editOf(graph: ParsedGraph, repair: Repair): readonly TextEdit[] | undefined {
  if ('attribute' in repair) return repair.isPlaceholder === true ? undefined : attributeEdits(graph, repair);
  if ('id' in repair) return mentionEdits(graph, repair);
  if ('node' in repair) return shapeEdits(graph, repair);
  return repair.edge === undefined ? addedEdge(graph, repair.instead) : turnedEdge(graph, repair);
}

/** A value in the notation of the text: in quotes where Graphviz requires them. */
export const dotWord = (value: string): string =>
  isGraphvizWord(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;

const inString = (value: string): string => value.replace(/["\\]/g, '\\$&');

function attributeEdits(
  graph: ParsedGraph,
  { attribute, instead }: { readonly attribute: Attribute; readonly instead: Attribute },
): readonly TextEdit[] {
  if (attribute.key !== instead.key) return [{ span: attribute.keySpan, text: dotWord(instead.key) }];
  return [valueEdit(graph, attribute, instead.value.text)];
}

/** Gives an attribute another value: in a string only the words change that are others. */
export function valueEdit(graph: Pick<ParsedGraph, 'text'>, attribute: Attribute, value: string): TextEdit {
  if (!attribute.quoted) return { span: attribute.valueSpan, text: dotWord(value) };
  const { at, length, text } = changedWords(attribute.value.text, value);
  return { span: spanInValue(graph, attribute, at, length), text: inString(text) };
}

/** The part of a value that changes, as whole words. */
function changedWords(before: string, after: string) {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const isWord = (character = ''): boolean => /[\w.-]/.test(character);
  const changed = before.slice(head, before.length - tail) + after.slice(head, after.length - tail);
  if ([...changed].every(isWord)) {
    while (head > 0 && isWord(before[head - 1])) head--;
    while (tail > 0 && isWord(before.at(-tail))) tail--;
  }
  const length = before.length - tail - head;
  return { at: head, length, text: after.slice(head, after.length - tail) };
}

function mentionEdits(
  graph: ParsedGraph,
  { id, meant }: { readonly id: string; readonly meant: string },
): readonly TextEdit[] {
  const positions = positionsIn(graph);
  return mentionsIn(graph.text)
    .filter((one) => one.id === id)
    .map(({ start, end }) => ({ span: positions.span(start, end), text: meant }));
}

function shapeEdits(
  graph: ParsedGraph,
  { node: id, shape }: { readonly node: string; readonly shape: string },
): readonly TextEdit[] | undefined {
  const node = graph.nodes.get(id);
  const written = node?.attrs.get('shape');
  if (node === undefined || written?.byDefault === true) return undefined;
  if (written !== undefined) return [{ span: written.valueSpan, text: shape }];
  if (!node.declared) return undefined;
  const at = positionsIn(graph).at(node.span.end.offset);
  const list = /^\s*\[/.exec(graph.text.slice(at.offset))?.[0];
  if (list === undefined) return [{ span: { start: at, end: at }, text: ` [shape=${shape}]` }];
  const inside = positionsIn(graph).at(at.offset + list.length);
  const isEmpty = /^\s*\]/.test(graph.text.slice(inside.offset));
  return [{ span: { start: inside, end: inside }, text: `shape=${shape}${isEmpty ? '' : ', '}` }];
}

/** In a separate line behind the last statement with an edge that leaves the same node, else behind that of the node; in its line
 *  where more follows there. */
function addedEdge(
  graph: ParsedGraph,
  { from, to, conditionText, span }: Edge,
): readonly TextEdit[] | undefined {
  const { text } = graph;
  const { offset } = (graph.edges.findLast((edge) => edge.from === from)?.span ?? span).end;
  const statement = rewrite(text).statements.find(({ start, end }) => start <= offset && offset <= end);
  if (statement === undefined) return undefined;
  const edge = `${from} -> ${to}${conditionText === '' ? '' : ` [condition="${inString(conditionText)}"]`}`;
  const rest = /^[^\n\r]*/.exec(text.slice(statement.end))?.[0] ?? '';
  const isLast = /^[\s;]*(?:(?:\/\/|#).*)?$/.test(rest);
  const at = positionsIn(graph).at(statement.end + (isLast ? rest.length : 0));
  const indent = /(?:^|[\n\r])([ \t]*)[^\n\r]*$/.exec(text.slice(0, statement.start))?.[1] ?? '';
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return [{ span: { start: at, end: at }, text: isLast ? `${eol}${indent}${edge}` : `; ${edge}` }];
}

/** Where the hop is written as two ids with an arrow between them. */
function turnedEdge(
  graph: ParsedGraph,
  { edge, instead }: { readonly edge?: Edge; readonly instead: Edge },
): readonly TextEdit[] | undefined {
  if (edge === undefined) return undefined;
  const { start, end } = edge.span;
  const isPlain = /^(\w+)\s*->\s*(\w+)$/.test(graph.text.slice(start.offset, end.offset));
  return isPlain ? [{ span: edge.span, text: `${instead.from} -> ${instead.to}` }] : undefined;
}

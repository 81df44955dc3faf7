/** The value of a quoted literal, and the author's character for each character of the value. */
import type { Position, Span } from '../core/diagnostic.ts';
import type { ParsedGraph, ParsedNode } from '../core/graph.ts';
import { stylesheetOf, stylesOf } from '../core/settings/stylesheet.ts';
import type { Attribute } from '../core/settings/types.ts';
import { endOfString, type Range, skipBlank } from './lex.ts';

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '"': '"', '\\': '\\' };

/** The text of one quoted string. `copied` is called for every segment: the value from `value` on equals the author's
 *  text from `source` on, up to the next segment. */
function textOfString(
  text: string,
  start: number,
  end: number,
  copied: (value: number, source: number) => unknown,
): string {
  let value = '';
  let from = start + 1;
  const keep = (to: number) => {
    if (to > from) copied(value.length, from);
    value += text.slice(from, to);
  };
  for (const { 0: written, index } of text.slice(from, end - 1).matchAll(/\\(?:\r\n|[\s\S])|\r\n?/g)) {
    const at = start + 1 + index;
    // Every line of a value ends with `\n`, whatever editor wrote the file: a shell would take `\r` for a part of the last
    // word. A backslash at the end of a line joins it to the next one.
    const meant = written.startsWith('\r') ? '\n' : /[\n\r]/.test(written) ? '' : escapes[written.slice(1)];
    if (meant === undefined) continue;
    keep(at);
    if (meant !== '') copied(value.length, at);
    value += meant;
    from = at + written.length;
  }
  keep(end - 1);
  return value;
}

/** The value of a literal; segment `i` begins at `values[i]` in the value and at `sources[i]` in the author's text. */
type Stretches = {
  readonly value: string;
  readonly values: readonly number[];
  readonly sources: readonly number[];
};

/** The segments of a quoted literal, which may be several strings joined by `+`. */
function stretchesOf(text: string, { start, end }: Range): Stretches {
  const values: number[] = [];
  const sources: number[] = [];
  let value = '';
  const add = (within: number, source: number) => {
    values.push(value.length + within);
    sources.push(source);
  };
  for (let at = start; at < end; ) {
    const next = skipBlank(text, at);
    if (next > at) at = next;
    else if (text[at] === '"') {
      const stop = endOfString(text, at) ?? end;
      value += textOfString(text, at, stop, add);
      at = stop;
    } else at++;
  }
  add(0, end - 1);
  return { value, values, sources };
}

/** The value of the literal between two offsets. */
export const literalText = (text: string, range: Range): string =>
  text[range.start] === '"' ? stretchesOf(text, range).value : text.slice(range.start, range.end);

// One long prompt may have many findings; it is parsed once.
const kept = new WeakMap<Attribute, Stretches>();

/** The place in the author's text of `length` characters of an attribute's value, from `at` on. */
export function spanInValue(
  graph: Pick<ParsedGraph, 'text'>,
  attribute: Attribute,
  at: number,
  length: number,
): Span {
  const positions = positionsIn(graph);
  const start = attribute.valueSpan.start.offset;
  const end = attribute.valueSpan.end.offset;
  if (!attribute.quoted) {
    const from = Math.min(start + at, end);
    return positions.span(from, Math.min(from + length, end));
  }
  const parts = kept.get(attribute) ?? stretchesOf(graph.text, { start, end });
  kept.set(attribute, parts);
  const source = (offset: number): number => {
    const i = Math.max(lastUpTo(parts.values, offset), 0);
    return Math.min((parts.sources[i] ?? start) + offset - (parts.values[i] ?? 0), end);
  };
  const from = source(at);
  // The end is that of the last character, so that no span includes a closing quote.
  const to = length > 0 ? source(at + length - 1) + 1 : from;
  const escaped = length > 0 && graph.text[to - 1] === '\\' && source(at + length) > to ? to + 1 : to;
  return positions.span(from, Math.min(escaped, end));
}

/** The place of the value that the stylesheet gives an attribute of a node; undefined where it gives none. */
export function spanOfStyle(graph: ParsedGraph, node: ParsedNode, key: string): Span | undefined {
  const sheet = stylesheetOf(graph.attrs);
  const place = sheet && stylesOf(sheet, node).get(key)?.property.valuePlace;
  return place && spanInValue(graph, sheet.attribute, place.at, place.length);
}

/** Converts offsets of a text to lines and columns. */
export type Positions = {
  /** The position of `offset`; offsets outside of the text become its nearest end. */
  at(offset: number): Position;
  span(start: number, end: number): Span;
};

/** Index of the last entry of an ascending list that is not above `wanted`; -1 if there is none. */
function lastUpTo(list: readonly number[], value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Lines end with `\n`, `\r\n` or a lone `\r`. A byte order mark has no column, as in editors. */
export function positionsOf(text: string): Positions {
  const lines = [text.startsWith('\uFEFF') ? 1 : 0];
  for (const newline of text.matchAll(/\r\n|\n|\r/g)) lines.push(newline.index + newline[0].length);
  // Columns count characters: a surrogate pair is one.
  const pairs = [...text.matchAll(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)].map((pair) => pair.index + 1);

  const at = (index: number): Position => {
    const offset = Math.min(Math.max(index, 0), text.length);
    const line = Math.max(lastUpTo(lines, offset), 0);
    const start = lines[line] ?? 0;
    const paired = pairs.length === 0 ? 0 : lastUpTo(pairs, offset - 1) - lastUpTo(pairs, start - 1);
    return { offset, line: line + 1, column: Math.max(offset - start - paired, 0) + 1 };
  };
  return { at, span: (start, end) => ({ start: at(start), end: at(Math.max(start, end)) }) };
}

const keptLines = new WeakMap<object, Positions>();

/** The positions of a graph's text, computed once. */
export function positionsIn(graph: { readonly text: string }): Positions {
  const known = keptLines.get(graph);
  if (known !== undefined) return known;
  const made = positionsOf(graph.text);
  keptLines.set(graph, made);
  return made;
}

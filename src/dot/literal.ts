/** What a quoted literal says, and which of the author's characters each of its characters comes from. */
import type { Span } from '../model/diagnostic.ts';
import type { Attribute, Graph } from '../model/graph.ts';
import { skipBlank } from './blank.ts';
import { lastUpTo, positionsIn } from './positions.ts';

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '"': '"', '\\': '\\' };

/** The offset after the closing quote of the string that opens at `start`; undefined when it is never closed. */
export function endOfString(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === 0x22) return at + 1;
    if (c === 0x5c) at++;
  }
  return undefined;
}

/** The text of one quoted string. `copied` hears of every stretch: `length` characters of the value from `value` on
 *  stand in the author's text from `source` on, one for one. */
export function textOfString(
  text: string,
  start: number,
  end: number,
  copied: (value: number, source: number, length: number) => void = () => {},
): string {
  const last = end - 1;
  let value = '';
  let from = start + 1;
  // Looked for in the string alone: most have none, and the next one may be at the end of a long text.
  const inside = text.slice(from, last);
  const backslash = (at: number): number => {
    const found = inside.indexOf('\\', at - start - 1);
    return found === -1 ? -1 : found + start + 1;
  };
  const keep = (to: number) => {
    if (to > from) copied(value.length, from, to - from);
    value += text.slice(from, to);
  };
  for (let at = backslash(from); at !== -1; at = backslash(at)) {
    const next = text[at + 1] ?? '';
    const meant = escapes[next];
    // A backslash at the end of a line joins it to the next one.
    const joined = next === '\n' ? 2 : next === '\r' ? (text[at + 2] === '\n' ? 3 : 2) : 0;
    if (meant === undefined && joined === 0) {
      at += 2;
      continue;
    }
    keep(at);
    from = at + (joined === 0 ? 2 : joined);
    if (meant !== undefined) {
      copied(value.length, at, 1);
      value += meant;
    }
    at = from;
  }
  keep(last);
  return value;
}

/** `values[i]` is where a stretch of a literal's value begins, `sources[i]` where it stands in the author's text. */
type Stretches = { readonly values: number[]; readonly sources: number[] };

/** The stretches of a literal, which may be several strings joined by `+`. */
function stretchesOf(text: string, start: number, end: number): Stretches {
  const found: Stretches = { values: [], sources: [] };
  const add = (value: number, source: number) => {
    found.values.push(value);
    found.sources.push(source);
  };
  let length = 0;
  let at = start;
  while (at < end) {
    if (text[at] === '"') {
      const stop = endOfString(text, at) ?? end;
      const before = length;
      length += textOfString(text, at, stop, (value, source) => add(before + value, source)).length;
      at = stop;
    } else {
      const next = skipBlank(text, at).at;
      at = next === at ? at + 1 : next;
    }
  }
  add(length, end - 1);
  return found;
}

// One long prompt may hold many findings; it is taken apart once.
const kept = new WeakMap<Attribute, Stretches>();

/** Where `length` characters of an attribute's value, from `at` on, stand in the author's text. */
export function spanInValue(graph: Graph, attribute: Attribute, at: number, length: number): Span {
  const positions = positionsIn(graph);
  const start = attribute.valueSpan.start.offset;
  const end = attribute.valueSpan.end.offset;
  if (!attribute.quoted) {
    const from = Math.min(start + at, end);
    return positions.span(from, Math.min(from + length, end));
  }
  const parts = kept.get(attribute) ?? stretchesOf(graph.text, start, end);
  kept.set(attribute, parts);
  const source = (offset: number): number => {
    const i = Math.max(lastUpTo(parts.values, offset), 0);
    return Math.min((parts.sources[i] ?? start) + offset - (parts.values[i] ?? 0), end);
  };
  const from = source(at);
  // The end is taken from the last character, so that a span never reaches over a closing quote.
  const to = length > 0 ? source(at + length - 1) + 1 : from;
  const escaped = length > 0 && graph.text[to - 1] === '\\' && source(at + length) > to ? to + 1 : to;
  return positions.span(from, Math.min(escaped, end));
}

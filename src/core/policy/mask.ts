/** Removes secret values from a byte stream, however it is cut and however the values are spelled. */
import type { Json, JsonObject } from '../json.ts';

const stars = '***';

/** Masks bytes as they arrive. The end of the input is held back while it may begin a value; `end` returns the
 *  rest. */
export interface ByteMasker {
  push(chunk: Uint8Array): Buffer;
  end(): Buffer;
  /** Whether a value was masked so far. */
  readonly found: boolean;
}

/** Masks the given values (UTF-8; empty ones are ignored), those of 8 characters and more in every spelling. Each
 *  occurrence becomes `***`; overlapping occurrences become one. The result does not depend on the chunks. */
export function maskStream(values: readonly string[]): ByteMasker {
  const search = searchFor(values);
  let held = '';
  /** Characters at the start of `held` that belong to an occurrence already masked. */
  let covered = 0;
  let found = false;
  const give = (limit: number): Buffer => {
    const masked = search.mask(held, limit, covered);
    found ||= masked.covered > 0 || masked.text !== held.slice(0, limit);
    held = held.slice(limit);
    covered = masked.covered;
    return Buffer.from(masked.text, 'latin1');
  };
  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      if (search.isEmpty) return bytes;
      held += bytes.toString('latin1');
      return give(search.undecidedFrom(held));
    },
    end: () => give(held.length),
    get found() {
      return found;
    },
  };
}

/** Replaces every occurrence of a value in a text, as `maskStream` does in bytes; a text without any is returned
 *  unchanged. */
export function masker(values: readonly string[]): (text: string) => string {
  const search = searchFor(values);
  if (search.isEmpty) return (text) => text;
  return (text) => {
    const bytes = Buffer.from(text).toString('latin1');
    const masked = search.mask(bytes, bytes.length, 0).text;
    return masked === bytes ? text : Buffer.from(masked, 'latin1').toString();
  };
}

/** Characters of a spelling that are indexed; the rest is compared where they are found. */
const startLength = 24;

/** All spellings of some values. Texts have one character per byte (latin1). */
class Search {
  /** Longest first. */
  private readonly spellings: readonly string[];
  private readonly starts: RegExp;
  /** Prefixes of spellings with which a text may end, up to `startLength` characters. */
  private readonly beginnings = new Set<string>();
  readonly isEmpty: boolean;

  constructor(values: readonly string[]) {
    this.spellings = [...new Set(values.flatMap(spellingsOf))].sort((a, b) => b.length - a.length);
    const starts = new Set(this.spellings.map((spelling) => spelling.slice(0, startLength)));
    this.starts = new RegExp(
      [...starts].map((text) => text.replace(/[^A-Za-z0-9]/g, literal)).join('|'),
      'g',
    );
    for (const start of starts)
      for (let length = 1; length <= start.length; length++) this.beginnings.add(start.slice(0, length));
    this.isEmpty = this.spellings.length === 0;
  }

  /** Masks the first `limit` characters of `text`, of which `covered` are masked already; also returns how many of
   *  the following characters an occurrence covers. */
  mask(text: string, limit: number, covered: number): { readonly text: string; readonly covered: number } {
    let masked = '';
    let at = covered;
    this.starts.lastIndex = 0;
    for (
      let found = this.starts.exec(text);
      found !== null && found.index < limit;
      found = this.starts.exec(text)
    ) {
      const { index } = found;
      this.starts.lastIndex = index + 1;
      const spelling = this.spellings.find((one) => text.startsWith(one, index));
      if (spelling === undefined) continue;
      if (index >= at) masked += text.slice(at, index) + stars;
      at = Math.max(at, index + spelling.length);
    }
    if (at < limit) masked += text.slice(at, limit);
    return { text: masked, covered: Math.max(0, at - limit) };
  }

  /** Where the earliest spelling begins that the next characters may complete; the text's length if there is none. */
  undecidedFrom(text: string): number {
    const longest = this.spellings[0]?.length ?? 0;
    for (let at = Math.max(0, text.length - longest + 1); at < text.length; at++) {
      if (!this.beginnings.has(text.slice(at, at + startLength))) continue;
      const end = text.slice(at);
      if (this.spellings.some((one) => one.length > end.length && one.startsWith(end))) return at;
    }
    return text.length;
  }
}

const literal = (character: string): string => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** A cache of the last searches: every stream of a node masks the same values. */
const known = new Map<string, Search>();
const mostKnown = 8;

function searchFor(values: readonly string[]): Search {
  const key = JSON.stringify(values);
  const search = known.get(key) ?? new Search(values);
  if (known.size >= mostKnown) known.clear();
  known.set(key, search);
  return search;
}

/* The ways programs write a value: unchanged, escaped for JSON, encoded for a URL, in base64. */

/** Encodings of a shorter value may occur in other text by chance. */
const shortestEncoded = 8;

/** Every spelling of a value and, where it has several lines, of each line that is long enough; one character per byte
 *  (latin1), no duplicates. */
function spellingsOf(value: string): string[] {
  const lines = value.split(/[\r\n]+/).filter((line) => line.length >= shortestEncoded && !armour.test(line));
  const spellings = [value, ...lines].flatMap((part) =>
    part.length < shortestEncoded
      ? [latin1(part)]
      : [...[part, ...jsonForms(part), ...urlForms(part)].map(latin1), ...base64Forms(part)],
  );
  return [...new Set(spellings)].filter((spelling) => spelling !== '');
}

/** The lines around a PEM block are no secret. */
const armour = /^-----/;

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

/** As JSON escapes it, with characters beyond ASCII escaped (Python) or those of HTML (Go); each also in a JSON
 *  text within a JSON text. */
function jsonForms(value: string): string[] {
  const json = quoted(value);
  const forms = [json, escaped(json, /[\u0080-\uffff]/g), escaped(json, /[&<>]/g)];
  return [...forms, ...forms.map(quoted)];
}

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);
const escaped = (text: string, which: RegExp): string =>
  text.replace(which, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** As a component of a URL and in a form; with and without `!'()*` and `/` encoded, in either case. */
function urlForms(value: string): string[] {
  const form = new URLSearchParams([['', value]]).toString().slice(1);
  const component = form.replaceAll('+', '%20');
  const lax = component.replace(/%(?:21|27|28|29|7E)/g, (code) => decodeURIComponent(code));
  const forms = [form, component, lax].flatMap((one) => [one, one.replaceAll('%2F', '/')]);
  return [...forms, ...forms.map((one) => one.replace(/%../g, (code) => code.toLowerCase()))];
}

/** The base64 characters, in either alphabet, that depend on the value alone: one spelling for each of the three
 *  offsets at which it may begin. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const decided = text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
    return [decided, decided.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Masks secrets in the texts of JSON values before they enter a run's records. Values that JSON cannot hold are removed here,
 *  so that a resumed run has the same values as the uninterrupted one. */
export function maskedValue(value: Json, mask: (text: string) => string): Json {
  if (typeof value === 'string') return mask(value);
  // JSON text may hold numbers that parse as Infinity, such as 1e999.
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (Array.isArray(value)) return value.map((item: Json) => maskedValue(item, mask));
  return typeof value === 'object' && value !== null ? maskedObject(value as JsonObject, mask) : value;
}

export const maskedObject = (object: JsonObject, mask: (text: string) => string): JsonObject =>
  Object.fromEntries(
    Object.entries(object)
      .filter(([key]) => key !== '__proto__')
      .map(([key, value]) => [mask(key), maskedValue(value, mask)]),
  );

/** Copies of sealed content: five lines in a row that are the judge's, whatever indents, comments or numbers them. */
import type { SealedFile } from '../model/sealed.ts';
import { sha256 } from '../model/sha256.ts';
import { isRare, wordsOf } from './common-words.ts';
import { isDecoded, type Spelling, viewsOf } from './flat-text.ts';
import { bareOf, knownLines, type Run, readings } from './known-lines.ts';
import { needlesOf } from './needles.ts';
import { linesOf, textOf } from './sealed-lines.ts';
import { wantedWords } from './wanted-words.ts';

/** A place where a text goes along with a sealed file. */
export type Copy = {
  /** 0-based number of the sealed file in the list given; its first line that is copied, 0 for a binary file. */
  readonly file: number;
  readonly line: number;
  /** 1-based line of the text where the copy begins; 0 where it was decoded first, or is binary. */
  readonly at: number;
  /** Lines that are copied, those that count; of a binary file bytes. */
  readonly lines: number;
  readonly spelling: Spelling;
};

export interface Shingles {
  readonly size: number;
  find(text: Buffer | string): Copy[];
}

export interface Shingling {
  /** A text that the builder has had from the beginning: what stands there is nobody's. */
  known(text: Buffer): void;
  cut(): Shingles;
}

/** Lines of one shingle. */
const lines = 5;
/** Words and numbers of a shingle that tell whose it is; and how many different words it has where one of them does. */
const leastTelling = 3;
const manyWords = 14;
/** Bytes of a binary file that are looked for together, and how much of a file must be there. */
const window = 32;
const leastOfBinary = 0.25;
const leastValues = 8;
/** Bytes of a text whose words count as known. */
const largestWords = 1024 * 1024;

type Place = { readonly file: number; readonly line: number };
type Shingle = Place & { readonly words: readonly string[] };

export function shinglesOf(files: readonly SealedFile[]): Shingling {
  const places = new Map<string, Shingle>();
  const byFile = new Map<number, Line[]>();
  for (const { file, line, text, usual } of linesOf(files)) {
    const list = byFile.get(file) ?? [];
    list.push({ text, line, words: usual ? '' : text });
    byFile.set(file, list);
  }
  for (const [file, parts] of byFile) {
    const worth = worthOf(parts);
    for (let at = 0; at + lines <= worth.length; at++) {
      const shingle = worth.slice(at, at + lines);
      const words = [...new Set(shingle.flatMap(({ words: its = '' }) => wordsOf(its)))];
      const key = keyOf(shingle);
      if (!isDistinctive(words, none) || places.has(key)) continue;
      places.set(key, { file, line: shingle[0]?.line ?? 0, words });
    }
  }
  const singles = new Set([...places.keys()].flatMap((key) => key.split('\n')));
  const runsIn = knownLines(singles, lines);
  const words = wantedWords(new Set([...places.values()].flatMap((place) => place.words)));
  const binaries = binariesOf(files);
  return {
    known(text) {
      for (const one of readings(text)) for (const { key } of runsIn(one)) places.delete(key);
      binaries.known(text);
      if (text.length <= largestWords) words.read(text);
    },
    cut() {
      for (const [key, place] of places) if (!isDistinctive(place.words, words.had)) places.delete(key);
      return search();
    },
  };

  function search(): Shingles {
    return {
      size: places.size + binaries.size,
      find(text) {
        const bytes = typeof text === 'string' ? Buffer.from(text) : text;
        const found: Copy[] = [];
        for (const { spelling, text: view } of viewsOf(bytes)) {
          if (places.size > 0)
            for (const one of readings(view)) found.push(...copiesIn(runsIn(one), spelling, places));
          if (spelling !== 'url' && spelling !== 'html') found.push(...binaries.find(view, spelling));
        }
        return onceEach(found);
      },
    };
  }
}

/** `words`: what of a sealed line can tell whose it is. */
type Line = { readonly text: string; readonly line: number; readonly words?: string };

/** The text's lines that count, in the form in which they are compared. */
function worthOf(parts: readonly Line[]): Line[] {
  const worth: Line[] = [];
  for (const part of parts) {
    const bare = bareOf(part.text);
    if (bare !== '') worth.push({ ...part, text: bare });
  }
  return worth;
}

const keyOf = (shingle: readonly Line[]): string => shingle.map(({ text }) => text).join('\n');

const none: ReadonlySet<string> = new Set();

/** Words that the builder was given tell half as much. */
function isDistinctive(words: readonly string[], had: ReadonlySet<string>): boolean {
  let telling = 0;
  let novel = false;
  for (const word of words) {
    if (!isRare(word) && !/^\d+$/.test(word)) continue;
    telling += had.has(word) ? 0.5 : 1;
    novel ||= isRare(word) && !had.has(word);
  }
  return telling >= leastTelling || (novel && words.length >= manyWords);
}

function* copiesIn(
  runs: readonly Run[],
  spelling: Spelling,
  places: ReadonlyMap<string, Place>,
): Generator<Copy> {
  const decoded = isDecoded(spelling);
  let open: { copy: Copy; last: number } | undefined;
  for (const { key, at, nth } of runs) {
    const place = places.get(key);
    if (place === undefined) continue;
    if (open !== undefined && nth <= open.last + lines && place.file === open.copy.file) {
      open = { copy: { ...open.copy, lines: open.copy.lines + nth - open.last }, last: nth };
      continue;
    }
    if (open !== undefined) yield open.copy;
    open = { copy: { file: place.file, line: place.line, at: decoded ? 0 : at, lines, spelling }, last: nth };
  }
  if (open !== undefined) yield open.copy;
}

/** Binary files: whole by their hash, in part by runs of bytes at every 32nd place. */
function binariesOf(files: readonly SealedFile[]) {
  const hashes = new Map<string, Place & { readonly size: number }>();
  const needles: Uint8Array[] = [];
  const owners: number[] = [];
  const counts = new Map<number, number>();
  for (const [file, sealed] of files.entries()) {
    if (sealed.kind !== 'file' || sealed.content.length < window || textOf(sealed) !== undefined) continue;
    const { content } = sealed;
    hashes.set(sha256(content), { file, line: 0, size: content.length });
    for (let at = 0; at + window <= content.length; at += window) {
      const piece = content.subarray(at, at + window);
      if (new Set(piece).size < leastValues) continue;
      needles.push(piece);
      owners.push(file);
      counts.set(file, (counts.get(file) ?? 0) + 1);
    }
  }
  const search = needlesOf(needles, window);
  const common = new Set<number>();
  return {
    size: hashes.size,
    known(text: Buffer) {
      if (hashes.size === 0) return;
      hashes.delete(sha256(text));
      for (const { needle } of search.find(text)) common.add(needle);
    },
    find(text: Buffer, spelling: Spelling): Copy[] {
      if (owners.length === 0 && hashes.size === 0) return [];
      const whole = hashes.get(sha256(text));
      if (whole !== undefined) return [{ file: whole.file, line: 0, at: 0, lines: whole.size, spelling }];
      const seen = new Map<number, number>();
      for (const { needle } of search.find(text)) {
        const owner = owners[needle];
        if (owner !== undefined && !common.has(needle)) seen.set(owner, (seen.get(owner) ?? 0) + 1);
      }
      return [...seen]
        .filter(([file, pieces]) => pieces >= 2 && pieces >= (counts.get(file) ?? 0) * leastOfBinary)
        .map(([file, pieces]) => ({ file, line: 0, at: 0, lines: pieces * window, spelling }));
    },
  };
}

function onceEach(copies: readonly Copy[]): Copy[] {
  const found = new Map<string, Copy>();
  for (const copy of copies) {
    const key = `${copy.file}:${copy.line}`;
    if (!found.has(key)) found.set(key, copy);
  }
  return [...found.values()];
}

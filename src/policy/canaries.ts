/** Canaries: distinctive lines of holdout files, and lines that an author has marked. If one is found elsewhere, it
 *  leaked. */
import { isUtf8 } from 'node:buffer';
import type { SealedFile } from '../model/sealed.ts';
import { isCommon, wordsOf } from './common-words.ts';
import { readingsOf } from './encodings.ts';
import { fold, lineAt, TextSearch } from './folded-text.ts';

/** A canary that was found. Its text is not repeated: a report of the leak must not spread it. */
export type Sighting = {
  /** 0-based index of the holdout file in the given list, and the 1-based line in it. */
  readonly file: number;
  readonly line: number;
  /** 1-based line of the text that contains it; 0 where the text was decoded first. */
  readonly at: number;
  /** Whether an author marked it as a canary. */
  readonly marked: boolean;
};

export interface Canaries {
  readonly size: number;
  /** Each canary in the text, once: also with other white space, punctuation or case, escaped as in JSON or a URL,
   *  in base64, and in data that gzip, zlib or zip compressed. */
  find(text: Buffer | string): Sighting[];
}

interface CanaryChoice {
  /** A text that the builder had from the start: its lines are no canaries, unless they are marked. */
  known(text: Buffer): void;
  chosen(): Canaries;
}

/** The minimum length of a line, and of the letters and digits in it. */
const leastLine = 24;
const leastFolded = 16;
/** The same for the text of a marker. */
const leastMarker = 8;
const leastFoldedMarker = 6;
/** The most distinctive lines searched for per file: each takes memory. */
const mostOfFile = 2000;
/** The most bytes of known texts in all, and of one of them, whose words count as known. */
const mostKnownWords = 32 * 1024 * 1024;
const largestKnown = 1024 * 1024;

type Candidate = Omit<Sighting, 'at'> & { readonly folded: string; readonly words: readonly string[] };

export function chooseCanaries(files: readonly SealedFile[]): CanaryChoice {
  const candidates = new Map<string, Candidate>();
  for (const [file, sealed] of files.entries())
    for (const candidate of candidatesIn(sealed, file))
      if (candidate.marked || !candidates.has(candidate.folded)) candidates.set(candidate.folded, candidate);
  const all = [...candidates.values()];
  const search = new TextSearch(all.map(({ folded }) => folded));
  const known = new Set<number>();
  const wanted = new Set(all.flatMap(({ words }) => words));
  let read = 0;
  return {
    known(text) {
      for (const candidate of search.find(fold(text)).keys()) known.add(candidate);
      if (text.length > largestKnown || read > mostKnownWords) return;
      read += text.length;
      for (const word of wordsOf(text)) wanted.delete(word);
    },
    chosen: () =>
      canariesOf(
        all.filter(
          ({ marked, words }, at) => marked || (!known.has(at) && words.some((word) => wanted.has(word))),
        ),
      ),
  };
}

/** The marked lines of a file and its distinctive ones; of a file with very many (data), a sample at equal
 *  distances. */
function candidatesIn(sealed: SealedFile, file: number): Candidate[] {
  const all = linesOf(sealed).flatMap((text, index) => {
    const found = markerIn(text) ?? distinctiveLine(text);
    return found === undefined ? [] : [{ ...found, file, line: index + 1 }];
  });
  const plain = all.filter(({ marked }) => !marked);
  const step = Math.ceil(plain.length / mostOfFile);
  return [...all.filter(({ marked }) => marked), ...plain.filter((_, nth) => nth % step === 0)];
}

const marker = /\bcanary:\s*(.*?)\s*(?:\*\/|-->|"""|''')?\s*$/i;

function markerIn(line: string): Pick<Candidate, 'folded' | 'marked' | 'words'> | undefined {
  const [, text = ''] = marker.exec(line) ?? [];
  const folded = fold(Buffer.from(text));
  if (text.length < leastMarker || folded.length < leastFoldedMarker) return undefined;
  return { folded, marked: true, words: [] };
}

/** Lines that many files contain, whatever words are in them. */
const boilerplate =
  /^(?:#!|set\s+[-+]|(?:import|from|use|using|package|#include|source)\s|(?:const|let|var)\s.*\brequire\()|\bcopyright\b|\bspdx-|eslint-|shellcheck|json-schema\.org|www\.w3\.org/i;

/** A line with three uncommon words. */
function distinctiveLine(line: string): Pick<Candidate, 'folded' | 'marked' | 'words'> | undefined {
  const text = line.trim();
  if (text.length < leastLine || boilerplate.test(text)) return undefined;
  const words = [...new Set(wordsOf(Buffer.from(text)))].filter((word) => !isCommon(word));
  const folded = fold(Buffer.from(text));
  if (words.length < 3 || folded.length < leastFolded) return undefined;
  return { folded, marked: false, words };
}

/** The lines of a text file; none for a licence, a binary file, a link or a folder. */
function linesOf({ kind, path, content }: SealedFile): string[] {
  if (kind !== 'file' || /(?:^|\/)(?:licen[cs]e|copying|notice)[^/]*$/i.test(path)) return [];
  if (content.subarray(0, 8192).includes(0) || !isUtf8(content)) return [];
  return content.toString().split(/\r\n|\n|\r/);
}

function canariesOf(chosen: readonly Candidate[]): Canaries {
  const search = new TextSearch(chosen.map(({ folded }) => folded));
  return {
    size: chosen.length,
    find(text) {
      if (chosen.length === 0) return [];
      const found = new Map<number, Sighting>();
      for (const { bytes, decoded } of readingsOf(Buffer.from(text)))
        for (const [number, position] of search.find(fold(bytes))) {
          const canary = chosen[number];
          if (canary === undefined || found.has(number)) continue;
          const { file, line, marked } = canary;
          found.set(number, { file, line, at: decoded ? 0 : lineAt(bytes, position), marked });
        }
      return [...found.values()];
    },
  };
}

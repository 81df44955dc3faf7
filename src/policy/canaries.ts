/** Canaries: lines of sealed files that nobody else would write. One that is found elsewhere has leaked from there. */
import type { SealedFile } from '../model/sealed.ts';
import { isRare, wordsOf } from './common-words.ts';
import { flatten, isDecoded, type Spelling, viewsOf } from './flat-text.ts';
import { type Needles, needlesOf } from './needles.ts';
import { linesOf, textOf } from './sealed-lines.ts';
import { wantedWords } from './wanted-words.ts';

/** A canary that was found. What it says is not told: whoever reads of it is not to read it. */
export type Sighting = {
  /** 0-based number of the sealed file in the list given, and the 1-based line of it. */
  readonly file: number;
  readonly line: number;
  /** 1-based line of the text that shows it; 0 where it was decoded first. */
  readonly at: number;
  /** Whether an author marked it as a canary. */
  readonly marked: boolean;
  readonly spelling: Spelling;
};

export interface Canaries {
  readonly size: number;
  /** Each canary that the text shows, once. Quoting, escapes, indentation, prefixes of diffs and line ends make no
   *  difference; base64, hex, URL and HTML spellings are read too, and what is compressed by gzip, zlib or zip. */
  find(text: Buffer | string): Sighting[];
}

/** Canaries while they are chosen. */
export interface Choosing {
  /** A text that the builder has had from the beginning: what stands there is no canary, unless it is marked. */
  known(text: Buffer): void;
  chosen(): Canaries;
}

/** Characters that a line must have, and of them what is left when it is flat. */
const leastLine = 24;
const leastFlat = 12;
/** Characters that a marker must have, and what may be left of it. */
const leastMarker = 8;
const leastFlatMarker = 6;
/** Bytes of texts whose words count as known. */
const mostWords = 32 * 1024 * 1024;
const largestWords = 1024 * 1024;

type Candidate = {
  readonly file: number;
  readonly line: number;
  readonly flat: Uint8Array;
  readonly rare: readonly string[];
  readonly prose: boolean;
};

const marker = /\bcanary:\s*(.*?)\s*(?:\*\/|-->|"""|''')?\s*$/i;

export function chooseCanaries(files: readonly SealedFile[]): Choosing {
  const marked: Candidate[] = [];
  const plain = new Map<string, Candidate>();
  for (const candidate of markersOf(files)) marked.push(candidate);
  for (const { file, line, text, usual } of linesOf(files)) {
    if (usual || text.length < leastLine) continue;
    const words = wordsOf(text);
    const rare = [...new Set(words.filter(isRare))];
    if (rare.length === 0 || new Set(words).size < 3) continue;
    const flat = flatten(Buffer.from(text)).bytes;
    if (flat.length < leastFlat) continue;
    const key = Buffer.from(flat).toString('latin1');
    if (!plain.has(key)) plain.set(key, { file, line, flat, rare, prose: isProse(text) });
  }
  const candidates = [...plain.values()];
  const cases = candidates.flatMap(({ flat }, at) => casesOf(flat).map((one) => ({ at, flat: one })));
  const search = needlesOf(
    cases.map(({ flat }) => flat),
    leastFlat,
  );
  const words = wantedWords(new Set(candidates.flatMap(({ rare }) => rare)));
  const common = new Set<number>();
  let read = 0;
  return {
    known(text) {
      for (const { needle } of search.find(flatten(text).bytes)) common.add(cases[needle]?.at ?? -1);
      if (text.length > largestWords || read > mostWords) return;
      read += text.length;
      words.read(text);
    },
    chosen() {
      const left = candidates.filter(
        (candidate, at) => !common.has(at) && isDistinctive(candidate, words.had),
      );
      return finder(marked, left);
    },
  };
}

/** Two words that only the judge has; fewer where more of them stand together, or where they make a sentence. */
function isDistinctive({ rare, prose }: Candidate, had: ReadonlySet<string>): boolean {
  const score = rare.reduce((sum, word) => sum + (had.has(word) ? 1 : 1.5), prose ? 0.5 : 0);
  return score >= 2.5;
}

/** Four words in a row. */
const isProse = (text: string): boolean => /(?:\p{L}+,? ){3}\p{L}+/u.test(text);

function* markersOf(files: readonly SealedFile[]): Generator<Candidate> {
  for (const [file, sealed] of files.entries()) {
    const lines = textOf(sealed)?.split(/\r\n|\n|\r/) ?? [];
    for (const [index, line] of lines.entries()) {
      const [, text = ''] = marker.exec(line) ?? [];
      const flat = fold(flatten(Buffer.from(text)).bytes).bytes;
      if (text.length < leastMarker || flat.length < leastFlatMarker) continue;
      yield { file, line: index + 1, flat, rare: [], prose: false };
    }
  }
}

/** Letters and digits alone, in lower case, for markers; `from` says where each byte stood. */
function fold(flat: Uint8Array): { readonly bytes: Uint8Array; readonly from: Uint32Array } {
  const bytes = new Uint8Array(flat.length);
  const from = new Uint32Array(flat.length);
  let size = 0;
  for (const [at, byte] of flat.entries()) {
    const low = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
    if (!((low >= 0x61 && low <= 0x7a) || (low >= 0x30 && low <= 0x39) || low >= 0x80)) continue;
    from[size] = at;
    bytes[size++] = low;
  }
  return { bytes: bytes.subarray(0, size), from };
}

/** Bytes from which a line turned around is still nobody else's. */
const leastTurned = 12;

/** A line as it is, and all of it in small and in capital letters where that is another one. */
function casesOf(flat: Uint8Array): Uint8Array[] {
  const all = (from: number, to: number) => (byte: number) =>
    byte >= from && byte < from + 26 ? byte - from + to : byte;
  const others = [flat.map(all(0x61, 0x41)), flat.map(all(0x41, 0x61))];
  return [flat, ...others.filter((one) => Buffer.compare(one, flat) !== 0)];
}

/** A line in one case or the other, backwards, and with its letters moved by thirteen. */
function turned(candidate: Candidate): Candidate[] {
  const { flat } = candidate;
  if (flat.length < leastTurned) return [candidate];
  const moved = flat.map((byte) => {
    const low = byte | 0x20;
    return low < 0x61 || low > 0x7a ? byte : low < 0x6e ? byte + 13 : byte - 13;
  });
  return [...casesOf(flat), flat.slice().reverse(), moved].map((one) => ({ ...candidate, flat: one }));
}

function finder(chosenMarked: readonly Candidate[], chosenPlain: readonly Candidate[]): Canaries {
  const marked = chosenMarked.flatMap(turned);
  const plain = chosenPlain.flatMap(turned);
  const searches: readonly [Needles, readonly Candidate[], boolean][] = [
    [
      needlesOf(
        marked.map(({ flat }) => flat),
        leastFlatMarker,
      ),
      marked,
      true,
    ],
    [
      needlesOf(
        plain.map(({ flat }) => flat),
        leastFlat,
      ),
      plain,
      false,
    ],
  ];
  const size = chosenMarked.length + chosenPlain.length;
  return {
    size,
    find(text) {
      if (size === 0) return [];
      const bytes = typeof text === 'string' ? Buffer.from(text) : text;
      const found = new Map<string, Sighting>();
      for (const view of viewsOf(bytes)) {
        const flat = flatten(view.text);
        for (const [search, list, isMarked] of searches) {
          if (list.length === 0) continue;
          const folded = isMarked ? fold(flat.bytes) : undefined;
          for (const { needle, at } of search.find(folded?.bytes ?? flat.bytes)) {
            const candidate = list[needle];
            if (candidate === undefined) continue;
            const { file, line } = candidate;
            const key = `${file}:${line}`;
            if (found.has(key)) continue;
            found.set(key, {
              file,
              line,
              at: isDecoded(view.spelling) ? 0 : flat.lineAt(folded?.from[at] ?? at),
              marked: isMarked,
              spelling: view.spelling,
            });
          }
        }
      }
      return [...found.values()];
    },
  };
}

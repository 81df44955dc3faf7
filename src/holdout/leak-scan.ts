/** Canaries: distinctive lines of holdout files, and lines that an author has marked. If one is found elsewhere, it
 *  leaked. */
import { isUtf8 } from 'node:buffer';
import type { AuditFinding } from '../core/records/audit.ts';
import type { SealedFile } from '../core/records/manifest.ts';
import { fold, lineAt, readingsOf, TextSearch } from './leak-text.ts';

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
  const sought = new Set(all.flatMap(({ words }) => words));
  let read = 0;
  return {
    known(text) {
      for (const candidate of search.find(fold(text)).keys()) known.add(candidate);
      if (text.length > largestKnown || read > mostKnownWords) return;
      read += text.length;
      for (const word of wordsOf(text)) sought.delete(word);
    },
    chosen: () =>
      canariesOf(
        all.filter(
          ({ marked, words }, at) => marked || (!known.has(at) && words.some((word) => sought.has(word))),
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

/** Words that are common in programs and sentences: a line of these alone does not identify its source. */
const common = new Set(
  `
  about above added addition adipiscing after allow along already also always amet another apache append application
  april args argument ascii assert associated attachment attribute august authors available avoid back base basename
  bash because been before being between binary block both bound break buffer build bytes cache call cannot capture
  case change character charge check child class cleanup clear close code codec command common compatibility
  compatible compile compiler complete compliance condition configure consectetur constructor contain content context
  contextlib continue control convert copies copy copyright correct could count create current damages data debug
  december decode decoder default defined delete delitem details dict diff different directly directory dirname
  disclaimer disposition distribute distribution documentation does doesn dolor done double duplicate each echo either
  elif elit else empty encode encoder encoding ensure equal equality error errtrace escape even every example except
  exception executable exist exit expected express extend fail failure false february file filename final find first
  fitness fixture flag folder following form format found foundation friday from full func function functrace
  furnished general generate getattr getitem given global goal granted graph grep group handle hasattr have header
  help here hereby hope http ignore implement implementation implied import include including incremental index info
  information infra init input install instance instead intended interface internal into invalid ipsum isinstance
  issue item january join july june just keep keys kill kind kwargs label last later least left length less level
  liability liable library license like limitation limited line link list live load local logfile long loop lorem
  lower main major make manager mapping march mark match means merchantability message method minor missing mktemp
  mode modification modify module monday more most multiple must name necessary need negative next node none
  noninfringement note notice november null number object observed obtaining october once only open option optional
  order original other otherwise output over package parent parse parser part pass path pattern permission permitted
  person platform plus portions possible post prefix print printf process product program prompt property provide
  public publish purpose python raise range read received record redistribution reference remove replace repr request
  required restriction result return returncode reverse right root running runtime same saturday scenario script
  search second section self selftest sell separator september sequence setitem shape should simple since single size
  skip small software some source space spec special specific specified split standard start startswith state status
  stderr stdin stdout still stop stream strict string strip subject sublicense subprocess substantial such sunday
  super support system table target tempfile temporary term test text than that their them themselves then there these
  they this those three through thursday time timeout tmpdir trap true tuesday tuple type unbound undefined under
  unicode unknown until update usage used useful user uses using util valid value version want warn warranties
  warranty wednesday were what when where whether which while will windows with without work would wrapper write
  writer written yield your zero
  `
    .trim()
    .split(/\s+/),
);

const endings = ['s', 'es', 'ed', 'd', 'ing', 'ly', 'er'];

/** Whether a word, as `wordsOf` returns it, is in the list, with or without an ending. */
const isCommon = (word: string): boolean =>
  common.has(word) ||
  endings.some((ending) => word.endsWith(ending) && common.has(word.slice(0, -ending.length)));

/** The words and numbers of a text with at least four characters, in lower case; each part of a camel-case name
 *  separately. Bytes beyond ASCII count as letters. */
const wordsOf = (text: Buffer): string[] =>
  (text.toString('latin1').match(/[A-Z][a-z\x80-\xff]{3,}|[a-z\x80-\xff]{4,}|[A-Z]{4,}|\d{4,}/g) ?? []).map(
    (word) => word.toLowerCase(),
  );

/* Finds holdout text in a text. */

/** The canaries of the sealed files, without lines that agents had from the start. */
export async function canariesIn(
  files: readonly SealedFile[],
  known: AsyncIterable<Buffer>,
): Promise<Canaries> {
  const choice = chooseCanaries(files);
  for await (const text of known) choice.known(text);
  return choice.chosen();
}

export const leakFix =
  'find out how it got there, then replace this scenario: an agent that has seen it can pass it without doing the work';

export type LeakPlace = Pick<AuditFinding, 'node' | 'visit' | 'where' | 'path'>;

/** One finding for each sealed file with a canary in the text that is not in `before`, the earlier content of the file. */
export function leaksIn(canaries: Canaries, text: Buffer, place: LeakPlace, before?: Buffer): AuditFinding[] {
  const all = canaries.find(text);
  if (all.length === 0) return [];
  const seen = newSightings(all, before === undefined ? [] : canaries.find(before));
  return [...new Set(seen.map(({ file }) => file))].flatMap((file) => {
    const ofFile = seen.filter((one) => one.file === file);
    const [first] = ofFile;
    if (first === undefined) return [];
    return {
      code: 'holdout-canary',
      severity: 'error',
      sure: 'certain',
      ...place,
      line: first.at > 0 ? first.at : null,
      message: `shows ${howMany(ofFile)}`,
      fix: leakFix,
      sealed: { file: file + 1, line: first.line },
    };
  });
}

/** The sightings whose canaries are not in `earlier`. */
export function newSightings(seen: readonly Sighting[], earlier: readonly Sighting[]): readonly Sighting[] {
  const key = ({ file, line }: Sighting) => `${file}:${line}`;
  const had = new Set(earlier.map(key));
  return seen.filter((sighting) => !had.has(key(sighting)));
}

function howMany(seen: readonly Sighting[]): string {
  if (seen[0]?.marked === true) return 'a line that is marked as a canary in a sealed file';
  return seen.length === 1
    ? 'a line that only a sealed file has'
    : `${seen.length} lines that only a sealed file has`;
}

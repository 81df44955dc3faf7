/** Product code that knows the judge's inputs: literals of sealed files that nothing else would have led to. */
import type { SealedFile } from '../model/sealed.ts';
import { isRare, wordsOf } from './common-words.ts';
import { linesOf } from './sealed-lines.ts';
import type { FileChange } from './tampering.ts';
import { isCode, isTest } from './test-code.ts';
import { wantedWords } from './wanted-words.ts';

export type SpecialCase = {
  readonly severity: 'error' | 'warning';
  readonly path: string;
  /** 1-based, of the product's file. */
  readonly line: number;
  /** 0-based number of the sealed file, and its 1-based line. */
  readonly sealedFile: number;
  readonly sealedLine: number;
};

export interface Literals {
  readonly size: number;
  /** Where the changed product code has a literal of the judge's that it had not before. */
  find(change: FileChange): SpecialCase[];
}

export interface ChoosingLiterals {
  known(text: Buffer): void;
  chosen(): Literals;
}

/** Characters of a literal, at least and at most. */
const least = 6;
const most = 160;

type Place = { readonly file: number; readonly line: number; readonly words: readonly string[] };

export function chooseLiterals(files: readonly SealedFile[]): ChoosingLiterals {
  const places = new Map<string, Place>();
  const add = (text: string, file: number, line: number) => {
    const bare = /\.(?:sh|bash|zsh|bats)$/.test(files[file]?.path ?? '') ? argumentsIn(text) : [];
    for (const literal of [...literalsIn(text), ...bare]) {
      const words = wordsOf(literal).filter(isRare);
      if (words.length > 0 && !places.has(literal)) places.set(literal, { file, line, words });
    }
  };
  for (const { file, line, text } of linesOf(files)) add(text, file, line);
  for (const [file, { path }] of files.entries()) add(path.split('/').at(-1) ?? '', file, 1);
  const words = wantedWords(new Set([...places.values()].flatMap((place) => place.words)));
  return {
    known(text) {
      if (text.length <= 1024 * 1024) words.read(text);
    },
    chosen() {
      // One word that nobody was given is enough: a product has no reason to know it.
      const left = new Map(
        [...places]
          .map(
            ([literal, place]) =>
              [literal, { ...place, novel: place.words.filter((word) => !words.had.has(word)) }] as const,
          )
          .filter(([, { novel }]) => novel.length > 0),
      );
      return {
        size: left.size,
        find({ path, before, after }) {
          if (left.size === 0 || after === undefined || !isCode(path) || isTest(path, before, after))
            return [];
          const old = new Set((before ?? '').split(/\r?\n/).map((line) => line.trim()));
          const found: SpecialCase[] = [];
          for (const [index, line] of after.split(/\r?\n/).entries()) {
            if (old.has(line.trim())) continue;
            for (const literal of literalsIn(line)) {
              const place = left.get(literal);
              if (place === undefined) continue;
              const decides = condition.test(line);
              const strong = place.novel.length >= 2 || /\d{6}/.test(literal) || literal.length >= 12;
              if (!decides && !strong) continue;
              found.push({
                severity: decides && strong ? 'error' : 'warning',
                path,
                line: index + 1,
                sealedFile: place.file,
                sealedLine: place.line,
              });
              break;
            }
          }
          return found;
        },
      };
    },
  };
}

/** Where a value decides what is done: a condition, a case, a key of a table. */
const condition =
  /\b(?:if|elif|case|when|switch|match|while|unless|in|is)\b|[!=]==?|\?|=>|\.(?:includes|startsWith|endsWith|has|get|equals|contains|startswith|endswith|indexOf|test|match)\(|['"`\d]\s*:|\[['"`]/;

/** What a script gives to a program without quotes, where a digit tells it from a word. */
const argumentsIn = (line: string): string[] =>
  line
    .split(/[\s;|&()<>]+/)
    .filter((word) => /^[A-Za-z][\w.:,@%+-]*\d[\w.:,@%+-]*$/.test(word) && word.length >= least);

/** Texts in quotes, long numbers, names of files. */
function literalsIn(line: string): string[] {
  const quoted = [...line.matchAll(/"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`/g)].map(
    (found) => found[1] ?? found[2] ?? found[3] ?? '',
  );
  const parts = quoted.flatMap((text) => [text, ...text.split(/\\[nrt]|[\s,;|=<>()[\]{}]+/)]);
  const numbers = line.match(/\b\d{6,}\b/g) ?? [];
  // From its beginning only: data of a megabyte in one line would be read again from each character.
  const files = line.match(/(?<![\w./-])[\w./-]*\w\.[A-Za-z]\w{1,4}\b/g) ?? [];
  const bare = [...numbers, ...files];
  const names = [...parts, ...bare].flatMap((text) => [text, text.split('/').at(-1) ?? '']);
  return [...new Set(names.map((text) => text.trim()))].filter(
    (text) => text.length >= least && text.length <= most && !/[$\\]/.test(text),
  );
}

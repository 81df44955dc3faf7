/** The mutants of a product, and what of it has none for want of a language. */
import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { extname, join } from 'node:path';
import { countedItems } from '../../core/amounts.ts';
import { mutantLanguage } from '../../mutants/languages/index.ts';
import { isMutable } from '../../mutants/left-out.ts';
import { type Mutant, mutantsOf } from '../../mutants/mutants.ts';
import type { StrengthSubject } from './subject.ts';

/** Languages of programs that have no operators, by the endings of their files. */
const withoutOperators: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    C: '.c .h',
    'C++': '.cc .cpp .cxx .hh .hpp',
    'C#': '.cs',
    Clojure: '.clj .cljs',
    Dart: '.dart',
    Elixir: '.ex .exs',
    Erlang: '.erl',
    'F#': '.fs',
    Go: '.go',
    Groovy: '.groovy',
    Haskell: '.hs',
    Java: '.java',
    Julia: '.jl',
    Kotlin: '.kt .kts',
    Lua: '.lua',
    Nim: '.nim',
    OCaml: '.ml',
    Perl: '.pl .pm',
    PHP: '.php',
    PowerShell: '.ps1',
    R: '.r',
    Ruby: '.rb',
    Rust: '.rs',
    Scala: '.scala',
    Svelte: '.svelte',
    Swift: '.swift',
    Vue: '.vue',
    Zig: '.zig',
  }).flatMap(([language, endings]) => endings.split(' ').map((ending) => [ending, language])),
);

/** Bytes of a file that is mutated. */
const longestSource = 1024 * 1024;

export type SourceMutants = {
  readonly mutants: readonly Mutant[];
  /** By paths. */
  readonly texts: ReadonlyMap<string, string>;
  /** Files without mutants, with the reason. */
  readonly leftOut: readonly string[];
};

/** All mutants of the files that count, except those below `except`, which are absolute paths. */
export async function mutantsIn(
  { app, files }: StrengthSubject,
  except: readonly string[],
): Promise<SourceMutants> {
  const texts = new Map<string, string>();
  const mutants: Mutant[] = [];
  const unknown = new Map<string, number>();
  const top = realpathSync(app);
  for (const { path, lines } of files) {
    if (lines?.size === 0) continue;
    if (except.some((one) => join(top, path).startsWith(`${one}/`))) continue;
    const text = textOf(join(app, path));
    if (text === undefined || !isMutable(path, text)) continue;
    if (mutantLanguage(path, text) === undefined) {
      const language = withoutOperators[extname(path).toLowerCase()];
      if (language !== undefined) unknown.set(language, (unknown.get(language) ?? 0) + 1);
      continue;
    }
    texts.set(path, text);
    mutants.push(...(await mutantsOf(lines === undefined ? { path, text } : { path, text, lines })));
  }
  const leftOut = [...unknown].map(
    ([language, count]) => `${countedItems(count, 'file')} in ${language}, which cannot be mutated`,
  );
  return { mutants, texts, leftOut };
}

/** Undefined for what is no file of ordinary text. */
function textOf(path: string): string | undefined {
  const is = lstatSync(path, { throwIfNoEntry: false });
  if (is?.isFile() !== true || is.size > longestSource) return undefined;
  const bytes = readFileSync(path);
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) && !text.includes('\0') ? text : undefined;
}

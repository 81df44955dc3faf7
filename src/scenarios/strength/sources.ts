/** The mutants of a product, and which of its source files have none, with the reason. */
import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { countedItems } from '../../core/amounts.ts';
import { languageTables, mutantLanguage } from '../../mutants/languages/index.ts';
import { isMutable } from '../../mutants/left-out.ts';
import { type Mutant, mutantsOf, parsedMutants } from '../../mutants/mutants.ts';
import type { LanguageTable } from '../../mutants/rules.ts';
import { unknownLanguage } from '../../mutants/unknown-languages.ts';
import type { Variant } from './product.ts';
import type { SourceFile, StrengthSubject } from './subject.ts';

/** Bytes of a file that is mutated. */
const longestSource = 1024 * 1024;
/** Bytes of a file whose first lines are read, which may say that a program wrote it. */
const longestRead = 16 * longestSource;

export type SourceMutants = {
  readonly mutants: readonly Mutant[];
  /** By paths. */
  readonly texts: ReadonlyMap<string, string>;
  readonly leftOut: LeftOutFiles;
  /** Source that a rule leaves out for its names or marks, which its author chose: the texts that have it do nothing. */
  readonly ruledOut: Variant;
};

/** Source files without mutants. */
export type LeftOutFiles = {
  readonly count: number;
  /** How many there are for each reason. */
  readonly words: readonly string[];
};

/** What a file contributes: mutants, the reason for none of which it could have some, or nothing. */
type SourcePart =
  | { readonly text: string; readonly mutants: readonly Mutant[] }
  | { readonly without: string }
  | { readonly idle: string }
  | undefined;

/** All mutants of the files that count, except those below `except`, which are absolute paths. */
export async function mutantsIn(
  { app, files, untracked }: StrengthSubject,
  except: readonly string[],
): Promise<SourceMutants> {
  const texts = new Map<string, string>();
  const mutants: Mutant[] = [];
  const ruledOut = new Map<string, string>();
  const reasons = new Map<string, number>();
  const leaveOut = (why: string) => reasons.set(why, (reasons.get(why) ?? 0) + 1);
  const top = realpathSync(app);
  const isCounted = (path: string): boolean => !except.some((one) => join(top, path).startsWith(`${one}/`));
  for (const file of files.filter(({ path }) => isCounted(path))) {
    const part = await partOf(app, file);
    if (part === undefined) continue;
    if ('without' in part) leaveOut(part.without);
    else if ('idle' in part) ruledOut.set(file.path, part.idle);
    else {
      texts.set(file.path, part.text);
      mutants.push(...part.mutants);
    }
  }
  for (const path of untracked.filter(isCounted)) if (isSource(app, path)) leaveOut('not under git');
  const words = [...reasons].map(([why, count]) => `${countedItems(count, 'file')} ${why}`);
  const count = [...reasons.values()].reduce((a, b) => a + b, 0);
  return { mutants, texts, ruledOut, leftOut: { count, words } };
}

async function partOf(app: string, { path, lines }: SourceFile): Promise<SourcePart> {
  if (lines?.size === 0) return undefined;
  const found = textOf(join(app, path));
  if (found.kind === 'none') return undefined;
  if (found.kind === 'repository') return { without: 'or more in another repository (a submodule)' };
  const { kind, text } = found;
  const language = mutantLanguage(path, text);
  const unknown = unknownLanguage(path, text);
  if (language === undefined && unknown === undefined) return undefined;
  if (!isMutable(path, text)) return ruledOutPart(path, text);
  if (unknown !== undefined) return { without: `in ${unknown}, which cannot be mutated` };
  if (kind === 'large') return { without: 'of more than 1 MiB' };
  if (kind === 'other') return { without: 'in another encoding than UTF-8' };
  const { mutants, isUnderstood } = await parsedMutants(
    lines === undefined ? { path, text } : { path, text, lines },
  );
  // What was understood of it would look like all of it.
  return isUnderstood ? { text, mutants } : { without: 'that cannot be parsed' };
}

/** Declarations alone run nowhere, whatever the compiler needs of them. */
async function ruledOutPart(path: string, text: string): Promise<SourcePart> {
  if (/\.d\.[cm]?ts$/.test(path) && (await mutantsOf({ path, text })).length === 0) return undefined;
  const language = mutantLanguage(path, text);
  const table: LanguageTable | undefined = language === undefined ? undefined : languageTables[language];
  return { idle: table?.idle?.(path, text) ?? '' };
}

function isSource(app: string, path: string): boolean {
  const found = textOf(join(app, path));
  if (found.kind === 'none' || found.kind === 'repository' || !isMutable(path, found.text)) return false;
  return mutantLanguage(path, found.text) !== undefined || unknownLanguage(path, found.text) !== undefined;
}

/** `text`: of usual length, in UTF-8. `none`: a symbolic link, whose target is mutated where it is, or no file. */
type FoundText =
  | { readonly kind: 'text' | 'large' | 'other'; readonly text: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'repository' };

function textOf(path: string): FoundText {
  const is = lstatSync(path, { throwIfNoEntry: false });
  if (is?.isDirectory() === true) return { kind: 'repository' };
  if (is?.isFile() !== true) return { kind: 'none' };
  if (is.size > longestRead) return { kind: 'large', text: '' };
  const bytes = readFileSync(path);
  const text = bytes.toString('utf8');
  if (is.size > longestSource) return { kind: 'large', text };
  return { kind: Buffer.from(text).equals(bytes) && !text.includes('\0') ? 'text' : 'other', text };
}

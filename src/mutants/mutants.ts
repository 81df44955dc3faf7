/** Mutants of a source file: small changes of its text, each of which a good judge of the program should notice. */
import { sha256 } from '../core/sha256.ts';
import { type ParsedSource, parseSource, pointsOf, type SyntaxNode } from '../platform/grammars.ts';
import { languageTables, type MutantLanguage, mutantLanguage } from './languages/index.ts';
import { patternChanges } from './patterns.ts';
import type { LanguageTable, MutantOperator, TextChange } from './rules.ts';

export interface Mutant {
  /** The same for the same change of the same text of the same path, and no other. */
  readonly id: string;
  readonly path: string;
  readonly language: MutantLanguage;
  readonly operator: MutantOperator;
  /** Where the replaced part begins, blanks aside; the first line is 1. */
  readonly line: number;
  /** Offsets of the replaced part, in UTF-16 units of the text. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

export const mutatedText = (text: string, mutant: Pick<Mutant, 'start' | 'end' | 'replacement'>): string =>
  `${text.slice(0, mutant.start)}${mutant.replacement}${text.slice(mutant.end)}`;

export type SourceText = {
  readonly path: string;
  readonly text: string;
  /** Those that count, from 1; without it all do. */
  readonly lines?: ReadonlySet<number>;
};

/** All mutants of a file that begin in its lines, in the order of its text. Each parses where the original parses, and no
 *  two have the same text. None for a file in an unknown language. */
export const mutantsOf = async (file: SourceText): Promise<readonly Mutant[]> =>
  (await parsedMutants(file)).mutants;

/** The same, and whether the grammar understands the lines: all but a few. */
export async function parsedMutants(
  file: SourceText,
): Promise<{ readonly mutants: readonly Mutant[]; readonly isUnderstood: boolean }> {
  const { path, text, lines } = file;
  const language = mutantLanguage(path, text);
  if (language === undefined || lines?.size === 0) return { mutants: [], isUnderstood: true };
  const table = languageTables[language];
  const source = await parseSource(table.grammar, text);
  try {
    const changes = (await changesOf(source.root, text, table)).filter(
      ({ line }) => lines?.has(line) ?? true,
    );
    const content = sha256(text);
    const mutants = distinct(changes, text)
      .filter((change) => parses(source, change))
      .map((change) => ({ id: idOf(change, path, content), path, language, ...change }));
    return { mutants, isUnderstood: isUnderstood(source.root, file) };
  } finally {
    source.close();
  }
}

/** The share of lines that a grammar may not understand: each lacks something of its language. */
const mostBroken = 0.1;

function isUnderstood(root: SyntaxNode, { text, lines }: SourceText): boolean {
  const counted = new Set(
    text.split('\n').flatMap((line, n) => (line.trim() !== '' && (lines?.has(n + 1) ?? true) ? [n + 1] : [])),
  );
  const broken = brokenLines(root).filter((line) => counted.has(line));
  return new Set(broken).size <= mostBroken * counted.size;
}

function brokenLines(node: SyntaxNode): readonly number[] {
  if (!node.broken) return node.children.flatMap(brokenLines);
  const rows = node.text === '' ? 0 : node.text.trimEnd().split('\n').length;
  return Array.from({ length: rows }, (_, n) => node.line + n);
}

type PlacedChange = TextChange & { readonly line: number };

async function changesOf(root: SyntaxNode, text: string, table: LanguageTable): Promise<PlacedChange[]> {
  const pointOf = pointsOf(text);
  const changes: TextChange[] = [];
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node.broken || table.isLeftOut(node)) continue;
    const rules = node.named && Object.hasOwn(table.rules, node.type) ? table.rules[node.type] : undefined;
    for (const rule of rules ?? []) changes.push(...rule(node));
    const pattern = table.patternOf?.(node);
    if (pattern !== undefined) changes.push(...(await patternChanges(text, pattern)));
    waiting.push(...node.children);
  }
  return changes
    .map((change) => ({ ...change, line: pointOf(firstSign(text, change)).row + 1 }))
    .sort(byPlace);
}

/** What is left out may begin with the end of the line before. */
function firstSign(text: string, { start, end }: TextChange): number {
  const blanks = /^\s*/.exec(text.slice(start, end))?.[0].length ?? 0;
  return start + blanks < end ? start + blanks : start;
}

const byPlace = (a: TextChange, b: TextChange): number =>
  a.start - b.start ||
  a.end - b.end ||
  (a.operator < b.operator ? -1 : a.operator > b.operator ? 1 : a.replacement < b.replacement ? -1 : 1);

/** Without those that change nothing, and of several with the same text the first. */
function distinct(changes: readonly PlacedChange[], text: string): PlacedChange[] {
  const seen = new Set([sha256(text)]);
  return changes.filter((change) => {
    const hash = sha256(mutatedText(text, change));
    return !seen.has(hash) && seen.add(hash);
  });
}

/** Of a text that its grammar does not understand everywhere, no more may be broken than before. */
const parses = (source: ParsedSource, change: TextChange): boolean =>
  source.errors(change) <= source.errors();

const idOf = ({ start, end, operator, replacement }: TextChange, path: string, content: string): string =>
  sha256(JSON.stringify([path, start, end, operator, replacement, content])).slice(0, 16);

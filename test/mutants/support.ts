import { type Mutant, mutantsOf, mutatedText } from '../../src/mutants/mutants.ts';

/** Each mutant as a person would describe it, by line. */
export async function described(path: string, text: string, lines?: ReadonlySet<number>): Promise<string[]> {
  const mutants = await mutantsOf({ path, text, ...(lines === undefined ? {} : { lines }) });
  return mutants.map(
    ({ line, operator, start, end, replacement }) =>
      `${line} ${operator}: ${shown(text.slice(start, end))} → ${shown(replacement)}`,
  );
}

const shown = (text: string): string => (text === '' ? 'nothing' : text.replaceAll('\n', '⏎'));

/** What a mutant's text is, with where it stands. */
export const mutatedTexts = async (path: string, text: string): Promise<(Mutant & { mutated: string })[]> =>
  (await mutantsOf({ path, text })).map((mutant) => ({ ...mutant, mutated: mutatedText(text, mutant) }));

/** Mutants that nothing noticed, as people read them. */
import type { StrengthSurvivor } from '../../core/records/strength.ts';
import { type Mutant, mutatedText } from '../../mutants/mutants.ts';
import type { SourceMutants } from './sources.ts';
import type { StrengthSubject } from './subject.ts';
import type { MutantOutcome } from './tally.ts';

/** In the order of files and lines. */
export async function survivorsOf(
  order: readonly Mutant[],
  outcomes: readonly (MutantOutcome | undefined)[],
  { texts }: SourceMutants,
  { orderOf }: StrengthSubject,
): Promise<readonly StrengthSurvivor[]> {
  const survived = order.flatMap((mutant, n) => {
    const outcome = outcomes[n];
    return outcome === 'survived' || outcome === 'not_reached' ? [{ mutant, outcome }] : [];
  });
  const sorted = survived.sort(
    (a, b) => compare(a.mutant.path, b.mutant.path) || a.mutant.start - b.mutant.start,
  );
  const survivors: StrengthSurvivor[] = [];
  for (const { mutant, outcome } of sorted) {
    const { path, line, operator } = mutant;
    survivors.push({
      ...{ file: path, line, operator, ...differenceOf(texts.get(path) ?? '', mutant) },
      order: await orderOf(path, line),
      reached: outcome === 'survived',
    });
  }
  return survivors;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The lines that the mutant changes, before and after. */
export function differenceOf(
  text: string,
  mutant: Pick<Mutant, 'start' | 'end' | 'replacement'>,
): { readonly before: string; readonly after: string } {
  const first = text.lastIndexOf('\n', mutant.start - 1) + 1;
  const next = text.indexOf('\n', mutant.end);
  const last = next < 0 ? text.length : next;
  const changed = mutatedText(text, mutant);
  return {
    before: text.slice(first, last),
    after: changed.slice(first, last + changed.length - text.length),
  };
}

/** What the scenarios of a run said, in one line for people. Pure. */
import type { Evidence } from './records/result.ts';
import { strengthWords } from './strength.ts';

type Judged = NonNullable<Evidence['judged']>;

/** `scenarios 5 of 5 (floor held), strength not measured, 3 of 5 passed before the work, isolation launcher`. */
export function judgedWords({ passed, total, floor, strength, passed_before, isolation }: Judged): string {
  const held = floor === undefined ? '' : ` (floor ${floor.replace('_', ' ')})`;
  const before = passed_before === undefined ? '' : `, ${passed_before} of ${total} passed before the work`;
  const separated = isolation === undefined ? '' : `, isolation ${isolation}`;
  return `${shortJudgedWords({ passed, total })}${held}, ${strengthWords(strength)}${before}${separated}`;
}

/** `scenarios 2 of 2`, and the strength if it was measured. */
export const shortJudgedWords = ({
  passed,
  total,
  strength,
}: Pick<Judged, 'passed' | 'total'> & { readonly strength?: Judged['strength'] | undefined }): string =>
  `scenarios ${passed} of ${total}${strength === undefined ? '' : `, ${strengthWords(strength)}`}`;

/** Whether all scenarios passed that a judge has reported, and none was accepted that a product without content passes. */
export const judgedAll = (reported: { readonly [key: string]: unknown }): boolean =>
  typeof reported['judge.total'] === 'number' &&
  reported['judge.total'] > 0 &&
  reported['judge.passed'] === reported['judge.total'] &&
  reported['judge.floor'] !== 'failed';

/** Prints the results of the cases. */
import { supersededBy } from './superseded.mjs';

/** pass, FAIL, skip, or one of the two kinds that are printed but not counted. */
export function verdictOf({ id, tags, skipped, problems }) {
  if (skipped !== undefined) return 'skip';
  if (tags.includes('quirk')) return problems.length === 0 ? 'quirk' : 'quirk-off';
  if (problems.length === 0) return 'pass';
  return problems.every((problem) => supersededBy(id, problem) !== undefined) ? 'superseded' : 'FAIL';
}

/** Prints unexpected results, then the counts; returns whether no case failed. */
export function tell(results) {
  const of = (verdict) => results.filter((one) => verdictOf(one) === verdict);
  for (const { id, skipped } of of('skip')) console.log(`skip ${id}: ${skipped}`);
  for (const one of of('quirk-off')) detail('quirk, differs', one, one.note);
  for (const one of of('superseded')) {
    const reasons = new Set(one.problems.map((problem) => supersededBy(one.id, problem)));
    detail('superseded', one, [...reasons].join('; '));
  }
  for (const one of of('FAIL')) detail('FAIL', one);
  const quirks = of('quirk').length + of('quirk-off').length;
  if (quirks > 0) console.log(`${quirks} quirks are not counted: ${of('quirk-off').length} of them differ`);
  if (of('superseded').length > 0)
    console.log(`${of('superseded').length} differ on purpose and are not counted`);
  if (of('skip').length > 0) console.log(`${of('skip').length} skipped`);
  console.log(`${of('pass').length} passed, ${of('FAIL').length} failed`);
  return of('FAIL').length === 0;
}

function detail(word, { id, title, problems, kept }, why) {
  console.log(
    `${word} ${id}${title === undefined ? '' : `: ${title}`}${kept === undefined ? '' : `  [kept in ${kept}]`}`,
  );
  if (why !== undefined) console.log(`     because: ${why}`);
  for (const problem of problems) console.log(`     - ${problem}`);
}

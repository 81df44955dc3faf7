/** What `factory plan SPEC` prints. */
import { join } from 'node:path';
import { levelsWords } from '../../core/ahead-words.ts';
import { manifestFile } from '../../planner/emit.ts';
import type { AttemptEvidence } from '../../planner/evidence.ts';
import { errorsFile, findingLine, isAnError } from '../../planner/report.ts';
import type { FinishedCompile } from '../plan-end.ts';
import type { Paint } from './run.ts';

/** Findings of one attempt that are shown without `--verbose`, and how much of each. */
const mostShown = 3;
const widest = 100;

/** The attempts with their findings; then places and figures. */
export function compileReport(end: FinishedCompile, verbose: boolean, paint: Paint): string {
  const { attempts, output } = end.evidence;
  const lines = attempts.flatMap((it) => attemptLines(it, end.request.max_attempts, verbose, paint));
  const row = (key: string, value: string) => lines.push(`  ${paint.dim(`${key}:`.padEnd(14))} ${value}`);
  row('Compile hash', end.request.compile_hash);
  row('Run ID', end.runId);
  row('Artifacts', end.dir);
  if (end.code === 0) {
    const orders = Object.keys(output).filter((name) => name !== manifestFile).length;
    row('Work orders', String(orders));
    const levels = levelsWords(end.levels);
    if (orders > 1)
      row(
        'Levels',
        levels.length === 0
          ? 'one order each: no two can be asked for together'
          : `${levels.length}, the orders of one can be asked for together`,
      );
    lines.push(...levels.map((line) => `    ${line}`));
    for (const id of end.evidence.skipped)
      row('Left out', `${id} of the plan: the repository has the verify script already`);
    row('Output dir', end.exportedTo ?? join(end.dir, 'output'));
  }
  return `${lines.join('\n')}\n`;
}

/** The last lines of a failed compilation: why, and where to look or what to type. */
export function endingLines(end: FinishedCompile, paint: Paint): string {
  const lines = [`${paint.red('ERROR:')} ${end.reason === '' ? 'no work orders were written' : end.reason}`];
  if (end.evidence.attempts.at(-1)?.checked?.findings.some(isAnError) === true) {
    const last = end.evidence.attempts.length;
    const parse = end.evidence.attempts.at(-1)?.checked?.parseError === true;
    lines.push(
      `  errors: ${join(end.dir, 'compile', parse ? `validation_errors_attempt_${last}.json` : errorsFile)}`,
    );
  }
  if (end.next !== '') lines.push(end.next);
  return `${lines.join('\n')}\n`;
}

/** The lines of one attempt. */
function attemptLines(
  it: Pick<AttemptEvidence, 'attempt' | 'checked'>,
  most: number,
  verbose: boolean,
  paint: Paint,
): string[] {
  const { checked } = it;
  const head = (word: string) => `  Attempt ${it.attempt}/${most} - ${word}`;
  if (checked === undefined) return [head(paint.red('no answer'))];
  const failed = checked.findings.some(isAnError);
  const word = !failed ? paint.green('PASS') : it.attempt >= most ? paint.red('FAIL') : paint.yellow('fail');
  const shown = verbose ? checked.findings : checked.findings.slice(0, mostShown);
  const more = checked.findings.length - shown.length;
  return [
    head(word),
    ...shown.map((finding) => `    ${verbose ? findingLine(finding) : short(findingLine(finding))}`),
    ...(more > 0 ? [`    and ${more} more (--verbose shows all)`] : []),
  ];
}

const short = (text: string): string => {
  const characters = [...text.replace(/\s+/g, ' ')];
  return characters.length <= widest ? characters.join('') : `${characters.slice(0, widest - 1).join('')}…`;
};

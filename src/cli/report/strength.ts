/** What people read of a measured strength. */
import { countedItems } from '../../core/amounts.ts';
import type { Strength, StrengthSurvivor } from '../../core/records/strength.ts';
import { strengthWords } from '../../core/strength.ts';
import type { MeasuredStrength, StrengthProgress } from '../../scenarios/strength/measure.ts';

/** The number, what it consists of, and the survivors. `whose`: what was measured, where it is not the scenarios. */
export function strengthText({ strength, survivors, end }: MeasuredStrength, whose?: string): string {
  const early =
    end === 'budget' && strength.rate !== null
      ? ['the budget is spent: the same command continues']
      : end === 'interrupted'
        ? ['interrupted: the same command continues; the product without a mutant was not judged again']
        : [];
  const lines = [
    `${whose === undefined ? '' : `${whose}: `}${strengthWords(strength)}`,
    ...countLines(strength),
    ...early,
    ...strength.left_out.map((one) => `left out: ${one}`),
    ...(survivors.length === 0
      ? []
      : ['', `${countedItems(survivors.length, 'mutant')} that nothing noticed:`]),
    ...survivors.flatMap(survivorLines),
  ];
  return `${lines.join('\n')}\n`;
}

function countLines(strength: Strength): readonly string[] {
  const { killed, survived, timed_out, not_reached, not_built, no_verdict } = strength;
  if (killed + survived + not_built + no_verdict === 0) return [];
  const part = (count: number, words: string): string => (count === 0 ? '' : ` (${count} ${words})`);
  const dropped = [
    ...(not_built === 0 ? [] : [`${not_built} not built`]),
    ...(no_verdict === 0 ? [] : [`${no_verdict} without a verdict`]),
  ];
  return [
    `${killed} killed${part(timed_out, 'timed out')}, ${survived} survived${part(not_reached, 'in files that nothing runs')}${
      dropped.length === 0 ? '' : `; not counted: ${dropped.join(', ')}`
    }`,
  ];
}

/** Lines of a difference that are shown. */
const mostLines = 6;

function survivorLines({ file, line, operator, before, after, order, reached }: StrengthSurvivor) {
  const notes = [operator, ...(order === null ? [] : [order]), ...(reached ? [] : ['not reached'])];
  return [`${file}:${line}  ${notes.join('  ')}`, ...signed('-', before), ...signed('+', after)];
}

function signed(sign: string, text: string): readonly string[] {
  const lines = text.split('\n');
  const shown = lines.slice(0, mostLines).map((line) => `  ${sign} ${line}`);
  return lines.length > mostLines ? [...shown, `  ${sign} … ${lines.length - mostLines} more lines`] : shown;
}

/** A line that replaces the one before. */
export const progressLine = ({ judged, all }: StrengthProgress): string =>
  `\r\x1b[2K${judged} of ${countedItems(all, 'mutant')} judged`;

/** What a person reads: the table of a case. */
import { factory, quantities, quantityNames, unitOf } from './case.ts';
import type { CaseResult, Compared, Values } from './contest.ts';
import type { Recorded } from './history.ts';
import type { Spread } from './spread.ts';

/** Three digits that count, and a unit: `2.31 ms`, `1.87 s`, `96.2 MiB`, `0.54x`. */
export function shown(value: number, unit: string): string {
  if (unit === 'ms') return Math.abs(value) < 1000 ? `${digits(value)} ms` : `${digits(value / 1000)} s`;
  if (unit === 'mib') return `${digits(value)} MiB`;
  if (unit === 'pc') return `${digits(value)} %`;
  return unit === 'x' ? `${digits(value)}x` : `${value}`;
}

function digits(value: number): string {
  const whole = Math.abs(value);
  return value.toFixed(whole >= 100 ? 0 : whole >= 10 ? 1 : 2);
}

const row = (label: string, spread: Spread, unit: string): string =>
  `  ${label.padEnd(38)}${[spread.min, spread.median, spread.max]
    .map((value) => shown(value, unit).padStart(10))
    .join('')}`;

const verdict = ({ limit, met, unit }: Compared): string =>
  limit === undefined ? '' : `   target ≤ ${shown(limit, unit)}: ${met ? 'met' : 'MISSED'}`;

/** The lines of one case: what was measured, what it was at an earlier commit, how it compares, and whose failure there
 *  was. */
export function table(result: CaseResult, earlier?: Recorded): string {
  const rounds = `${result.rounds} round${result.rounds === 1 ? '' : 's'}`;
  const lines = [
    `${result.name}: ${result.title}; ${rounds}`,
    `  ${''.padEnd(38)}${['min', 'median', 'max'].map((word) => word.padStart(10)).join('')}`,
  ];
  for (const [who, measured] of Object.entries(result.measured))
    for (const quantity of quantities) {
      const values = measured[quantity];
      if (values === undefined) continue;
      const unit = unitOf(quantity);
      const before = who === factory ? earlier?.figures[result.name]?.[quantity] : undefined;
      const then = before === undefined ? '' : `   ${shown(before, unit)} at ${earlier?.commit}`;
      lines.push(`${row(`${who}  ${quantityNames[quantity]}`, values, unit)}${then}`);
    }
  for (const compared of result.compared) lines.push(comparedRow(compared, compared.value));
  for (const [who, why] of Object.entries(result.failed)) lines.push(`  ${who} FAILED: ${why}`);
  return lines.join('\n');
}

const comparedRow = (compared: Compared, value: Values | undefined): string =>
  value === undefined
    ? `  → ${compared.what.padEnd(36)}${'not measured'.padStart(30)}${verdict(compared)}`
    : `${row(`→ ${compared.what}`, value, compared.unit)}${verdict(compared)}`;

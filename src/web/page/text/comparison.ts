/** Words of two runs side by side. Pure. */

import type { NodeFigures, PartingDifference } from '../../../app/compare/shape.ts';
import { differingParts } from '../../../app/compare/words.ts';
import type { RunRow } from '../../../app/inspect/run-row.ts';
import { usdWords } from '../../../core/amounts.ts';
import type { Address } from './address.ts';
import { durationText } from './format.ts';

/** A run next to the one that it comes from; for any other that is to be chosen. */
export function comparisonOf({ run_id, forked_from, replay_of }: RunRow): Address {
  const origin = forked_from?.run_id ?? replay_of;
  return origin === null ? { view: 'compare', a: run_id } : { view: 'compare', a: origin, b: run_id };
}

/** Characters of a text that a cell shows before it is unfolded. */
const shown = 120;

/** What a difference is called, and what each run has. */
export function differenceCells({ what, name, a, b }: PartingDifference): readonly [string, string, string] {
  const title = name === '' ? what : `${what}: ${name}`;
  if (a === null && b === null) return [title, 'differs', 'differs'];
  const none = what === 'changes' ? 'unchanged' : what === 'route' ? 'ends' : 'none';
  return [title, a ?? none, b ?? none];
}

/** Two texts as cells: long ones from shortly before their first difference on. */
export const shortCells = (a: string, b: string): readonly [string, string] => {
  const [was, is] = differingParts(a, b, shown);
  const cut = (text: string) => (text.length > shown ? `${text.slice(0, shown)}…` : text);
  return [cut(was), cut(is)];
};

/** `2 executions`, time and cost of a node. */
export const figureWords = ({ executions, took_ms, cost_usd }: NodeFigures): string =>
  [
    ...(executions === 1 ? [] : [`${executions} ×`]),
    durationText(took_ms),
    ...(cost_usd === 0 ? [] : [usdWords(cost_usd)]),
  ].join(' · ');

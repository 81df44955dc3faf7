/** The words for orders that can be, or were, asked for before their turn. */
import type { AheadCounts, PlanLevels } from './records/ahead.ts';

/** `4 of 9 asked ahead, 1 wasted` */
export const aheadWords = ({ orders, asked, wasted }: AheadCounts): string =>
  `${asked} of ${orders} asked ahead${wasted === 0 ? '' : `, ${wasted} wasted`}`;

/** Whether no two orders can be asked for together. */
export const inARow = (levels: PlanLevels): boolean => levels.every((level) => level.length < 2);

/** A line for each level; none where no two orders can be asked for together. */
export const levelsWords = (levels: PlanLevels): readonly string[] =>
  inARow(levels) ? [] : levels.map((level, at) => `level ${at + 1}: ${level.join(', ')}`);

/** The mark of the exchanges, which the journal's lines and the result have. */
import type { JournalMark, Mark } from '../core/records/checkpoint.ts';
import { exchangesLayout, layout } from '../core/records/layout.ts';
import { markOf } from './exchanges.ts';

/** By path in the run directory, if there are exchanges. */
export const marksByPath = <M extends Mark>(exchanges: M | undefined): Record<string, M> =>
  exchanges === undefined || exchanges.records === 0
    ? {}
    : { [exchangesLayout(layout('').exchanges).calls]: exchanges };

/** As the exchanges are on disk. */
export const marksIn = (run: string): Record<string, JournalMark> =>
  marksByPath(markOf(exchangesLayout(layout(run).exchanges).calls));

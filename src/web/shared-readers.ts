/** What the clients of one server share of the runs that they look at. */
import { openRun } from '../run/open-run.ts';
import { servedActs } from './api/runs.ts';
import { openKeptAnswers } from './kept-answers.ts';
import { openRunFollowers } from './run-followers.ts';
import type { Web } from './web.ts';

export function sharedReaders({
  clock,
  closing,
  runs,
  readOnly,
}: Pick<Web, 'clock' | 'closing' | 'runs' | 'readOnly'>): Pick<Web, 'followers' | 'kept' | 'streams'> {
  const kept = openKeptAnswers(clock, closing);
  const followers = openRunFollowers({
    ...{ clock, closing, open: openRun, changed: kept.drop },
    row: async (id) => {
      const row = await runs.row(id);
      return row && { ...row, ...servedActs(row, { readOnly }) };
    },
  });
  return { followers, kept, streams: { count: 0 } };
}

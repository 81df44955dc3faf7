/** What the clients of one server share of the runs that they look at. */
import { openRun } from '../run/open-run.ts';
import { openKeptAnswers } from './kept-answers.ts';
import { openRunFollowers } from './run-followers.ts';
import type { Web } from './web.ts';

export function sharedReaders({
  clock,
  closing,
  runs,
}: Pick<Web, 'clock' | 'closing' | 'runs'>): Pick<Web, 'followers' | 'kept' | 'streams'> {
  const kept = openKeptAnswers(clock, closing);
  const followers = openRunFollowers({
    ...{ clock, closing, open: openRun, changed: kept.drop },
    row: (id) => runs.row(id),
  });
  return { followers, kept, streams: { count: 0 } };
}

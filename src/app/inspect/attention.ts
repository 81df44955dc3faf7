/** Whether a run needs attention, or a person has dismissed it. */
import { needsAttention } from '../../run/next-command.ts';
import { readActs } from '../acts.ts';
import type { RunRow } from './run-row.ts';

/** What a run was when it was dismissed. */
type Standing = Pick<RunRow, 'status' | 'question'> & {
  readonly dir: string;
  /** Of its latest record. */
  readonly at: string;
};

/** A branch may ask while others run. What is newer than the dismissal undoes it: a record, another status or act. */
export function attentionOf({
  dir,
  status,
  question,
  at,
}: Standing): Pick<RunRow, 'needs_attention' | 'dismissed'> {
  const needs = needsAttention(status) || question?.answer === null;
  if (!needs) return { needs_attention: false, dismissed: false };
  const acts = readActs(dir);
  // A person has accepted what it failed for.
  if (status === 'failed' && acts.some((act) => act.what === 'accept_weak' && act.at >= at))
    return { needs_attention: false, dismissed: false };
  const last = acts.at(-1);
  const dismissed = last?.what === 'dismiss' && last['status'] === status && last.at >= at;
  return { needs_attention: !dismissed, dismissed };
}

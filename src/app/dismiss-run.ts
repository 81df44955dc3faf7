/** Takes a run out of those that need attention, until something happens to it: a line in its `acts.jsonl`. */
import { basename } from 'node:path';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { commandFor, recordAct } from './acts.ts';
import type { DismissReport } from './answers.ts';
import { type InspectHost, inspectRow } from './inspect/rows.ts';

/** Nothing is written for a run that needs no attention. */
export async function dismissRun(
  dir: string,
  who: string,
  host: InspectHost,
): Promise<DismissReport | Refusal> {
  const id = basename(dir);
  const row = await inspectRow(dir, host);
  if (row === undefined) return refused('no-run', `there is no run in ${dir}`);
  const { status, needs_attention, dismissed } = row;
  if (!needs_attention && !dismissed)
    return refused(
      'dismiss',
      `run ${id} needs no attention`,
      'factory runs --attention lists those that do',
      1,
    );
  if (!dismissed) recordAct(dir, { who, what: 'dismiss', status }, host.clock);
  const command = commandFor(dir, ['dismiss', id], host);
  return { schema_version: 1, run_id: id, command, status, already: dismissed };
}

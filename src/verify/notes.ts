/** Checks the notes of people: each file against the journal's line that has used it. */
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../core/json.ts';
import { leftOut } from '../core/policy/visible-failure.ts';
import { layout } from '../core/records/layout.ts';
import type { SteeringNote } from '../core/records/note.ts';
import type { RunRecord } from '../core/records/visit.ts';
import { namesIn } from '../platform/files/read.ts';
import { notesUsed, readNote } from '../run/note-files.ts';
import { type Findings, shortJson } from './report.ts';

/** A note that no line has yet is no fault: the next agent gets it. */
export function checkNotes(runDir: string, records: readonly RunRecord[], found: Findings): void {
  const used = notesUsed(records);
  for (const record of records) {
    if (record.type !== 'Visit') continue;
    for (const note of record.steered ?? []) checkNote(runDir, note, `${record.node}@${record.visit}`, found);
  }
  for (const name of namesIn(layout(runDir).notes)) {
    if (/^\..*\.tmp$/.test(name)) continue;
    const [, number = ''] = /^([1-9]\d{0,8})\.json$/.exec(name) ?? [];
    if (used.has(Number(number))) continue;
    if (number === '' || readNote(runDir, Number(number)) === 'unreadable')
      found.add('added', `steer-notes/${name}`, 'it is not a note to an agent');
    else found.cannot(`steer-notes/${name}: no execution has used it yet`);
  }
}

function checkNote(runDir: string, note: SteeringNote, used: string, found: Findings): void {
  const where = `steer-notes/${note.note}.json`;
  const is = readNote(runDir, note.note);
  found.count('files');
  if (is === undefined) found.add('missing', where, `the execution ${used} has used this note`);
  else if (is === 'unreadable') found.add('unreadable', where, 'it is not a note');
  else if (!isSameNote(is, note))
    found.add('changed', where, `it is not the note that ${used} has used`, {
      should: shortJson(note as Json),
      is: shortJson(is as Json),
    });
}

/** The run may know more secrets than the process that gave the note, and the lines of the holdout: such a text is compared no further. */
const isSameNote = ({ text, ...is }: SteeringNote, { text: recorded, ...should }: SteeringNote): boolean =>
  isDeepStrictEqual(is, should) &&
  (text === recorded || recorded.includes('***') || recorded.includes(leftOut));

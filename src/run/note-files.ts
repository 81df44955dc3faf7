/** The files of notes to the agents of a run: each has a number, in the order in which they were given, and is used by the journal's
 *  line of one execution. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { jsonIn } from '../core/json.ts';
import { layout } from '../core/records/layout.ts';
import { type SteeringNote, steeringNoteSchema } from '../core/records/note.ts';
import type { RunRecord } from '../core/records/visit.ts';
import { linkOnce } from '../platform/files/link.ts';
import { namesIn, readPlain } from '../platform/files/read.ts';

const noteFile = (runDir: string, note: number): string => join(layout(runDir).notes, `${note}.json`);

/** Bytes. */
const mostOfNote = 1024 * 1024;

/** A note; undefined where there is none, `unreadable` where something else is there. */
export function readNote(runDir: string, note: number): SteeringNote | undefined | 'unreadable' {
  const is = readPlain(noteFile(runDir, note), mostOfNote);
  if (is.kind === 'missing') return undefined;
  const read = is.kind === 'text' ? steeringNoteSchema().safeParse(jsonIn(is.text)) : undefined;
  return read?.success === true && read.data.note === note ? read.data : 'unreadable';
}

/** All notes to the run, in their order; what is none is left out. */
export const notesTo = (runDir: string): readonly SteeringNote[] =>
  numbersIn(runDir).flatMap((number) => {
    const note = readNote(runDir, number);
    return typeof note === 'object' ? [note] : [];
  });

const numbersIn = (runDir: string): readonly number[] =>
  namesIn(layout(runDir).notes)
    .flatMap((name) => (/^[1-9]\d{0,8}\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
    .sort((a, b) => a - b);

/** Links the file of a note with the next number. */
export async function linkNote(runDir: string, given: Omit<SteeringNote, 'note'>): Promise<SteeringNote> {
  for (let number = (numbersIn(runDir).at(-1) ?? 0) + 1; ; number++) {
    const note = { note: number, ...given };
    if (await linkOnce(noteFile(runDir, number), noteText(note))) return note;
  }
}

/** Links the file of a note that the record of another run has, with its number if that is free. */
export async function linkNoteAgain(runDir: string, note: SteeringNote): Promise<SteeringNote> {
  if (await linkOnce(noteFile(runDir, note.note), noteText(note))) return note;
  if (isDeepStrictEqual(readNote(runDir, note.note), note)) return note;
  const { note: _, ...given } = note;
  return linkNote(runDir, given);
}

const noteText = (note: SteeringNote): string => `${JSON.stringify(note, null, 2)}\n`;

/** The executions that have used notes, by the numbers of these. */
export const notesUsed = (records: readonly RunRecord[]): ReadonlyMap<number, string> =>
  new Map(
    records.flatMap((record) =>
      record.type === 'Visit'
        ? (record.steered ?? []).map(({ note }) => [note, `${record.node}@${record.visit}`] as const)
        : [],
    ),
  );

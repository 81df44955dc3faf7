/** Notes of people to the agents of a run, as views show them. */
import type { SteeringNote } from '../../core/records/note.ts';
import type { RunRecord } from '../../core/records/visit.ts';
import { notesTo, notesUsed } from '../../run/note-files.ts';
import type { NoteRow } from './shapes.ts';

/** All notes to the run in `dir`, in their order. */
export function noteRowsOf(dir: string, records: readonly RunRecord[]): readonly NoteRow[] {
  const notes = notesTo(dir);
  if (notes.length === 0) return [];
  const used = notesUsed(records);
  return notes.map((note) => noteRow(note, used.get(note.note)));
}

export const noteRow = (note: SteeringNote, usedBy?: string): NoteRow => ({
  ...note,
  branch: note.branch ?? null,
  used_by: usedBy ?? null,
});

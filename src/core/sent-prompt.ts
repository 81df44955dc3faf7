/** How the text of a prompt and notes of people become the prompt that is sent. Pure. */
import type { SteeringNote } from './records/note.ts';

/** What is sent of the text of a file. */
export const withoutFinalNewline = (text: string): string => text.replace(/\r?\n$/, '');

export const withoutTrailingNewlines = (text: string): string => text.replace(/\n+$/, '');

type Note = Pick<SteeringNote, 'by' | 'text'>;

/** The prompt with the notes that people gave while the run was under way; unchanged without any. */
export const withNotes = (prompt: string, notes: readonly Note[]): string =>
  notes.length === 0 ? prompt : `${withoutTrailingNewlines(prompt)}${sectionOf(notes)}`;

/** The prompt to which these notes were added; undefined if it does not end with them. */
export function withoutNotes(prompt: string, notes: readonly Note[]): string | undefined {
  const section = notes.length === 0 ? '' : sectionOf(notes);
  return prompt.endsWith(section) ? prompt.slice(0, prompt.length - section.length) : undefined;
}

const sectionOf = (notes: readonly Note[]): string =>
  [
    '',
    '',
    'Notes from people, given while this run was under way. They take precedence over what is above:',
    ...notes.map(({ by, text }) => `- ${by}: ${text.trim().replace(/\n/g, '\n  ')}`),
  ].join('\n');

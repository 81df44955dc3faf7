/** What is wrong with the files of a run, as people are told of it. */
import type * as z from 'zod';

/** The answer in place of what could not be read: `why` says what is wrong with which file, and how to go on. */
export type Unreadable = { readonly ok: false; readonly why: string };

export const unreadable = (what: string, fix: string): Unreadable => ({ ok: false, why: `${what}; ${fix}` });

/** Up to three findings of a schema, in a line. */
export const inALine = (error: z.ZodError): string => {
  const all = error.issues.map((issue) => `${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  return all.slice(0, 3).join('; ') + (all.length > 3 ? `; and ${all.length - 3} more` : '');
};

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

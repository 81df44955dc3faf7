/** What is wrong with the files of a run, as people are told of it. */
import type * as z from 'zod';

/** The answer in place of what could not be read: `why` says what is wrong with which file, and how to go on. */
export type Unreadable = { readonly ok: false; readonly why: string };

export const unreadable = (what: string, fix: string): Unreadable => ({ ok: false, why: `${what}; ${fix}` });

/** What the form of a record's version says, where it is another one than ours: `is of …`, and what to do. */
export function otherVersion(value: unknown): { readonly what: string; readonly fix: string } | undefined {
  if (typeof value !== 'object' || value === null || !('schema_version' in value)) return undefined;
  const { schema_version: version } = value;
  if (typeof version !== 'number' || version === 1) return undefined;
  return {
    what: `has the form ${version} (schema_version), and this version of factory reads form 1`,
    fix: `use ${version > 1 ? 'the newer' : 'the'} version of factory that made the run`,
  };
}

/** Up to three findings of a schema, in a line. */
export const inALine = (error: z.ZodError): string => {
  const all = error.issues.map((issue) => `${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  return all.slice(0, 3).join('; ') + (all.length > 3 ? `; and ${all.length - 3} more` : '');
};

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

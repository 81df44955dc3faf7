/** Messages about invalid files of a run. */
import type * as z from 'zod';

/** `why` says which file is invalid, and how to fix it. */
export type Unreadable = { readonly ok: false; readonly why: string };

export const unreadableFile = (what: string, fix: string): Unreadable => ({
  ok: false,
  why: `${what}; ${fix}`,
});

/** For a record of another version than `known`: `has the form …`, and the fix. */
export function otherVersion(
  value: unknown,
  known = 1,
): { readonly what: string; readonly fix: string } | undefined {
  if (typeof value !== 'object' || value === null || !('schema_version' in value)) return undefined;
  const { schema_version: version } = value;
  if (typeof version !== 'number' || version === known) return undefined;
  return {
    what: `has the form ${version} (schema_version), and this version of factory reads form ${known}`,
    fix: `use ${version > known ? 'the newer' : 'the'} version of factory that made the run`,
  };
}

/** Up to three findings of a schema, in one line. */
export const schemaProblems = (error: z.ZodError): string => {
  const all = error.issues.map((issue) => `${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  return all.slice(0, 3).join('; ') + (all.length > 3 ? `; and ${all.length - 3} more` : '');
};

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

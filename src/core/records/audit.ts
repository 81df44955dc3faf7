/** `audit.json` and `factory audit --json`: holdout leaks, and changes that agents made to tests and to the files that
 *  run them. Fields are only ever added. */
import * as z from 'zod';
import { countedItems } from '../amounts.ts';
import { once } from '../once.ts';

const auditFindingSchema = once(() =>
  z.object({
    code: z
      .string()
      .describe(
        'holdout-canary, tests-removed, test-file-deleted, check-changed, check-skipped, runner-shadowed, tests-overridden, test-changed, check-narrowed',
      ),
    severity: z.enum(['error', 'warning']),
    sure: z.enum(['certain', 'likely', 'possible']),
    node: z.string().nullable().describe('Null for a commit without a known node'),
    visit: z.int().nullable(),
    where: z.string().describe('Artifact of the run directory, file of the workspace, or commit'),
    path: z.string().nullable().describe('File of the workspace, relative to it'),
    line: z.int().nullable().describe('1-based; null if it spans several lines or was decoded first'),
    message: z.string(),
    fix: z.string(),
    sealed: z
      .object({
        file: z.int().positive().describe('Number of the sealed file, sorted by path'),
        line: z.int().positive().describe('1-based'),
      })
      .exactOptional()
      .describe('Position of the leaked text, which is not repeated here'),
    before: z.string().exactOptional().describe('Lines that the change removed'),
    after: z.string().exactOptional().describe('Lines that it added'),
  }),
);
export type AuditFinding = z.infer<ReturnType<typeof auditFindingSchema>>;

export const auditReportSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run_id: z.string(),
    holdout: z
      .enum(['checked', 'none', 'unreadable'])
      .describe('No holdout; or it could not be read, and leaks were not searched for'),
    holdout_problem: z.string().exactOptional().describe('Why it could not be read'),
    looked_at: z.object({
      visits: z.int(),
      texts: z.int().describe('Prompts, answers, transcripts, recorded exchanges, context updates'),
      files: z.int().describe('Contents of files after executions and in commits'),
      commits: z.int(),
      canaries: z.int(),
    }),
    /** Parts of the run that could not be read. */
    notes: z.array(z.string()),
    findings: z.array(auditFindingSchema()),
    errors: z.int(),
    warnings: z.int(),
  }),
);
export type AuditReport = z.infer<ReturnType<typeof auditReportSchema>>;

/** The summary of it in `result.json`. */
export const auditCountsSchema = once(() =>
  z.object({
    findings: z.int(),
    errors: z.int(),
    warnings: z.int(),
  }),
);
export type AuditCounts = z.infer<ReturnType<typeof auditCountsSchema>>;

/** A count with its noun, for messages. */
/** The audit in one line. */
export function auditWords({ findings, errors, warnings }: AuditCounts): string {
  if (findings === 0) return 'nothing found';
  return [
    ...(errors > 0 ? [countedItems(errors, 'error')] : []),
    ...(warnings > 0 ? [countedItems(warnings, 'warning')] : []),
  ].join(', ');
}

/** `.factory/plan/state.json`: the state of a plan between `factory plan` commands. */
import { join } from 'node:path';
import * as z from 'zod';
import { inWorkspace } from '../model/layout.ts';
import { writeJson } from '../system/files.ts';
import { readPlain } from '../system/read.ts';

const source = z.object({ path: z.string().describe('As given by the user'), sha256: z.string() });

const finding = z.object({
  code: z.string(),
  wo_id: z.string().nullable(),
  field: z.string().nullable(),
  message: z.string(),
});

export const PlanState = z.object({
  schema_version: z.literal(1),
  started_at: z.string(),
  spec: source.nullable(),
  template: source.nullable(),
  model: z.string(),
  effort: z.string(),
  compile_hash: z.string(),
  repo: z
    .string()
    .nullable()
    .describe('Absolute folder whose files count as existing; null for the workspace'),
  attempt: z.int().nonnegative().describe('Number of answers checked so far'),
  attempts: z.array(
    z.object({
      attempt: z.int().positive(),
      checked_at: z.string(),
      parse_error: z.boolean(),
      findings: z.array(finding),
    }),
  ),
  skipped: z
    .array(z.string())
    .optional()
    .describe('After the orders are written: the original ids of removed orders'),
});
export type PlanState = z.infer<typeof PlanState>;

/** The state of a plan without a prompt. */
export const unbegun = (now: Date): PlanState => ({
  schema_version: 1,
  started_at: now.toISOString(),
  spec: null,
  template: null,
  model: '',
  effort: '',
  compile_hash: '',
  repo: null,
  attempt: 0,
  attempts: [],
});

/** The state in `workspace`; undefined if there is none, a problem if the file is invalid. */
export async function readState(
  workspace: string,
): Promise<PlanState | undefined | { readonly problem: string }> {
  const file = readPlain(join(workspace, inWorkspace.planState));
  if (file.kind === 'missing') return undefined;
  if (file.kind === 'none') return { problem: `${inWorkspace.planState} ${file.why}` };
  try {
    const read = PlanState.safeParse(JSON.parse(file.text));
    if (read.success) return read.data;
    return {
      problem: `${inWorkspace.planState} does not have the form it should: ${z.prettifyError(read.error)}`,
    };
  } catch (error) {
    return {
      problem: `${inWorkspace.planState} is not JSON: ${error instanceof Error ? error.message : error}`,
    };
  }
}

export const writeState = (workspace: string, state: PlanState): Promise<void> =>
  writeJson(join(workspace, inWorkspace.planState), state);

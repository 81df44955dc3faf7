/** The state of a plan between `factory plan` commands, which they keep in the state of the run's tools. */
import { join } from 'node:path';
import * as z from 'zod';
import type { JsonObject } from '../core/json.ts';
import { once } from '../core/once.ts';
import { specQuestionSchema } from '../core/orders/spec-questions.ts';
import { inWorkspace } from '../core/records/layout.ts';
import { type ToolState, toolState } from '../platform/tool-state.ts';

const source = once(() =>
  z.object({ path: z.string().describe('As given by the user'), sha256: z.string() }),
);

const finding = once(() =>
  z.object({
    code: z.string(),
    wo_id: z.string().nullable(),
    field: z.string().nullable(),
    message: z.string(),
  }),
);

const planStateSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    started_at: z.string(),
    spec: source().nullable(),
    template: source().nullable(),
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
        findings: z.array(finding()),
      }),
    ),
    skipped: z
      .array(z.string())
      .exactOptional()
      .describe('After the orders are written: the original ids of removed orders'),
    asked: z
      .object({
        spec_sha256: z.string().describe('Of the specification that was asked about'),
        questions: z.array(specQuestionSchema()),
        answered: z
          .object({
            answers: z.array(z.string().nullable()).describe('In order; null: the proposal was taken'),
            by: z.string(),
            at: z.string(),
          })
          .exactOptional(),
      })
      .exactOptional()
      .describe('What the specification left open'),
  }),
);
export type PlanState = z.infer<ReturnType<typeof planStateSchema>>;

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

/** The key of a plan in the state of the run's tools. */
const planKey = 'plan';

/** The state of a plan as a run has recorded it; undefined before its prompt is written. */
export const planStateIn = (toolState: JsonObject | undefined): PlanState | undefined =>
  planStateSchema().safeParse(toolState?.[planKey]).data;

const stateOf = (io: PlanPlace): ToolState =>
  toolState(planKey, io.env, { path: join(io.cwd, inWorkspace.toolState), name: inWorkspace.toolState });
type PlanPlace = { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> };

/** The state that a step finds; undefined before the first. */
export function readPlanState(io: PlanPlace): PlanState | undefined | { readonly problem: string } {
  const read = stateOf(io).read();
  if ('problem' in read || read.value === undefined) return 'problem' in read ? read : undefined;
  const parsed = planStateSchema().safeParse(read.value);
  return parsed.success
    ? parsed.data
    : { problem: `the state of the plan is not valid: ${z.prettifyError(parsed.error)}` };
}

export const writePlanState = (io: PlanPlace, state: PlanState): Promise<void> => stateOf(io).write(state);

/** The progress of a build, which its steps keep in the state of the run's tools. */

import { join } from 'node:path';
import * as z from 'zod';
import type { JsonObject } from '../model/json.ts';
import { inWorkspace } from '../model/layout.ts';
import { once } from '../model/once.ts';
import { type ToolState, toolState } from '../system/tool-state.ts';
import { failureStages } from './stage.ts';

export const failureBriefSchema = once(() =>
  z.object({
    stage: z.enum(failureStages),
    command: z.string().nullable(),
    exit_code: z.number().nullable(),
    excerpt: z.string().describe('Why, with what the output of the command says of it'),
    reminder: z.string(),
  }),
);
export type FailureBrief = z.infer<ReturnType<typeof failureBriefSchema>>;

const doneSchema = once(() =>
  z.object({
    id: z.string(),
    commit: z.string().nullable().describe('Null when the order changed nothing'),
    subject: z.string(),
    attempts: z.number().describe('0 when the workdir already had it'),
  }),
);

export const buildStateSchema = once(() =>
  z.object({
    version: z.literal(1),
    digests: z.record(z.string(), z.string()).describe('Digest of each order when it was first read, by id'),
    allow_exempt: z
      .boolean()
      .default(false)
      .describe('Orders may be exempt from verification without a planner'),
    head: z.string().nullable().describe('The commit that the next one is built on'),
    tree: z.string().exactOptional().describe('The tree of that commit, where it is known'),
    done: z.array(doneSchema()),
    current: z
      .object({
        id: z.string(),
        attempt: z.number().describe('1-based; 0 before the first'),
        snapshot: z.string().nullable().describe('The workspace when the attempt began'),
        touched: z.array(z.string()),
        written: z
          .object({
            tree: z.string().describe("The head's tree with the order's files as they were written"),
            modes: z.record(z.string(), z.number()).describe('Permission bits of those files, by path'),
            hashes: z
              .record(z.string(), z.string())
              .default({})
              .describe('SHA-256 of those files as a checkout has them, by path'),
          })
          .nullable()
          .default(null)
          .describe('The content of the commit, recorded before any check ran'),
        failed: z
          .object({ stage: z.enum(failureStages), reason: z.string() })
          .nullable()
          .describe('The failure that a factory order tool found in this attempt'),
        brief: failureBriefSchema().nullable().describe('Why the previous attempt failed'),
      })
      .nullable(),
  }),
);
export type BuildState = z.infer<ReturnType<typeof buildStateSchema>>;
export type CurrentOrder = NonNullable<BuildState['current']>;

/** The key of a build in the state of the run's tools. */
const orderKey = 'order';

export const orderState = (env: Readonly<Record<string, string | undefined>>, workspace: string): ToolState =>
  toolState(orderKey, env, { path: join(workspace, inWorkspace.toolState), name: inWorkspace.toolState });

/** The state of a build as a run has recorded it; undefined before the first order. */
export const buildStateIn = (toolState: JsonObject | undefined): BuildState | undefined =>
  buildStateSchema().safeParse(toolState?.[orderKey]).data;

/** The state that a step finds; undefined before the first order. */
export function readState({
  state,
}: {
  readonly state: ToolState;
}): { readonly state: BuildState | undefined } | { readonly problem: string } {
  const read = state.read();
  if ('problem' in read) return read;
  if (read.value === undefined) return { state: undefined };
  const parsed = buildStateSchema().safeParse(read.value);
  return parsed.success
    ? { state: parsed.data }
    : { problem: `the state of the build is not valid: ${z.prettifyError(parsed.error)}` };
}

export const writeState = ({ state }: { readonly state: ToolState }, now: BuildState): Promise<void> =>
  state.write(now);

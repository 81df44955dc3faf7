/** `.factory/order/state.json`: the progress of a build. It is in the workspace, so a resume restores it with the rest. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { inWorkspace } from '../model/layout.ts';
import { sha256 } from '../model/sha256.ts';
import { isMissing, writeFileAtomic } from '../system/files.ts';
import { readPlain } from '../system/read.ts';
import { inHistory } from './in-history.ts';
import { readRecord } from './record.ts';
import { failureStages } from './stage.ts';

export const FailureBrief = z.lazy(() =>
  z.object({
    stage: z.enum(failureStages),
    command: z.string().nullable(),
    exit_code: z.number().nullable(),
    excerpt: z.string().describe('Why, with what the output of the command says of it'),
    reminder: z.string(),
  }),
);
export type FailureBrief = z.infer<typeof FailureBrief>;

const Done = z.lazy(() =>
  z.object({
    id: z.string(),
    commit: z.string().nullable().describe('Null when the order changed nothing'),
    subject: z.string(),
    attempts: z.number().describe('0 when the workdir already had it'),
  }),
);

export const BuildState = z.lazy(() =>
  z.object({
    version: z.literal(1),
    digests: z.record(z.string(), z.string()).describe('Digest of each order when it was first read, by id'),
    allow_exempt: z
      .boolean()
      .default(false)
      .describe('Orders may be exempt from verification without a planner'),
    head: z.string().nullable().describe('The commit that the next one is built on'),
    done: z.array(Done),
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
          })
          .nullable()
          .default(null)
          .describe('The content of the commit, recorded before any check ran'),
        failed: z
          .object({ stage: z.enum(failureStages), reason: z.string() })
          .nullable()
          .describe('The failure that a factory order tool found in this attempt'),
        brief: FailureBrief.nullable().describe('Why the previous attempt failed'),
      })
      .nullable(),
  }),
);
export type BuildState = z.infer<typeof BuildState>;
export type CurrentOrder = NonNullable<BuildState['current']>;

/** Undefined before the first order. Rejects with a BadRecord if the file is not valid. */
export async function readState(workspace: string): Promise<BuildState | undefined> {
  try {
    return await readRecord(join(workspace, inWorkspace.orderState), BuildState);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Where the state of a build is stored: the workspace, and the run's history. */
export type Books = { readonly workspace: string; readonly run: { readonly history: string } };

/** Records the hash of the state in the history, then writes the state. */
export async function writeState({ workspace, run }: Books, state: BuildState): Promise<void> {
  const text = `${JSON.stringify(state, null, 2)}\n`;
  await noteState(run.history, sha256(text));
  await writeFileAtomic(join(workspace, inWorkspace.orderState), text, { sync: true });
}

/** Whether the state file was written by another program than factory: the product and its checks can write in the
 *  workspace, and could mark an order as done. Any recorded state is accepted, because a resume restores an older one. */
export async function isForeignState({ workspace, run }: Books): Promise<boolean> {
  const found = readPlain(join(workspace, inWorkspace.orderState));
  if (found.kind === 'missing') return false;
  const noted = await statesOf(run.history);
  if (noted === undefined) return false;
  return found.kind !== 'text' || !noted.includes(sha256(found.text));
}

async function noteState(history: string, hash: string): Promise<void> {
  const noted = await statesOf(history);
  if (noted === undefined || noted.includes(hash)) return;
  const text = [...noted, hash].map((line) => `${line}\n`).join('');
  await writeFileAtomic(inHistory(history).states, text, { sync: true, syncFolder: true });
}

/** Undefined for a run without recorded states, which accepts any. */
async function statesOf(history: string): Promise<readonly string[] | undefined> {
  try {
    return (await readFile(inHistory(history).states, 'utf8')).split('\n').filter((line) => line !== '');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

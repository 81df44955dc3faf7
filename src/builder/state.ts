/** `.factory/order/state.json`: where a build stands. It lies in the workspace, so a resume restores it with the rest. */
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
    excerpt: z.string().describe('Why, with the head and the tail of what the command printed'),
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
    digests: z.record(z.string(), z.string()).describe('Each order as it was first read, by id'),
    allow_exempt: z
      .boolean()
      .default(false)
      .describe('Orders may be exempt from verification by their own word'),
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
          .describe('What the commit will hold, noted before any check ran'),
        failed: z
          .object({ stage: z.enum(failureStages), reason: z.string() })
          .nullable()
          .describe('What a tool of ours found wrong in this attempt'),
        brief: FailureBrief.nullable().describe('Why the attempt before this one failed'),
      })
      .nullable(),
  }),
);
export type BuildState = z.infer<typeof BuildState>;
export type CurrentOrder = NonNullable<BuildState['current']>;

/** Undefined before the first order. Rejects when the file is not ours. */
export async function readState(workspace: string): Promise<BuildState | undefined> {
  try {
    return await readRecord(join(workspace, inWorkspace.orderState), BuildState);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Where a build keeps its books: the workspace, and the history that belongs to the run alone. */
export type Books = { readonly workspace: string; readonly run: { readonly history: string } };

/** Says in the history that this state is the build's own, then puts it down. */
export async function writeState({ workspace, run }: Books, state: BuildState): Promise<void> {
  const text = `${JSON.stringify(state, null, 2)}\n`;
  await noteState(run.history, sha256(text));
  await writeFileAtomic(join(workspace, inWorkspace.orderState), text, { sync: true });
}

/** What is built, and what checks it, writes in the workspace as well, and could say there that an order is done. Any of
 *  the states that were noted may be there again: a resume goes back to where a checkpoint stands. */
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

/** Undefined for a run that was begun before states were noted, and believes any: a fork may go back to each that it had. */
async function statesOf(history: string): Promise<readonly string[] | undefined> {
  try {
    return (await readFile(inHistory(history).states, 'utf8')).split('\n').filter((line) => line !== '');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** `journal.jsonl`: the state of a run, line by line. Each line has the hash of all lines before it; the lines up to any
 *  point, applied in order, give the state there. Everything else that tells how a run stands is a view, written from it. */
import * as z from 'zod';
import { spentSchema } from '../budget/usage.ts';
import { once } from '../once.ts';
import { parkedSchema, pausedWords } from '../outcome.ts';
import { endedSchema } from './checkpoint.ts';
import { exchangeSchema } from './exchange.ts';
import { branchOf } from './fork.ts';
import { fileName, nodeId } from './names.ts';
import { questionSchema } from './question.ts';
import { stopAskedSchema } from './stop-request.ts';
import {
  branchStoppedSchema,
  callRecordSchema,
  stamp,
  startRecordSchema,
  visitRecordSchema,
} from './visit.ts';

/** An execution has begun. Not flushed by itself. */
const beganRecordSchema = once(() =>
  z.object({
    ...stamp(),
    type: z.literal('Began'),
    at: z.string(),
    node: nodeId(),
    node_type: z.string(),
    visit: z.int().positive(),
    branch: branchOf().exactOptional(),
    does: z
      .string()
      .exactOptional()
      .describe('What it does, for people: its command, its model or its label; absent without one'),
  }),
);

const standing = once(() => ({
  at: z.string(),
  elapsed_ms: z.number(),
  cut_ms: z.number().exactOptional().describe('Of interrupted executions of the next node'),
  spent: spentSchema(),
  branches: z
    .record(nodeId(), z.object({ cut_ms: z.number() }))
    .exactOptional()
    .describe('Of open branches: interrupted executions of their next nodes'),
}));

/** The run stopped before its next node, or while it ran: by a limit, an interruption or a suspension. */
const stoppedRecordSchema = once(() =>
  z.object({
    ...stamp(),
    ...standing(),
    type: z.literal('Stopped'),
    status: z.enum(['failed', 'interrupted', ...pausedWords]),
    ended: endedSchema().nullable(),
    parked: parkedSchema().exactOptional(),
    question: questionSchema()
      .exactOptional()
      .describe('That it asks a person; absent where it was asked before'),
    signal: z.string().exactOptional().describe('That interrupted it'),
    request: stopAskedSchema().exactOptional().describe('That interrupted it, instead of a signal'),
  }),
);

/** The run continues from here: a resume, or a fork after the copied executions. The manifest with this hash, and the
 *  texts that came with it, count from this line on. */
const resumedRecordSchema = once(() =>
  z.object({
    ...stamp(),
    ...standing(),
    type: z.literal('Resumed'),
    snapshot: fileName().describe('Of the workspace, with changed texts'),
    manifest_sha256: z.string(),
  }),
);

export const journalLineSchema = once(() =>
  z.union([
    z.discriminatedUnion('type', [
      startRecordSchema(),
      visitRecordSchema(),
      beganRecordSchema(),
      exchangeSchema(),
      branchStoppedSchema(),
      stoppedRecordSchema(),
      resumedRecordSchema(),
    ]),
    callRecordSchema().and(z.object(stamp())),
  ]),
);
export type JournalLine = z.infer<ReturnType<typeof journalLineSchema>>;
export type StoppedRecord = z.infer<ReturnType<typeof stoppedRecordSchema>>;
export type ResumedRecord = z.infer<ReturnType<typeof resumedRecordSchema>>;

/** A line before the journal adds its version, the run, its number, its owner and the hash of the lines before. */
export type LineFacts = JournalLine extends infer L
  ? L extends JournalLine
    ? Omit<L, 'schema_version' | 'run_id' | 'seq' | 'epoch' | 'prev'>
    : never
  : never;
export type VisitFacts = Extract<LineFacts, { type: 'Visit' }>;
/** The lines that are flushed and change the state. */
export type CommittedFacts = Extract<
  LineFacts,
  { type: 'Start' | 'Visit' | 'BranchStopped' | 'Stopped' | 'Resumed' }
>;
export type BranchStoppedFacts = Extract<LineFacts, { type: 'BranchStopped' }>;
export type ExchangeFacts = Extract<LineFacts, { type: 'Exchange' }>;

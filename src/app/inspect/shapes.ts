/** A run as people see it, whole: the same shape for the command line, the HTTP API and the page. Fields are only ever added. */
import * as z from 'zod';
import { spentSchema } from '../../core/budget/usage.ts';
import { once } from '../../core/once.ts';
import { failureClasses } from '../../core/outcome.ts';
import { weaknessAcceptedSchema } from '../../core/records/acceptance.ts';
import { aheadCountsSchema, planLevelsSchema } from '../../core/records/ahead.ts';
import { manifestSchema } from '../../core/records/manifest.ts';
import { steeringNoteSchema } from '../../core/records/note.ts';
import { runResultSchema } from '../../core/records/result.ts';
import { changedFilesSchema } from './changed-files.ts';
import { branchRowSchema, executionGroupSchema, executionRowSchema } from './execution-shapes.ts';
import { failureCardSchema } from './failure-card.ts';
import { graphViewSchema } from './graph-shapes.ts';
import { runRowSchema } from './run-row.ts';
import { ms, waiting } from './shape-parts.ts';

/** A note of a person to the agents of a run. */
export const noteRowSchema = once(() =>
  steeringNoteSchema().extend({
    branch: z.string().nullable().describe('Only for agents of this branch; null: for any'),
    used_by: z.string().nullable().describe('`NODE@VISIT` whose prompt has it; null while it waits'),
  }),
);
export type NoteRow = z.infer<ReturnType<typeof noteRowSchema>>;

/** Why a run stands as it does. */
export const causeSchema = once(() =>
  z.object({
    headline: z.string(),
    lines: z.array(z.string()).describe('At most five, the most important first'),
    evidence: z.array(z.string()).describe('Paths of files that show it'),
    node: z.string().nullable().describe('`NODE@VISIT` that shows it'),
    next: z.string().describe('The command to run next; empty if there is none'),
  }),
);
export type Cause = z.infer<ReturnType<typeof causeSchema>>;

/** A node of a run, with what its executions took together. */
const nodeRowSchema = once(() =>
  z.object({
    node: z.string(),
    type: z.string(),
    visits: z.int().describe('Executions, the unfinished one included'),
    outcome: executionRowSchema().shape.state.describe('Of the latest execution'),
    waiting: waiting(),
    failure_class: z.enum(failureClasses).nullable(),
    failure_reason: z.string(),
    retries: z.int().describe('Over all executions'),
    took_ms: ms(),
    spent: spentSchema(),
    sandbox: z.string().nullable().describe('What confined the programs of its latest execution'),
  }),
);
export type NodeRow = z.infer<ReturnType<typeof nodeRowSchema>>;

/** A run, whole. */
export const runViewSchema = once(() =>
  runRowSchema().extend({
    schema_version: z.literal(1),
    agent: z.string(),
    sandbox: manifestSchema().shape.sandbox.unwrap().nullable().describe('Null: the nodes have none'),
    not_enforced: z.array(z.string()),
    spec: z.string().nullable().describe('Path of the spec, if a variable of that name is a file'),
    groups: z.array(executionGroupSchema()),
    levels: planLevelsSchema().describe(
      'Work orders by when they can be asked for, those of one level together; empty if no two can',
    ),
    ahead: aheadCountsSchema()
      .nullable()
      .describe('Work orders asked for before their turn; null if none was'),
    executions: z.array(executionRowSchema()).describe('In order'),
    branches: z.array(branchRowSchema()).describe('In the order in which they were opened'),
    notes: z.array(noteRowSchema()).describe('Of people to its agents, in their order'),
    accepted_weakness: weaknessAcceptedSchema()
      .nullable()
      .describe('That a person has delivered it although its scenarios are too weak; null if none has'),
    graph: graphViewSchema(),
    cause: causeSchema().nullable().describe('Null for a run that runs or completed'),
    changed: changedFilesSchema().nullable().describe('Null where its snapshots cannot be read'),
    card: failureCardSchema().nullable().describe('Null for a run that needs no attention'),
    result: runResultSchema().nullable().describe('Null until it has ended'),
    last_event: z.int().describe('`seq` of the last event that this view contains'),
    holdout: manifestSchema()
      .shape.holdout.unwrap()
      .pick({ paths: true, files: true, from: true, sha256: true })
      .nullable(),
    prices: z.object({ dated: z.string(), from: z.string() }).describe('Date and file of the price list'),
    nodes: z.array(nodeRowSchema()).describe('Each node, in the order in which the run came to them first'),
    failure: z
      .object({ node: z.string(), output: z.string() })
      .nullable()
      .describe('The node of the latest failure, and what later nodes were given of its output'),
  }),
);
export type RunView = z.infer<ReturnType<typeof runViewSchema>>;

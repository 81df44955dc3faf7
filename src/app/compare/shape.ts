/** Two runs side by side: the shape that command line, API and page share. Fields are only ever added. */
import * as z from 'zod';
import { once } from '../../core/once.ts';
import { executionRowSchema } from '../inspect/execution-shapes.ts';
import { runRowSchema } from '../inspect/run-row.ts';

const inBoth = once(() => ({
  a: z.string().nullable().describe('Null: the first run has none'),
  b: z.string().nullable().describe('Null: the second run has none'),
}));

const comparedRunSchema = once(() =>
  runRowSchema()
    .pick({
      ...{ run_id: true, title: true, pipeline: true, status: true, headline: true, started_at: true },
      ...{ elapsed_ms: true, spent: true, forked_from: true, replay_of: true, run_dir: true },
    })
    .extend({ agent: z.string(), executions: z.int() }),
);

const partingEndSchema = once(() =>
  executionRowSchema()
    .pick({ node: true, visit: true, state: true, class: true, reason: true, next: true, how: true })
    .extend({ took_ms: z.number(), cost_usd: z.number().nullable() }),
);

const nodeFiguresSchema = once(() =>
  z.object({
    executions: z.int(),
    state: executionRowSchema().shape.state.describe('Of the latest execution'),
    class: executionRowSchema().shape.class,
    took_ms: z.number().describe('Milliseconds of all its executions'),
    cost_usd: z.number().nullable().describe('Null if unknown'),
  }),
);
export type NodeFigures = z.infer<ReturnType<typeof nodeFiguresSchema>>;

const changedAs = once(() => z.enum(['created', 'modified', 'deleted']).nullable());

/** `factory compare A B` */
export const runComparisonSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    a: comparedRunSchema(),
    b: comparedRunSchema(),
    line: z.string().describe('Where the ways of the runs part, in a sentence'),
    same: z.int().describe('How many executions are the same, from the first one on'),
    parting: z
      .object({
        index: z.int().positive().describe('Number of the execution, from 1'),
        a: partingEndSchema().nullable().describe('Null: the first run ended before it'),
        b: partingEndSchema().nullable().describe('Null: the second run ended before it'),
        differs: z.array(
          z.object({
            what: z.enum(['node', 'settings', 'inputs', 'outcome', 'changes', 'route']),
            name: z.string().describe('Which attribute, input or path; else empty'),
            ...inBoth(),
          }),
        ),
      })
      .nullable()
      .describe('The first execution that differs; null if none does'),
    inputs: z
      .array(z.object({ name: z.string(), ...inBoth() }))
      .describe('What the runs were started with, where it differs: settings of nodes, variables, agent, …'),
    nodes: z.array(
      z.object({ node: z.string(), a: nodeFiguresSchema().nullable(), b: nodeFiguresSchema().nullable() }),
    ),
    files: z
      .array(
        z.object({
          path: z.string(),
          a: changedAs().describe('What the first run did with it; null: nothing'),
          b: changedAs(),
          same: z.boolean().describe('It is the same at the end of both'),
        }),
      )
      .nullable()
      .describe('Files that either run has changed; null if snapshots cannot be read'),
    files_left_out: z.int().describe('Files beyond the limit of the list'),
  }),
);
export type RunComparison = z.infer<ReturnType<typeof runComparisonSchema>>;
export type Parting = NonNullable<RunComparison['parting']>;
export type PartingDifference = Parting['differs'][number];

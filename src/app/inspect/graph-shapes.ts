/** The pipeline of a run with what the run did in it. Fields are only ever added. */
import * as z from 'zod';
import { once } from '../../core/once.ts';
import { outcomeWords } from '../../core/outcome.ts';
import { ms } from './shape-parts.ts';

/** Nodes and edges of a pipeline with what the run did in them. */
const graphPartSchema = once(() =>
  z.object({
    nodes: z.array(
      z.object({
        id: z.string(),
        type: z.string().describe('Its node type; of an unknown one, the type or shape as written'),
        label: z.string().describe('Its id where it has none'),
        ends: z.enum(['success', 'fail']).nullable().describe('How an exit ends the run; null for the rest'),
        state: z
          .enum(['none', 'running', 'suspended', 'interrupted', ...outcomeWords])
          .describe('Of its latest execution; `fail` for an exit that has failed the run'),
        executions: z.int(),
        took_ms: ms(),
        cost_usd: z.number().nullable(),
        calls: z.int(),
      }),
    ),
    edges: z.array(
      z.object({
        from: z.string(),
        to: z.string(),
        label: z.string(),
        condition: z.string(),
        taken: z.int().describe('How often the run took it'),
      }),
    ),
    regions: z
      .array(
        z.object({
          node: z.string().describe('The node that opens the branches'),
          join: z.string().describe('The node at which they meet'),
          within: z.string().nullable().describe('The innermost branch that contains the node'),
          list: z.boolean().describe('Whether each item of a list has a branch (`for_each`)'),
          branches: z.array(z.object({ id: z.string(), nodes: z.array(z.string()) })),
        }),
      )
      .describe('The nodes with branches'),
  }),
);
export type GraphPart = z.infer<ReturnType<typeof graphPartSchema>>;

/** The pipeline with what the run did in it. */
export const graphViewSchema = once(() =>
  graphPartSchema().extend({
    name: z.string().describe("The pipeline's label, else its name"),
    direction: z.enum(['TB', 'LR', 'BT', 'RL']).describe('`rankdir`: from the top to the bottom …'),
    children: z
      .array(
        graphPartSchema().extend({
          call: z
            .string()
            .describe('The node that calls it; the ids of its nodes begin with that id and a dot'),
        }),
      )
      .describe('The pipelines that its nodes call, and those that these call'),
    folds: z
      .array(
        z.object({
          id: z.string().describe('The node that calls, or that chooses the next work order'),
          kind: z.enum(['orders', 'call']),
          label: z.string(),
          within: z.string().nullable().describe('The node that calls the pipeline with it'),
          nodes: z.array(z.string()).describe('Of a call those of the called pipeline'),
        }),
      )
      .describe('What a map shows as one card: the loop over the work orders, and each call'),
  }),
);
export type GraphView = z.infer<ReturnType<typeof graphViewSchema>>;

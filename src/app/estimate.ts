/** What earlier runs of a pipeline have cost and taken: what a new one may need. */
import * as z from 'zod';
import { tokensOf } from '../core/budget/usage.ts';
import { once } from '../core/once.ts';
import { hasSucceeded } from '../core/overridden.ts';
import type { RunRow } from './inspect/run-row.ts';

const figureSchema = once(() =>
  z.object({ median: z.number(), least: z.number(), most: z.number() }).nullable(),
);

/** `factory estimate` */
export const estimateSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    pipeline: z.string().describe('Absolute path of its file'),
    runs: z
      .int()
      .describe('Completed runs, from which the figures are: no forks, no replays, no failed runs'),
    others: z.int().describe('Other runs of the pipeline'),
    cost_usd: figureSchema().describe('Null if unknown'),
    unknown_cost: z.int().describe('Of `runs`, those whose cost is not known'),
    tokens: figureSchema().describe('Input and output'),
    elapsed_ms: figureSchema(),
  }),
);
export type Estimate = z.infer<ReturnType<typeof estimateSchema>>;

/** `file` is the absolute path of the pipeline. */
export function estimateOf(file: string, rows: readonly RunRow[]): Estimate {
  const all = rows.filter((row) => (row.pipeline_file ?? row.pipeline) === file);
  const counted = all.filter(
    ({ status, forked_from, replay_of }) =>
      hasSucceeded(status) && forked_from === null && replay_of === null,
  );
  const priced = counted.filter(({ spent }) => spent.unknown_cost === 0);
  return {
    ...{ schema_version: 1, pipeline: file, runs: counted.length, others: all.length - counted.length },
    cost_usd: figureOf(priced.map(({ spent }) => spent.cost_usd)),
    unknown_cost: counted.length - priced.length,
    tokens: figureOf(
      counted.filter(({ spent }) => spent.unknown_tokens === 0).map(({ spent }) => tokensOf(spent)),
    ),
    elapsed_ms: figureOf(counted.map(({ elapsed_ms }) => elapsed_ms)),
  };
}

function figureOf(values: readonly number[]): Estimate['tokens'] {
  const sorted = values.toSorted((a, b) => a - b);
  const least = sorted[0];
  const most = sorted.at(-1);
  if (least === undefined || most === undefined) return null;
  const upper = sorted[Math.floor(sorted.length / 2)] ?? most;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? least;
  return { median: (lower + upper) / 2, least, most };
}

/** What the runs of a directory did and cost on each of the latest days. */
import { join } from 'node:path';
import * as z from 'zod';
import { type DaySpend, daySpendSchema, grownBy, noSpend } from '../../core/budget/day-spend.ts';
import { dayAt, dayName } from '../../core/days.ts';
import { once } from '../../core/once.ts';
import { journaledSpend } from '../../engine/day-spending.ts';
import { isFolder } from '../../platform/files/read.ts';
import type { Host } from '../types.ts';
import { runsLike } from './run-filters.ts';
import type { RunRow } from './run-row.ts';

const runDaySchema = once(() =>
  z.object({
    day: z.string().describe('YYYY-MM-DD'),
    done: z.int().describe('Runs that completed, also overridden ones'),
    failed: z.int().describe('Runs that failed, crashed, were interrupted or cannot be read'),
    waiting: z.int().describe('Suspended runs'),
    running: z.int(),
    spent: daySpendSchema().describe('By the model calls of that day'),
    models: z
      .array(daySpendSchema().extend({ model: z.string().describe('Empty if unknown') }))
      .describe('The same by model, the highest cost first'),
  }),
);

/** `factory runs --days` */
const dayListSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    runs_dir: z.string(),
    time_zone: z.string().describe('Of the days'),
    days: z
      .array(runDaySchema())
      .describe(
        'Newest first, without days on which nothing happened. A run counts to the day of its latest record, a running one to today',
      ),
  }),
);
export type DayList = z.infer<ReturnType<typeof dayListSchema>>;
export type RunDay = DayList['days'][number];

export type DaysRequest = {
  readonly runsDir: string;
  /** How many, today included. */
  readonly count: number;
  readonly zone: string;
};

type Day = { readonly name: string; readonly models: Map<string, DaySpend>; readonly runs: RunRow[] };

/** `rows` are all runs of the directory. Journals are read only of runs that called models and may have done so on these days. */
export async function inspectDays(
  rows: readonly RunRow[],
  { runsDir, count, zone }: DaysRequest,
  { clock }: Pick<Host, 'clock'>,
): Promise<DayList> {
  const now = clock.now();
  const dayOf = (at: Date): string => dayName(at, zone);
  const names = latestDays(now, count, zone);
  const days = new Map(names.map((name): [string, Day] => [name, { name, models: new Map(), runs: [] }]));
  const oldest = names.at(-1) ?? '';
  const exists = (run: string): boolean => isFolder(join(runsDir, run));
  for (const row of rows) {
    const last = dayOfRow(row, now, dayOf);
    days.get(last)?.runs.push(row);
    // A journal is only read for its calls.
    if (row.spent.calls === 0 || last < oldest) continue;
    const spend = await journaledSpend(row.run_dir, dayOf, exists);
    for (const [name, models] of spend?.models ?? []) {
      const sums = days.get(name)?.models;
      for (const [model, one] of models) sums?.set(model, grownBy(sums.get(model) ?? noSpend, one));
    }
  }
  return {
    ...{ schema_version: 1, runs_dir: runsDir, time_zone: zone },
    days: [...days.values()].filter(({ runs, models }) => runs.length > 0 || models.size > 0).map(summed),
  };
}

/** The names of the latest days, today first. */
function latestDays(now: Date, count: number, zone: string): readonly string[] {
  const names: string[] = [];
  for (let at = now; names.length < count; ) {
    const { name, start } = dayAt(at, zone);
    names.push(name);
    at = new Date(start - 1);
  }
  return names;
}

/** Empty where no time is known. */
function dayOfRow({ status, ended_at, started_at }: RunRow, now: Date, dayOf: (at: Date) => string): string {
  if (status === 'running') return dayOf(now);
  const at = ended_at ?? started_at;
  return at === '' ? '' : dayOf(new Date(at));
}

function summed({ name, models, runs }: Day): RunDay {
  const many = (filter: Parameters<typeof runsLike>[1]): number => runsLike(runs, filter, '').length;
  const spends = [...models].map(([model, spend]) => ({ model, ...spend }));
  return {
    day: name,
    ...{ done: many('completed'), failed: many('failed') },
    ...{ waiting: many('suspended'), running: many('running') },
    spent: spends.reduce((sum, { model: _, ...one }) => grownBy(sum, one), noSpend),
    models: spends.sort((a, b) => b.cost_usd - a.cost_usd || b.tokens - a.tokens),
  };
}

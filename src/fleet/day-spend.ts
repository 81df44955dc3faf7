/** `spend/DAY/RUN.json`: what each run has spent on a day and has reserved for calls under way. Only the engine that owns a run writes
 *  its file; of a run without a file, and of one whose engine has died, the run's journal says what was spent. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { hasSpent, type RunSpend } from '../core/budget/day-caps.ts';
import {
  type DaySpend,
  daySpendSchema,
  moneyAndTokensSchema,
  noMoney,
  noSpend,
  type SpendByModel,
} from '../core/budget/day-spend.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { type Day, dayName } from '../core/days.ts';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { layout } from '../core/records/layout.ts';
import { runIdForm } from '../core/records/names.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { linkOnce } from '../platform/files/link.ts';
import { isFolder, namesIn, readPlain } from '../platform/files/read.ts';
import { removeTree } from '../platform/files/remove.ts';
import { isMissing, removeFile, writeFileAtomic } from '../platform/files/write.ts';
import { ownerOf } from '../run/lock.ts';
import { fleetLayout } from './layout.ts';

export const spendFileSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run_id: z.string().regex(runIdForm),
    day: z.string().describe('YYYY-MM-DD'),
    time_zone: z.string().describe('Of the day'),
    labels: z.array(z.string()),
    spent: daySpendSchema().describe('By calls that have ended'),
    reserved: moneyAndTokensSchema().describe('At least, by calls under way'),
    asks: moneyAndTokensSchema()
      .exactOptional()
      .describe('For a call that waits until the run has read what all others have spent'),
    unknown_cost: z.literal('allow').exactOptional().describe('The run allows calls of unknown cost'),
    epoch: z.int().nonnegative().describe('Of the owner that has written it; 0: no process had the run'),
  }),
);
export type SpendFile = z.infer<ReturnType<typeof spendFileSchema>>;

/** What a run's journal says of its spending. */
export type JournaledSpend = Pick<RunSpend, 'labels' | 'unknown_cost'> & {
  /** By day; a call without an end counts as the run's own budget counts it. */
  readonly days: ReadonlyMap<string, DaySpend>;
  /** The same by day and model. */
  readonly models: SpendByModel;
};
/** Reads it; undefined where the run cannot be read. */
export type ReadJournaledSpend = (
  runDir: string,
  dayOf: (at: Date) => string,
) => Promise<JournaledSpend | undefined>;

/** Days are kept so long. */
const keptMs = 30 * 86_400_000;

/** Writes the file of a run that this process owns, whole; days that are older than 30 days are removed with the first of a day. */
export async function writeSpendFile(runsDir: string, file: SpendFile): Promise<void> {
  const { spend } = fleetLayout(runsDir);
  const isFirst = !isFolder(spend.day(file.day));
  // Synchronous up to the rename. Nothing is flushed: after a power cut the journal is what counts.
  beforeWrite(join(runsDir, file.run_id));
  await writeFileAtomic(spend.run(file.day, file.run_id), textOf(file));
  if (isFirst) await removeOldDays(runsDir, file.day);
}

const textOf = (file: SpendFile): string => `${JSON.stringify(file)}\n`;

async function removeOldDays(runsDir: string, today: string): Promise<void> {
  const { spend } = fleetLayout(runsDir);
  const oldest = Date.parse(today) - keptMs;
  for (const name of namesIn(spend.root)) {
    const at = /^\d{4}-\d{2}-\d{2}$/.test(name) ? Date.parse(name) : Number.NaN;
    // Another process may remove it at the same time.
    if (at < oldest) await removeTree(spend.day(name)).catch(() => {});
  }
}

/** Removes the files of runs that have journals. For a time before which there were no settings: runs have called models meanwhile, and
 *  have written none. */
export function dropSpendFiles(runsDir: string, day: string): void {
  const { spend } = fleetLayout(runsDir);
  for (const name of namesIn(spend.day(day))) {
    const run = name.endsWith('.json') ? name.slice(0, -'.json'.length) : '';
    if (!runIdForm.test(run)) continue;
    if (identityOf(layout(join(runsDir, run)).journal) !== undefined) removeFile(spend.run(day, run));
  }
}

/** Which file it is, and its content, as far as its metadata say; undefined where it is missing. */
function identityOf(path: string): { readonly is: string; readonly changedAt: number } | undefined {
  try {
    const { ino, size, mtimeMs } = lstatSync(path);
    return { is: `${ino} ${size} ${mtimeMs}`, changedAt: mtimeMs };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** What is known of a run's file. */
type Entry = { readonly is: string; readonly file: SpendFile | undefined };

/** Answers what the runs of a folder have spent on a day. Each answer looks at all files again, and reads those that have changed. */
export class DayBook {
  private day: string | undefined;
  private files = new Map<string, Entry>();
  /** Runs without a file that may have spent something: those whose journal was written on that day. */
  private unfiled: Set<string> | undefined;
  private readonly journaled = new Map<
    string,
    { readonly is: string; readonly spend: JournaledSpend | undefined }
  >();

  constructor(
    private readonly runsDir: string,
    private readonly clock: Clock,
    private readonly readJournal: ReadJournaledSpend,
  ) {}

  /** What each run has spent on the day; `but`: a run that is left out. */
  async runs(day: Day, but?: string): Promise<readonly RunSpend[]> {
    this.look(day);
    const found: RunSpend[] = [];
    for (const [run, { file }] of this.files) {
      if (run === but) continue;
      const spend = await this.counted(run, file, day);
      if (spend !== undefined) found.push(spend);
    }
    for (const run of this.unfiled ?? []) {
      if (run === but || this.files.has(run)) continue;
      const spend = await this.fromJournal(run, day);
      if (spend !== undefined) found.push(spend);
    }
    return found;
  }

  /** Writes the files of runs that have none and that no process owns, so that others need not read their journals. */
  async fileUnowned(day: Day): Promise<void> {
    this.look(day);
    for (const run of this.unfiled ?? []) {
      const spend = this.files.has(run) ? undefined : await this.fromJournal(run, day);
      if (spend === undefined || !hasSpent(spend)) continue;
      if ((await ownerOf(join(this.runsDir, run), this.clock)) !== undefined) continue;
      const { run_id, labels, spent, reserved, unknown_cost } = spend;
      const file: SpendFile = {
        ...{ schema_version: 1, run_id, day: day.name, time_zone: day.zone, labels: [...labels] },
        ...{ spent, reserved, ...(unknown_cost === undefined ? {} : { unknown_cost }), epoch: 0 },
      };
      // An engine that takes the run meanwhile has written its file, which stays.
      await linkOnce(fleetLayout(this.runsDir).spend.run(day.name, run), textOf(file));
    }
  }

  private look(day: Day): void {
    const key = `${day.name} ${day.zone}`;
    if (this.day !== key) {
      this.day = key;
      this.files = new Map();
      this.unfiled = undefined;
      this.journaled.clear();
    }
    const { spend } = fleetLayout(this.runsDir);
    const before = this.files;
    this.files = new Map();
    for (const name of namesIn(spend.day(day.name))) {
      const run = name.endsWith('.json') ? name.slice(0, -'.json'.length) : '';
      if (!runIdForm.test(run)) continue;
      const path = spend.run(day.name, run);
      const { is } = identityOf(path) ?? {};
      const known = before.get(run);
      if (is !== undefined) this.files.set(run, known?.is === is ? known : { is, file: readSpendFile(path) });
    }
    // A user has removed files.
    const isLess = [...before.keys()].some((run) => !this.files.has(run));
    if (this.unfiled === undefined || isLess) this.unfiled = this.withoutFile(day);
  }

  /** Engines that begin later find the settings, and so write their files. */
  private withoutFile({ start }: Day): Set<string> {
    const found = new Set<string>();
    for (const run of namesIn(this.runsDir)) {
      if (!runIdForm.test(run) || this.files.has(run)) continue;
      const journal = identityOf(layout(join(this.runsDir, run)).journal);
      if (journal !== undefined && journal.changedAt >= start - skewMs) found.add(run);
    }
    return found;
  }

  /** What of a file counts: a reservation only as long as the engine that has made it owns the run. */
  private async counted(run: string, file: SpendFile | undefined, day: Day): Promise<RunSpend | undefined> {
    if (file === undefined || file.run_id !== run || file.time_zone !== day.zone)
      return this.fromJournal(run, day);
    const isOpen = [file.reserved, file.asks ?? noMoney].some((one) => one.cost_usd > 0 || one.tokens > 0);
    if (!isOpen) return file;
    const owner = await ownerOf(join(this.runsDir, run), this.clock);
    if (owner?.epoch === file.epoch) return file;
    const { asks: _, ...rest } = file;
    return (await this.fromJournal(run, day)) ?? rest;
  }

  private async fromJournal(run: string, day: Day): Promise<RunSpend | undefined> {
    const runDir = join(this.runsDir, run);
    const is = identityOf(layout(runDir).journal)?.is;
    if (is === undefined) return undefined;
    let known = this.journaled.get(run);
    if (known?.is !== is) {
      known = { is, spend: await this.readJournal(runDir, (at) => dayName(at, day.zone)) };
      this.journaled.set(run, known);
    }
    const { spend } = known;
    if (spend === undefined) return undefined;
    const { labels, unknown_cost, days } = spend;
    const spent = days.get(day.name) ?? noSpend;
    const allows = unknown_cost === undefined ? {} : { unknown_cost };
    return { run_id: run, labels, spent, reserved: noMoney, ...allows };
  }
}

/** Between the clocks of hosts, and of a file server. */
const skewMs = 60_000;

/** Undefined for a file that is damaged, or is removed meanwhile. */
function readSpendFile(path: string): SpendFile | undefined {
  const found = readPlain(path);
  if (found.kind !== 'text') return undefined;
  return z.string().transform(jsonIn).pipe(spendFileSchema()).safeParse(found.text).data;
}

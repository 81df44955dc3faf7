/** The runs of a runs directory as requests see them: one list for all, looked at again and again while it is watched. */
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type InspectHost, openRowReader, type RowReader } from '../app/inspect/rows.ts';
import { type OpenRunList, openRunList } from '../app/inspect/run-list.ts';
import { newestFirst } from '../app/inspect/run-pages.ts';
import type { RunRow } from '../app/inspect/run-row.ts';
import { layout } from '../core/records/layout.ts';
import { isCode, isMissing } from '../platform/files/write.ts';
import { validRunId } from '../run/runs.ts';
import { type RunWatch, RunWatches } from './run-watches.ts';
import { message } from './sse.ts';

/** `rows` and `row` look now. */
export interface ServedRuns extends OpenRunList {
  /** As `rows`, unless it has answered within the last second (of many thousands of runs, longer). The same array as long as no row
   *  has changed. */
  latest(): Promise<readonly RunRow[]>;
  /** What is known while all runs are read for the first time, the newest before the others: at least so many as a page shows.
   *  Undefined once all have been read. */
  newest(): Promise<NewestRuns | undefined>;
  /** The row that was read last. */
  find(name: string): RunRow | undefined;
  /** Something was asked of that run: for a while it is looked at as often as one that runs. */
  expect(name: string): void;
  /** Looks until the watch is closed: each second at runs that run or have changed lately and at the names in the folder, every
   *  fifteen seconds at any other run. */
  watch(): RunWatch;
}

export type NewestRuns = {
  readonly rows: readonly RunRow[];
  /** How many there are; some folders may turn out to be no runs. */
  readonly all: number;
};

/** Runs that are read before a first page is answered. */
const firstRows = 200;

/** Milliseconds between two looks: at what may change soon, and at all others. */
const [frequentMs, restMs] = [1000, 15_000];
/** Milliseconds of work after which others get their turn. */
const turnMs = 20;

export type ServedRunsHost = InspectHost & {
  /** Absolute. */
  readonly runsDir: string;
  /** Fires when the server stops. */
  readonly closing: AbortSignal;
  readonly readOnly: boolean;
};

export const openServedRuns = (
  host: ServedRunsHost,
  list: Pick<OpenRunList, 'row'> = openRunList(host.runsDir, host, offeredRows(host)),
): ServedRuns => new SharedRuns(host, list);

function offeredRows(host: ServedRunsHost): RowReader {
  const read = openRowReader(host);
  if (!host.readOnly) return read;
  return async (name, dir) => {
    const { row, ...more } = await read(name, dir);
    return { ...more, row: { ...row, acts: offeredActs(row, host) } };
  };
}

/** What the server offers to do with a run: a read-only one offers nothing. */
export const offeredActs = (
  { acts }: Pick<RunRow, 'acts'>,
  { readOnly }: Pick<ServedRunsHost, 'readOnly'>,
): RunRow['acts'] => (readOnly ? [] : acts);

/** Equal for two rows that differ only in the time that the run has taken. */
export const rowIdentity = (row: RunRow): string => JSON.stringify({ ...row, elapsed_ms: 0 });

const rowMessages = new WeakMap<RunRow, string>();

/** Made once for all streams: of the list, and of the run. */
export function rowMessage(row: RunRow): string {
  const text = rowMessages.get(row) ?? message('run', row);
  rowMessages.set(row, text);
  return text;
}

class SharedRuns implements ServedRuns {
  private readonly host: ServedRunsHost;
  private readonly list: Pick<OpenRunList, 'row'>;
  private readonly entries = new Map<string, { readonly row: RunRow; readonly is: string }>();
  /** Names in the folder; the one whose last look is the longest ago comes first. */
  private readonly names = new Set<string>();
  /** Runs that are looked at each second, and until when. */
  private readonly frequent = new Map<string, number>();
  private readonly watches = new RunWatches();
  private folder: { readonly is: string; readonly at: number } | undefined;
  private sorted: readonly RunRow[] | undefined;
  private reading: Promise<readonly RunRow[]> | undefined;
  /** Until when a reading of all rows counts as the latest. */
  private freshUntil = Number.NEGATIVE_INFINITY;
  private isLooking = false;
  /** All runs have been read once. */
  private wasRead = false;
  private newestAreRead = (): void => {};
  private readonly readingNewest = new Promise<void>((done) => {
    this.newestAreRead = done;
  });

  constructor(host: ServedRunsHost, list: Pick<OpenRunList, 'row'>) {
    this.host = host;
    this.list = list;
  }

  find(name: string): RunRow | undefined {
    return this.entries.get(name)?.row;
  }

  async row(name: string): Promise<RunRow | undefined> {
    const row = await this.lookAt(name);
    this.watches.wake();
    return row;
  }

  /** Requests at the same time share one reading. */
  rows(): Promise<readonly RunRow[]> {
    this.reading ??= this.readAll().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  async latest(): Promise<readonly RunRow[]> {
    return this.now() < this.freshUntil ? this.inOrder() : this.rows();
  }

  async newest(): Promise<NewestRuns | undefined> {
    if (this.wasRead) return undefined;
    await Promise.race([this.readingNewest, this.rows()]);
    return this.wasRead ? undefined : { rows: this.inOrder(), all: this.names.size };
  }

  expect(name: string): void {
    this.frequent.set(name, this.now() + restMs);
  }

  watch(): RunWatch {
    const watch = this.watches.open();
    if (!this.isLooking) void this.lookAgainAndAgain();
    return watch;
  }

  private now(): number {
    return this.host.clock.monotonic();
  }

  private inOrder(): readonly RunRow[] {
    this.sorted ??= [...this.entries.values()].map(({ row }) => row).sort(newestFirst);
    return this.sorted;
  }

  private async readAll(): Promise<readonly RunRow[]> {
    const began = this.now();
    this.readNames();
    await (this.wasRead ? this.lookAtAll([...this.names]) : this.readNewestFirst());
    this.freshUntil = this.now() + this.pauseAfter(began);
    return this.inOrder();
  }

  private async readNewestFirst(): Promise<void> {
    const names = latestManifestFirst(this.host.runsDir, this.names);
    await this.lookAtAll(names.slice(0, firstRows));
    const others = names.slice(firstRows);
    if (others.length > 0) this.newestAreRead();
    await this.lookAtAll(others);
    this.wasRead = true;
  }

  /** Of many thousands of runs the looks alone would keep a processor busy. */
  private pauseAfter(began: number): number {
    return Math.max(frequentMs, 10 * (this.now() - began));
  }

  private async lookAgainAndAgain(): Promise<void> {
    this.isLooking = true;
    const { clock, closing } = this.host;
    let began = this.now();
    // A directory that cannot be read now is read at the next look; requests report why.
    await this.rows().catch(() => {});
    for (;;) {
      await clock.sleep(this.pauseAfter(began), closing);
      if (closing.aborted || this.watches.areNone()) break;
      began = this.now();
      await this.look().catch(() => {});
    }
    this.isLooking = false;
  }

  /** Each name has its turn within so many looks as there are in `restMs`: all at once would hold the server up. */
  private async look(): Promise<void> {
    const now = this.now();
    if (this.folder?.is !== folderIdentity(this.host) || now - this.folder.at >= restMs) this.readNames();
    for (const [name, until] of this.frequent) if (until <= now) this.frequent.delete(name);
    const inTurn = [...this.names].slice(0, Math.ceil((this.names.size * frequentMs) / restMs));
    await this.lookAtAll(new Set([...this.frequent.keys(), ...inTurn]));
  }

  private async lookAtAll(names: Iterable<string>): Promise<void> {
    let began = this.now();
    for (const name of names) {
      await this.lookAt(name);
      if (this.now() - began < turnMs) continue;
      await this.host.clock.sleep(0);
      began = this.now();
    }
    this.watches.wake();
  }

  private async lookAt(name: string): Promise<RunRow | undefined> {
    const row = await this.list.row(name);
    // What is no folder of the directory is not listed.
    if (!this.names.delete(name)) return row;
    this.names.add(name);
    const before = this.entries.get(name);
    if (row === before?.row) return row;
    this.sorted = undefined;
    const is = row === undefined ? undefined : rowIdentity(row);
    if (row === undefined || is === undefined) this.entries.delete(name);
    else this.entries.set(name, { row, is });
    const hasChanged = is !== before?.is;
    if (row?.status === 'running') this.frequent.set(name, Number.POSITIVE_INFINITY);
    // The rest of what was written with it may follow.
    else if (hasChanged && before !== undefined) this.expect(name);
    if (hasChanged) this.watches.note(name);
    return row;
  }

  private readNames(): void {
    // Before the names are read: what changes meanwhile changes the folder again.
    const folder = { is: folderIdentity(this.host), at: this.now() };
    const found = new Set(runFolders(this.host.runsDir));
    for (const name of this.names) if (!found.has(name)) this.forget(name);
    for (const name of found) {
      if (this.names.has(name)) continue;
      this.names.add(name);
      // One that is just being made has no manifest yet.
      if (this.folder !== undefined) this.expect(name);
    }
    this.folder = folder;
  }

  private forget(name: string): void {
    this.names.delete(name);
    this.frequent.delete(name);
    if (!this.entries.delete(name)) return;
    this.sorted = undefined;
    this.watches.note(name);
  }
}

/** Changes when a run is made or removed. A folder that has changed a moment ago may change again at what its disk takes for the
 *  same time: it counts as changed. */
function folderIdentity({ runsDir, clock }: Pick<ServedRunsHost, 'runsDir' | 'clock'>): string {
  const is = ifThere(() => statSync(runsDir));
  if (is === undefined) return '';
  const now = clock.now().getTime();
  return `${is.ino} ${is.mtimeMs} ${Math.abs(now - is.mtimeMs) < frequentMs ? now : ''}`;
}

/** The names of runs, and perhaps others. A symbolic link may lead anywhere: it is not followed. */
const runFolders = (runsDir: string): readonly string[] =>
  (ifThere(() => readdirSync(runsDir, { withFileTypes: true })) ?? [])
    .filter((entry) => entry.isDirectory() && validRunId(entry.name) === undefined)
    .map(({ name }) => name);

/** Nearly in the order of the list, without a run being read: a manifest is written when its run is started. */
function latestManifestFirst(runsDir: string, names: Iterable<string>): readonly string[] {
  const writtenAt = (name: string): number =>
    ifThere(() => lstatSync(layout(join(runsDir, name)).manifest).mtimeMs) ?? 0;
  return [...names]
    .map((name) => ({ name, at: writtenAt(name) }))
    .sort((a, b) => b.at - a.at)
    .map(({ name }) => name);
}

function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ENAMETOOLONG', 'ELOOP')) return undefined;
    throw error;
  }
}

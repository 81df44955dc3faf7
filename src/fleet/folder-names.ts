/** The names in a folder of jobs, kept in memory: the folder is read again only when it may have changed. */
import { type BigIntStats, readdirSync, statSync } from 'node:fs';
import { realClock } from '../platform/clock.ts';
import { isCode, isMissing } from '../platform/files/write.ts';
import { byName, type JobEntry, readJobName } from './job-names.ts';

export interface FolderNames {
  readonly path: string;
  /** The jobs as they were found last, in the order of their names. */
  jobs(): readonly JobEntry[];
  /** Whether a job that was found last is still there, as far as is known. */
  has(name: string): boolean;
  /** Reads the folder if it may have changed. True if other names are in it. */
  refresh(): boolean;
  /** The same, but a large folder is not read more often than for a tenth of the time: then it is put off. */
  refreshSparingly(): void;
  /** Whether reading was put off, and need not be any more. */
  isOverdue(): boolean;
  /** Whether the folder has changed since it was read. */
  isStale(): boolean;
  /** A name that this process has moved away. */
  drop(name: string): void;
}

/** Right after a change the next one may leave the same time: some file systems count in steps of this many milliseconds. */
const coarseMs = 12;
/** Reading takes longer than this of a processor only in large folders. */
const cheapMs = 5;

export function folderNames(path: string): FolderNames {
  let known = new Map<string, JobEntry>();
  let sorted: JobEntry[] = [];
  let stamp: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let costMs = 0;
  let dropped = false;
  let putOff = false;
  const isTooEarly = (): boolean =>
    costMs > cheapMs && realClock.monotonic() - readAt < 10 * costMs && known.size > 0;

  const refresh = (): boolean => {
    const now = folderStamp(path);
    if (now.text === stamp) return false;
    const before = process.cpuUsage();
    const young = Math.abs(realClock.now().getTime() - now.changedAt) < coarseMs;
    const changed = take(namesOf(path));
    readAt = realClock.monotonic();
    const { user, system } = process.cpuUsage(before);
    costMs = (user + system) / 1000;
    putOff = false;
    // It is read again: nothing shows a change in the same step.
    stamp = young ? undefined : now.text;
    return changed;
  };

  const take = (names: readonly string[]): boolean => {
    const next = new Map<string, JobEntry>();
    const added: JobEntry[] = [];
    for (const name of names) {
      const before = known.get(name);
      const entry = before ?? readJobName(name);
      if (entry === undefined) continue;
      next.set(name, entry);
      if (before === undefined) added.push(entry);
    }
    const changed = added.length > 0 || next.size !== known.size;
    known = next;
    if (changed || dropped)
      sorted = merged(
        sorted.filter(({ name }) => next.has(name)),
        added.sort(byName),
      );
    dropped = false;
    return changed;
  };

  return {
    path,
    jobs: () => sorted,
    has: (name) => known.has(name),
    refresh,
    refreshSparingly() {
      putOff = isTooEarly();
      if (!putOff) refresh();
    },
    isOverdue: () => putOff && !isTooEarly(),
    isStale: () => folderStamp(path).text !== stamp,
    drop(name) {
      dropped = known.delete(name) || dropped;
    },
  };
}

/** What changes with every change of names in a folder. */
export function folderStamp(path: string): { readonly text: string; readonly changedAt: number } {
  let is: BigIntStats | undefined;
  try {
    is = statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  if (is === undefined) return { text: 'none', changedAt: 0 };
  return { text: `${is.ino} ${is.mtimeNs}`, changedAt: Number(is.mtimeNs / 1_000_000n) };
}

function namesOf(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (isCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

/** Two sorted lists as one. */
function merged(some: readonly JobEntry[], more: readonly JobEntry[]): JobEntry[] {
  const all: JobEntry[] = [];
  let at = 0;
  for (const one of some) {
    for (let next = more[at]; next !== undefined && byName(next, one) < 0; next = more[at]) {
      all.push(next);
      at += 1;
    }
    all.push(one);
  }
  return all.concat(more.slice(at));
}

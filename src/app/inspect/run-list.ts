/** The runs of a directory as a list. */
import { join } from 'node:path';
import { layout } from '../../core/records/layout.ts';
import { fileIdentity } from '../../platform/files/read.ts';
import { ownerOf } from '../../run/lock.ts';
import { runIds } from '../../run/runs.ts';
import { type InspectHost, openRowReader, type ReadRow, type RowReader } from './rows.ts';
import { newestFirst } from './run-pages.ts';
import type { RunRow } from './run-row.ts';

/** A list of runs for a process that asks often: a run is read again only when one of its files has changed, when its owner
 *  has ended, or when a wait in its row is over. */
export interface OpenRunList {
  /** All runs, newest first. */
  rows(): Promise<readonly RunRow[]>;
  /** One of them, by the name of its folder; undefined if there is no such run. */
  row(name: string): Promise<RunRow | undefined>;
}

/** The runs of a directory, newest first. */
export const inspectRows = async (runsDir: string, host: InspectHost): Promise<readonly RunRow[]> =>
  openRunList(runsDir, host).rows();

type Known = ReadRow & {
  /** Of the files that it was read from. */
  readonly is: string;
  /** Milliseconds since 1970. */
  readonly at: number;
};

export function openRunList(
  runsDir: string,
  host: InspectHost,
  read: RowReader = openRowReader(host),
): OpenRunList {
  const known = new Map<string, Known>();
  const row = async (name: string): Promise<RunRow | undefined> => {
    const dir = join(runsDir, name);
    // Before the files are read: what changes meanwhile is read the next time.
    const is = identityOf(dir);
    const at = host.clock.now().getTime();
    const before = known.get(name);
    if (is === undefined) {
      known.delete(name);
      return undefined;
    }
    if (before?.is === is && (await isUpToDate(before, dir, host))) return rowAt(before, at);
    const now = await read(name, dir);
    known.set(name, { ...now, is, at });
    return now.row;
  };
  return {
    row,
    async rows() {
      const names = await runIds(runsDir);
      const there = new Set(names);
      for (const name of known.keys()) if (!there.has(name)) known.delete(name);
      const rows: RunRow[] = [];
      // One after the other: a directory of thousands of runs must not open thousands of files at once.
      for (const name of names) {
        const one = await row(name);
        if (one !== undefined) rows.push(one);
      }
      return rows.sort(newestFirst);
    },
  };
}

/** Changes with every change of a file that a row is read from; undefined where there is no run. */
function identityOf(dir: string): string | undefined {
  const { manifest, checkpoint, journal, events, result, locks, acts, answers } = layout(dir);
  const facts = [manifest, checkpoint, journal, events, result, locks, acts, answers].map(fileIdentity);
  return facts[0] === '' && facts[1] === '' ? undefined : facts.join('|');
}

/** Whether a row of unchanged files still holds: an engine that is killed changes none. */
async function isUpToDate({ row, until }: Known, dir: string, { clock }: InspectHost): Promise<boolean> {
  if (until !== undefined && until <= clock.now().getTime()) return false;
  if (row.status !== 'running') return true;
  return (await ownerOf(dir, clock).catch(() => undefined)) !== undefined;
}

/** The row some time after it was read: a running run has taken longer. */
const rowAt = ({ row, at }: Known, now: number): RunRow =>
  row.status === 'running' ? { ...row, elapsed_ms: row.elapsed_ms + Math.max(0, now - at) } : row;

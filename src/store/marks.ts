/** The journals besides `visits.jsonl` whose hashes are in the checkpoint and the result. */
import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { exchangesLayout, layout } from '../model/layout.ts';
import type { Mark } from '../model/mark.ts';
import { beforeWrite } from '../system/fence.ts';
import { flushFile } from '../system/leftovers.ts';
import { chainOf, endOf } from './exchanges.ts';
import { scan } from './journal-read.ts';

export type Marks = Readonly<Record<'events' | 'trace' | 'calls' | 'exchanges', Mark | undefined>>;

/** Paths of those journals in the directory `run`. */
function journalPaths(run: string): Readonly<Record<keyof Marks, string>> {
  const { events, trace, calls, exchanges } = layout(run);
  return { events, trace, calls, exchanges: exchangesLayout(exchanges).calls };
}

/** By path in the run directory, those that have records. */
export function marksByPath(of: Marks): Record<string, Mark> {
  const { events, trace, calls, exchanges } = journalPaths('');
  const marks: Record<string, Mark> = {};
  const add = (path: string, mark: Mark | undefined) => {
    if (mark !== undefined && mark.records > 0) marks[path] = mark;
  };
  add(events, of.events);
  add(trace, of.trace);
  add(calls, of.calls);
  add(exchanges, of.exchanges);
  return marks;
}

/** Paths of the journals in the directory `run` that do not begin with the records of their marks. Each is read once. */
export async function notAsVouched(run: string, vouched: Readonly<Record<string, Mark>>): Promise<string[]> {
  const wrong: string[] = [];
  const names = journalPaths('');
  for (const name of Object.values(names)) {
    const should = vouched[name];
    if (should === undefined) continue;
    const path = join(run, name);
    const is =
      name === names.exchanges
        ? chainOf(path, should.records).mark()
        : (await scan(path, should.records)).chain.mark();
    if (is.records !== should.records || is.sha256 !== should.sha256) wrong.push(path);
  }
  return wrong;
}

/** Removes torn ends and flushes the rest, which a killed engine may not have done: a mark must not survive a power cut
 *  without its records. Only for the owner of the run. */
export async function mendJournals(run: string): Promise<void> {
  const paths = journalPaths(run);
  for (const path of Object.values(paths)) {
    const is = statSync(path, { throwIfNoEntry: false });
    // Opening a pipe would block; the writer refuses anything that is not a file.
    if (is?.isFile() !== true) continue;
    const { size } = is;
    const end = path === paths.exchanges ? endOf(path) : (await scan(path)).end;
    beforeWrite(path);
    if (end < size) truncateSync(path, end);
    await flushFile(path);
  }
}

/** The marks of the journals as they stand on disk. */
export async function marksIn(run: string): Promise<Record<string, Mark>> {
  const at = journalPaths(run);
  const read = async (path: string) => (await scan(path)).chain.mark();
  return marksByPath({
    events: await read(at.events),
    trace: await read(at.trace),
    calls: await read(at.calls),
    exchanges: chainOf(at.exchanges).mark(),
  });
}

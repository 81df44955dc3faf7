/** `factory trace`: what each stage was given and gave, one JSON record a line, contexts in full. */
import { resolve } from 'node:path';
import { fullTrace } from '../engine/full-trace.ts';
import { layout } from '../model/layout.ts';
import { readRecords } from '../store/journal.ts';
import { findRun } from '../store/run-store.ts';
import type { Io } from './io.ts';
import { refuse } from './refuse.ts';

export async function traceCommand(
  run: string,
  options: { readonly runsdir?: string; readonly node?: string; readonly type?: string },
  io: Io,
): Promise<number> {
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), run);
  if (!found.ok) {
    await refuse([{ code: 'no-run', severity: 'error', message: found.why }], io, {});
    return 2;
  }
  const { records, unreadable } = await readRecords(layout(resolve(io.cwd, found.dir)).trace);
  for (const record of fullTrace(records)) {
    if (
      options.node !== undefined &&
      record['node_id'] !== options.node &&
      record['from_node'] !== options.node
    )
      continue;
    if (options.type !== undefined && record['type'] !== options.type) continue;
    io.out(`${JSON.stringify(record)}\n`);
  }
  if (unreadable.length > 0) io.err(`${unreadable.length} lines of the trace cannot be read\n`);
  return 0;
}

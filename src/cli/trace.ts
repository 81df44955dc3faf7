/** `factory trace`: what each stage was given and gave, one JSON record a line, contexts in full. */
import { countedItems } from '../core/amounts.ts';
import { layout } from '../core/records/layout.ts';
import { toReader } from '../platform/streams.ts';
import { openRun } from '../run/open-run.ts';
import { completeRecords } from '../run/trace.ts';
import { findNamed } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

export async function traceCommand(
  run: string,
  options: { readonly runsdir?: string; readonly node?: string; readonly type?: string },
  io: CliIo,
): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const recorded = openRun(found.dir);
  const inWhole = completeRecords();
  const nodes = new Set<string>();
  const types = new Set<string>();
  const reader = toReader(io);
  let printed = 0;
  let unreadable = 0;
  // One record after the other: a trace may be larger than the memory.
  for await (const entry of recorded.view('trace')) {
    if (entry.kind === 'unreadable') {
      unreadable++;
      continue;
    }
    const record = inWhole(entry.record);
    const ids = [record['node_id'], record['from_node']].filter((id) => typeof id === 'string');
    for (const id of ids) nodes.add(id);
    types.add(String(record['type']));
    if (options.node !== undefined && !ids.includes(options.node)) continue;
    if (options.type !== undefined && record['type'] !== options.type) continue;
    printed++;
    reader.out(`${JSON.stringify(record)}\n`);
    if (!(await reader.isThere())) return 0;
  }
  if (unreadable > 0) io.err(`${countedItems(unreadable, 'line')} of the trace cannot be read\n`);
  // Nothing at all could be the answer, or a slip.
  if (printed === 0) io.err(`${nothing(layout(found.dir).trace, options, nodes, types)}\n`);
  return 0;
}

function nothing(
  path: string,
  { node, type }: { readonly node?: string; readonly type?: string },
  nodes: ReadonlySet<string>,
  types: ReadonlySet<string>,
): string {
  if (types.size === 0) return `there is no record in ${path}`;
  if (node !== undefined && !nodes.has(node))
    return `the trace has no node "${node}"; it has: ${some(nodes)}`;
  if (type !== undefined && !types.has(type))
    return `the trace has no record of type "${type}"; it has: ${some(types)}`;
  return `the trace has no record of type "${type}" for node "${node}"`;
}

const some = (words: ReadonlySet<string>): string =>
  [...words].slice(0, 20).join(', ') + (words.size > 20 ? ', …' : '');

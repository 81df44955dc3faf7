/** Brings the views of a run's journal up to date after a crash or a power cut: `checkpoint.json`, `status.json` of the nodes,
 *  `events.jsonl` and `trace.jsonl`. A resume needs none of them. */
import { join, relative } from 'node:path';
import { layout, nodeLayout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { RunRecord, VisitRecord } from '../core/records/visit.ts';
import { readPlain } from '../platform/files/read.ts';
import { writeFileAtomic, writeJson } from '../platform/files/write.ts';
import { checkpointText, completedNodes } from './checkpoint.ts';
import type { RunHistory } from './run-journal.ts';
import { openViewFile, type ViewFile } from './view-file.ts';
import { statusOf, type ViewPlaces, viewRecordsFrom } from './view-records.ts';

/** The views of a run, open for writing. */
export type Views = {
  readonly events: ViewFile;
  readonly trace: ViewFile;
  /** A line for each file that was rewritten. */
  readonly rewritten: readonly string[];
};

/** The run whose views are rebuilt. */
type Rebuilt = { readonly manifest: Pick<Manifest, 'forked_from'>; readonly history: RunHistory };
type Owner = { readonly runId: string; readonly epoch: number };

/** How many of the latest executions may have lost their `status.json`. */
const mostStatuses = 200;

/** Only for the owner of the run. */
export async function rebuildViews(run: Rebuilt, owner: Owner, places: ViewPlaces): Promise<Views> {
  const { runDir } = places;
  const { history } = run;
  const at = layout(runDir);
  const rewritten: string[] = [];
  const note = (path: string) => rewritten.push(`${relative(runDir, path)} rewritten from the journal`);
  for (const path of await rewriteStatuses(runDir, history.records)) note(path);
  if (await rewriteCheckpoint(at.checkpoint, history)) note(at.checkpoint);
  const events = complete('events', owner, run, places);
  const trace = complete('trace', owner, run, places);
  for (const [path, { count }] of [
    [at.events, events],
    [at.trace, trace],
  ] as const)
    if (count > 0)
      rewritten.push(
        `${relative(runDir, path)}: ${count === 1 ? '1 line' : `${count} lines`} written from the journal`,
      );
  return { events: events.view, trace: trace.view, rewritten };
}

async function rewriteCheckpoint(path: string, { checkpoint, committed }: RunHistory): Promise<boolean> {
  const { completed_nodes, ...state } = checkpoint;
  const text = checkpointText(state, completedNodes(completed_nodes).now(), committed);
  const is = readPlain(path);
  if (is.kind === 'text' && text === is.text) return false;
  await writeFileAtomic(path, text, { evenFolder: true });
  return true;
}

/** The latest `status.json` of each of the latest nodes, where it is missing or torn; a changed one is not touched. */
async function rewriteStatuses(runDir: string, records: readonly RunRecord[]): Promise<string[]> {
  const latest = new Map<string, VisitRecord>();
  for (const record of records.slice(-mostStatuses))
    if (record.type === 'Visit') latest.set(record.node, record);
  const rewritten: string[] = [];
  for (const { node, visit, outcome, artifacts } of latest.values()) {
    const { root, status, stage, visits } = nodeLayout(layout(runDir).node(node));
    const archive = join(visits, String(visit));
    // The next execution may have moved it.
    // A fork has no folder of an execution whose folder was lost.
    if (
      artifacts === undefined ||
      isJson(status) ||
      isJson(nodeLayout(archive).status) ||
      !isOf(stage, visit)
    )
      continue;
    await writeJson(nodeLayout(root).status, statusOf(outcome));
    rewritten.push(status);
  }
  return rewritten;
}

const parsed = (path: string): unknown => {
  const read = readPlain(path);
  try {
    return read.kind === 'text' ? JSON.parse(read.text) : undefined;
  } catch {
    return undefined;
  }
};

const isJson = (path: string): boolean => parsed(path) !== undefined;

/** Whether the node's folder is of that execution, as far as its `stage.json` can be read. */
function isOf(stage: string, visit: number): boolean {
  const is = parsed(stage);
  return typeof is !== 'object' || is === null || !('visit' in is) || is.visit === visit;
}

type Part = 'events' | 'trace';

/** Opens a view and adds what the journal gives beyond its end. */
function complete(
  part: Part,
  owner: Owner,
  { manifest, history }: Rebuilt,
  places: ViewPlaces,
): { readonly view: ViewFile; readonly count: number } {
  const { lines } = history;
  const { view, end } = openViewFile(layout(places.runDir)[part], owner, lines);
  const present = [...end.types];
  let count = 0;
  for (const { line, records } of viewRecordsFrom(end.line, lines, manifest, places))
    for (const record of records[part]) {
      const known = line.seq === end.line ? present.indexOf(record.type) : -1;
      if (known !== -1) present.splice(known, 1);
      else {
        view.append(record, line.seq);
        count += 1;
      }
    }
  return { view, count };
}

/** What the views of a run are made from, read once. */
import { basename } from 'node:path';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { nextTurn } from '../../platform/turns.ts';
import { openRun, type RunReader } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { storedGraph } from '../read-pipeline.ts';
import { branchRowsOf } from './branches.ts';
import { type EventHistory, readEvents } from './event-history.ts';
import type { BranchRow, ExecutionRow } from './execution-shapes.ts';
import { executionsOf } from './executions.ts';
import { type InspectHost, inspectRow } from './rows.ts';
import type { RunRow } from './run-row.ts';
import { type Withheld, withheldIn } from './withheld.ts';

export type InspectedRun = {
  readonly dir: string;
  readonly reader: RunReader;
  readonly row: RunRow;
  readonly manifest: Manifest;
  readonly graph: Graph | undefined;
  readonly history: RunHistory;
  readonly events: EventHistory;
  readonly executions: readonly Omit<ExecutionRow, 'group'>[];
  readonly branches: readonly BranchRow[];
  /** Whether texts of this node are withheld: it may see the holdout, and the run has reached no exit. */
  readonly withheld: Withheld;
};

/** What each view of a run begins with. */
export type BriefRun = Pick<InspectedRun, 'dir' | 'reader' | 'row' | 'manifest' | 'history'>;

/** Reads the run in `dir`, or answers why it cannot be read. */
export async function readForViews(dir: string, host: InspectHost): Promise<InspectedRun | Refusal> {
  const read = await readBriefRun(dir, host);
  return 'problems' in read ? read : inspectedRun(read, host);
}

/** The same without what takes its graph or its events. */
export async function readBriefRun(dir: string, host: InspectHost): Promise<BriefRun | Refusal> {
  const reader = openRun(dir);
  const row = await inspectRow(dir, host, reader);
  if (row === undefined) return refused('no-run', `there is no run in ${dir}`);
  const history = reader.history();
  if (!history.ok) return refused('run-files', history.why);
  const read = await reader.manifest();
  if (!read.ok) return refused('manifest', read.why);
  return { dir, reader, row: { ...row, run_id: basename(dir) }, manifest: read.manifest, history };
}

export async function inspectedRun(run: BriefRun, host: Pick<InspectHost, 'clock'>): Promise<InspectedRun> {
  const { reader, row, manifest, history } = run;
  await nextTurn();
  const graph = storedGraph(manifest);
  await nextTurn();
  const withheld = withheldIn(manifest, () => graph, history);
  const events = await readEvents(reader);
  const executions = executionsOf({
    ...{ history, events, graph, withheld },
    status: row.status,
    now: host.clock.now(),
  });
  return {
    ...run,
    ...{ graph, events, executions, withheld },
    branches: branchRowsOf({ records: history.records, executions, graph, status: row.status, withheld }),
  };
}

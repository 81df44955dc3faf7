/** A run as `show` prints it: of its records only what that needs, however long the run is. */
import type { Refusal } from '../../core/diagnostic.ts';
import { once } from '../../core/once.ts';
import { orderKey } from '../../core/records/build.ts';
import { storedGraph } from '../read-pipeline.ts';
import { changedFilesOf } from './changed-files.ts';
import { readLatestEvents } from './event-history.ts';
import { executionStandings } from './executions.ts';
import { type NodeTotals, nodeTotalsOf } from './nodes.ts';
import { type BriefRun, inspectedRun, readBriefRun } from './read-run.ts';
import type { InspectHost } from './rows.ts';
import { factsOf, groupedExecutions } from './run.ts';
import type { RunRow } from './run-row.ts';
import type { RunView } from './shapes.ts';
import { withheldIn } from './withheld.ts';

export type RunOverview = RunRow &
  Pick<RunView, 'agent' | 'ahead' | 'notes' | 'accepted_weakness' | 'result'> &
  Pick<BriefRun, 'manifest'> & {
    readonly nodes: readonly NodeTotals[];
    /** Its work orders and what is next to them; none in a run without work orders. */
    readonly groups: RunView['groups'];
    readonly changed: RunView['changed'];
    /** Executions so far. */
    readonly steps: number;
  };

/** Reads the run in `dir`, or answers why it cannot be read. */
export async function readOverview(dir: string, host: InspectHost): Promise<RunOverview | Refusal> {
  const run = await readBriefRun(dir, host);
  if ('problems' in run) return run;
  const { row, manifest, history } = run;
  return {
    ...{ ...row, ...factsOf(run, host), manifest },
    nodes: nodeTotalsOf(await standingsIn(run, host), run),
    groups: hasOrders(run) ? (await groupedExecutions(await inspectedRun(run, host))).groups : [],
    changed: await changedFilesOf(dir, history),
    steps: history.checkpoint.steps,
  };
}

async function standingsIn({ reader, row, manifest, history }: BriefRun, { clock }: InspectHost) {
  const withheld = withheldIn(
    manifest,
    once(() => storedGraph(manifest)),
    history,
  );
  const events = await readLatestEvents(reader, history);
  return executionStandings({
    ...{ history, events, graph: undefined, withheld },
    ...{ status: row.status, now: clock.now() },
  });
}

const hasOrders = ({ history }: BriefRun): boolean =>
  history.records.some((one) => one.type === 'Visit' && one.tool_state?.[orderKey] !== undefined);

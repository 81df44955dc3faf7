/** A run as one view: its executions, groups, graph, cause and result. */

import { pricesOf } from '../../core/budget/prices.ts';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { hasSucceeded } from '../../core/overridden.ts';
import { aheadIn, planLevelsIn } from '../../core/records/ahead.ts';
import { layout } from '../../core/records/layout.ts';
import { holdoutFacts } from '../../core/records/manifest.ts';
import { type RunResult, runResultSchema } from '../../core/records/result.ts';
import { nextTurn } from '../../platform/turns.ts';
import { loadOrders } from '../../run/orders.ts';
import { printed } from '../../run/result.ts';
import { jsonOf, namedRun } from '../../run/runs.ts';
import { acceptedWeakness } from '../accept-weak.ts';
import { changedFilesOf } from './changed-files.ts';
import type { ExecutionRow } from './execution-shapes.ts';
import { executionName } from './executions.ts';
import { graphOfRun } from './graph.ts';
import { groupsOf } from './groups.ts';
import { nodeRowsOf } from './nodes.ts';
import { noteRowsOf } from './notes.ts';
import { type BriefRun, type InspectedRun, readForViews } from './read-run.ts';
import type { InspectHost } from './rows.ts';
import type { RunView } from './shapes.ts';
import { cardIn, causeFacts, whyOf } from './why.ts';

/** The run in `dir`, whole; or why it cannot be read. */
export async function inspectRun(dir: string, host: InspectHost): Promise<RunView | Refusal> {
  const run = await readForViews(dir, host);
  return 'problems' in run ? run : runViewOf(run, host);
}

export async function runViewOf(
  run: InspectedRun,
  host: Pick<InspectHost, 'cwd' | 'called'>,
): Promise<RunView> {
  const { row, manifest, graph, history, events, executions } = run;
  const { agent, ahead, notes, accepted_weakness, result } = factsOf(run, host);
  const { holdout } = manifest;
  const { dated, from } = pricesOf(manifest);
  const { context } = history.checkpoint;
  const facts = causeFacts(run);
  const cause = row.status === 'running' || row.status === 'completed' ? null : await whyOf(facts);
  const failed = String(context['last_failure.node_id'] ?? '');
  await nextTurn();
  return {
    schema_version: 1,
    ...row,
    agent,
    sandbox: manifest.sandbox ?? null,
    not_enforced: [...(manifest.sandbox?.missing ?? manifest.not_enforced)],
    spec: manifest.variables['spec']?.file?.source ?? null,
    ...(await groupedExecutions(run)),
    levels: planLevelsIn(context).map((level) => [...level]),
    ahead,
    branches: [...run.branches],
    notes,
    accepted_weakness,
    graph:
      graph === undefined
        ? { name: '', direction: 'TB', nodes: [], edges: [], regions: [], children: [], folds: [] }
        : graphOfRun(graph, { executions, visits: visitsOf(run), calls: history.calls }),
    cause,
    changed: await changedFilesOf(run.dir, history),
    card: cause === null ? null : await cardIn(facts, cause, host),
    result,
    last_event: events.seq,
    holdout: holdout === undefined ? null : holdoutFacts(holdout),
    prices: { dated, from },
    nodes: await nodeRowsOf(run),
    failure: failed === '' ? null : { node: failed, output: printed({ context }, failed) },
  };
}

/** What a run says of itself, whichever view it is in. */
export const factsOf = (
  { dir, row, manifest, history }: BriefRun,
  host: Pick<InspectHost, 'cwd' | 'called'>,
): Pick<RunView, 'agent' | 'ahead' | 'notes' | 'accepted_weakness' | 'result'> => ({
  agent: manifest.agent.describe || 'none',
  ahead: aheadIn(history.checkpoint.context) ?? null,
  notes: [...noteRowsOf(dir, history.records)],
  accepted_weakness: acceptedWeakness(dir, history.checkpoint) ?? null,
  result: row.status === 'running' ? null : resultIn(dir, host),
});

const visitsOf = ({ history }: InspectedRun) => history.records.filter((record) => record.type === 'Visit');

/** The executions, each with the group that it belongs to. */
export async function groupedExecutions(run: InspectedRun): Promise<Pick<RunView, 'groups' | 'executions'>> {
  const { dir, row, graph, executions, branches } = run;
  const { groups, of } = groupsOf({
    ...{ rows: executions, branches, visits: visitsOf(run), graph, title: row.title },
    titles: row.progress === null ? new Map() : await orderTitles(dir),
    ended: row.status !== 'running' && !hasSucceeded(row.status),
    asks: row.status === 'paused_answer',
  });
  return {
    groups: [...groups],
    executions: executions.map((one) => ({ ...one, group: of.get(executionName(one)) ?? '' })),
  };
}

/** The execution `visit` of a node, by default the latest; else which there are. */
export function findExecution<Row extends Pick<ExecutionRow, 'node' | 'visit'>>(
  all: readonly Row[],
  node: string,
  visit: number | undefined,
): Row | Refusal {
  const found = all.findLast((one) => one.node === node && (visit === undefined || one.visit === visit));
  if (found !== undefined) return found;
  const last = all.findLast((one) => one.node === node);
  const names = [...new Set(all.map((one) => one.node))];
  return last === undefined
    ? refused(
        'no-node',
        `the run has executed no node "${node}"`,
        `it has executed: ${names.slice(0, 20).join(', ')}`,
      )
    : refused('no-node', `node "${node}" has no execution ${visit}`, `its latest is ${executionName(last)}`);
}

/** Titles of the work orders in the workspace, by id; none if they cannot be read. */
async function orderTitles(dir: string): Promise<ReadonlyMap<string, string>> {
  const loaded = await loadOrders(layout(dir).workspace, { allowExempt: true });
  if ('problem' in loaded) return new Map();
  return new Map(loaded.orders.map(({ order }) => [order.id, order.title]));
}

/** `result.json` of a run, with the places that it has now; null if it is missing or not readable. */
export function resultIn(
  dir: string,
  { cwd, called = { program: 'factory' } }: Pick<InspectHost, 'cwd' | 'called'>,
): RunResult | null {
  const result = runResultSchema().safeParse(jsonOf(layout(dir).result)).data;
  if (result === undefined) return null;
  const { workspace } = layout(dir);
  return { ...result, run_dir: dir, workspace, verify: `${called.program} verify ${namedRun(dir, cwd)}` };
}

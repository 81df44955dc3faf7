/** Reads the card of a run that needs attention. */
import { isAbsolute, relative } from 'node:path';
import type { NextAction } from '../../core/action-commands.ts';
import { type Graph, graphWith, nodeOf } from '../../core/graph.ts';
import { failedNodeOf } from '../../core/leak-reason.ts';
import { once } from '../../core/once.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { VisitRecord } from '../../core/records/visit.ts';
import { weakJudgeIn } from '../../core/weak-judge.ts';
import { agentBefore } from '../../run/agent-before.ts';
import { spokenCommand } from '../../run/evidence.ts';
import { actionsFor, deliveryOf } from '../../run/next-command.ts';
import { acceptableWeakness } from '../accept-weak.ts';
import { storedGraph } from '../read-pipeline.ts';
import { executionName } from './executions.ts';
import { failedOutput } from './failed-output.ts';
import type { FailureCard } from './failure-card.ts';
import type { CauseFacts } from './near-end.ts';
import { failedIn } from './open-branches.ts';
import type { InspectHost } from './rows.ts';

const mostActions = 3;

/** `at`: the execution that shows the cause. */
export async function failureCardOf(
  run: CauseFacts,
  at: string | null,
  host: Pick<InspectHost, 'cwd' | 'called'>,
): Promise<FailureCard> {
  const visit = failedVisit(run, at);
  const output = visit === undefined ? null : await failedOutput(run, visit);
  const failing = visit?.commands?.findLast(({ exit_code }) => exit_code !== 0);
  const actions = await actionsOf(run, host);
  return {
    line: run.row.headline,
    node: visit === undefined ? at : executionName(visit),
    command: failing === undefined ? null : spokenCommand(failing.argv),
    exit_code: failing?.exit_code ?? null,
    place: output?.place ?? null,
    excerpt: output?.excerpt ?? null,
    actions: actions.slice(0, mostActions).map(({ kind, words, command }) => ({ kind, words, command })),
  };
}

/** Where a limit has ended the run, the failure before it. */
function failedVisit({ row, history }: CauseFacts, at: string | null): VisitRecord | undefined {
  if (row.status !== 'failed') return undefined;
  const visits = history.records.filter((record) => record.type === 'Visit');
  const { last_failure: last } = history.checkpoint;
  return visits.findLast((visit) =>
    at === null ? visit.node === last?.node && visit.outcome.status === 'fail' : executionName(visit) === at,
  );
}

async function actionsOf(
  run: CauseFacts,
  { cwd, called = { program: 'factory' } }: Pick<InspectHost, 'cwd' | 'called'>,
): Promise<readonly NextAction[]> {
  const { dir, row, history, manifest, graph } = run;
  const { program } = called;
  if (row.status === 'overridden' && row.delivered === false)
    return [await deliveryOf(manifest, dir, cwd, { program, overridden: true })];
  const { last_failure, ended } = history.checkpoint;
  const latest = failedIn(history)[0]?.at ?? row.failed_node ?? '';
  const failedNode = failedNodeOf(row.reason, row.next_node, latest);
  const whole = once(() => graph ?? storedGraph(manifest));
  const weakJudge = weakJudgeIn(history.checkpoint)?.node;
  const delivery = weakJudge === undefined ? undefined : await weakDelivery(run, { cwd, program });
  const stood = {
    ...{ status: row.status, reason: row.reason, failedNode, weakJudge, delivery },
    pipeline: row.pipeline,
    failureClass: last_failure?.class,
    cause: ended?.cause,
    offline: manifest.replay_of?.live === false,
    resumable: row.next_node !== '',
    answered: row.question?.answer != null,
    agent: () => agentBefore(history.records, failedNode),
    placeOf: (node: string) => placeOf(whole(), node, manifest, cwd),
  };
  return actionsFor(stood, dir, { cwd, program });
}

/** The delivery of a run whose only failure is a weak judge. */
async function weakDelivery(
  { dir, row, history, manifest, graph = storedGraph(manifest) }: CauseFacts,
  { cwd, program }: { readonly cwd: string; readonly program: string },
): Promise<NextAction | undefined> {
  if (manifest.git === undefined || graph === undefined || row.delivered === true) return undefined;
  const weakness = acceptableWeakness(graph, history);
  if ('why' in weakness) return undefined;
  return deliveryOf(manifest, dir, cwd, { program, overridden: weakness.overridden, weak: true });
}

/** `FILE:LINE` of a node's declaration, the file as the user typed it. */
function placeOf(
  graph: Graph | undefined,
  id: string,
  { pipeline_path }: Manifest,
  cwd: string,
): string | undefined {
  const node = nodeOf(graph, id);
  if (graph === undefined || node === undefined) return undefined;
  const { file } = graphWith(graph, node.id);
  return `${isAbsolute(file) && !isAbsolute(pipeline_path) ? relative(cwd, file) : file}:${node.span.start.line}`;
}

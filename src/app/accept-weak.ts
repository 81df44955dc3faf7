/** A person accepts a run whose only failure is that its scenarios are too weak: whether nothing else failed, and the record of it. */
import { endAsSuccess, passedOn } from '../core/as-success.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { type JsonObject, own } from '../core/json.ts';
import { isOverridden, overriddenIn } from '../core/overridden.ts';
import { type WeaknessAccepted, weaknessAcceptedSchema } from '../core/records/acceptance.ts';
import { buildStateIn } from '../core/records/build.ts';
import { layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { commitSchema } from '../core/records/result.ts';
import type { Strength } from '../core/records/strength.ts';
import type { VisitRecord } from '../core/records/visit.ts';
import { strengthWords } from '../core/strength.ts';
import { weakJudgeIn, weakStrength } from '../core/weak-judge.ts';
import { firstCommitOf } from '../git/history.ts';
import { openRun } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { stateAfter } from '../run/visits.ts';
import { readActs, recordAct, thisUser } from './acts.ts';
import { storedGraph } from './read-pipeline.ts';
import { auditMode, auditRejection } from './run/audit-gate.ts';
import type { DeliveryFlags } from './typed-command.ts';

/** What is accepted: the execution that judged, and its strength in words; `overridden`: with strong scenarios the run would have
 *  succeeded in spite of another failure, by the answer of a person. */
export type AcceptableWeakness = Pick<WeaknessAccepted, 'node' | 'strength'> & {
  readonly overridden: boolean;
};

/** The weakness for which a run failed, or `why` that is not all: the end of a sentence that begins with the run. */
export function acceptableWeakness(
  graph: Graph,
  { records, checkpoint }: Pick<RunHistory, 'records' | 'checkpoint'>,
): AcceptableWeakness | { readonly why: string } {
  const at = records.findLastIndex((one) => one.type === 'Visit' && !passedOn.has(one.node_type));
  const judge = records[at] as VisitRecord | undefined;
  const strength = checkpoint.status === 'failed' ? strengthIn(judge) : undefined;
  if (judge === undefined || strength === undefined)
    return { why: 'did not fail because its scenarios are too weak' };
  const { node_type, outcome } = judge;
  const node = `${judge.node}@${judge.visit}`;
  const end = endAsSuccess(graph, stateAfter(records.slice(0, at)), {
    ...{ node: judge.node, node_type, updates: outcome.updates },
  });
  if ('next' in end) return { why: `would not have ended after ${node}: ${end.next} was not executed` };
  const overridden = isOverridden(end);
  return end.ok || overridden
    ? { node, strength: strengthWords(strength), overridden }
    : { why: `would have failed all the same: ${end.reason}` };
}

/** The strength for which a judge failed that is in no branch: what follows a branch depends on others. */
function strengthIn(judge: VisitRecord | undefined): Strength | undefined {
  if (judge === undefined || judge.branch !== undefined || judge.node_type !== 'tool') return undefined;
  const { outcome, origins } = judge;
  return outcome.status === 'fail' && outcome.class === 'scenario'
    ? weakStrength(outcome.updates, origins.set)
    : undefined;
}

/** What `deliver` accepts with its flags; refused if anything else failed, too, or without the flags. Undefined for a run that has not
 *  failed, or has failed otherwise without that anything is to be accepted. */
export async function weaknessToDeliver(
  { typed, dir, manifest }: { readonly typed: string; readonly dir: string; readonly manifest: Manifest },
  history: Pick<RunHistory, 'records' | 'checkpoint'>,
  { overridden, accept_weak }: DeliveryFlags,
  env: Environment,
): Promise<AcceptableWeakness | Refusal | undefined> {
  if (history.checkpoint.status !== 'failed') return undefined;
  const run = `run ${manifest.run_id}`;
  const no = (message: string, fix: string): Refusal => refused('deliver', message, fix);
  const graph = storedGraph(manifest);
  const weakness =
    graph === undefined ? { why: 'has a pipeline that cannot be read' } : acceptableWeakness(graph, history);
  if (graph === undefined || 'why' in weakness)
    return accept_weak === true
      ? no(`${run} ${'why' in weakness ? weakness.why : ''}`, `see what failed: factory why ${typed}`)
      : undefined;
  const { node, strength } = weakness;
  const flags = `--accept-weak${weakness.overridden ? ' --overridden' : ''}`;
  const stronger = `factory fork ${typed} --before ${node.replace(/@.*/, '')} --holdout DIR`;
  const fix = `judge the same commits by more scenarios: ${stronger}; or deliver it all the same: factory deliver ${typed} ${flags}`;
  if (accept_weak !== true) return no(`${run} failed because its scenarios are too weak: ${strength}`, fix);
  const [first] = overriddenIn(history.checkpoint);
  if (weakness.overridden && overridden !== true)
    return no(
      `${run} has another failure, which an answer of a person has let pass: ${first?.node}@${first?.visit}`,
      fix,
    );
  const found = auditMode(graph, manifest) === 'strict' ? await strictAudit(dir, env) : undefined;
  return found === undefined
    ? weakness
    : no(`${run} would have failed all the same: ${found}`, `see what it found: factory audit ${typed}`);
}

/** A run that fails at its judge is not audited at its end. */
async function strictAudit(dir: string, env: Environment): Promise<string | undefined> {
  const { auditRun } = await import('../verify/audit/audit.ts');
  const answer = await auditRun(dir, env, storedGraph);
  return 'why' in answer ? `audit: ${answer.why}` : auditRejection(answer.report);
}

/** Records that the weakness was accepted for these commits, once. Throws the system's error if it cannot be written. */
export function recordAcceptance(
  runDir: string,
  { node, strength }: AcceptableWeakness,
  { head, who = thisUser() }: { readonly head: string; readonly who?: string | undefined },
  clock: Pick<Clock, 'now'>,
): void {
  const before = latestAcceptance(runDir);
  if (before?.node === node && before.head === head) return;
  recordAct(runDir, { who, what: acceptance, node, strength, head }, clock);
}

const acceptance = 'accept_weak';

const latestAcceptance = (runDir: string): WeaknessAccepted | undefined => {
  const last = readActs(runDir).findLast(({ what }) => what === acceptance);
  return last && weaknessAcceptedSchema().safeParse(last).data;
};

type Standing = Parameters<typeof weakJudgeIn>[0] & {
  readonly status: string;
  /** Of its last record. */
  readonly at: string;
  /** Unknown in a checkpoint's file. */
  readonly visits?: Readonly<Record<string, number>> | undefined;
  readonly tool_state?: JsonObject | undefined;
};

/** The latest acceptance of a run, if it is of the failure, the strength and the commit that the run has now: a resume or another judge
 *  needs another one. No hash covers acts. */
export function acceptedWeakness(runDir: string, standing: Standing): WeaknessAccepted | undefined {
  const weak = standing.status === 'failed' ? weakJudgeIn(standing) : undefined;
  const last = weak && latestAcceptance(runDir);
  if (last === undefined || weak === undefined) return undefined;
  const { visits, at } = standing;
  const [node, visit] = last.node.split('@');
  const isLatest = visits === undefined ? last.at >= at : own(visits, weak.node) === Number(visit);
  const isOfJudge = node === weak.node && isLatest && last.strength === strengthWords(weak.strength);
  return isOfJudge && last.head === headIn(runDir, standing) ? last : undefined;
}

/** The last commit as the run has recorded it. */
function headIn(runDir: string, { context, tool_state }: Standing): string | null {
  const { data = [] } = commitSchema().array().safeParse(context['build.commits']);
  const made = data.findLast(({ commit }) => commit !== null)?.commit;
  return buildStateIn(tool_state)?.head ?? made ?? firstCommitOf(layout(runDir).history);
}

/** The same from the run's directory. */
export function acceptedWeaknessIn(runDir: string): WeaknessAccepted | undefined {
  if (latestAcceptance(runDir) === undefined) return undefined;
  const read = openRun(runDir).history();
  return read.ok ? acceptedWeakness(runDir, read.checkpoint) : undefined;
}

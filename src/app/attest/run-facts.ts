/** What the records of a run say that an attestation repeats. */
import { basename } from 'node:path';
import { allNodes, type Graph } from '../../core/graph.ts';
import { reportedValue } from '../../core/policy/reported-keys.ts';
import { answeredText } from '../../core/question-words.ts';
import { questionIdOf } from '../../core/records/question.ts';
import type { Evidence, RunResult } from '../../core/records/result.ts';
import { strengthSchema } from '../../core/records/strength.ts';
import type { RunRecord, VisitRecord } from '../../core/records/visit.ts';
import { inputsOf } from '../../run/evidence.ts';
import type { StoredRun } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { acceptedWeakness } from '../accept-weak.ts';
import type { RunPredicate } from './predicate.ts';
import { judgeIn, type Seen } from './seen.ts';

export type StoredResult = StoredRun & {
  readonly runDir: string;
  /** What `result.json` would say now. */
  readonly result: RunResult & { readonly evidence: Evidence };
  readonly graph: Graph | undefined;
};

export type AttestedRun = StoredResult & {
  /** What of the product its checks have seen. */
  readonly seen: Seen;
};

/** An interrupted or suspended run has said how it stopped; one whose process is gone has not. */
export const attestedStatus = ({ history, result }: AttestedRun): RunPredicate['run']['status'] =>
  history.checkpoint.status === 'running' ? 'unfinished' : result.status;

export function runFactsOf(run: AttestedRun): RunPredicate['run'] {
  const { manifest, history, result } = run;
  return {
    id: manifest.run_id,
    status: attestedStatus(run),
    exit_node: result.exit_node,
    failed_node: result.failed_node,
    failure_class: result.failure_class,
    started_at: manifest.started_at,
    last_record_at: history.last.at,
    executions: result.stages,
    failed_executions: result.failed_stages,
    factory_version: manifest.factory_version,
    journal: { records: history.whole.records, sha256: history.whole.sha256 },
  };
}

/** Hashes of the inputs; of the suite, which could be guessed, the one that `suiteHash` makes of its hash. */
export function inputFactsOf(
  { manifest, result }: Pick<AttestedRun, 'manifest' | 'result'>,
  suiteHash: (sha256: string) => string,
): RunPredicate['inputs'] {
  const { pipelines = {}, prompts, schemas, agent_script, prices } = inputsOf(manifest);
  const files = Object.entries(manifest.variables).flatMap(([name, { file }]) =>
    file === undefined ? [] : [[name, file.sha256] as const],
  );
  const { holdout } = manifest;
  return {
    pipeline: { name: basename(manifest.pipeline_path), sha256: manifest.pipeline.sha256 },
    ...{ pipelines, prompts, schemas, files: Object.fromEntries(files), agent_script, prices },
    base_commit: result.evidence.base_commit,
    suite: holdout === undefined ? null : { files: holdout.files, hmac_sha256: suiteHash(holdout.sha256) },
  };
}

const isVisit = (record: RunRecord): record is VisitRecord => record.type === 'Visit';

/** Whether the outcome of an execution is from the record of another run. */
export function replayedIn({
  records,
}: Pick<RunHistory, 'records'>): (node: string, visit: number) => boolean {
  const replayed = new Set(
    records
      .filter(isVisit)
      .flatMap((one) => (one.replayed === undefined ? [] : [`${one.node}@${one.visit}`])),
  );
  return (node, visit) => replayed.has(questionIdOf(node, visit));
}

/** The run whose record an execution was copied from by a fork, by its name. */
export function inheritedIn({
  manifest: { forked_from: from },
  history: { records },
}: Pick<StoredRun, 'manifest' | 'history'>): ReadonlyMap<string, string> {
  return new Map(
    from === undefined
      ? []
      : records
          .slice(0, from.seq)
          .filter(isVisit)
          .map((one) => [questionIdOf(one.node, one.visit), from.run_id] as const),
  );
}

export function commandFactsOf(run: AttestedRun): RunPredicate['commands'] {
  const isReplayed = replayedIn(run.history);
  const inherited = inheritedIn(run);
  return run.result.evidence.commands.map(({ node, visit, outcome, what, command, exit_code }) => ({
    ...{ node, visit, outcome, what, command, exit_code },
    replayed: isReplayed(node, visit),
    inherited: inherited.get(questionIdOf(node, visit)) ?? null,
    files: run.seen.byCommand.get(questionIdOf(node, visit)) ?? 'others',
  }));
}

/** What the scenarios said; a strength without texts, which may name scenarios. */
export function judgedFactsOf(run: AttestedRun): RunPredicate['judged'] {
  const { judged } = run.result.evidence;
  if (judged === undefined) return null;
  const { passed, total, floor = null, passed_before = null, isolation = null } = judged;
  const { judge } = run.seen;
  return {
    ...{ passed, total, floor, passed_before, isolation, strength: strengthFacts(judged) },
    ...{ execution: judge?.execution ?? null, commit: judge?.commit ?? null, tree: judge?.tree ?? null },
    inherited: inheritedIn(run).get(judge?.execution ?? '') ?? null,
    sealed: run.manifest.holdout !== undefined,
  };
}

function strengthFacts(
  judged: NonNullable<Evidence['judged']>,
): NonNullable<RunPredicate['judged']>['strength'] {
  const read = strengthSchema().safeParse('strength' in judged ? judged.strength : undefined);
  if (!read.success) return null;
  const { left_out, why: _, ...strength } = read.data;
  return { ...strength, left_out: left_out.length };
}

/** The scenarios as tests: whether those that did not pass have failed, and whether it is in doubt that they judged this product in
 *  this run. */
export function scenarioTestsOf(run: AttestedRun) {
  const { history, result, seen } = run;
  const { judged } = result.evidence;
  if (judged === undefined) return undefined;
  const judge = judgeIn(history.records);
  const isInherited = seen.judge === undefined || inheritedIn(run).has(seen.judge.execution);
  return {
    ...{ passed: judged.passed, total: judged.total },
    // Unless the last `factory scenario` reports that nothing has failed.
    failed: reportedValue(history.checkpoint, 'judge.class') !== '',
    doubted: judge?.replayed !== undefined || isInherited || seen.judge?.isAttested !== true,
  };
}

/** What people accepted: other inputs, answers, failures that an answer let pass, a weak suite. */
export function acceptedFactsOf({
  runDir,
  manifest,
  history,
  result,
}: AttestedRun): RunPredicate['accepted'] {
  const visits = history.records.filter(isVisit);
  const weakness = acceptedWeakness(runDir, history.checkpoint);
  const isFile = (what: string): boolean =>
    !what.startsWith('variable ') || manifest.variables[what.slice('variable '.length)]?.file !== undefined;
  return {
    changes: (manifest.changes ?? []).map(({ run_id, at, changed }) => ({
      ...{ run_id, at },
      // A value, which may be short, could be found by its hash.
      changed: changed.map((one) => (isFile(one.what) ? one : { what: one.what, before: null, after: null })),
    })),
    answers: visits.flatMap(({ node, visit, answer }) =>
      answer === undefined
        ? []
        : [
            {
              question: questionIdOf(node, visit),
              answer: answer.choice === undefined ? null : answeredText(answer),
              ...{ by: answer.by, at: answer.at, from: answer.from },
            },
          ],
    ),
    overridden: (result.overridden ?? []).map((one) => ({
      execution: questionIdOf(one.node, one.visit),
      class: one.class,
      question: one.answered.question,
    })),
    weakness: weakness === undefined ? [] : [{ at: weakness.at, who: weakness.who }],
    notes: visits.reduce((sum, { steered = [] }) => sum + steered.length, 0),
  };
}

export function originFactsOf({
  manifest,
  history,
  result,
}: AttestedRun): Pick<RunPredicate, 'forked_from' | 'replay_of'> {
  const { forked_from: from, replay_of: of } = manifest;
  const replayed = history.records.filter((one) => isVisit(one) && one.replayed !== undefined).length;
  return {
    forked_from:
      from === undefined
        ? null
        : {
            ...{ run_id: from.run_id, node: from.node, visit: from.visit, before: from.before },
            changed: from.changed,
          },
    replay_of:
      of === undefined
        ? null
        : {
            run_id: of.run_id,
            live: of.live,
            executions: replayed,
            diverged: result.divergence !== undefined,
          },
  };
}

/** The sandbox of the run's own executions: a fork does not know that of the executions that it has inherited. */
export function sandboxFactsOf(run: AttestedRun): RunPredicate['sandbox'] {
  const { manifest, graph } = run;
  const { sandbox, not_enforced, changes = [] } = manifest;
  const resumed = changes.filter(({ run_id }) => run_id === manifest.run_id);
  const others = [...(graph === undefined ? [] : allNodes(graph)).values()];
  return {
    used: sandbox?.used ?? null,
    enforces: sandbox?.enforces ?? [],
    not_enforced,
    earlier: resumed.flatMap(({ changed }) =>
      changed.flatMap(({ what, before }) => (what === 'sandbox' ? [before] : [])),
    ),
    unknown_for: inheritedIn(run).size,
    nodes: Object.fromEntries(
      others.flatMap((node) => {
        const word = node.attrs.get('sandbox')?.value.text ?? '';
        return word === '' ? [] : [[node.id, word]];
      }),
    ),
  };
}

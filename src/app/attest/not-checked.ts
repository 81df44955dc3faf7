/** What of a run was not checked, in sentences: without them an attestation would promise more than is known. */
import { countedItems } from '../../core/amounts.ts';
import { strengthWords } from '../../core/strength.ts';
import type { RunPredicate } from './predicate.ts';
import type { AttestedRun } from './run-facts.ts';

/** `unverified`: what `factory verify` could not check. */
export function notCheckedIn(
  run: AttestedRun,
  facts: Pick<RunPredicate, 'run' | 'judged' | 'replay_of' | 'commits'>,
  unverified: readonly string[],
): readonly string[] {
  const { result, runDir } = run;
  return [
    ...endGaps(facts),
    ...unverified.map((why) => why.replaceAll(runDir, 'the run directory')),
    ...changeGaps(run),
    ...judgeGaps(run, facts),
    ...checkGaps(run),
    ...(facts.commits.length > 0 && result.proof === null
      ? ['no clean checkout of the last commit was verified']
      : []),
    ...(result.audit === undefined ? ['no audit looked for holdout leaks and changed tests'] : []),
  ];
}

function endGaps({ run, replay_of: of }: Pick<RunPredicate, 'run' | 'replay_of'>): readonly string[] {
  const hasEnded = ['completed', 'overridden', 'failed'].includes(run.status);
  const { executions = 0, run_id } = of ?? {};
  return [
    ...(hasEnded ? [] : [`the run has not ended: it is ${run.status}`]),
    ...(executions === 0
      ? []
      : [`${countedItems(executions, 'execution')} did not run: the outcomes are those of run ${run_id}`]),
  ];
}

/** Resumes with another manifest of which nothing is recorded but that: those of earlier versions. */
function changeGaps({ manifest, history }: AttestedRun): readonly string[] {
  const known = new Set((manifest.changes ?? []).map(({ manifest_sha256: before }) => before));
  let before: string | undefined;
  return history.lines.flatMap((line) => {
    if (!('manifest_sha256' in line)) return [];
    const changed = before !== undefined && before !== line.manifest_sha256 && !known.has(before);
    before = line.manifest_sha256;
    return changed ? [`what the resume of ${line.at} changed: only the new inputs are recorded`] : [];
  });
}

function judgeGaps({ result }: AttestedRun, { judged }: Pick<RunPredicate, 'judged'>): readonly string[] {
  const { unjudged } = result.evidence;
  if (judged === null) return [unjudged ?? 'no scenario judged the product'];
  const { strength, floor, passed, total } = judged;
  const leftOut = strength === null ? 0 : strength.files_left_out + strength.scenarios_left_out;
  const measured = strength === null ? undefined : { ...strength, left_out: [], why: null };
  return [
    ...(unjudged === undefined ? [] : [unjudged]),
    ...(strength?.rate == null ? [strengthWords(measured)] : []),
    ...(floor === 'failed' ? ['the scenarios accept a product that does nothing'] : []),
    ...(passed === total && floor !== 'held' && floor !== 'failed'
      ? ['whether the scenarios reject a product that does nothing']
      : []),
    ...(leftOut === 0
      ? []
      : [`the strength leaves out ${countedItems(leftOut, 'scenario or file', 'scenarios or files')}`]),
  ];
}

function checkGaps({ result }: AttestedRun): readonly string[] {
  const { commands, more_commands: more, unchecked_orders, outdated, unchanged_orders } = result.evidence;
  return [
    ...(commands.length === 0 ? ['no command checked anything'] : []),
    ...(more === 0
      ? []
      : [`${countedItems(more, 'command')} more ran and ${more === 1 ? 'is' : 'are'} not listed`]),
    ...(unchecked_orders ?? []).map((order) => `work order ${order}: its only acceptance command is "true"`),
    ...(unchanged_orders ?? []).map((order) => `work order ${order} changed no file`),
    ...(outdated ?? []).map(
      ({ work_order, command }) =>
        `on the last commit an acceptance command of ${work_order} fails: ${command}`,
    ),
  ];
}

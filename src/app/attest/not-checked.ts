/** What of a run was not checked, in sentences: without them an attestation would promise more than is known. */
import { countedItems } from '../../core/amounts.ts';
import { strengthWords } from '../../core/strength.ts';
import type { RunPredicate } from './predicate.ts';
import { type AttestedRun, inheritedIn } from './run-facts.ts';

/** `unverified`: what `factory verify` could not check. */
export function notCheckedIn(
  run: AttestedRun,
  facts: Pick<RunPredicate, 'run' | 'judged' | 'commands' | 'replay_of' | 'commits'>,
  unverified: readonly string[],
): readonly string[] {
  const { result, runDir } = run;
  return [
    ...endGaps(facts),
    ...unverified.map((why) => why.replaceAll(runDir, 'the run directory')),
    ...changeGaps(run),
    ...inheritedGaps(run),
    ...judgeGaps(run, facts),
    ...productGaps(run, facts),
    ...checkGaps(run),
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

/** A fork copies the records up to its checkpoint: they are in its own chain of hashes, but not what they ran in. */
function inheritedGaps(run: AttestedRun): readonly string[] {
  const { size } = inheritedIn(run);
  const { forked_from: from } = run.manifest;
  if (from === undefined || size === 0) return [];
  return [
    `${countedItems(size, 'execution')} ran in run ${from.run_id}, or in one before it, and ${size === 1 ? 'is' : 'are'} known by copied records: in which sandbox is unknown`,
  ];
}

/** Checks that saw other files than those that are attested. */
function productGaps(
  { seen: { judge, provedCommit } }: AttestedRun,
  { judged, commands, commits }: Pick<RunPredicate, 'judged' | 'commands' | 'commits'>,
): readonly string[] {
  const last = commits.at(-1)?.commit;
  const texts = (files: 'others' | 'start') => [
    ...new Set(commands.flatMap((one) => (one.files === files ? [one.command] : []))),
  ];
  const [others, start] = [texts('others'), texts('start')];
  return [
    ...(judged === null || judge?.isAttested === true ? [] : [judgedOther(judged)]),
    ...(judged === null || judged.inherited === null
      ? []
      : [
          `by which suite, pipeline and sandbox the scenarios of ${judged.execution} judged in run ${judged.inherited}`,
        ]),
    ...(judged === null || judged.sealed
      ? []
      : [
          'the scenarios were not hidden from agents, which could read and change them: the run has no holdout',
        ]),
    ...(others.length === 0 ? [] : [`other files than the attested ones were checked by ${listed(others)}`]),
    ...(start.length === 0
      ? []
      : [`the files before the work, not the attested ones, were seen by ${listed(start)}`]),
    ...(last === undefined || (provedCommit ?? null) === last
      ? []
      : [
          `no clean checkout of the last commit was verified${provedCommit == null ? '' : `, only one of commit ${provedCommit}`}`,
        ]),
  ];
}

const judgedOther = ({ execution, commit, tree }: NonNullable<RunPredicate['judged']>): string =>
  tree === null
    ? 'which files the scenarios judged cannot be read'
    : `the scenarios judged other files than the attested ones: ${execution} had ${commit === null ? '' : `commit ${commit}, `}tree ${tree}`;

/** Commands that a sentence lists. */
const mostListed = 5;

const listed = (commands: readonly string[]): string =>
  `${commands.slice(0, mostListed).join('; ')}${commands.length > mostListed ? `; and ${commands.length - mostListed} more` : ''}`;

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

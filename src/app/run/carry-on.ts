/** Carries runs on to their end: new ones, and those that are resumed. */

import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { endsByTime, pausedBy } from '../../core/outcome.ts';
import { quoteWord } from '../../core/policy/words.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { amountLimits, type LimitName, limitRecorded } from '../../core/settings/limits.ts';
import { realEvery } from '../../platform/clock.ts';
import { openRun, type RunReader, type StoredRun } from '../../run/open-run.ts';
import { namedRun } from '../../run/runs.ts';
import { type Inputs, readInputs } from '../inputs.ts';
import { typesOfRun } from '../own-kinds.ts';
import { setupNow } from '../project-setup.ts';
import { storedGraph } from '../read-pipeline.ts';
import { textsNamed } from '../texts-named.ts';
import type { Finished, Host, RunFlags } from '../types.ts';
import { awaitAnswer } from './await-answer.ts';
import { completeResult, unreportedEnd } from './complete-run.ts';
import type { NewRun } from './create.ts';
import { executeRun } from './execute-run.ts';
import { missingNext } from './nodes-ahead.ts';
import { changedFork } from './open-forks.ts';
import { finishedRun } from './run-end.ts';
import { checkRunOwner } from './run-state.ts';
import { type GraphWithAttributes, setIn, withAttributes } from './set-attributes.ts';
import { type WatchedHost, watchStops } from './stop-watch.ts';
import { type TermsRequest, termsOf, withTerms } from './terms.ts';
import { type AddedNode, addedBefore, checkUnchangedInputs, editedAfterwards } from './unchanged-inputs.ts';
import { outageClock, stillParked } from './wait.ts';

/** A run that has begun earlier. `graph` is the present pipeline, if it can be read; undefined for one that keeps its texts. */
export type ExistingRun = { readonly runDir: string; readonly graph: Graph | undefined };

/** Executes the run from its checkpoint to its end. A suspended run is resumed at its time: with `flags.wait` after waiting for
 *  that, each time. */
export async function carryOn(
  run: NewRun | ExistingRun,
  flags: RunFlags,
  host: Host,
): Promise<Finished | Refusal> {
  const watched = watchStops(run.runDir, host, realEvery);
  try {
    return await carryOnWatched(run, flags, watched);
  } finally {
    watched.stops.close();
  }
}

async function carryOnWatched(
  run: NewRun | ExistingRun,
  flags: RunFlags,
  host: WatchedHost,
): Promise<Finished | Refusal> {
  const patience = outageClock(host.clock);
  const isNew = 'terms' in run;
  const existing = isNew ? { runDir: run.runDir, graph: run.terms.graph } : run;
  // These flags count once: the manifest keeps their values, or they were meant for the first resume.
  const later: RunFlags = { ...flags, vars: {}, acceptChanges: false, takeOver: false, now: false };
  const { agent_script: _, prices: __, ...again } = later;
  const reader = openRun(run.runDir);
  let ended = isNew ? await executeRun(run, reader, flags, host) : undefined;
  while (ended === undefined || (await resumesAgain(ended, reader, flags, host))) {
    const [begins, now] = ended === undefined ? [existing, flags] : [undefined, again];
    const sleeping = await stillParked(reader, begins, now, host, patience);
    if (typeof sleeping === 'object') return sleeping;
    // This process checked the inputs before it waited, so the run keeps the texts of that time.
    const waited = ended !== undefined || (sleeping === 'slept' && !flags.acceptChanges);
    ended = await resume(existing, reader, now, host, waited);
  }
  return host.signal.aborted ? interruptedWait(ended) : ended;
}

/** A signal has ended the wait for an answer: the run stays suspended, and this process ends as an interrupted one. */
const interruptedWait = (ended: Finished | Refusal): Finished | Refusal =>
  'result' in ended && ended.result.status === pausedBy('answer')
    ? { result: { ...ended.result, exit_code: 130 }, code: 130 }
    : ended;

/** Whether this process resumes the run after its suspension; of one that asks a person, after the answer. */
async function resumesAgain(
  ended: Finished | Refusal,
  reader: RunReader,
  flags: RunFlags,
  host: Host,
): Promise<boolean> {
  if (!('result' in ended) || host.signal.aborted) return false;
  const { status, wake_at } = ended.result;
  const waits = flags.wait === true;
  if (status === pausedBy('answer'))
    return (waits || host.ask !== undefined) && awaitAnswer(reader, waits, host);
  return waits && endsByTime(status) && wake_at !== undefined;
}

async function resume(
  run: ExistingRun,
  reader: RunReader,
  flags: RunFlags,
  host: WatchedHost,
  waited: boolean,
): Promise<Finished | Refusal> {
  const { runDir, graph } = run;
  const recorded = await reader.stored();
  if ('problems' in recorded) return recorded;
  const { manifest, history } = recorded;
  const stored = storedGraph(manifest);
  const takeOver = flags.takeOver === true;
  const finished = await finishedRun(manifest, history, runDir, host);
  if (finished !== undefined) {
    const end = { manifest, state: history.checkpoint, result: finished.result };
    const completed = await completeResult(reader, end, takeOver, host);
    return typeof completed === 'object' ? completed : finished;
  }
  const wrongOwner = checkRunOwner(runDir);
  if (wrongOwner !== undefined) return wrongOwner;
  const checked = await checkUnchangedInputs(manifest, { stored, graph, keeps: waited }, flags, host);
  if ('problems' in checked) return checked;
  if (!raisesLimits(flags, manifest)) {
    const unreported = await unreportedEnd(reader, manifest, history, takeOver, host);
    if (unreported !== undefined) return unreported;
  }
  for (const change of checked.accepted) host.log('warn', `accepted: ${change.message}`);
  const types = await typesOfRun(manifest, { graph, ...host }, flags.acceptChanges);
  if ('problems' in types) return types;
  const whole = types.own.length === 0 ? stored : storedGraph(manifest, types.own);
  const texts = await textsNow(recorded, run, whole, flags, host);
  if ('problems' in texts) return texts;
  const { current, inputs, fresh } = texts;
  const { replay_of: of } = manifest;
  const offline = of?.live === false && flags.live !== true;
  const script = flags.acceptChanges ? flags.agent_script : undefined;
  const former = { runDir, manifest };
  const terms = await termsOf({ graph: current, former, inputs, script, offline }, flags, host);
  if ('problems' in terms) return terms;
  const accepts = flags.acceptChanges && of === undefined;
  const setup = accepts ? setupNow(manifest, host.env) : manifest.setup;
  if (setup !== undefined && 'problems' in setup) return setup;
  const live = of !== undefined && flags.live === true ? { replay_of: { ...of, live: true } } : {};
  const forked = fresh === undefined ? {} : comparedWithItsFile(manifest);
  const change = {
    manifest: { ...withoutSetup(withTerms(manifest, terms)), ...forked, ...live, ...(setup && { setup }) },
    files: fresh?.files ?? {},
    script: terms.script.text,
  };
  return executeRun({ runDir, terms, change, waited }, reader, flags, host);
}

const withoutSetup = ({ setup: _, ...manifest }: Manifest): Manifest => manifest;

/** A fork that accepted the texts of its pipeline file is compared with that file from then on. */
const comparedWithItsFile = ({ forked_from: fork }: Manifest): Pick<Manifest, 'forked_from'> =>
  fork === undefined
    ? {}
    : { forked_from: { ...fork, changed: [...new Set([...fork.changed, 'pipeline'])] } };

/** The pipeline and the texts that the run continues with: its own, or with `--accept-changes` those of the files. */
async function textsNow(
  { manifest, history: { checkpoint } }: StoredRun,
  { runDir, graph }: ExistingRun,
  stored: Graph | undefined,
  flags: RunFlags,
  host: Host,
): Promise<{ current: Graph; inputs: TermsRequest['inputs']; fresh: Inputs | undefined } | Refusal> {
  const accepts = flags.acceptChanges && manifest.replay_of === undefined;
  if (accepts && graph === undefined)
    host.log('warn', 'the run keeps its texts: the pipeline file cannot be read');
  const accepted = accepts && graph !== undefined ? await withKept(manifest, stored, graph, host) : undefined;
  if (accepted !== undefined && 'problems' in accepted) return accepted;
  const changed = accepted?.graph;
  const current = changed ?? stored;
  if (current === undefined)
    return refused('resume-pipeline', 'the pipeline of this run cannot be read', 'start a new run');
  const missing = missingNext(current, checkpoint);
  if (missing !== undefined)
    return refused(
      'resume-pipeline',
      `the next node of the run is "${missing}", which the changed pipeline does not have`,
      'restore the node under that id, or start a new run',
    );
  if (changed === undefined)
    return { current, inputs: { ...manifest, schemas: manifest.schemas ?? {} }, fresh: undefined };
  const branches = changedFork(stored, changed, checkpoint);
  if (branches !== undefined)
    return refused(
      'resume-branches',
      `the changed pipeline has other branches at "${branches.node}", and those of before have begun: ${branches.what}`,
      `restore that, or begin the branches anew: ${forkBefore(branches.node, changed, runDir, host)}`,
    );
  // Variables that are not set again keep the run's values, whatever their files contain now.
  const kept = { variables: manifest.variables, files: {} };
  const read = await readInputs(changed, flags.vars, host.cwd, kept);
  if ('problems' in read) return read;
  const fresh = read.inputs;
  const before = { graph: stored, texts: manifest };
  for (const id of editedAfterwards(before, { graph: changed, ...fresh }, checkpoint))
    host.log('warn', againWith(id, changed, runDir, host));
  for (const added of addedBefore(stored, changed, checkpoint))
    host.log('warn', passedBy(added, changed, runDir, host));
  return { current, inputs: fresh, fresh };
}

/** The changed pipeline with the attributes that the run was forked with. */
async function withKept(
  { forked_from: from, run_id }: Manifest,
  stored: Graph | undefined,
  graph: Graph,
  { cwd, called, log }: Host,
): Promise<GraphWithAttributes | Refusal> {
  const sets = stored === undefined ? [] : setIn(stored, from?.set ?? []);
  for (const { name } of sets)
    log(
      'warn',
      `${name} keeps the value that the fork has set, whatever ${graph.file} says; for another one: ${called?.program ?? 'factory'} fork ${run_id} --at ${name.slice(0, name.indexOf('.'))} --before --set ${name}=TEXT`,
    );
  const { prompts = new Map() } = sets.length === 0 ? {} : await textsNamed(graph, cwd);
  return withAttributes(graph, sets, { cwd, prompts });
}

/** The change of a finished node has no effect: how to run it again with its new text. */
const againWith = (id: string, graph: Graph, runDir: string, host: Host): string =>
  `node "${id}" has changed but ran before the change, and what it did stays; to run it again: ${forkBefore(id, graph, runDir, host)}`;

/** The run is past a new node: how to run it. */
const passedBy = ({ id, after, reachable }: AddedNode, graph: Graph, runDir: string, host: Host): string =>
  `node "${id}" is new and stands before nodes that have run: ${reachable ? 'it runs only if the run comes back to it' : 'it will not run'}; to run it: ${forkBefore(after, graph, runDir, host)}`;

const forkBefore = (id: string, { file }: Graph, runDir: string, { cwd, called }: Host): string =>
  `${called?.program ?? 'factory'} fork ${namedRun(runDir, cwd)} --at ${id} --before --pipeline ${quoteWord(file)}`;

/** Limits whose change lets a run continue. */
const raisable: readonly LimitName[] = [
  ...(Object.keys(amountLimits) as LimitName[]),
  'max_visits',
  'max_restarts',
  'unknown_cost',
];

/** Whether the flags change something that lets a run continue that ended at no exit. */
const raisesLimits = (flags: RunFlags, { caps }: Manifest): boolean =>
  flags.acceptChanges ||
  flags.live === true ||
  flags.prices !== undefined ||
  raisable.some((name) => flags[name] !== undefined && flags[name] !== limitRecorded(caps, name));

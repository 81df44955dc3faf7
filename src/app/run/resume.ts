/** Resumes runs: waits for the time of a suspended one, checks for changes, and executes it. */
import type { Caps } from '../../core/budget/limits.ts';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { endsByTime } from '../../core/outcome.ts';
import { quoteWord } from '../../core/policy/words.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { Texts } from '../../engine/run-context.ts';
import { namedRun } from '../../run/runs.ts';
import { type Inputs, readInputs, textsOf, textsOfManifest } from '../inputs.ts';
import { storedGraph } from '../read-pipeline.ts';
import type { AgentAssignment } from '../resolve-agents.ts';
import type { Finished, Host, RunFlags } from '../types.ts';
import { executeRun } from './execute-run.ts';
import { completeResult, finishedRun, unreportedEnd } from './finish-run.ts';
import { prepareResume } from './prepare-resume.ts';
import type { CreatedRun, NotCreated } from './run-directory.ts';
import { checkRunOwner, loadRunState, type RunStanding } from './run-state.ts';
import { type AddedNode, addedBefore, checkUnchangedInputs, editedAfterwards } from './unchanged-inputs.ts';
import { outageClock, stillParked } from './wait.ts';

/** Resumes a run from its checkpoint. `graph` is the present pipeline, if it can be read (undefined for a fork that
 *  keeps its texts). A suspended run is resumed at its time: with `flags.wait` after waiting for that, each time. */
export async function resumeRun(
  runDir: string,
  graph: Graph | undefined,
  flags: RunFlags,
  host: Host,
): Promise<Finished | Refusal> {
  const patience = outageClock(host.clock);
  const sleeping = await stillParked(runDir, { graph }, flags, host, patience);
  if (typeof sleeping === 'object') return sleeping;
  const waited = sleeping === 'slept' && !flags.acceptChanges;
  const ended = await resumeOnce(runDir, graph, flags, host, waited);
  return resumeAfterWaits(runDir, graph, ended, flags, host, patience);
}

/** Executes a new run to its end, or returns why it could not be created. */
export async function driveMade(
  made: CreatedRun | NotCreated,
  graph: Graph,
  given: { readonly casting: AgentAssignment; readonly inputs: Texts; readonly caps: Caps },
  flags: RunFlags,
  host: Host,
): Promise<Finished | Refusal> {
  if ('problem' in made) {
    const { problem, code } = made;
    return { problems: [problem], ...(code === undefined ? {} : { code }) };
  }
  for (const note of made.notes) host.log('warn', note);
  const { runDir } = made;
  const ended = await executeRun(graph, runDir, { ...given, resumed: false, made: made.made }, flags, host);
  return resumeAfterWaits(made.runDir, graph, ended, flags, host);
}

/** With `flags.wait`: resumes a suspended run until it ends otherwise. */
async function resumeAfterWaits(
  runDir: string,
  graph: Graph | undefined,
  ended: Finished | Refusal,
  flags: RunFlags,
  host: Host,
  patience = outageClock(host.clock),
): Promise<Finished | Refusal> {
  let last = ended;
  // These flags count once: the manifest keeps their values, or they were meant for the first resume.
  const later: RunFlags = { ...flags, vars: {}, acceptChanges: false, takeOver: false, now: false };
  const { script: _, prices: __, ...again } = later;
  while (flags.wait === true && 'result' in last && endsByTime(last.result.status) && !host.signal.aborted) {
    const sleeping = await stillParked(runDir, undefined, again, host, patience);
    if (typeof sleeping === 'object') return sleeping;
    last = await resumeOnce(runDir, graph, again, host, true);
  }
  return last;
}

/** `waited`: this process checked the inputs before it waited, so that the run keeps the texts of that time. */
async function resumeOnce(
  runDir: string,
  graph: Graph | undefined,
  flags: RunFlags,
  host: Host,
  waited = false,
): Promise<Finished | Refusal> {
  const stands = await loadRunState(runDir);
  if ('problems' in stands) return stands;
  const { manifest, history } = stands;
  const stored = storedGraph(manifest);
  const { checkpoint } = history;
  const takeOver = flags.takeOver === true;
  const finished = await finishedRun(manifest, history, runDir, host);
  if (finished !== undefined) {
    const end = { manifest, state: checkpoint, result: finished.result };
    const completed = await completeResult(runDir, end, takeOver, host);
    return typeof completed === 'object' ? completed : finished;
  }
  const wrongOwner = checkRunOwner(runDir);
  if (wrongOwner !== undefined) return wrongOwner;
  const checked = await checkUnchangedInputs(manifest, { stored, graph, keeps: waited }, flags, host);
  if ('problems' in checked) return checked;
  if (!raisesLimits(flags, manifest)) {
    const unreported = await unreportedEnd(runDir, manifest, history, takeOver, host);
    if (unreported !== undefined) return unreported;
  }
  for (const change of checked.accepted) host.log('warn', `accepted: ${change.message}`);
  const texts = await textsNow(stands, { runDir, stored, graph }, flags, host);
  if ('problems' in texts) return texts;
  const { current, inputs, fresh } = texts;
  const { replay_of: of } = manifest;
  const offline = of?.live === false && flags.live !== true;
  const given = { runDir, fresh, script: flags.acceptChanges ? flags.script : undefined, offline };
  const ready = await prepareResume(current, manifest, given, flags, host);
  if ('problems' in ready) return ready;
  const { casting, caps, script } = ready;
  const live = of !== undefined && flags.live === true ? { replay_of: { ...of, live: true } } : {};
  const change = { manifest: { ...ready.manifest, ...live }, files: fresh?.files ?? {}, script };
  return executeRun(current, runDir, { casting, inputs, caps, resumed: true, waited, change }, flags, host);
}

/** The pipeline and the texts that the run continues with: its own, or with `--accept-changes` those of the files. */
async function textsNow(
  { manifest, history: { checkpoint } }: RunStanding,
  { runDir, stored, graph }: { runDir: string; stored: Graph | undefined; graph: Graph | undefined },
  flags: RunFlags,
  host: Host,
): Promise<{ current: Graph; inputs: Texts; fresh: Inputs | undefined } | Refusal> {
  const accepts = flags.acceptChanges && manifest.replay_of === undefined;
  if (accepts && graph === undefined)
    host.log('warn', 'the run keeps its texts: the pipeline file cannot be read');
  const changed = accepts ? graph : undefined;
  const current = changed ?? stored;
  if (current === undefined)
    return refused('resume-pipeline', 'the pipeline of this run cannot be read', 'start a new run');
  if (checkpoint.next_node !== null && !current.nodes.has(checkpoint.next_node))
    return refused(
      'resume-pipeline',
      `the next node of the run is "${checkpoint.next_node}", which the changed pipeline does not have`,
      'restore the node under that id, or start a new run',
    );
  if (changed === undefined) return { current, inputs: textsOfManifest(manifest), fresh: undefined };
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
  return { current, inputs: textsOf(fresh), fresh };
}

/** The change of a finished node has no effect: how to run it again with its new text. */
const againWith = (id: string, graph: Graph, runDir: string, host: Host): string =>
  `node "${id}" has changed but ran before the change, and what it did stays; to run it again: ${forkBefore(id, graph, runDir, host)}`;

/** The run is past a new node: how to run it. */
const passedBy = ({ id, after, reachable }: AddedNode, graph: Graph, runDir: string, host: Host): string =>
  `node "${id}" is new and stands before nodes that have run: ${reachable ? 'it runs only if the run comes back to it' : 'it will not run'}; to run it: ${forkBefore(after, graph, runDir, host)}`;

const forkBefore = (id: string, { file }: Graph, runDir: string, { cwd, called }: Host): string =>
  `${called?.program ?? 'factory'} fork ${namedRun(runDir, cwd)} --at ${id} --before --pipeline ${quoteWord(file)}`;

/** Whether the flags change something that lets a run continue that ended at no exit. */
const raisesLimits = (flags: RunFlags, { caps }: Manifest): boolean =>
  flags.acceptChanges ||
  flags.live === true ||
  flags.prices !== undefined ||
  [
    [flags.maxSteps, caps.max_steps],
    [flags.maxVisits, caps.max_visits],
    [flags.maxWallMs, caps.max_wall_ms],
    [flags.maxCostUsd, caps.max_cost_usd],
    [flags.maxTokens, caps.max_tokens],
    [flags.unknownCost, caps.unknown_cost],
  ].some(([now, before]) => now !== undefined && now !== before);

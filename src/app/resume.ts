/** Resumes runs: waits for the time of a suspended one, checks for changes, and executes it. */
import { type Caps, spendCapsOf } from '../core/budget/limits.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { endsByTime } from '../core/outcome.ts';
import { goalOf } from '../core/pipeline.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { ForkedFrom, Manifest } from '../core/records/manifest.ts';
import { sha256 } from '../core/sha256.ts';
import type { Texts } from '../engine/run-context.ts';
import { budgetGiven } from '../engine/shared-budget.ts';
import { readPlain } from '../platform/files/read.ts';
import { inputPath } from '../store/inputs.ts';
import { namedRun } from '../store/runs.ts';
import { readPriceFile } from './budget.ts';
import { executeRun } from './execute-run.ts';
import { completeResult, finishedRun, unreportedEnd } from './finish-run.ts';
import { type Inputs, readInputs, textsOf, textsOfManifest } from './inputs.ts';
import { storedGraph } from './read-pipeline.ts';
import {
  type AgentAssignment,
  describePlan,
  type LoadedScript,
  loadScript,
  resolveAgents,
  selfContained,
} from './resolve-agents.ts';
import type { CreatedRun, NotCreated } from './run-directory.ts';
import { checkRunOwner, loadRunState } from './run-state.ts';
import { keptSecrets, secretsProblem } from './secrets.ts';
import { type Doors, type Finished, keptScript, type RunFlags } from './types.ts';
import { checkUnchangedInputs, editedAfterwards, flagsOfAgent } from './unchanged-inputs.ts';
import { outageClock, stillParked } from './wait.ts';

/** Resumes a run from its checkpoint. `graph` is the present pipeline, if it can be read (undefined for a fork that
 *  keeps its texts). A suspended run is resumed at its time: with `flags.wait` after waiting for that, each time. */
export async function resumeRun(
  runDir: string,
  graph: Graph | undefined,
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  const patience = outageClock(doors.clock);
  const sleeping = await stillParked(runDir, { graph }, flags, doors, patience);
  if (typeof sleeping === 'object') return sleeping;
  const waited = sleeping === 'slept' && !flags.acceptChanges;
  const ended = await resumeOnce(runDir, graph, flags, doors, waited);
  return resumeAfterWaits(runDir, graph, ended, flags, doors, patience);
}

/** Executes a new run to its end, or returns why it could not be created. */
export async function driveMade(
  made: CreatedRun | NotCreated,
  graph: Graph,
  given: { readonly casting: AgentAssignment; readonly inputs: Texts; readonly caps: Caps },
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  if ('problem' in made) {
    const { problem, code } = made;
    return { problems: [problem], ...(code === undefined ? {} : { code }) };
  }
  for (const note of made.notes) doors.log('warn', note);
  const ended = await executeRun(graph, made.runDir, { ...given, resumed: false }, flags, doors);
  return resumeAfterWaits(made.runDir, graph, ended, flags, doors);
}

/** With `flags.wait`: resumes a suspended run until it ends otherwise. */
async function resumeAfterWaits(
  runDir: string,
  graph: Graph | undefined,
  ended: Finished | Refusal,
  flags: RunFlags,
  doors: Doors,
  patience = outageClock(doors.clock),
): Promise<Finished | Refusal> {
  let last = ended;
  // These flags count once: the manifest keeps their values, or they were meant for the first resume.
  const later: RunFlags = { ...flags, vars: {}, acceptChanges: false, takeOver: false, now: false };
  const { script: _, prices: __, ...again } = later;
  while (flags.wait === true && 'result' in last && endsByTime(last.result.status) && !doors.signal.aborted) {
    const sleeping = await stillParked(runDir, undefined, again, doors, patience);
    if (typeof sleeping === 'object') return sleeping;
    last = await resumeOnce(runDir, graph, again, doors, true);
  }
  return last;
}

/** `waited`: this process checked the inputs before it waited, so that the run keeps the texts of that time. */
async function resumeOnce(
  runDir: string,
  graph: Graph | undefined,
  flags: RunFlags,
  doors: Doors,
  waited = false,
): Promise<Finished | Refusal> {
  const stands = await loadRunState(runDir);
  if ('problems' in stands) return stands;
  const { manifest, history } = stands;
  const stored = storedGraph(manifest);
  const { checkpoint } = history;
  const finished = await finishedRun(manifest, checkpoint, runDir, doors);
  if (finished !== undefined) {
    const end = { manifest, state: checkpoint, result: finished.result };
    const completed = await completeResult(runDir, end, flags.takeOver === true, doors);
    return typeof completed === 'object' ? completed : finished;
  }
  const wrongOwner = checkRunOwner(runDir);
  if (wrongOwner !== undefined) return wrongOwner;
  const replays = manifest.replay_of !== undefined;
  const checked = await checkUnchangedInputs(manifest, { stored, graph, keeps: waited }, flags, doors);
  if ('problems' in checked) return checked;
  if (!raisesLimits(flags, manifest)) {
    const unreported = await unreportedEnd(runDir, manifest, checkpoint, flags.takeOver === true, doors);
    if (unreported !== undefined) return unreported;
  }
  for (const change of checked.accepted) doors.log('warn', `accepted: ${change.message}`);
  const accepts = flags.acceptChanges && !replays;
  if (accepts && graph === undefined)
    doors.log('warn', 'the run keeps its texts: the pipeline file cannot be read');
  const current = accepts && graph !== undefined ? graph : stored;
  if (current === undefined) {
    return refused('resume-pipeline', 'the pipeline of this run cannot be read', 'start a new run');
  }
  if (checkpoint.next_node !== null && !current.nodes.has(checkpoint.next_node)) {
    return refused(
      'resume-pipeline',
      `the next node of the run is "${checkpoint.next_node}", which the changed pipeline does not have`,
      'restore the node under that id, or start a new run',
    );
  }
  let inputs = textsOfManifest(manifest);
  let fresh: Inputs | undefined;
  if (accepts && graph !== undefined) {
    // Variables that are not set again keep the run's values, whatever their files contain now.
    const kept = { variables: manifest.variables, files: {} };
    const read = await readInputs(graph, flags.vars, doors.cwd, kept);
    if ('problems' in read) return read;
    fresh = read.inputs;
    inputs = textsOf(fresh);
    const before = { graph: stored, texts: manifest };
    for (const id of editedAfterwards(before, { graph, ...fresh }, checkpoint))
      doors.log('warn', againWith(id, graph, runDir, doors));
  }
  const wanted = flags.acceptChanges ? flags.script : undefined;
  const offline = manifest.replay_of?.live === false && flags.live !== true;
  const given = { runDir, fresh, script: wanted, offline };
  const ready = await prepareResume(current, manifest, given, flags, doors);
  if ('problems' in ready) return ready;
  const { casting, caps, script } = ready;
  const { replay_of: of } = ready.manifest;
  const next: Manifest =
    of === undefined || flags.live !== true
      ? ready.manifest
      : { ...ready.manifest, replay_of: { ...of, live: true } };
  const change = { manifest: next, files: fresh?.files ?? {}, script };
  return executeRun(current, runDir, { casting, inputs, caps, resumed: true, waited, change }, flags, doors);
}

/** The change of a finished node has no effect: how to run it again with its new text. */
const againWith = (id: string, graph: Graph, runDir: string, { cwd, called }: Doors): string =>
  `node "${id}" has changed but ran before the change, and what it did stays; to run it again: ${called?.program ?? 'factory'} fork ${namedRun(runDir, cwd)} --at ${id} --before --pipeline ${quoteWord(graph.file)}`;

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

/** The agents, limits and manifest of a resumed or forked run. The agent's script is the one that `given.script` names (a path
 *  as typed), else the one that the run in `given.runDir` has kept. */
export async function prepareResume(
  current: Graph,
  manifest: Manifest,
  given: {
    readonly runDir: string;
    /** Inputs that replace the manifest's. */
    readonly fresh: Inputs | undefined;
    readonly script: string | undefined;
    /** Uses recorded answers only: no agent is created. */
    readonly offline?: boolean;
  },
  flags: RunFlags,
  doors: Doors,
): Promise<
  | {
      readonly casting: AgentAssignment;
      readonly caps: Caps;
      readonly manifest: Manifest;
      /** Text of a script for the run directory; undefined if it has one or needs none. */
      readonly script: string | undefined;
      readonly answers: LoadedScript | undefined;
    }
  | Refusal
> {
  const budget = budgetGiven(doors.env);
  if (budget !== undefined && 'problems' in budget) return budget;
  const misnamed = secretsProblem(doors.env);
  if (misnamed !== undefined) return misnamed;
  let script: LoadedScript | undefined;
  let keptText: string | undefined;
  if (given.script !== undefined) {
    const loaded = await loadScript(current, given.script, doors.cwd);
    if ('problems' in loaded) return loaded;
    script = loaded.script;
    const whole = script === undefined ? undefined : await selfContained(script);
    if (whole !== undefined && 'problems' in whole) return whole;
    keptText = whole === undefined ? undefined : `${JSON.stringify(whole, null, 2)}\n`;
  } else if (manifest.agent.script !== undefined) {
    const path = inputPath(given.runDir, manifest, manifest.agent.script.stored);
    const read = readPlain(path);
    const text = read.kind === 'text' ? read.text : undefined;
    if (text === undefined)
      return refused(
        'agent-script-file',
        `the agent script of run ${manifest.run_id} is missing (${path})`,
        'restore the file, or name one with --script (a resume also needs --accept-changes)',
      );
    const { parseAgentScript } = await import('../agents/script.ts');
    const parsed = parseAgentScript(path, text);
    if ('diagnostics' in parsed) return { problems: parsed.diagnostics };
    // The original path, so that outcomes name the same file before and after a resume.
    script = { path: manifest.agent.script.path, script: parsed.script, text };
  }
  const scriptNamed = flags.script !== undefined && given.script !== undefined;
  const casting: AgentAssignment | Refusal =
    given.offline === true
      ? { plans: new Map(), main: undefined }
      : resolveAgents(current, {
          // The run keeps its agent, whatever the environment sets now.
          env: { ...doors.env, FACTORY_EFFORT: undefined, ...override(manifest, flags.agent) },
          flag: flags.agent ?? (scriptNamed || manifest.agent.name === '' ? undefined : manifest.agent.name),
          ...(flags.agent === undefined ? { flagBy: 'the run' } : {}),
          model: flags.model ?? manifest.agent.model,
          effort: flags.effort ?? manifest.agent.effort,
          temperature: manifest.agent.temperature,
          script,
          scriptNamed,
        });
  if ('problems' in casting) return casting;
  const maxVisits = flags.maxVisits ?? manifest.caps.max_visits;
  const kept = limitsNow(manifest, current);
  const caps: Caps = {
    maxSteps: flags.maxSteps ?? kept.maxSteps,
    maxWallMs: flags.maxWallMs ?? kept.maxWallMs,
    ...(maxVisits === undefined ? {} : { maxVisits }),
    commandTimeoutMs: flags.commandTimeoutMs ?? manifest.caps.command_timeout_ms,
    maxCostUsd: flags.maxCostUsd ?? kept.maxCostUsd,
    maxTokens: flags.maxTokens ?? kept.maxTokens,
    unknownCost: flags.unknownCost ?? kept.unknownCost,
    parkAfterMs: flags.parkAfterMs ?? kept.parkAfterMs,
    parkPassing: flags.parkPassing,
    maxOutageMs: flags.maxOutageMs ?? kept.maxOutageMs,
  };
  // Other prices change only how calls are counted, so they need no --accept-changes.
  const priced =
    flags.prices === undefined
      ? { kept: manifest.prices }
      : await readPriceFile(undefined, flags.prices, {}, doors.cwd);
  if ('problems' in priced) return priced;
  const main = casting.main;
  // The manifest gets the new settings, so that the next resume finds no change.
  const { goal: began, forked_from: fork, ...awake } = manifest;
  const goal = given.fresh === undefined ? began : goalOf(current);
  const next: Manifest = {
    ...awake,
    ...(fork === undefined ? {} : { forked_from: given.fresh === undefined ? fork : withNewTexts(fork) }),
    ...(goal === undefined ? {} : { goal }),
    env_pass: [...new Set([...manifest.env_pass, ...flags.envPass])],
    ...keptSecrets(doors.env, manifest),
    ...(given.fresh === undefined
      ? {}
      : {
          pipeline: { text: current.text, sha256: sha256(current.text) },
          prompts: { ...given.fresh.prompts },
          schemas: { ...given.fresh.schemas },
          variables: given.fresh.variables,
        }),
    agent: {
      ...manifest.agent,
      name: main?.name ?? manifest.agent.name,
      describe:
        main === undefined
          ? manifest.agent.describe
          : main.name === 'scripted' && manifest.agent.name === 'scripted' && keptText === undefined
            ? manifest.agent.describe
            : describePlan(main),
      ...(main === undefined || main.name === manifest.agent.name ? {} : { chosen_by: main.chosenBy }),
      ...(main !== undefined && 'model' in main ? { model: main.model } : {}),
      ...(main !== undefined && 'effort' in main ? { effort: main.effort } : {}),
      ...(keptText === undefined || script === undefined
        ? {}
        : { script: { path: script.path, sha256: sha256(script.text), stored: keptScript } }),
      ...flagsOfAgent(flags, given.script === undefined ? undefined : script?.text, manifest.agent.flags),
    },
    caps: {
      max_steps: caps.maxSteps,
      max_wall_ms: caps.maxWallMs ?? null,
      ...(caps.maxVisits === undefined ? {} : { max_visits: caps.maxVisits }),
      ...(caps.commandTimeoutMs === undefined ? {} : { command_timeout_ms: caps.commandTimeoutMs }),
      ...spendCapsOf(caps),
    },
    ...(priced.kept === undefined ? {} : { prices: priced.kept }),
  };
  return { casting, caps, manifest: next, script: keptText, answers: script };
}

/** A fork that accepted texts of its pipeline file is compared with that file from then on. */
const withNewTexts = (fork: ForkedFrom): ForkedFrom => ({
  ...fork,
  changed: [...new Set([...fork.changed, 'pipeline'])],
});

/** The variable that replaces every node's agent, from the start of the run. */
function override({ agent: { name, chosen_by, flags } }: Manifest, flag: string | undefined) {
  if (name === '') return {};
  const asBegun = name === 'fake' && /^ATTRACT(?:ION|OR)_BACKEND$/.test(chosen_by);
  const isFake = asBegun && [undefined, name, flags?.agent].includes(flag);
  return { ATTRACTION_BACKEND: isFake ? name : undefined, ATTRACTOR_BACKEND: undefined };
}

/** The run's limits: those that the graph set follow the current graph; those that a flag set stay. */
function limitsNow(manifest: Manifest, current: Graph) {
  const { caps } = manifest;
  const now = current.settings;
  const was = current.text === manifest.pipeline.text ? now : (storedGraph(manifest)?.settings ?? now);
  const of = <T>(kept: T, before: T, is: T): T => (kept === before ? is : kept);
  return {
    maxSteps: of(caps.max_steps, was.max_steps, now.max_steps),
    maxWallMs: of(caps.max_wall_ms ?? undefined, was.max_wall, now.max_wall),
    maxCostUsd: of(caps.max_cost_usd, was.max_cost_usd, now.max_cost_usd),
    maxTokens: of(caps.max_tokens, was.max_tokens, now.max_tokens),
    unknownCost: of(caps.unknown_cost, was.unknown_cost, now.unknown_cost),
    parkAfterMs: of(caps.park_after_ms, was.park_after, now.park_after),
    maxOutageMs: of(caps.max_outage_ms, was.max_outage, now.max_outage),
  };
}

/** A run taken up again: what has changed is refused or taken over. */

import { readGraph } from '../dot/read.ts';
import type { Made, NotMade } from '../engine/building.ts';
import type { Caps } from '../engine/caps.ts';
import { defaultCaps, spendCapsOf } from '../engine/caps.ts';
import type { Casting, LoadedScript, Refusal } from '../engine/casting.ts';
import { cast, describePlan, loadScript, selfContained } from '../engine/casting.ts';
import type { Inputs } from '../engine/inputs.ts';
import { readInputs } from '../engine/inputs.ts';
import { inputPath } from '../engine/kept.ts';
import { goalOf } from '../engine/pipeline.ts';
import { readPriceFile } from '../engine/price-file.ts';
import { resultOf } from '../engine/result.ts';
import { flagsOfAgent } from '../engine/resume.ts';
import { budgetGiven, parkAbove } from '../engine/shared-budget.ts';
import type { Texts } from '../engine/texts.ts';
import { textsOf, textsOfManifest } from '../engine/texts.ts';
import { lint } from '../lint/lint.ts';
import { graphAttributes } from '../lint/words.ts';
import { readAttributes } from '../model/attribute.ts';
import { hasErrors } from '../model/diagnostic.ts';
import type { Graph } from '../model/graph.ts';
import { layout } from '../model/layout.ts';
import type { ForkedFrom, Manifest } from '../model/manifest.ts';
import { sha256 } from '../model/sha256.ts';
import { kinds } from '../nodes/index.ts';
import { loadCheckpoint } from '../store/checkpoint.ts';
import { readManifest } from '../store/run-store.ts';
import { readPlain } from '../system/read.ts';
import { alarmBy } from './alarm.ts';
import { asBegun } from './as-begun.ts';
import { beSeen } from './be-seen.ts';
import { drive } from './drive.ts';
import { completeResult, completeWait, finishedRun, untoldEnd } from './ended.ts';
import { standing } from './stands.ts';
import type { Doors, Finished, RunFlags } from './types.ts';
import { keptScript, refused } from './types.ts';
import { changedRecords } from './vouched.ts';
import { anothers } from './whose.ts';

/** Milliseconds between two looks at the clock while a run sleeps: the machine may sleep too. */
const lookMs = 60_000;

/** Resumes a run from its checkpoint. `graph` is the pipeline as it is now, when it can be read (undefined for a fork that
 *  keeps its texts). A suspended run is resumed at its time: with `flags.wait` after waiting for that, each time. */
export async function resumeRun(
  runDir: string,
  graph: Graph | undefined,
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  const sleeping = await stillParked(runDir, { graph }, flags, doors);
  if (typeof sleeping === 'object') return sleeping;
  const waited = sleeping === 'slept' && !flags.acceptChanges;
  return goOnWhenAwake(runDir, graph, await resumeOnce(runDir, graph, flags, doors, waited), flags, doors);
}

/** Runs what was made, to its end; or tells why it could not be made. */
export async function driveMade(
  made: Made | NotMade,
  graph: Graph,
  given: { readonly casting: Casting; readonly inputs: Texts; readonly caps: Caps },
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  if ('problem' in made) {
    const { problem, code } = made;
    return { problems: [problem], ...(code === undefined ? {} : { code }) };
  }
  for (const note of made.notes) doors.log('warn', note);
  const { begun } = made;
  const fresh = { ...given, resumed: false, ...(begun === undefined ? {} : { begun }) };
  const ended = await drive(graph, made.runDir, fresh, flags, doors);
  return goOnWhenAwake(made.runDir, graph, ended, flags, doors);
}

/** With `flags.wait`: goes on with a run that has parked itself, until it ends otherwise. */
async function goOnWhenAwake(
  runDir: string,
  graph: Graph | undefined,
  ended: Finished | Refusal,
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  let last = ended;
  // What was asked for once is not asked for again: the run keeps it, or it was for the moment.
  const later: RunFlags = { ...flags, vars: {}, acceptChanges: false, takeOver: false, now: false };
  const { script: _, prices: __, ...again } = later;
  while (
    flags.wait === true &&
    'result' in last &&
    last.result.status === 'paused_quota' &&
    !doors.signal.aborted
  ) {
    const sleeping = await stillParked(runDir, undefined, again, doors);
    last = typeof sleeping === 'object' ? sleeping : await resumeOnce(runDir, graph, again, doors, true);
  }
  return last;
}

/** The end of a run that is parked for a quota which is not there yet; undefined when it may go on, `slept` when that was
 *  waited for. Waits where that is asked for; a signal ends the wait. What would be refused after it is refused before,
 *  where `begins` says that this is who takes the run up. */
async function stillParked(
  runDir: string,
  begins: { readonly graph: Graph | undefined } | undefined,
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal | 'slept' | undefined> {
  let told = false;
  const alarm = alarmBy(doors.clock);
  const slept = () => (told ? 'slept' : undefined);
  for (;;) {
    const loaded = await loadCheckpoint(layout(runDir).checkpoint);
    if (!loaded.ok) return slept();
    const state = loaded.checkpoint;
    const { parked } = state;
    if (state.status !== 'paused_quota' || parked?.wake_at == null || flags.now === true) return slept();
    const left = alarm(parked);
    if (left === 0) return slept();
    const theirs = told || begins === undefined ? undefined : anothers(runDir);
    if (theirs !== undefined) return theirs;
    if (flags.wait !== true || doors.signal.aborted) {
      const readRun = await readManifest(runDir);
      if (!readRun.ok) return undefined;
      const code = doors.signal.aborted ? 130 : 75;
      const ending = { ok: false, exitNode: null, reason: `${parked.node}: ${parked.reason}`, code };
      const end = { state, ending, interrupted: false, parked };
      const result = await resultOf(readRun.manifest, runDir, end, doors.cwd, doors.called);
      if (code === 75) {
        await completeWait(runDir, parked, result, doors);
        await parkAbove(doors.env, parked);
      }
      return { result, code };
    }
    const stands = told || begins === undefined ? undefined : await standing(runDir);
    if (stands !== undefined && 'manifest' in stands) {
      const { manifest } = stands;
      const texts = { stored: storedGraph(manifest), graph: begins?.graph, keeps: false };
      const is = await asBegun(manifest, texts, flags, doors);
      if ('problems' in is) return is;
    }
    if (!told && begins !== undefined) await beSeen(runDir, doors);
    if (!told)
      doors.log('info', 'parked; waiting for the quota', { wake_at: parked.wake_at, node: parked.node });
    told = true;
    await doors.clock.sleep(Math.min(left, lookMs), doors.signal);
  }
}

/** `waited`: by this process, which has found the run as it was begun before it slept: it goes on with those texts. */
async function resumeOnce(
  runDir: string,
  graph: Graph | undefined,
  flags: RunFlags,
  doors: Doors,
  waited = false,
): Promise<Finished | Refusal> {
  const stands = await standing(runDir);
  if ('problems' in stands) return stands;
  const { manifest, read: loadedState } = stands;
  const stored = storedGraph(manifest);
  const { checkpoint } = loadedState;
  const finished = await finishedRun(manifest, checkpoint, runDir, doors);
  if (finished !== undefined) {
    const changed = await changedRecords(runDir, manifest.run_id, loadedState);
    if (changed !== undefined) return changed;
    const takeOver = flags.takeOver === true;
    return (await completeResult(runDir, manifest, checkpoint, finished.result, takeOver, doors)) ?? finished;
  }
  const theirs = anothers(runDir);
  if (theirs !== undefined) return theirs;
  const replays = manifest.replay_of !== undefined;
  const is = await asBegun(manifest, { stored, graph, keeps: waited }, flags, doors);
  if ('problems' in is) return is;
  if (!asksForMore(flags, manifest)) {
    const untold = await untoldEnd(runDir, manifest, checkpoint, flags.takeOver === true, doors);
    if (untold !== undefined) return untold;
  }
  for (const change of is.accepted) doors.log('warn', `accepted: ${change.message}`);
  const accepts = flags.acceptChanges && !replays;
  if (accepts && graph === undefined) doors.log('warn', 'the run goes on with the texts that it keeps');
  const current = accepts && graph !== undefined ? graph : stored;
  if (current === undefined || (accepts && hasErrors(lint(current, kinds, { toRun: true })))) {
    return refused('resume-pipeline', 'the pipeline of this run cannot be read any more', 'start a new run');
  }
  if (checkpoint.next_node !== null && !current.nodes.has(checkpoint.next_node)) {
    return refused(
      'resume-pipeline',
      `the run stands before node "${checkpoint.next_node}", which the pipeline no longer has`,
      'put the node back under that id, or start a new run',
    );
  }
  let inputs = textsOfManifest(manifest);
  let fresh: Inputs | undefined;
  if (accepts && graph !== undefined) {
    // What nobody gives anew stays as the run has it, whatever its file says by now.
    const kept = { variables: manifest.variables, files: {} };
    const read = await readInputs(graph, flags.vars, doors.cwd, kept);
    if ('problems' in read) return read;
    fresh = read.inputs;
    inputs = textsOf(fresh);
  }
  const wanted = flags.acceptChanges ? flags.script : undefined;
  const offline = manifest.replay_of?.live === false && flags.live !== true;
  const given = { runDir, fresh, script: wanted, offline };
  const ready = await goOn(current, manifest, given, flags, doors);
  if ('problems' in ready) return ready;
  const { casting, caps, script } = ready;
  const { replay_of: of } = ready.manifest;
  const next: Manifest =
    of === undefined || flags.live !== true
      ? ready.manifest
      : { ...ready.manifest, replay_of: { ...of, live: true } };
  const change = { manifest: next, files: fresh?.files ?? {}, script };
  return drive(current, runDir, { casting, inputs, caps, resumed: true, change }, flags, doors);
}

const storedGraph = ({ pipeline_path, pipeline }: Manifest): Graph | undefined =>
  readGraph(pipeline_path, pipeline.text).graph;

/** Whether the flags let a run go on that ended at no exit. */
const asksForMore = (flags: RunFlags, { caps }: Manifest): boolean =>
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
  ].some(([asked, had]) => asked !== undefined && asked !== had);

/** What a run goes on with: who answers, its limits, and the manifest that says so. The agent's script is the one that
 *  `given.script` names (a path as it was typed), else the one that the run in `given.runDir` has kept. */
export async function goOn(
  current: Graph,
  manifest: Manifest,
  given: {
    readonly runDir: string;
    /** Inputs that take the place of the manifest's. */
    readonly fresh: Inputs | undefined;
    readonly script: string | undefined;
    /** Nobody is to be asked: no agent is made ready. */
    readonly offline?: boolean;
  },
  flags: RunFlags,
  doors: Doors,
): Promise<
  | {
      readonly casting: Casting;
      readonly caps: Caps;
      readonly manifest: Manifest;
      /** Text of a script that the run is to keep; undefined where it has one or needs none. */
      readonly script: string | undefined;
      readonly answers: LoadedScript | undefined;
    }
  | Refusal
> {
  const budget = budgetGiven(doors.env);
  if (budget !== undefined && 'problems' in budget) return budget;
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
    const path = inputPath(given.runDir, manifest.agent.script.stored);
    const read = readPlain(path);
    const text = read.kind === 'text' ? read.text : undefined;
    if (text === undefined)
      return refused(
        'agent-script-file',
        `run ${manifest.run_id} no longer has the script that answers in it (${path})`,
        'put back a copy of the file, or name one with --script (a resume takes it with --accept-changes)',
      );
    const { parseAgentScript } = await import('../model/agent-script.ts');
    const parsed = parseAgentScript(path, text);
    if ('diagnostics' in parsed) return { problems: parsed.diagnostics };
    // What an outcome says of the script is the same before and after a resume: it names the file as it was given.
    script = { path: manifest.agent.script.path, script: parsed.script, text };
  }
  const scriptNamed = flags.script !== undefined && given.script !== undefined;
  const casting: Casting | Refusal =
    given.offline === true
      ? { plans: new Map(), main: undefined }
      : cast(current, kinds, {
          // The run goes on with the agent it began with, whatever the environment now prefers.
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
    parkUnsaid: flags.parkUnsaid,
  };
  // Prices only say how the same calls are counted, so another table changes nothing of the run.
  const priced =
    flags.prices === undefined
      ? { kept: manifest.prices }
      : await readPriceFile(undefined, flags.prices, {}, doors.cwd);
  if ('problems' in priced) return priced;
  const main = casting.main;
  // The manifest says what the run goes on with, so that the next resume finds nothing changed.
  const { parked: _, goal: began, forked_from: fork, ...awake } = manifest;
  const goal = given.fresh === undefined ? began : goalOf(current);
  const next: Manifest = {
    ...awake,
    ...(fork === undefined ? {} : { forked_from: given.fresh === undefined ? fork : withNewTexts(fork) }),
    ...(goal === undefined ? {} : { goal }),
    env_pass: [...new Set([...manifest.env_pass, ...flags.envPass])],
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

/** The variable that has one agent answer in every node, whomever the node names: as it was when the run began. */
function override({ agent: { name, chosen_by, flags } }: Manifest, flag: string | undefined) {
  if (name === '') return {};
  const asBegun = name === 'fake' && /^ATTRACT(?:ION|OR)_BACKEND$/.test(chosen_by);
  const isFake = asBegun && [undefined, name, flags?.agent].includes(flag);
  return { ATTRACTION_BACKEND: isFake ? name : undefined, ATTRACTOR_BACKEND: undefined };
}

/** The run's limits. Where the graph itself set one, it is that of the graph as it is now; what a flag has set stays. */
function limitsNow({ caps, pipeline, pipeline_path }: Manifest, current: Graph) {
  const limitsOf = (graph: Graph | undefined) =>
    graph === undefined ? {} : readAttributes(graph.attrs, graphAttributes).values;
  const now: Partial<ReturnType<typeof readAttributes<typeof graphAttributes>>['values']> = limitsOf(current);
  const was: typeof now =
    current.text === pipeline.text ? now : limitsOf(readGraph(pipeline_path, pipeline.text).graph);
  const { maxSteps } = defaultCaps;
  const of = <T>(kept: T, before: T, is: T): T => (kept === before ? is : kept);
  return {
    maxSteps: of(caps.max_steps, was.max_steps ?? maxSteps, now.max_steps ?? maxSteps),
    maxWallMs: of(caps.max_wall_ms ?? undefined, was.max_wall, now.max_wall),
    maxCostUsd: of(caps.max_cost_usd, was.max_cost_usd, now.max_cost_usd),
    maxTokens: of(caps.max_tokens, was.max_tokens, now.max_tokens),
    unknownCost: of(caps.unknown_cost, was.unknown_cost, now.unknown_cost),
    parkAfterMs: of(caps.park_after_ms, was.park_after, now.park_after),
  };
}

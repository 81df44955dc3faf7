/** The wiring: real clock, real programs, node kinds and agents, put together for one run. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Agent } from './agents/agent.ts';
import { createAgent } from './agents/index.ts';
import { recordBase, startHistory } from './builder/history.ts';
import { inHistory } from './builder/in-history.ts';
import { readGraph } from './dot/read.ts';
import { localAttempt } from './engine/attempt.ts';
import type { Caps } from './engine/caps.ts';
import { defaultCaps } from './engine/caps.ts';
import type { Casting, LoadedScript, Refusal } from './engine/casting.ts';
import {
  backendOf,
  cast,
  codergens,
  describePlan,
  loadScript,
  scriptProblem,
  selfContained,
} from './engine/casting.ts';
import { readInputs, sha256 } from './engine/inputs.ts';
import type { ReadPipeline } from './engine/pipeline.ts';
import { buildsHistory, goalOf, readPipelineFile, startOf, workdirOf } from './engine/pipeline.ts';
import { makeRun } from './engine/prepare.ts';
import { type Called, resultOf } from './engine/result.ts';
import { endLeftovers, givenVariables, whatChanged } from './engine/resume.ts';
import { run, teller } from './engine/run.ts';
import type { RunSetting } from './engine/site.ts';
import type { Texts } from './engine/texts.ts';
import { schemaOf, textsOf, textsOfManifest } from './engine/texts.ts';
import type { Log, Watcher } from './engine/watch.ts';
import { lint } from './lint/lint.ts';
import { graphAttributes } from './lint/words.ts';
import { parseAgentScript } from './model/agent-script.ts';
import { readAttributes } from './model/attribute.ts';
import type { Checkpoint } from './model/checkpoint.ts';
import { hasErrors } from './model/diagnostic.ts';
import type { Graph } from './model/graph.ts';
import { layout } from './model/layout.ts';
import type { RunResult } from './model/result.ts';
import { kinds } from './nodes/index.ts';
import { loadCheckpoint, saveCheckpoint } from './store/checkpoint.ts';
import { openJournal } from './store/journal.ts';
import { acquireLock } from './store/lock.ts';
import { readManifest } from './store/run-store.ts';
import type { Clock } from './system/clock.ts';
import { writeJson } from './system/files.ts';
import { headCommit } from './system/git.ts';
import { packageRoot, packageVersion } from './system/package.ts';
import { realSpawn } from './system/processes.ts';
import { openSnapshots } from './workspace/snapshots.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the wiring needs from the process that calls it. */
export type Doors = {
  readonly cwd: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly watcher: Watcher;
  readonly log: Log;
  readonly called?: Called;
};

/** What a person asked for with flags; only what was given. */
export type RunFlags = {
  readonly workdir?: string;
  readonly vars: Readonly<Record<string, string>>;
  readonly agent?: string;
  readonly model?: string;
  readonly script?: string;
  readonly envPass: readonly string[];
  readonly allowDirty: boolean;
  readonly acceptChanges: boolean;
  readonly maxSteps?: number;
  readonly maxWallMs?: number;
  /** The commit of the workdir to begin with, in place of its HEAD. */
  readonly base?: string;
  /** Carry out work orders again that commits of the workdir say they carried out. */
  readonly redo?: boolean;
  /** Milliseconds that each command of a verification and each model call may take. */
  readonly commandTimeoutMs?: number;
  /** Absolute folders in the workdir that are not copied. */
  readonly exclude?: readonly string[];
  /** Files that the run keeps in its `inputs/`, by name. */
  readonly keep?: Readonly<Record<string, string>>;
};

export type { Refusal };
export type Finished = { readonly result: RunResult; readonly code: number };

const refused = (code: string, message: string, fix?: string): Refusal => ({
  problems: [{ code, severity: 'error', message, ...(fix === undefined ? {} : { fix }) }],
});
const waitFor = 'wait for its end, or stop it with Ctrl-C where it runs; factory runs tells how it stands';

/** Reads and lints a pipeline against every node kind there is. */
export const readPipeline = (path: string, cwd: string): Promise<ReadPipeline> =>
  readPipelineFile(path, cwd, kinds);

/** Name of the agent script in a run's `inputs/`. */
const keptScript = 'agent-script.json';

/** Starts a run and runs it to its end. Refuses, with nothing left behind, what cannot be started. */
export async function startRun(
  graph: Graph,
  where: { readonly runsDir: string; readonly runId: string },
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  const read = await readInputs(graph, flags.vars, doors.cwd);
  if ('problems' in read) return read;
  const { inputs } = read;
  const loaded =
    codergens(graph, kinds).length === 0 && flags.script === undefined
      ? { script: undefined }
      : await loadScript(graph, flags.script, doors.cwd);
  if ('problems' in loaded) return loaded;
  const casting = cast(graph, kinds, {
    env: doors.env,
    flag: flags.agent,
    model: flags.model,
    script: loaded.script,
  });
  if ('problems' in casting) return casting;
  const keep: Record<string, string> = { ...flags.keep };
  const scripted = [...casting.plans.values()].some((plan) => plan.name === 'scripted');
  if (scripted && loaded.script !== undefined) {
    const mismatch = scriptProblem(loaded.script.script, inputs);
    if (mismatch !== undefined) return { problems: [mismatch] };
    const whole = await selfContained(loaded.script);
    if ('problems' in whole) return whole;
    keep[keptScript] = `${JSON.stringify(whole, null, 2)}\n`;
  }
  const wanted = readAttributes(graph.attrs, graphAttributes).values;
  const caps: Caps = {
    maxSteps: flags.maxSteps ?? wanted.max_steps ?? defaultCaps.maxSteps,
    maxWallMs: flags.maxWallMs ?? wanted.max_wall,
    commandTimeoutMs: flags.commandTimeoutMs,
  };
  const workdir = workdirOf(graph, flags, doors.cwd);
  const goal = goalOf(graph);
  const marker = `${where.runId}.${sha256(`${where.runsDir}\0${doors.clock.now().toISOString()}\0${doors.clock.monotonic()}`).slice(0, 16)}`;
  const startedAt = doors.clock.now().toISOString();
  const main = casting.main;
  const headOf = workdir === undefined || buildsHistory(graph) ? null : await headCommit(workdir, doors.env);
  const made = await makeRun({
    runId: where.runId,
    runsDir: where.runsDir,
    workdir,
    exclude: flags.exclude ?? [],
    inputs,
    goal,
    startNode: startOf(graph, kinds).id,
    startedAt,
    keep,
    historian: buildsHistory(graph)
      ? {
          begin: (from, historyDir) =>
            startHistory({
              workdir: from,
              historyDir,
              allowDirty: flags.allowDirty,
              ...(flags.base === undefined ? {} : { base: flags.base }),
              redo: flags.redo === true,
              runId: where.runId,
              env: doors.env,
            }),
          recordBase: (workspace, historyDir) =>
            recordBase({ historyDir, workspace, runId: where.runId, now: doors.clock.now(), env: doors.env }),
        }
      : undefined,
    manifest: ({ workspace, workdirKind, git }) => ({
      schema_version: 1,
      run_id: where.runId,
      pipeline_path: graph.file,
      original_workdir: workdir ?? '',
      workspace_path: workspace,
      started_at: startedAt,
      ...(goal === undefined ? {} : { goal }),
      factory_version: packageVersion(),
      node_version: process.version,
      pipeline: { text: graph.text, sha256: sha256(graph.text) },
      prompts: { ...inputs.prompts },
      schemas: { ...inputs.schemas },
      variables: inputs.variables,
      agent: {
        name: main?.name ?? '',
        describe: main === undefined ? '' : describePlan(main),
        chosen_by: main?.chosenBy ?? '',
        ...(main?.name === 'openai' ? { model: main.model } : {}),
        ...(loaded.script !== undefined && scripted
          ? { script: { path: loaded.script.path, sha256: sha256(loaded.script.text), stored: keptScript } }
          : {}),
      },
      base_commit: git?.base_commit ?? headOf,
      workdir_kind: workdirKind,
      ...(git === undefined ? {} : { git }),
      marker,
      caps: {
        max_steps: caps.maxSteps,
        max_wall_ms: caps.maxWallMs ?? null,
        ...(caps.commandTimeoutMs === undefined ? {} : { command_timeout_ms: caps.commandTimeoutMs }),
      },
      env_pass: [...flags.envPass],
      not_enforced: [
        'isolation: stages see the whole machine; scopes are held by putting back what was written outside them',
      ],
    }),
  });
  if ('problem' in made) return { problems: [made.problem] };
  for (const note of made.notes) doors.log('warn', note);
  return drive(graph, made.runDir, { casting, inputs: textsOf(inputs), caps, resumed: false }, flags, doors);
}

/** Goes on with a run where its checkpoint stands. `graph` is the pipeline as it is now, when it can be read. */
export async function resumeRun(
  runDir: string,
  graph: Graph | undefined,
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  const at = layout(runDir);
  const readRun = await readManifest(runDir);
  if (!readRun.ok) return refused('manifest', readRun.why);
  const { manifest } = readRun;
  const stored = readGraph(manifest.pipeline_path, manifest.pipeline.text).graph;
  const loadedState = await loadCheckpoint(at.checkpoint);
  if (!loadedState.ok) return refused('checkpoint', loadedState.why);
  const { checkpoint } = loadedState;
  if (checkpoint.ended !== null && checkpoint.ended.exit_node !== null) {
    const { ended } = checkpoint;
    const ending = { ok: ended.ok, exitNode: ended.exit_node, reason: ended.reason, code: ended.code };
    return {
      result: await resultOf(
        manifest,
        runDir,
        { state: checkpoint, ending, interrupted: false },
        doors.cwd,
        doors.called,
      ),
      code: ended.code,
    };
  }
  const differs = await whatChanged(manifest, graph, flags, doors.cwd);
  if (differs.length > 0 && !flags.acceptChanges) return { problems: differs };
  for (const change of differs) doors.log('warn', `accepted: ${change.message}`);
  const current = flags.acceptChanges && graph !== undefined ? graph : stored;
  if (current === undefined || (flags.acceptChanges && hasErrors(lint(current, kinds)))) {
    return refused('resume-pipeline', 'the pipeline of this run cannot be read any more', 'start a new run');
  }
  let inputs = textsOfManifest(manifest);
  if (flags.acceptChanges && graph !== undefined) {
    const read = await readInputs(graph, givenVariables(manifest, flags), doors.cwd);
    if ('problems' in read) return read;
    inputs = { ...textsOf(read.inputs), variables: inputs.variables };
  }
  let script: LoadedScript | undefined;
  if (manifest.agent.script !== undefined) {
    const path = join(at.inputs, manifest.agent.script.stored);
    const text = await readFile(path, 'utf8');
    const parsed = parseAgentScript(path, text);
    if ('diagnostics' in parsed) return { problems: parsed.diagnostics };
    script = { path, script: parsed.script, text };
  }
  const casting = cast(current, kinds, {
    env: doors.env,
    // The run goes on with the agent it began with, whatever the environment now prefers.
    flag: flags.agent ?? (manifest.agent.name === '' ? undefined : manifest.agent.name),
    model: flags.model ?? manifest.agent.model,
    script,
  });
  if ('problems' in casting) return casting;
  const caps = {
    maxSteps: flags.maxSteps ?? manifest.caps.max_steps,
    maxWallMs: flags.maxWallMs ?? manifest.caps.max_wall_ms ?? undefined,
    commandTimeoutMs: flags.commandTimeoutMs ?? manifest.caps.command_timeout_ms,
  };
  return drive(current, runDir, { casting, inputs, caps, resumed: true }, flags, doors);
}

/** Takes the run over, brings its workspace to the checkpoint, and runs it to its end. */
async function drive(
  graph: Graph,
  runDir: string,
  given: { casting: Casting; inputs: Texts; caps: Caps; resumed: boolean },
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  const at = layout(runDir);
  const answer = await acquireLock(runDir, { clock: doors.clock });
  if (answer.kind === 'refused') return refused('run-locked', answer.why, waitFor);
  const { lock } = answer;
  try {
    const readRun = await readManifest(runDir);
    if (!readRun.ok) return refused('manifest', readRun.why);
    const { manifest } = readRun;
    const read = await loadCheckpoint(at.checkpoint);
    if (!read.ok) return refused('checkpoint', read.why);
    const loaded = read.checkpoint;
    let ended = 0;
    if (given.resumed) {
      if (lock.takenOver !== undefined) {
        doors.log('warn', 'took the run over from an engine that is gone', {
          pid: lock.takenOver.pid,
          host: lock.takenOver.host,
        });
      }
      ended = await endLeftovers(runDir, manifest, loaded);
      if (ended > 0)
        doors.log('warn', 'ended processes that a killed engine left running', { processes: ended });
    }
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
    if (loaded.snapshot === null) throw new Error('Internal: a checkpoint without a snapshot');
    let snapshot = await snapshots.load(loaded.snapshot);
    if (given.resumed) {
      await snapshots.restore(snapshot);
      snapshot = await snapshots.take(snapshot);
    }
    const options = { runId: manifest.run_id, epoch: lock.epoch };
    const events = await openJournal(at.events, options);
    const trace = await openJournal(at.trace, options);
    const agents = new Map<string, Agent>();
    for (const [backend, plan] of given.casting.plans) {
      agents.set(
        backend,
        createAgent(plan, { env: doors.env, clock: doors.clock, readFile: (path) => readFile(path, 'utf8') }),
      );
    }
    const main = given.casting.main;
    const setting: RunSetting = {
      graph,
      runId: manifest.run_id,
      runDir,
      workspace: at.workspace,
      clock: doors.clock,
      spawn: realSpawn,
      env: doors.env,
      envPass: [...manifest.env_pass, ...flags.envPass],
      marker: manifest.marker,
      factoryBin: join(packageRoot(), 'dist', 'bin'),
      node: process.execPath,
      variables: given.inputs.variables,
      prompts: given.inputs.prompts,
      commandTimeoutMs: given.caps.commandTimeoutMs,
      schema: (reference) => schemaOf(reference, given.inputs.schemas),
      agentFor: (node) => agents.get(backendOf(node)),
      historyEnv: manifest.git === undefined ? {} : historyEnvironment(at.history, at.workspace),
      watcher: doors.watcher,
      log: doors.log,
    };
    const state: Checkpoint = { ...loaded, epoch: lock.epoch, status: 'running', ended: null };
    const tell = teller({ setting, events, trace });
    const agent = main === undefined ? 'none' : manifest.agent.describe;
    await tell.trace({
      type: 'SessionInitialized',
      pipeline_path: manifest.pipeline_path,
      workdir: manifest.original_workdir,
      workspace: at.workspace,
      resume: given.resumed,
      agent,
    });
    if (given.resumed) {
      await tell.trace({
        type: 'ResumeLoaded',
        last_completed_node: state.last_completed_node,
        last_outcome: state.last_outcome?.status ?? '',
        completed_nodes: state.completed_nodes,
        ...(lock.takenOver === undefined ? {} : { taken_over_from: lock.takenOver }),
        processes_ended: ended,
      });
    }
    await tell.event({ type: 'PipelineStarted', agent, resumed: given.resumed });
    await tell.trace({ type: 'PipelineStarted', start_node: state.next_node ?? '' });
    await tell.flush();
    const end = await run({
      setting,
      kinds,
      attempt: localAttempt(setting, snapshots),
      state,
      snapshot,
      caps: given.caps,
      events,
      trace,
      save: async (next) => {
        if (!(await lock.stillOwner()))
          throw new Error(`another engine has taken over run ${manifest.run_id}; this one stops`);
        await saveCheckpoint(at.checkpoint, next);
      },
      signal: doors.signal,
      stopAfter: doors.env['ATTRACTION_TEST_STOP_AFTER_NODE'] || undefined,
    });
    await events.close();
    await trace.close();
    const result = await resultOf(manifest, runDir, end, doors.cwd, doors.called);
    await writeJson(at.result, result);
    return { result, code: end.ending.code };
  } finally {
    await lock.release();
  }
}

const historyEnvironment = (history: string, workspace: string): Readonly<Record<string, string>> => ({
  GIT_DIR: history,
  GIT_WORK_TREE: workspace,
  GIT_INDEX_FILE: inHistory(history).index,
});

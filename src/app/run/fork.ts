/** Starts a run from a checkpoint of another run, which is only read. */
import { dirname, resolve } from 'node:path';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { type Json, own } from '../../core/json.ts';
import { buildsHistory, goalOf } from '../../core/pipeline.ts';
import type { ForkedFrom, Manifest, ReplayOf } from '../../core/records/manifest.ts';
import { momentText } from '../../core/records/names.ts';
import type { CallRecord, RunRecord } from '../../core/records/visit.ts';
import { sha256 } from '../../core/sha256.ts';
import { forkHistory } from '../../git/fork-history.ts';
import { ForeignHistory, foreignHistoryText } from '../../git/guard.ts';
import { openHoldout, type SealedHoldout } from '../../holdout/mount.ts';
import { readPlain } from '../../platform/files/read.ts';
import { GitError } from '../../platform/git.ts';
import { packageVersion } from '../../platform/package.ts';
import { inputPath } from '../../run/inputs.ts';
import type { Moment } from '../../run/moment.ts';
import { readRun } from '../../run/run-journal.ts';
import { readManifest } from '../../run/runs.ts';
import { stateAfter } from '../../run/visits.ts';
import { type Inputs, readInputs, textsOf } from '../inputs.ts';
import { storedGraphInPlace } from '../read-pipeline.ts';
import { scriptProblem } from '../resolve-agents.ts';
import { type Sandbox, sandboxOfRun } from '../sandbox.ts';
import { type Finished, type Host, keptScript, type RunFlags } from '../types.ts';
import { createFork, hashOfRecords, type NewFork } from './fork-directory.ts';
import { prepareResume, type ReadyResume } from './prepare-resume.ts';
import { driveMade } from './resume.ts';

/** What makes a fork a replay. */
export type ReplayStart = {
  readonly replayOf: Omit<ReplayOf, 'changed'>;
  /** All records of the recorded run. */
  readonly records: readonly RunRecord[];
  /** The pipeline with replaced prompts; undefined where none is replaced. */
  readonly graph: Graph | undefined;
  /** False where it begins where the recorded run began. */
  readonly isFork: boolean;
};

/** Starts a run from the checkpoint `moment` of the run in `runDir` and runs it to its end; `graph` replaces that run's
 *  pipeline. The other run is only read. When it refuses, nothing is left behind. */
export async function forkRun(
  runDir: string,
  moment: Moment,
  graph: Graph | undefined,
  where: { readonly runsDir: string; readonly runId: string },
  flags: RunFlags,
  host: Host,
  replay?: ReplayStart,
): Promise<Finished | Refusal> {
  const read = await readManifest(runDir);
  if (!read.ok) return refused('manifest', read.why);
  const old = read.manifest;
  const current = replay?.graph ?? graph ?? storedGraphInPlace(old);
  if (current === undefined)
    return refused(
      'fork-pipeline',
      `the pipeline in the manifest of run ${old.run_id} cannot be read`,
      'name a pipeline file with --pipeline',
    );
  const unforkable = forkProblem(old, moment, current);
  if (unforkable !== undefined) return unforkable;

  const inputs = await inputsOf(old, runDir, graph, current, flags, host.cwd);
  if ('problems' in inputs) return inputs;
  const given = {
    runDir,
    fresh: inputs,
    script: scriptOf(old, graph, current, flags, host.cwd),
    offline: replay !== undefined && !replay.replayOf.live,
  };
  const ready = await prepareResume(current, old, given, flags, host);
  if ('problems' in ready) return ready;
  const { casting, caps, answers } = ready;
  const mismatch =
    casting.main?.name === 'scripted' && answers !== undefined
      ? scriptProblem(answers.script, inputs)
      : undefined;
  if (mismatch !== undefined) return { problems: [mismatch] };

  const judge = await openHoldout(resolve(runDir), old, host.env);
  if ('problems' in judge) return judge;
  const sandbox = await sandboxOfRun(current, old, where.runsDir, flags.sandbox, host);
  if ('problems' in sandbox) return sandbox;
  const history = await readRun(runDir);
  if (!history.ok) return refused('run-files', history.why);
  const { sealed } = judge;
  const { account } = sandbox;
  const from = { old, runDir: resolve(runDir), moment, calls: history.calls, replay };
  const fork = { ...from, ...where, inputs, ready, graph, goal: goalOf(current), sealed, account };
  const made = await createFork(forkOf(fork, flags, host)).catch((error: unknown) => {
    if (error instanceof GitError) return historyProblem(old, error);
    throw error;
  });
  if ('problems' in made) return made;
  return driveMade(made, current, { casting, inputs: textsOf(inputs), caps }, flags, host);
}

/** The run that is forked, and what the new one begins with. */
type Fork = {
  readonly old: Manifest;
  readonly runDir: string;
  readonly moment: Moment;
  readonly calls: readonly CallRecord[];
  readonly replay: ReplayStart | undefined;
  readonly runsDir: string;
  readonly runId: string;
  readonly inputs: Inputs;
  readonly ready: ReadyResume;
  readonly graph: Graph | undefined;
  readonly goal: Json | undefined;
  readonly sealed: SealedHoldout | undefined;
  readonly account: Sandbox['account'];
};

/** Everything that the new run directory is created from. */
function forkOf(fork: Fork, flags: RunFlags, host: Host): NewFork {
  const { old, runDir, moment, calls, replay, runsDir, runId, inputs, ready, goal, sealed } = fork;
  const startedAt = host.clock.now().toISOString();
  const unique = sha256(`${runsDir}\0${startedAt}\0${host.clock.monotonic()}`).slice(0, 16);
  const { records } = moment;
  const kept = ready.manifest.agent.script;
  const script = ready.script ?? (kept === undefined ? undefined : ready.answers?.text);
  // Before the beginning of a forked run the workspace may have texts that were changed for it.
  const inherited = isFork(replay) && records.length <= (old.forked_from?.seq ?? 0);
  const { env } = host;
  const { tool_state: toolState } = stateAfter(records);
  const keepLater = replay !== undefined;
  return {
    startedAt,
    signal: host.signal,
    runId,
    unique,
    runsDir,
    from: runDir,
    otherPaths: [dirname(old.workspace_path)],
    records,
    calls,
    replay: replay && { records: replay.records, tools: replay.replayOf.run_tools !== true },
    snapshot: moment.snapshot,
    ...filesOf(old, inputs, inherited),
    goal,
    keep: script === undefined ? {} : { [kept?.stored ?? keptScript]: script },
    sealed: sealed && old.holdout && { holdout: old.holdout, files: sealed.files() },
    env,
    manifest: (workspace, holdout) => ({
      ...manifestOf(fork, flags, host.cwd),
      ...(holdout === undefined ? {} : { holdout }),
      workspace_path: workspace,
      started_at: startedAt,
      marker: `${runId}.${unique}`,
    }),
    history:
      old.git &&
      ((copied, to, workspace) => forkHistory({ from: copied, to, workspace, toolState, env, keepLater })),
  };
}

/** A replay of a whole run begins where that one began: with its fork, if it was one. */
const isFork = (replay: ReplayStart | undefined): boolean => replay === undefined || replay.isFork;

/** The manifest of the new run, without what only its directory knows. */
function manifestOf(
  { old, runDir, moment, replay, runId, inputs, ready, graph, goal, account }: Fork,
  flags: RunFlags,
  cwd: string,
): Omit<Manifest, 'holdout'> {
  const changed = changesOf(old, ready.manifest, inputs, flags, Object.keys(replay?.replayOf.prompts ?? {}));
  const { records, before } = moment;
  const { node, visit } = moment.visit;
  const at = { node, visit, before, seq: records.length, sha256: hashOfRecords(records) };
  const forked: ForkedFrom = { run_id: old.run_id, run_dir: runDir, ...at, changed };
  const link = isFork(replay) ? forked : old.forked_from;
  const { goal: _, forked_from: __, replay_of: ___, holdout: ____, ...base } = ready.manifest;
  return {
    ...base,
    ...(goal === undefined ? {} : { goal }),
    run_id: runId,
    ...(graph === undefined ? {} : { pipeline_path: graph.file, pipeline_file: resolve(cwd, graph.file) }),
    factory_version: packageVersion(),
    node_version: process.version,
    env_pass: [...new Set([...old.env_pass, ...flags.envPass])],
    sandbox: account,
    not_enforced: account.missing,
    ...(link === undefined ? {} : { forked_from: link }),
    ...(replay === undefined ? {} : { replay_of: { ...replay.replayOf, changed } }),
  };
}

const historyProblem = (old: Manifest, error: GitError): Refusal =>
  refused(
    'git-history',
    `the history of run ${old.run_id} cannot be copied: ${error.message}`,
    error instanceof ForeignHistory
      ? foreignHistoryText
      : error.missing
        ? 'install git'
        : 'restore the run directory from a copy if there is one',
  );

/** Why a run cannot begin at `moment` with the pipeline `current`, or undefined. */
function forkProblem(old: Manifest, moment: Moment, current: Graph): Refusal | undefined {
  const { node, visit } = moment.visit;
  const next = stateAfter(moment.records).next_node;
  if (next === null)
    return refused(
      'fork-at-end',
      `run ${old.run_id} reached its end with ${node}@${visit}, so no node is left to run after it`,
      `add --before to begin right before ${node}@${visit}, or name an earlier execution`,
    );
  if (!current.nodes.has(next))
    return refused(
      'fork-pipeline',
      `${momentText({ ...moment.visit, before: moment.before })} the run continues with node "${next}", which the pipeline ${current.file} does not have`,
      'give the node that id, or fork at another execution',
    );
  if (old.git === undefined && buildsHistory(current))
    return refused(
      'fork-history',
      `the pipeline ${current.file} builds commits, but run ${old.run_id} was not started for a build and has no history`,
      'start a new run of that pipeline',
    );
  return undefined;
}

/** Path of the agent script, where it is not the one that the run keeps: that of the flag; else that of the pipeline, where
 *  the pipeline or the agent is another one and the run was not given a script by flag. */
function scriptOf(
  old: Manifest,
  graph: Graph | undefined,
  current: Graph,
  flags: RunFlags,
  cwd: string,
): string | undefined {
  if (flags.script !== undefined) return flags.script;
  const bundled = bundledScript(current, cwd);
  const kept = old.agent.script?.path;
  if (kept === undefined) return flags.agent === 'scripted' ? bundled : undefined;
  const before = storedGraphInPlace(old);
  const wasBundled = before !== undefined && kept === bundledScript(before, cwd);
  return graph !== undefined && wasBundled ? bundled : undefined;
}

function bundledScript(graph: Graph, cwd: string): string | undefined {
  const path = graph.settings.agent_script;
  return path === undefined ? undefined : resolve(cwd, graph.file, '..', path);
}

/** The inputs that the run keeps, with those given by flag in their place. */
async function inputsOf(
  old: Manifest,
  runDir: string,
  graph: Graph | undefined,
  current: Graph,
  flags: RunFlags,
  cwd: string,
): Promise<Inputs | Refusal> {
  const files: Record<string, string> = {};
  for (const [name, { file }] of Object.entries(old.variables)) {
    if (file === undefined || own(flags.vars, name) !== undefined) continue;
    const path = inputPath(runDir, old, file.stored);
    const text = readPlain(path);
    if (text.kind === 'text') files[name] = text.text;
    else
      return refused(
        'fork-input',
        `run ${old.run_id} no longer has the text of variable "${name}" (${path})`,
        `give it again: --var ${name}=FILE`,
      );
  }
  const kept = { variables: old.variables, files };
  const texts = graph === undefined ? { prompts: old.prompts, schemas: old.schemas ?? {} } : {};
  // A file variable is given as a file, with or without the @.
  const given = Object.fromEntries(
    Object.entries(flags.vars).map(([name, value]) => [
      name,
      old.variables[name]?.file === undefined || value.startsWith('@') ? value : `@${value}`,
    ]),
  );
  const read = await readInputs(current, given, cwd, { ...kept, ...texts });
  return 'problems' in read ? { problems: read.problems } : read.inputs;
}

/** Texts of file variables by the name of their file, and which of them are to be written to the workspace: those that were
 *  changed, or all where the workspace is `inherited`. */
function filesOf(old: Manifest, inputs: Inputs, inherited: boolean) {
  const files: Record<string, string> = {};
  const changed = new Set<string>();
  for (const [name, { file }] of Object.entries(inputs.variables)) {
    const text = inputs.files[name];
    if (file === undefined || text === undefined) continue;
    files[file.stored] = text;
    const was = old.variables[name]?.file;
    if (inherited || was?.sha256 !== file.sha256 || was.stored !== file.stored) changed.add(file.stored);
  }
  return { files, changed };
}

/** How the new run differs from the other one, for its manifest. `replaced`: nodes with another prompt than the pipeline's. */
function changesOf(
  old: Manifest,
  now: Manifest,
  inputs: Inputs,
  flags: RunFlags,
  replaced: readonly string[],
): string[] {
  // Their order is that of the nodes.
  const hashes = (texts: Manifest['prompts'] = {}) =>
    Object.entries(texts)
      .map(([name, { sha256 }]) => [name, sha256])
      .sort();
  const names = new Set([...Object.keys(old.variables), ...Object.keys(inputs.variables)]);
  const compared: [string, unknown, unknown][] = [
    ...(replaced.length > 0 ? [] : [['pipeline', old.pipeline.sha256, now.pipeline.sha256] as const]),
    ['prompts', hashes(old.prompts), hashes(now.prompts)],
    ['schemas', hashes(old.schemas), hashes(now.schemas)],
    ...[...names].map((name) => [`var ${name}`, old.variables[name], inputs.variables[name]] as const),
    ['agent', old.agent.name, now.agent.name],
    ['script', old.agent.script?.sha256, now.agent.script?.sha256],
    ['model', old.agent.model, now.agent.model],
    ['effort', old.agent.effort, now.agent.effort],
    ['caps', old.caps, now.caps],
    ['env_pass', [], flags.envPass.filter((name) => !old.env_pass.includes(name))],
  ].map(([what, was, is]) => [String(what), was, is]);
  return [
    ...replaced.map((node) => `prompt ${node}`),
    ...compared.flatMap(([what, was, is]) => (JSON.stringify(was) === JSON.stringify(is) ? [] : [what])),
  ];
}

/** A run that goes on from a moment of another one, which stays as it is. */
import { dirname, resolve } from 'node:path';
import { forkHistory } from '../builder/history-fork.ts';
import { ForeignHistory, notYours } from '../builder/history-guard.ts';
import { readGraph } from '../dot/read.ts';
import type { Refusal } from '../engine/casting.ts';
import { scriptProblem } from '../engine/casting.ts';
import { hashOfRecords, makeFork } from '../engine/fork.ts';
import type { Inputs } from '../engine/inputs.ts';
import { readInputs } from '../engine/inputs.ts';
import { inputPath } from '../engine/kept.ts';
import { buildsHistory, goalOf } from '../engine/pipeline.ts';
import { textsOf } from '../engine/texts.ts';
import { present } from '../model/attribute.ts';
import type { Graph } from '../model/graph.ts';
import type { ForkedFrom, Manifest, ReplayOf } from '../model/manifest.ts';
import { own } from '../model/own.ts';
import { momentText } from '../model/point.ts';
import { sha256 } from '../model/sha256.ts';
import type { RunRecord } from '../model/visit-record.ts';
import type { Moment } from '../store/moment.ts';
import { readManifest } from '../store/run-store.ts';
import { stateAfter } from '../store/visits.ts';
import { GitError } from '../system/git.ts';
import { packageVersion } from '../system/package.ts';
import { readPlain } from '../system/read.ts';
import { readJudge } from './judge.ts';
import { driveMade, goOn } from './resume.ts';
import { sandboxOf } from './sandbox.ts';
import type { Doors, Finished, RunFlags } from './types.ts';
import { keptScript, refused } from './types.ts';

/** What makes a fork a replay: whose exchanges answer in it, and as which graph. */
export type ReplayStart = {
  readonly replayOf: Omit<ReplayOf, 'changed'>;
  /** All records of the other run. */
  readonly records: readonly RunRecord[];
  /** The pipeline that the run keeps, with prompts replaced. */
  readonly graph: Graph | undefined;
  /** Whether it begins at a moment of its own, and not where the other run began. */
  readonly isFork: boolean;
};

/** Starts a run at `moment` of the run in `runDir` and runs it to its end. `graph` is a pipeline to go on with in place
 *  of that run's own. Refuses, with nothing left behind, what cannot be started; the other run is only read. */
export async function forkRun(
  runDir: string,
  moment: Moment,
  graph: Graph | undefined,
  where: { readonly runsDir: string; readonly runId: string },
  flags: RunFlags,
  doors: Doors,
  replay?: ReplayStart,
): Promise<Finished | Refusal> {
  const read = await readManifest(runDir);
  if (!read.ok) return refused('manifest', read.why);
  const old = read.manifest;
  const state = stateAfter(moment.records);
  const current = replay?.graph ?? graph ?? storedGraph(old);
  if (current === undefined)
    return refused(
      'fork-pipeline',
      `the pipeline that run ${old.run_id} keeps cannot be read any more`,
      'name a pipeline file with --pipeline',
    );
  const wrong = notToBeGoneOnWith(old, moment, state.next_node, current);
  if (wrong !== undefined) return wrong;

  const inputs = await inputsOf(old, runDir, graph, current, flags, doors.cwd);
  if ('problems' in inputs) return inputs;
  const given = {
    runDir,
    fresh: inputs,
    script: scriptOf(old, graph, current, flags, doors.cwd),
    offline: replay !== undefined && !replay.replayOf.live,
  };
  const ready = await goOn(current, old, given, flags, doors);
  if ('problems' in ready) return ready;
  const mismatch =
    ready.casting.main?.name === 'scripted' && ready.answers !== undefined
      ? scriptProblem(ready.answers.script, inputs)
      : undefined;
  if (mismatch !== undefined) return { problems: [mismatch] };

  const judge = await readJudge(resolve(runDir), old, doors.env);
  if ('problems' in judge) return judge;
  const { sealed } = judge;
  const sandbox = await sandboxOf(
    current,
    { runsDir: where.runsDir, workdir: old.original_workdir, holdoutFrom: old.holdout?.from },
    flags.sandbox ?? (old.sandbox?.by === '--sandbox' ? old.sandbox.asked : undefined),
    doors,
  );
  if ('problems' in sandbox) return sandbox;
  const kept = ready.manifest.agent.script;
  const script = ready.script ?? (kept === undefined ? undefined : ready.answers?.text);
  const startedAt = doors.clock.now().toISOString();
  const unique = sha256(`${where.runsDir}\0${startedAt}\0${doors.clock.monotonic()}`).slice(0, 16);
  const replaced = Object.keys(replay?.replayOf.prompts ?? {}).map((node) => `prompt ${node}`);
  const changed = whatIsNew(old, ready.manifest, inputs, flags).flatMap((what) =>
    what === 'pipeline' && replaced.length > 0 ? replaced : [what],
  );
  const forkedFrom: ForkedFrom = {
    run_id: old.run_id,
    run_dir: resolve(runDir),
    node: moment.visit.node,
    visit: moment.visit.visit,
    before: moment.before,
    seq: moment.records.length,
    sha256: hashOfRecords(moment.records),
    changed,
    ...(graph === undefined && areOutdated(old, doors.cwd) ? { kept_texts: true } : {}),
  };
  const goal = goalOf(current);
  // A replay of a whole run begins where that one began: with a fork, if it was one.
  const { goal: _, forked_from: began, replay_of: __, holdout: ___, ...base } = ready.manifest;
  const link = replay === undefined || replay.isFork ? forkedFrom : began;
  const made = await makeFork({
    startedAt,
    signal: doors.signal,
    runId: where.runId,
    unique,
    runsDir: where.runsDir,
    from: resolve(runDir),
    alsoCalled: [dirname(old.workspace_path)],
    records: moment.records,
    follow: replay?.records,
    takesTools: replay !== undefined && replay.replayOf.run_tools !== true,
    snapshot: moment.snapshot,
    ...filesOf(
      old,
      inputs,
      (replay === undefined || replay.isFork) && moment.records.length <= (old.forked_from?.seq ?? 0),
    ),
    goal,
    keep: script === undefined ? {} : { [kept?.stored ?? keptScript]: script },
    sealed:
      sealed === undefined || old.holdout === undefined
        ? undefined
        : { holdout: old.holdout, files: sealed.files() },
    env: doors.env,
    manifest: (workspace, holdout) => ({
      ...base,
      ...(holdout === undefined ? {} : { holdout }),
      ...(goal === undefined ? {} : { goal }),
      run_id: where.runId,
      workspace_path: workspace,
      started_at: startedAt,
      ...(graph === undefined
        ? {}
        : {
            pipeline_path: graph.file,
            pipeline_file: resolve(doors.cwd, graph.file),
          }),
      factory_version: packageVersion(),
      node_version: process.version,
      env_pass: [...new Set([...old.env_pass, ...flags.envPass])],
      sandbox: sandbox.account,
      not_enforced: sandbox.account.missing,
      ...(link === undefined ? {} : { forked_from: link }),
      ...(replay === undefined ? {} : { replay_of: { ...replay.replayOf, changed } }),
      marker: `${where.runId}.${unique}`,
    }),
    history:
      old.git === undefined
        ? undefined
        : (from, to, workspace) =>
            forkHistory({ from, to, workspace, env: doors.env, keepLater: replay !== undefined }),
  }).catch((error: unknown) => {
    if (error instanceof GitError)
      return refused(
        'git-history',
        `the history of run ${old.run_id} cannot be taken over: ${error.message}`,
        error instanceof ForeignHistory
          ? notYours
          : error.missing
            ? 'install git'
            : 'put back a copy of the run directory if there is one',
      );
    throw error;
  });
  if ('problems' in made) return made;
  const { casting, caps } = ready;
  return driveMade(made, current, { casting, inputs: textsOf(inputs), caps }, flags, doors);
}

/** Whether the files of a run's pipeline and prompts are others by now. */
function areOutdated(of: Manifest, cwd: string): boolean {
  const { pipeline, pipeline_file, pipeline_path, prompts, schemas = {} } = of;
  const file = { path: pipeline_file ?? resolve(cwd, pipeline_path), sha256: pipeline.sha256 };
  const isAsItWas = ({ path, sha256: was }: typeof file): boolean => {
    try {
      const found = readPlain(path);
      return found.kind === 'text' && sha256(found.text) === was;
    } catch {
      return false;
    }
  };
  return ![file, ...Object.values(prompts), ...Object.values(schemas)].every(isAsItWas);
}

/** The pipeline as the run keeps it. */
export const storedGraph = (manifest: Manifest): Graph | undefined =>
  readGraph(manifest.pipeline_file ?? manifest.pipeline_path, manifest.pipeline.text).graph;

function notToBeGoneOnWith(
  old: Manifest,
  moment: Moment,
  next: string | null,
  current: Graph,
): Refusal | undefined {
  const { node, visit } = moment.visit;
  if (next === null)
    return refused(
      'fork-at-end',
      `run ${old.run_id} reached its end with ${node}@${visit}, so nothing is left to go on with after it`,
      `add --before to begin right before ${node}@${visit}, or name an earlier visit`,
    );
  if (!current.nodes.has(next))
    return refused(
      'fork-pipeline',
      `${momentText({ ...moment.visit, before: moment.before })} the run goes on with node "${next}", which the pipeline ${current.file} does not have`,
      'give the node that id, or fork at another visit',
    );
  if (old.git === undefined && buildsHistory(current))
    return refused(
      'fork-history',
      `the pipeline ${current.file} builds commits, but run ${old.run_id} was not started for a build and has no history`,
      'start a new run of that pipeline',
    );
  return undefined;
}

/** The script that answers from now on, where it is not the one that the run has kept: the one of the flag; else the one
 *  that the pipeline bundles, where the pipeline or the agent is another and the run was not given one by flag. */
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
  const before = storedGraph(old);
  const wasBundled = before !== undefined && kept === bundledScript(before, cwd);
  return graph !== undefined && wasBundled ? bundled : undefined;
}

function bundledScript(graph: Graph, cwd: string): string | undefined {
  const path = present(graph.attrs, 'agent_script')?.value.text.trim();
  return path === undefined ? undefined : resolve(cwd, graph.file, '..', path);
}

/** The run's inputs: what it has kept itself, and what is given now. */
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
    const path = inputPath(runDir, file.stored);
    const text = readPlain(path);
    if (text.kind === 'text') files[name] = text.text;
    else
      return refused(
        'fork-input',
        `run ${old.run_id} no longer has the text of variable "${name}" (${path})`,
        `give it anew: --var ${name}=FILE`,
      );
  }
  const kept = { variables: old.variables, files };
  const texts = graph === undefined ? { prompts: old.prompts, schemas: old.schemas ?? {} } : {};
  // A file variable stays one when it is given anew.
  const given = Object.fromEntries(
    Object.entries(flags.vars).map(([name, value]) => [
      name,
      old.variables[name]?.file === undefined || value.startsWith('@') ? value : `@${value}`,
    ]),
  );
  const read = await readInputs(current, given, cwd, { ...kept, ...texts });
  return 'problems' in read ? { problems: read.problems } : read.inputs;
}

/** Texts of file variables by the name of their file, and which of them are to be placed in the workspace. `inherited`:
 *  the moment lies before the other run's own beginning, so that the workspace may have texts that it changed then. */
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

/** What the new run does not have from the other one, in words for its manifest. */
function whatIsNew(old: Manifest, now: Manifest, inputs: Inputs, flags: RunFlags): string[] {
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  // Their order is that of the nodes.
  const texts = (of: Manifest['prompts']) =>
    Object.entries(of)
      .map(([name, { sha256 }]) => `${name}\0${sha256}`)
      .sort();
  const names = new Set([...Object.keys(old.variables), ...Object.keys(inputs.variables)]);
  return [
    ...(old.pipeline.sha256 === now.pipeline.sha256 ? [] : ['pipeline']),
    ...(same(texts(old.prompts), texts(now.prompts)) ? [] : ['prompts']),
    ...(same(texts(old.schemas ?? {}), texts(now.schemas ?? {})) ? [] : ['schemas']),
    ...[...names]
      .filter((name) => !same(old.variables[name], inputs.variables[name]))
      .map((name) => `var ${name}`),
    ...(old.agent.name === now.agent.name ? [] : ['agent']),
    ...(old.agent.script?.sha256 === now.agent.script?.sha256 ? [] : ['script']),
    ...(old.agent.model === now.agent.model ? [] : ['model']),
    ...(old.agent.effort === now.agent.effort ? [] : ['effort']),
    ...(same(old.caps, now.caps) ? [] : ['caps']),
    ...(flags.envPass.every((name) => old.env_pass.includes(name)) ? [] : ['env_pass']),
  ];
}

/** The seed of a run that begins at a checkpoint of another run, which is only read. */
import { dirname, resolve } from 'node:path';
import { regionsOf } from '../../core/branches.ts';
import { placedMessage, type Refusal, refused } from '../../core/diagnostic.ts';
import { branchesOf, nextNodes } from '../../core/fork.ts';
import { type Graph, graphWith, nodeOf } from '../../core/graph.ts';
import { own } from '../../core/json.ts';
import { buildsHistory, goalOf } from '../../core/pipeline.ts';
import type { RunState } from '../../core/records/checkpoint.ts';
import type { ForkedFrom, Manifest, ReplayOf } from '../../core/records/manifest.ts';
import { momentText } from '../../core/records/names.ts';
import { lostText, storedText } from '../../run/inputs.ts';
import type { Moment } from '../../run/moment.ts';
import { openRun } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { stateAfter } from '../../run/visits.ts';
import { type Inputs, readInputs } from '../inputs.ts';
import { typesOfRun } from '../own-kinds.ts';
import { storedGraphInPlace } from '../read-pipeline.ts';
import { otherServers } from '../servers-asked.ts';
import { textsNamed } from '../texts-named.ts';
import type { Host, RunFlags } from '../types.ts';
import { hashOfRecords, writeCopiedJournal } from './copied-journal.ts';
import { copyRun } from './copy-run.ts';
import type { RunSeed } from './create.ts';
import { type ForkHoldout, holdoutOfFork, sealForFork } from './fork-holdout.ts';
import { missingNext } from './nodes-ahead.ts';
import { withAttributes } from './set-attributes.ts';
import type { RunTerms } from './terms.ts';

/** The answers that a replay gets from the record of another run. */
export type RecordedAnswers = {
  readonly replayOf: Omit<ReplayOf, 'changed'>;
  /** The pipeline with replaced prompts; undefined where none is replaced. */
  readonly graph: Graph | undefined;
  /** False where it begins where the recorded run began. */
  readonly isFork: boolean;
};

/** The run in `runDir` up to the checkpoint `moment`; `graph` replaces its pipeline. `runsDir`: of the new run. */
export async function runSeed(
  runDir: string,
  moment: Moment,
  graph: Graph | undefined,
  flags: RunFlags,
  host: Host,
  { answers, runsDir }: { readonly answers?: RecordedAnswers; readonly runsDir?: string },
): Promise<RunSeed | Refusal> {
  const { cwd, env } = host;
  const reader = openRun(runDir);
  const read = await reader.manifest();
  if (!read.ok) return refused('manifest', read.why);
  const old = read.manifest;
  const given = answers?.graph ?? graph;
  const types = given === undefined ? await typesOfRun(old, host, true) : { own: [] };
  if ('problems' in types) return types;
  const before = given ?? storedGraphInPlace(old, types.own);
  if (before === undefined)
    return refused(
      'fork-pipeline',
      `the pipeline in the manifest of run ${old.run_id} cannot be read`,
      'name a pipeline file with --pipeline',
    );
  const changed = withAttributes(before, flags.set ?? [], { cwd, prompts: await promptsOf(old, graph, cwd) });
  if ('problems' in changed) return changed;
  const { graph: current, names: set } = changed;
  const unforkable = forkProblem(old, moment, current);
  if (unforkable !== undefined) return unforkable;
  const inputs = await inputsOf(old, runDir, graph, current, flags, cwd);
  if ('problems' in inputs) return inputs;
  const history = reader.history();
  if (!history.ok) return refused('run-files', history.why);
  const from = { old, runDir: resolve(runDir), moment, history, answers };
  const sealed = await holdoutOfFork(
    { ...from, graph: current, ...snapshotsAt(moment) },
    flags.holdout_from,
    { cwd, env, runsDirs: [...new Set([dirname(from.runDir), runsDir ?? dirname(from.runDir)])] },
  );
  if ('problems' in sealed) return sealed;
  const { holdout } = sealed;
  const prefix: Prefix = { ...from, inputs, graph, set, current, flags, cwd, env, holdout };
  for (const { message, place } of changed.warnings) host.log('warn', placedMessage(message, place));
  for (const message of idleSettings(set, moment)) host.log('warn', message);
  const dropped =
    graph === undefined ? [] : (old.forked_from?.set ?? []).filter((name) => !set.includes(name));
  if (dropped.length > 0)
    host.log(
      'warn',
      `${dropped.join(', ')}: set for ${old.run_id}, and not in this fork, which has the values of ${graph?.file}; --set gives them again`,
    );
  return {
    graph: current,
    former: { runDir, manifest: old },
    inputs,
    script: scriptOf(old, graph, current, flags, cwd),
    offline: answers !== undefined && !answers.replayOf.live,
    code: 'snapshots',
    workdir: old.original_workdir,
    holdout,
    keep: {},
    // Before the beginning of a forked run the workspace may have texts that were changed for it.
    isNew: newTexts(old, inputs, isFork(answers) && moment.records.length <= (old.forked_from?.seq ?? 0)),
    ...fillingOf(prefix),
  };
}

/** The beginning of a run, and what the new one has instead. */
type Prefix = {
  readonly old: Manifest;
  readonly runDir: string;
  readonly moment: Moment;
  readonly history: RunHistory;
  readonly answers: RecordedAnswers | undefined;
  readonly inputs: Inputs;
  readonly graph: Graph | undefined;
  /** `NODE.ATTRIBUTE` that the new run has set. */
  readonly set: readonly string[];
  readonly current: Graph;
  readonly flags: RunFlags;
  readonly cwd: string;
  readonly env: Host['env'];
  readonly holdout: ForkHoldout | undefined;
};

/** A replay of a whole run begins where that one began: with its fork, if it was one. */
const isFork = (answers: RecordedAnswers | undefined): boolean => answers === undefined || answers.isFork;

/** How the new run's directory is filled. */
function fillingOf(prefix: Prefix): Pick<RunSeed, 'workspace' | 'seal' | 'journal'> {
  const { old, runDir, moment, history, answers, current, env, holdout } = prefix;
  const { records } = moment;
  const { snapshot } = snapshotsAt(moment);
  const replayed = answers && { history, tools: answers.replayOf.run_tools !== true };
  return {
    async workspace(at, terms, texts) {
      const copied = await copyRun(runDir, at, { old, records, snapshot, texts, replayed, env });
      return 'problem' in copied ? copied : { ...copied, origin: originOf(prefix, terms) };
    },
    seal: (at) => sealForFork(holdout, old, at, env),
    journal: (building, manifest, { snapshot: firstSnapshot, final }) =>
      writeCopiedJournal(
        {
          dir: runDir,
          paths: [runDir, dirname(old.workspace_path)],
          records,
          calls: history.calls,
          exchanges: history.exchanges,
          goal: goalOf(current),
        },
        { building, final, manifest, snapshot: firstSnapshot },
      ),
  };
}

/** The workspace as the run began, and that of the new run. In a branch the run's own workspace is that of before its branches began;
 *  theirs are made from the copied executions. */
function snapshotsAt({ visit, snapshot, records }: Moment) {
  const [first] = records;
  return {
    start: first?.type === 'Start' ? first.snapshot : snapshot,
    snapshot: visit.branch === undefined ? snapshot : (stateAfter(records).snapshot ?? snapshot),
  };
}

/** Where the new run comes from. */
function originOf(prefix: Prefix, { facts }: RunTerms) {
  const { old, runDir, moment, answers, inputs, graph, flags, cwd } = prefix;
  const prompts = Object.keys(answers?.replayOf.prompts ?? {});
  const replaced = [...prompts.map((node) => `prompt ${node}`), ...prefix.set.map((name) => `set ${name}`)];
  const changed = [
    ...changesOf(old, facts, inputs, flags, { replaced, file: graph !== undefined }),
    ...(prefix.holdout?.isOther === true ? ['holdout'] : []),
  ];
  const { records, before } = moment;
  const { node, visit } = moment.visit;
  const at = { node, visit, before, seq: records.length, sha256: hashOfRecords(records) };
  // Another pipeline has nothing of what was set before.
  const set = [...new Set([...(graph === undefined ? (old.forked_from?.set ?? []) : []), ...prefix.set])];
  const forked: ForkedFrom = {
    ...{ run_id: old.run_id, run_dir: runDir, ...at, changed },
    ...(set.length === 0 ? {} : { set }),
  };
  const link = isFork(answers) ? forked : old.forked_from;
  const { pipeline_path, pipeline_file, original_workdir, base_commit, workdir_kind, git } = old;
  return {
    ...(graph === undefined
      ? { pipeline_path, pipeline_file }
      : { pipeline_path: graph.file, pipeline_file: resolve(cwd, graph.file) }),
    ...{ original_workdir, base_commit, workdir_kind, git },
    ...(link === undefined ? {} : { forked_from: link }),
    ...(answers === undefined ? {} : { replay_of: { ...answers.replayOf, changed } }),
    ...(old.changes === undefined ? {} : { changes: old.changes }),
  };
}

/** Why a run cannot begin at `moment` with the pipeline `current`, or undefined. */
function forkProblem(old: Manifest, moment: Moment, current: Graph): Refusal | undefined {
  const { node, visit } = moment.visit;
  const state = stateAfter(moment.records);
  if (state.next_node === null)
    return refused(
      'fork-at-end',
      `run ${old.run_id} reached its end with ${node}@${visit}, so no node is left to run after it`,
      `add --before to begin right before ${node}@${visit}, or name an earlier execution`,
    );
  const branches = changedBranches(state, current);
  if (branches !== undefined)
    return refused(
      'fork-branches',
      `${momentText({ ...moment.visit, before: moment.before })} ${branches}`,
      `fork before they begin: --at ${state.fork?.node ?? node} --before`,
    );
  const next = missingNext(current, state);
  if (next !== undefined)
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

/** What of the branches that are open the pipeline does not have, in words. */
function changedBranches(state: Pick<RunState, 'fork'>, graph: Graph): string | undefined {
  for (const { id, cursor, fork } of branchesOf(state)) {
    const region = regionsOf(graphWith(graph, fork.node)).get(fork.node);
    const has = fork.items !== undefined || region?.branches.some((branch) => branch.id === id);
    if (fork.call !== true && (region?.join !== fork.join || has !== true))
      return `branch "${id}" of "${fork.node}" is open until "${fork.join}", and the pipeline ${graph.file} has no such branch`;
    const follows = cursor.ended === undefined && cursor.fork === undefined ? cursor.next_node : null;
    if (follows !== null && nodeOf(graph, follows) === undefined)
      return `branch "${id}" continues with node "${follows}", which the pipeline ${graph.file} does not have`;
  }
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
  if (flags.agent_script !== undefined) return flags.agent_script;
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

/** The texts of the prompt files that the new run begins with, by reference. */
const promptsOf = async (
  old: Manifest,
  graph: Graph | undefined,
  cwd: string,
): Promise<ReadonlyMap<string, string>> =>
  (graph === undefined ? undefined : (await textsNamed(graph, cwd)).prompts) ??
  new Map(Object.entries(old.prompts).map(([reference, { text }]) => [reference, text]));

/** Says of attributes that are set for a node which has run that its executions stay, unless it runs again next. */
function idleSettings(set: readonly string[], { records, visit, before }: Moment): readonly string[] {
  const state = stateAfter(records);
  const next = nextNodes(state).map(({ node }) => node);
  return set.flatMap((name) => {
    const node = name.slice(0, name.indexOf('.'));
    if ((own(state.visits, node) ?? 0) === 0 || next.includes(node)) return [];
    const at = momentText({ ...visit, before });
    return [
      `--set ${name}: node "${node}" has run ${at}, and what it did stays; to run it again first: --at ${node} --before`,
    ];
  });
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
    const text = storedText(runDir, file.sha256);
    if (text === undefined)
      return refused(
        'fork-input',
        lostText(runDir, `the text of variable "${name}"`),
        `give it again: --var ${name}=FILE`,
      );
    files[name] = text;
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

/** Whether the run gets other texts of file variables than the old one, by the names of their files; all are `inherited` with a
 *  workspace that may have others. */
function newTexts(old: Manifest, inputs: Inputs, inherited: boolean): (stored: string) => boolean {
  const changed = Object.entries(inputs.variables).flatMap(([name, { file }]) => {
    const was = old.variables[name]?.file;
    return file !== undefined && (inherited || was?.sha256 !== file.sha256 || was.stored !== file.stored)
      ? [file.stored]
      : [];
  });
  return (stored) => changed.includes(stored);
}

/** How the new run differs from the other one, for its manifest. `replaced`: what was replaced in the pipeline, in words; `file`: the
 *  pipeline is that of another file. */
function changesOf(
  old: Manifest,
  now: RunTerms['facts'],
  inputs: Inputs,
  flags: RunFlags,
  { replaced, file }: { readonly replaced: readonly string[]; readonly file: boolean },
): string[] {
  // Their order is that of the nodes.
  const hashes = (texts: Readonly<Record<string, { readonly sha256: string | null }>> = {}) =>
    Object.entries(texts)
      .map(([name, { sha256 }]) => [name, sha256])
      .sort();
  const pipelines = ({ pipeline, pipelines }: Pick<Manifest, 'pipeline' | 'pipelines'>) => [
    pipeline.sha256,
    hashes(pipelines),
  ];
  const names = new Set([...Object.keys(old.variables), ...Object.keys(inputs.variables)]);
  const compared: [string, unknown, unknown][] = [
    ...(replaced.length > 0 && !file ? [] : [['pipeline', pipelines(old), pipelines(now)] as const]),
    ['prompts', hashes(old.prompts), hashes(now.prompts)],
    ['schemas', hashes(old.schemas), hashes(now.schemas)],
    ...[...names].map((name) => [`var ${name}`, old.variables[name], inputs.variables[name]] as const),
    ['node types', hashes(old.node_types), hashes(now.node_types)],
    ['agent', old.agent.name, now.agent.name],
    ['script', old.agent.script?.sha256, now.agent.script?.sha256],
    ['provider', old.agent.provider, now.agent.provider],
    ['model', old.agent.model, now.agent.model],
    ['effort', old.agent.effort, now.agent.effort],
    ['fidelity', old.agent.fidelity, now.agent.fidelity],
    ['caps', old.caps, now.caps],
    ['env_pass', [], (flags.env_pass ?? []).filter((name) => !old.env_pass.includes(name))],
  ].map(([what, was, is]) => [String(what), was, is]);
  return [
    ...replaced,
    ...compared.flatMap(([what, was, is]) => (JSON.stringify(was) === JSON.stringify(is) ? [] : [what])),
    ...otherServers(old, now).map((provider) => `server of ${provider}`),
  ];
}

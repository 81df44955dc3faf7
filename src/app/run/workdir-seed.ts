/** The seed of a run that begins with a workdir, or with an empty tree. */
import { lstatSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Diagnostic, Refusal } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { goalOf, hasHistory, startOf, workdirOf } from '../../core/pipeline.ts';
import { inWorkspace, type Layout } from '../../core/records/layout.ts';
import { type ChosenHoldout, chooseHoldout } from '../../holdout/seal.ts';
import { homeProblem, keysFolder } from '../../holdout/vault.ts';
import { makeFolder } from '../../platform/files/write.ts';
import { headCommit } from '../../platform/git.ts';
import { manifestHash, storeTexts } from '../../run/inputs.ts';
import { startJournal } from '../../run/run-journal.ts';
import { noteOf } from '../../workspace/own-place.ts';
import type { Snapshots } from '../../workspace/snapshot.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import { type Inputs, readInputs } from '../inputs.ts';
import type { Host, RunFlags, Where } from '../types.ts';
import type { RunSeed } from './create.ts';
import { holdoutSealedBy } from './holdout-sealed-by.ts';
import { sealHoldout } from './seal-holdout.ts';

/** What the seed is made from. */
export type WorkdirBegin = {
  readonly graph: Graph;
  readonly where: Where;
  readonly flags: RunFlags;
  readonly host: Pick<Host, 'cwd' | 'env' | 'clock'>;
  readonly workdir: string | undefined;
  readonly holdout: ChosenHoldout | undefined;
};

/** Reads the inputs and the holdout of a new run of `graph`, once: what was checked is what the run gets. `texts` are the prompts
 *  and schemas of a run of the same pipeline. */
export async function workdirSeed(
  graph: Graph,
  where: Where,
  flags: RunFlags,
  host: WorkdirBegin['host'],
  texts?: Pick<Inputs, 'prompts' | 'schemas'>,
): Promise<RunSeed | Refusal> {
  const { cwd, env } = host;
  const homeless = homeProblem(env);
  if (homeless !== undefined) return { problems: [homeless] };
  const kept = { variables: {}, files: {}, prompts: texts?.prompts, schemas: texts?.schemas };
  const read = await readInputs(graph, flags.vars, cwd, kept);
  if ('problems' in read) return read;
  const { inputs } = read;
  const { variables } = inputs;
  const workdir = workdirOf(graph, flags, cwd);
  const choice = { flag: flags.holdout_from, cwd, variables, workdir, runsDir: where.runsDir, env };
  const { holdout_of: of } = flags;
  const chosen = of === undefined ? await chooseHoldout(graph, choice) : await holdoutSealedBy(of, choice);
  if ('problems' in chosen) return chosen;
  if ('problem' in chosen) return { problems: [chosen.problem] };
  const { chosen: holdout } = chosen;
  const begin: WorkdirBegin = { graph, where, flags, host, workdir, holdout };
  return {
    graph,
    former: undefined,
    inputs,
    script: flags.agent_script,
    offline: false,
    code: 'workdir',
    workdir: workdir ?? '',
    holdout,
    keep: flags.keep ?? {},
    isNew: () => true,
    workspace: (at, _, texts, goOn) => fillWorkspace(begin, at, texts, goOn),
    seal: (at) => sealHoldout(begin, at),
    journal: async (building, manifest, { at, snapshot }) => {
      const goal = goalOf(graph);
      const history = await startJournal(building, manifest.run_id, {
        type: 'Start',
        at,
        next_node: startOf(graph).id,
        context: goal === undefined ? {} : { 'graph.goal': goal },
        origins: goal === undefined ? {} : { 'graph.goal': 'engine' },
        snapshot,
        manifest_sha256: manifestHash(manifest),
      });
      return { history, notes: [] };
    },
  };
}

async function fillWorkspace(begin: WorkdirBegin, at: Layout, texts: readonly string[], goOn: () => void) {
  const { graph, host, workdir } = begin;
  const started = await startHistory(begin, at.history);
  if (started !== undefined && 'problem' in started) return started;
  const headOf = workdir === undefined || started !== undefined ? null : await headCommit(workdir, host.env);
  // At the beginning of the store they are found without a look at the rest.
  await storeTexts(at.root, texts, false);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  const notes = await copyWorkdir(begin, snapshots, at.workspace, goOn);
  const link = linkedFolder(at.workspace);
  if (link !== undefined) return { problem: linkProblem(link) };
  const git = started && { base_commit: started.baseCommit, author: started.author };
  return {
    snapshots,
    before: undefined,
    notes: [...(started?.notes ?? []), ...notes],
    origin: {
      pipeline_path: graph.file,
      pipeline_file: resolve(host.cwd, graph.file),
      original_workdir: workdir ?? '',
      base_commit: git?.base_commit ?? headOf,
      workdir_kind: started?.kind ?? (workdir === undefined ? ('none' as const) : ('folder' as const)),
      ...(git === undefined ? {} : { git }),
    },
  };
}

/** Creates the git history of such a run; refuses a workdir that cannot be built upon. */
async function startHistory(
  { graph, where: { runId }, flags, host: { env }, workdir }: WorkdirBegin,
  historyDir: string,
) {
  if (!hasHistory(graph, flags)) return undefined;
  const git = await import('../../git/start-history.ts');
  const { allowDirty, base, exact = false, redo = false } = flags;
  const based = base === undefined ? {} : { base, exact };
  return git.startHistory({ workdir, historyDir, allowDirty, ...based, redo, runId, env });
}

/** Fills the workspace; answers with notes on what is not copied unchanged. */
async function copyWorkdir(
  { where: { runsDir }, flags: { exclude = [] }, host: { env }, workdir, holdout }: WorkdirBegin,
  snapshots: Snapshots,
  workspace: string,
  goOn: () => void,
): Promise<readonly string[]> {
  if (workdir === undefined) {
    makeFolder(workspace);
    return [];
  }
  const keys = keysFolder(env);
  const left = [runsDir, ...exclude, ...(holdout?.leaveOut ?? []), ...(keys === undefined ? [] : [keys])];
  const copied = await snapshots.copyIn(workdir, { exclude: left, goOn });
  return [
    ...copied.skipped.map(({ path, why }) => `not copied: ${path} (${why})`),
    ...copied.outsideLinks.map((path) => `copied as a link, which leads out of the workdir: ${path}`),
    ...noteOf(copied.namingPlace ?? [], workdir),
  ];
}

const linkProblem = (path: string): Diagnostic => ({
  code: 'workdir',
  severity: 'error',
  message: `${path} in the workdir is a link, and a run would write through it`,
  fix: 'make it a folder, or exclude it with a line in .factoryignore',
});

/** The first of the engine's folders that the workdir has as something other than a folder. */
function linkedFolder(workspace: string): string | undefined {
  for (const name of [inWorkspace.factory, inWorkspace.inputs]) {
    const is = lstatSync(join(workspace, name), { throwIfNoEntry: false });
    if (is !== undefined && !is.isDirectory()) return name;
  }
  return undefined;
}

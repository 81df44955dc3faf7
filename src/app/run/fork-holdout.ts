/** The holdout of a run that begins at a checkpoint of another one: the same, or with `--holdout` another suite for the same
 *  workspace and commits. */
import { join, relative, resolve } from 'node:path';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { holdoutPaths, isAtOrBelow, isSealedPath } from '../../core/policy/holdout-paths.ts';
import { type Layout, layout } from '../../core/records/layout.ts';
import type { Holdout, Manifest, SealedFile } from '../../core/records/manifest.ts';
import { noteSealed, overlookSealed, pathsOf } from '../../git/commit.ts';
import { historyGit, readHistoryStart } from '../../git/history.ts';
import { mayBeCommitted, openHoldout } from '../../holdout/mount.ts';
import { chooseFix, holdoutFolder, keysAmongRuns, readFrom, unsealable } from '../../holdout/seal.ts';
import { takeOutSealed } from '../../holdout/sealed-files.ts';
import { keysFix, sealedHash, writeSealed } from '../../holdout/vault.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { GitError } from '../../platform/git.ts';
import { isWithin, realOf } from '../../workspace/roots.ts';
import type { Tree } from '../../workspace/snapshot.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';

/** What a run that begins at a checkpoint seals. */
export type ForkHoldout = Pick<Holdout, 'from'> & {
  readonly paths: readonly string[];
  readonly files: readonly SealedFile[];
  /** Other files than those of the run that it begins with. */
  readonly isOther: boolean;
};

type From = {
  readonly runDir: string;
  readonly old: Manifest;
  readonly graph: Graph;
  /** Snapshots of the workspace: as the run began, and at the checkpoint. */
  readonly start: string;
  readonly snapshot: string;
};
type Where = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Of the run that the new one begins with, and of the new one. */
  readonly runsDirs: readonly string[];
};

/** `flag`: the folder of `--holdout`, as typed. `holdout` is undefined where there is none. */
export async function holdoutOfFork(
  from: From,
  flag: string | undefined,
  where: Where,
): Promise<{ readonly holdout: ForkHoldout | undefined } | Refusal> {
  const { runDir, old, graph } = from;
  const paths = old.holdout?.paths ?? pathsIn(graph);
  if ('problems' in paths) return paths;
  // The key of what is replaced as a whole is not needed.
  const opened =
    flag !== undefined && paths.length === 1
      ? { sealed: undefined }
      : await openHoldout(resolve(runDir), old, where.env);
  if ('problems' in opened) return opened;
  const kept = opened.sealed?.files() ?? [];
  if (flag === undefined) {
    const { holdout } = old;
    return { holdout: holdout && { ...holdout, files: kept, isOther: false } };
  }
  const [first = ''] = paths;
  const suite = await suiteIn(flag, first, from, where);
  if ('problems' in suite) return suite;
  const files = [...suite.files, ...kept.filter(({ path }) => !isAtOrBelow(path, first))];
  const isOther = sealedHash(files) !== old.holdout?.sha256;
  return { holdout: { paths, from: suite.from, files, isOther } };
}

function pathsIn({ settings }: Graph): readonly string[] | Refusal {
  const read = holdoutPaths(settings.holdout);
  return 'paths' in read
    ? read.paths
    : refused('holdout', `holdout: ${read.problem}`, 'name the files and folders of the holdout');
}

/** The files of the folder, if neither the agents of the run had it nor the workspace has files in its place. */
async function suiteIn(
  flag: string,
  as: string,
  from: From,
  { cwd, env, runsDirs }: Where,
): Promise<(Pick<Holdout, 'from'> & { readonly files: readonly SealedFile[] }) | Refusal> {
  const { old } = from;
  const folder = resolve(cwd, flag);
  const fix = chooseFix('--holdout');
  const no = (why: string): Refusal => refused('holdout', `--holdout: ${folder} ${why}`, fix);
  if (flag.trim() === '') return refused('usage', '--holdout names no folder', fix);
  const workdir = old.original_workdir === '' ? undefined : old.original_workdir;
  const found = await holdoutFolder(folder, { workdir, runsDirs });
  if ('why' in found) return no(found.why);
  for (const runsDir of runsDirs) {
    const among = keysAmongRuns(runsDir, env);
    if (among !== undefined) return refused('holdout', among, keysFix);
  }
  try {
    const known = await knownToAgents(found.real, from, env);
    if (known !== undefined) return no(known);
    const inTheWay = await filesAt(as, from);
    if (inTheWay !== undefined)
      return refused(
        'holdout',
        `the workspace of run ${old.run_id} has ${inTheWay} where the holdout would be (${as}): the product would be judged without it`,
        'move those files of the product, or begin a new run with --holdout',
      );
  } catch (error) {
    if (error instanceof WorkspaceError || error instanceof GitError)
      return refused('snapshots', error.message);
    throw error;
  }
  try {
    const files = await readFrom(folder, '', as, runsDirs);
    if (!files.some(({ kind }) => kind !== 'dir')) return no('has no files in it');
    return {
      from: workdir !== undefined && found.real === join(realOf(workdir), as) ? 'workdir' : folder,
      files,
    };
  } catch (error) {
    if (error instanceof WorkspaceError) return { problems: [unsealable(error)] };
    throw error;
  }
}

/** Why the agents of the run may know what is in the folder: it is below the workdir, and was not kept from them. */
async function knownToAgents(
  real: string,
  { old, runDir, start }: From,
  env: Where['env'],
): Promise<string | undefined> {
  const workdir = old.original_workdir === '' ? undefined : realOf(old.original_workdir);
  if (workdir === undefined || !isWithin(workdir, real)) return undefined;
  const path = relative(workdir, real);
  const has = (paths: Iterable<string>) => [...paths].some((one) => isAtOrBelow(one, path));
  if (has((await treeOf(runDir, start)).keys()))
    return `is in the workdir, and was in the workspace of run ${old.run_id}: its agents could read it`;
  // What was sealed for the run was kept from its agents.
  const { from = '', paths: sealed = [] } = old.holdout ?? {};
  const before = from === 'workdir' ? sealed.map((one) => join(workdir, one)) : [realOf(from)];
  if (old.git === undefined || before.includes(real)) return undefined;
  const { history } = layout(runDir);
  const { first_commit: first } = await readHistoryStart(history);
  return has(await pathsOf(history, first, env))
    ? `is in a commit that run ${old.run_id} began with: its agents could read it`
    : undefined;
}

/** The first file of the workspace at or below `path`. */
async function filesAt(path: string, { runDir, snapshot }: From): Promise<string | undefined> {
  for (const [one, { kind }] of await treeOf(runDir, snapshot))
    if (kind !== 'dir' && isSealedPath(one, [path])) return one;
  return undefined;
}

async function treeOf(runDir: string, snapshot: string): Promise<Tree> {
  const { workspace, contents: dir } = layout(runDir);
  return (await (await openSnapshots({ workspace, dir })).load(snapshot)).tree;
}

/** Seals the holdout in a separate store with another key. A history without a holdout gets its paths. */
export async function sealForFork(
  holdout: ForkHoldout | undefined,
  { holdout: before, git, original_workdir }: Manifest,
  at: Layout,
  env: Where['env'],
) {
  if (holdout === undefined) return { holdout: undefined, files: [], notes: [] };
  const { paths, from, files } = holdout;
  if (before === undefined) {
    // Empty folders only.
    takeOutSealed(at.workspace, paths, [], undefined, () => true);
    const { first_commit: first } =
      git === undefined ? { first_commit: null } : await readHistoryStart(at.history);
    if (git !== undefined) {
      await noteSealed(at.history, paths, first);
      await overlookSealed(at.history, historyGit(at.history, env, { workTree: at.workspace }));
    }
  }
  // A suite elsewhere replaces that of the workdir, which commits still have: no node gets to see them.
  const isCommitted = before !== undefined && mayBeCommitted({ holdout: before, original_workdir });
  const committed = isCommitted ? ({ committed: true } as const) : {};
  const written = await writeSealed(at.root, files, env);
  return 'problem' in written
    ? written
    : { holdout: { paths: [...paths], from, ...committed, ...written }, files: [], notes: [] };
}

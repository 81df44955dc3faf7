/** `factory checkout`: writes the workspace of a run at any node to a separate directory. */
import { lstat, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Diagnostic } from '../model/diagnostic.ts';
import { layout } from '../model/layout.ts';
import { isSnapshotName, momentText, parsePoint } from '../model/point.ts';
import { findMoment } from '../store/moment.ts';
import { messageOf } from '../store/problem.ts';
import { readManifest } from '../store/run-store.ts';
import { diskTrouble, fixDisk } from '../system/disk-trouble.ts';
import { isCode, systemWords } from '../system/files.ts';
import { modeLost } from '../workspace/checkout.ts';
import { treeOf, unlike } from '../workspace/inspect.ts';
import { shown } from '../workspace/names.ts';
import type { Tree } from '../workspace/snapshot.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { readNames, walk } from '../workspace/walk.ts';
import type { Io } from './io.ts';
import { refuse, wrong } from './refuse.ts';
import { liesInRun } from './run-folder.ts';
import { soFarOf } from './so-far.ts';

export type CheckoutOptions = {
  readonly at?: string;
  readonly before?: boolean;
  readonly runsdir?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** What is to be put where. A visit of 0 is the run's beginning. */
type Wanted = {
  readonly runId: string;
  readonly runDir: string;
  readonly snapshot: string;
  readonly node: string;
  readonly visit: number;
  readonly before: boolean;
  /** It was asked for by the snapshot's own name. */
  readonly named?: true;
};

/** Puts the workspace of a run into a folder that is missing or empty. Answers with the exit code. */
export async function checkoutCommand(
  run: string,
  dir: string,
  options: CheckoutOptions,
  io: Io,
): Promise<number> {
  const wanted = await wantedOf(run, options, io);
  if ('message' in wanted) return refused(wanted, options, io);
  const folder = resolve(io.cwd, dir);
  const at = layout(wanted.runDir);
  let there: Tree | undefined;
  const problem =
    dir.trim() === ''
      ? badDir('its name is empty')
      : await dirProblem(folder, { runDir: wanted.runDir, env: io.env }, async () => {
          there = await asItIs(folder, at.snapshots, wanted.snapshot);
          return there !== undefined;
        });
  if (problem !== undefined) return refused(problem, options, io);
  let tree: Tree;
  try {
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
    tree = there ?? (await snapshots.checkout(wanted.snapshot, folder));
  } catch (error) {
    if (error instanceof WorkspaceError && diskTrouble(error) !== undefined)
      return refused(wrong('checkout', `${folder}: ${messageOf(error)}`, fixDisk), options, io, 1);
    if (error instanceof WorkspaceError || !(error instanceof Error && 'code' in error))
      return refused(wrong('checkout', messageOf(error)), options, io, 1);
    throw error;
  }
  const count = (kind: 'file' | 'dir' | 'link') => [...tree.values()].filter((e) => e.kind === kind).length;
  const { runId, node, visit, before, snapshot } = wanted;
  const read = await readManifest(wanted.runDir);
  const sealed = read.ok ? (read.manifest.holdout?.paths ?? []) : [];
  const counts = { files: count('file'), folders: count('dir'), links: count('link') };
  const lost = modeLost(tree, folder);
  if (options.json === true) {
    const told = {
      schema_version: 1,
      run_id: runId,
      node,
      visit,
      before,
      snapshot,
      dir: folder,
      ...counts,
      ...(sealed.length === 0 ? {} : { left_out: sealed }),
      ...(lost === undefined ? {} : { modes_kept: false }),
      ...(there === undefined ? {} : { was_there: true }),
    };
    io.out(`${JSON.stringify(told, null, 2)}\n`);
    return 0;
  }
  const when =
    wanted.named === true ? `at ${snapshot.slice(0, 12)}` : visit === 0 ? 'as it began' : momentText(wanted);
  io.out(
    `run ${runId} ${when}: ${some(counts.files, 'file')}${and(counts)} in ${folder}${there === undefined ? '' : ', as they were there already'}\n`,
  );
  if (sealed.length > 0) io.out(`holdout paths are left out: ${sealed.join(', ')}\n`);
  if (lost !== undefined) {
    const { path, is, wanted: was } = lost;
    io.out(
      `the disk there does not keep permissions: "${shown(path)}" has ${octal(is)}, and had ${octal(was)} in the run\n`,
    );
  }
  return 0;
}

async function refused(problem: Diagnostic, options: CheckoutOptions, io: Io, code = 2): Promise<number> {
  await refuse([problem], io, options, code);
  return code;
}

const octal = (mode: number): string => mode.toString(8).padStart(3, '0');
const some = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
const and = ({ links }: { readonly links: number }): string =>
  links === 0 ? '' : `, ${some(links, 'link')}`;

async function wantedOf(run: string, options: CheckoutOptions, io: Io): Promise<Wanted | Diagnostic> {
  const named = options.at !== undefined && isSnapshotName(options.at) ? options.at : undefined;
  const point = options.at === undefined || named !== undefined ? undefined : parsePoint(options.at);
  if (point !== undefined && 'problem' in point) return wrong('usage', `--at ${point.problem}`, point.fix);
  if (point === undefined && options.before === true)
    return wrong('usage', '--before needs --at', 'name a visit: --at NODE@VISIT --before');
  const soFar = await soFarOf(run, options, io);
  if ('message' in soFar) return soFar;
  const { checkpoint, records, runDir } = soFar;
  const { run_id: runId } = checkpoint;
  if (named !== undefined)
    return { runId, runDir, snapshot: named, node: '', visit: 0, before: false, named: true };
  if (point === undefined) {
    const { last_completed_node: node, snapshot } = checkpoint;
    if (snapshot === null) return wrong('run-files', `the checkpoint of run ${runId} names no snapshot`);
    const last = records.at(-1);
    return { runId, runDir, snapshot, node, visit: last?.type === 'Visit' ? last.visit : 0, before: false };
  }
  const moment = findMoment(records, point, options.before === true);
  if (!moment.ok) return wrong('no-visit', `run ${runId}: ${moment.why}`, moment.fix);
  const { visit, snapshot, before } = moment;
  return { runId, runDir, snapshot, node: visit.node, visit: visit.visit, before };
}

const badDir = (why: string): Diagnostic =>
  wrong(
    'checkout-dir',
    `the folder to check out into: ${why}`,
    'name a folder that does not exist, or an empty one',
  );

/** The snapshot's tree where `folder` holds exactly that: a checkout that was killed when all was done but the telling. */
async function asItIs(folder: string, snapshots: string, id: string): Promise<Tree | undefined> {
  const read = treeOf(snapshots, id);
  if (!('tree' in read)) return undefined;
  // An unrelated directory is not read in full for this.
  const tops = new Set([...read.tree.keys()].map((path) => path.split('/', 1)[0]));
  const names = readNames(folder);
  if (names.length !== tops.size || !names.every((name) => tops.has(name))) return undefined;
  try {
    // No run keeps a pipe, a socket or a device.
    for (const { kind } of walk(folder)) if (kind === 'special') return undefined;
    return (await unlike(folder, read.tree, () => false)).length === 0 ? read.tree : undefined;
  } catch {
    return undefined;
  }
}

/** Why nothing may be put into `folder`, which is absolute; undefined when it may. Nothing is touched. */
async function dirProblem(
  folder: string,
  { runDir, env }: { readonly runDir: string; readonly env: Io['env'] },
  isWhatIsWanted: () => Promise<boolean>,
): Promise<Diagnostic | undefined> {
  try {
    const there = await lstat(folder).catch((error: unknown) => {
      if (isCode(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (there?.isSymbolicLink() === true)
      return badDir(`${folder} is a link, and nothing is written through links`);
    if (there !== undefined && !there.isDirectory()) return badDir(`${folder} is not a folder`);
    const whose = await liesInRun(folder, runDir, env);
    if (whose !== undefined) return badDir(`${folder} ${whose}`);
    if (there !== undefined && (await readdir(folder)).length > 0 && !(await isWhatIsWanted()))
      return badDir(`${folder} is not empty`);
    return undefined;
  } catch (error) {
    if (isCode(error, 'EACCES', 'EPERM', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'))
      return badDir(`${folder} cannot be reached: ${systemWords(error)}`);
    throw error;
  }
}

/** `factory checkout`: writes the workspace of a run at any node to a separate directory. */
import { lstat, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { countedItems } from '../core/amounts.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { layout } from '../core/records/layout.ts';
import { isSnapshotName, momentText, parsePoint } from '../core/records/names.ts';
import { diskError, fixDisk } from '../platform/files/disk-error.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import { isCode, systemWords } from '../platform/files/write.ts';
import { findMoment } from '../run/moment.ts';
import { openRun } from '../run/open-run.ts';
import { messageOf } from '../run/unreadable.ts';
import { liesInRun } from '../workspace/roots.ts';
import type { Tree } from '../workspace/snapshot.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { loadProgress, usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { VerbResult } from './verb.ts';

export type CheckoutOptions = {
  readonly at?: string;
  readonly before?: boolean;
  readonly runsdir?: string;
  readonly json?: boolean;
};

/** A moment of the run. A visit of 0 is the run's beginning. */
type Moment = {
  readonly runId: string;
  readonly runDir: string;
  readonly snapshot: string;
  readonly node: string;
  readonly visit: number;
  readonly before: boolean;
  /** For people. */
  readonly words: string;
};

/** Puts the workspace of a run into a folder that is missing or empty. */
export async function checkoutCommand(
  run: string,
  dir: string,
  options: CheckoutOptions,
  io: CliIo,
): Promise<VerbResult> {
  const moment = await momentOf(run, options, io);
  if ('problems' in moment) return moment;
  const folder = resolve(io.cwd, dir);
  const problem = dir.trim() === '' ? 'its name is empty' : await dirProblem(folder, moment.runDir, io.env);
  if (problem !== undefined)
    return refused(
      'checkout-dir',
      `the folder to check out into: ${problem}`,
      'name a folder that does not exist, or an empty one',
    );
  const tree = await write(moment, folder);
  if ('problems' in tree) return tree;
  const count = (kind: 'file' | 'dir' | 'link') => [...tree.values()].filter((e) => e.kind === kind).length;
  const read = await openRun(moment.runDir).manifest();
  const sealed = read.ok ? (read.manifest.holdout?.paths ?? []) : [];
  const { runId, node, visit, before, snapshot } = moment;
  const [files, folders, links] = [count('file'), count('dir'), count('link')];
  if (options.json === true) {
    const counts = { dir: folder, files, folders, links };
    const left = sealed.length === 0 ? {} : { left_out: sealed };
    const result = { schema_version: 1, run_id: runId, node, visit, before, snapshot, ...counts, ...left };
    io.out(`${JSON.stringify(result, null, 2)}\n`);
    return 0;
  }
  const and = links === 0 ? '' : `, ${countedItems(links, 'link')}`;
  io.out(`run ${runId} ${moment.words}: ${countedItems(files, 'file')}${and} in ${folder}\n`);
  if (sealed.length > 0) io.out(`holdout paths are left out: ${sealed.join(', ')}\n`);
  return 0;
}

async function write({ runDir, snapshot }: Moment, folder: string): Promise<Tree | Refusal> {
  const at = layout(runDir);
  try {
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents });
    return await snapshots.checkout(snapshot, folder);
  } catch (error) {
    if (error instanceof WorkspaceError && diskError(error) !== undefined)
      return refused('checkout', `${folder}: ${messageOf(error)}`, fixDisk, 1);
    if (error instanceof WorkspaceError || !(error instanceof Error && 'code' in error))
      return refused('checkout', messageOf(error), undefined, 1);
    throw error;
  }
}

async function momentOf(run: string, options: CheckoutOptions, io: CliIo): Promise<Moment | Refusal> {
  const { at, before = false } = options;
  const named = at !== undefined && isSnapshotName(at) ? at : undefined;
  const point = at === undefined || named !== undefined ? undefined : parsePoint(at);
  if (point !== undefined && 'problem' in point) return usage(`--at ${point.problem}`, point.fix);
  if (point === undefined && before)
    return usage('--before needs --at', 'name a visit: --at NODE@VISIT --before');
  const progress = await loadProgress(run, options, io);
  if ('problems' in progress) return progress;
  const { checkpoint, records, runDir } = progress;
  const { run_id: runId } = checkpoint;
  if (named !== undefined) {
    const words = `at ${named.slice(0, 12)}`;
    return { runId, node: '', visit: 0, before: false, snapshot: named, runDir, words };
  }
  if (point === undefined) {
    const { last_completed_node: node, snapshot } = checkpoint;
    if (snapshot === null) return refused('run-files', `the checkpoint of run ${runId} names no snapshot`);
    const last = records.at(-1);
    const visit = last?.type === 'Visit' ? last.visit : 0;
    const words = visit === 0 ? 'as it began' : momentText({ node, visit, before });
    return { runId, node, visit, before, snapshot, runDir, words };
  }
  const found = findMoment(records, point, before);
  if (!found.ok) return refused('no-visit', `run ${runId}: ${found.why}`, found.fix);
  const { node, visit } = found.visit;
  const words = momentText({ node, visit, before: found.before });
  return { runId, node, visit, before: found.before, snapshot: found.snapshot, runDir, words };
}

/** Why nothing may be put into `folder`, which is absolute; undefined when it may. Nothing is touched. */
async function dirProblem(folder: string, runDir: string, env: CliIo['env']): Promise<string | undefined> {
  try {
    const there = await lstat(folder).catch((error: unknown) => {
      if (isCode(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (there?.isSymbolicLink() === true) return `${folder} is a link, and nothing is written through links`;
    if (there !== undefined && !there.isDirectory()) return `${folder} is not a folder`;
    const whose = await liesInRun(folder, runDir, env);
    if (whose !== undefined) return `${folder} ${whose}`;
    return there !== undefined && (await readdir(folder)).length > 0 ? `${folder} is not empty` : undefined;
  } catch (error) {
    if (isCode(error, 'EACCES', 'EPERM', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'))
      return `${folder} cannot be reached: ${systemWords(error)}`;
    throw error;
  }
}

/** The history of a run copied for a fork: the commits up to its checkpoint. */
import { constants, type Dirent } from 'node:fs';
import { copyFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import type { JsonObject } from '../core/json.ts';
import { buildStateIn } from '../core/records/build.ts';
import { baseRef, branchRef, headRef } from '../core/records/layout.ts';
import { isMissing, makeFolder } from '../platform/files/write.ts';
import type { Git } from '../platform/git.ts';
import { moveHead } from './commit.ts';
import { assertPlainHistory } from './guard.ts';
import { historyGit, readHistoryStart } from './history.ts';
import { recordedHead } from './recorded-head.ts';

/** Copies the history in `from` to the new folder `to` and moves it back to the commit that `toolState`, the state of the
 *  run's tools at the checkpoint, names. `workspace` is restored to the checkpoint. `from` is only read, also while its owner adds commits. Rejects with a GitError when git fails. */
export async function forkHistory(where: {
  readonly from: string;
  readonly to: string;
  readonly workspace: string;
  readonly toolState: JsonObject | undefined;
  readonly env: Environment;
  /** Whether later commits are kept without a ref, for `historyFollower`. */
  readonly keepLater?: boolean;
}): Promise<void> {
  const { from, to, workspace, toolState, env } = where;
  await copyHistory(from, to);
  const head = await headOf(to, toolState);
  const git = historyGit(to, env);
  await moveHead({ historyDir: to, workspace, env }, head);
  await dropOtherRefs(git, head);
  // Reflogs name the later commits.
  await rm(join(to, 'logs'), { recursive: true, force: true });
  if (where.keepLater === true) return;
  const tree = buildStateIn(toolState)?.current?.written?.tree;
  await git.text(['prune', '--expire=now', ...(tree === undefined ? [] : [tree])]);
}

/** Copies the history in `from`, which is only read, to the new folder `to`. */
export async function copyHistory(from: string, to: string): Promise<void> {
  assertPlainHistory(from);
  await copyRepository(from, to);
}

const headOf = async (historyDir: string, toolState: JsonObject | undefined): Promise<string | null> =>
  recordedHead(toolState, (await readHistoryStart(historyDir)).first_commit);

/** Moves a history, which has all commits of a record, to the commit that the state of the tools names after a recorded
 *  command. Rejects with a GitError when git fails. */
export function historyFollower(where: {
  readonly historyDir: string;
  readonly workspace: string;
  readonly env: Environment;
}): (toolState: JsonObject | undefined) => Promise<void> {
  const { historyDir, workspace, env } = where;
  let at: string | null | undefined;
  return async (toolState) => {
    const head = await headOf(historyDir, toolState);
    if (head !== at) await moveHead({ historyDir, workspace, env }, head);
    at = head;
  };
}

/** Names that are left out of a copy: locks, half-written objects, the index of a commit in progress, logs. */
const passing = /(?:\.lock$|^tmp_|\.tmp$|^factory\.index$|^logs$)/;

async function copyRepository(from: string, to: string): Promise<void> {
  makeFolder(to);
  for (const entry of await sorted(from)) {
    if (passing.test(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyRepository(source, target);
    else if (entry.isFile()) {
      try {
        await copyFile(source, target, constants.COPYFILE_FICLONE);
      } catch (error) {
        // Its owner may remove a file meanwhile, never one that an earlier checkpoint needs.
        if (!isMissing(error)) throw error;
      }
    }
  }
}

/** Refs before objects: what a ref names exists by the time that objects are listed. */
async function sorted(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return entries.sort((a, b) => Number(a.name === 'objects') - Number(b.name === 'objects'));
}

/** Removes refs that a later node created. */
async function dropOtherRefs(git: Git, head: string | null): Promise<void> {
  const kept = new Set([headRef, branchRef, baseRef]);
  const merged = head === null ? [] : ['--merged', head];
  const [all, earlier] = await Promise.all([
    git.text(['for-each-ref', '--format=%(refname)']),
    head === null ? '' : git.text(['for-each-ref', '--format=%(refname)', ...merged]),
  ]);
  const known = new Set(earlier.split('\n'));
  const gone = all.split('\n').filter((ref) => ref !== '' && !kept.has(ref) && !known.has(ref));
  if (gone.length > 0)
    await git.text(['update-ref', '--stdin'], { input: gone.map((ref) => `delete ${ref}\n`).join('') });
}

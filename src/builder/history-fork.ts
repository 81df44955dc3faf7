/** A run's history copied for a run that goes on from an earlier moment: its commits up to there, and none after. */
import type { Dirent } from 'node:fs';
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../system/files.ts';
import type { Environment, Git } from '../system/git.ts';
import { moveHead } from './commit.ts';
import {
  baseRef,
  branchRef,
  headRef,
  historyGit,
  inHistory,
  ProofRecord,
  readHistoryStart,
} from './in-history.ts';
import { readRecord } from './record.ts';
import { readState } from './state.ts';

/** Copies the history in `from` to the new folder `to` and winds it back to where `workspace`, which stands as it did
 *  at that moment, says it was. `from` is only read, also while its owner adds commits. Rejects with a GitError when git
 *  fails. */
export async function forkHistory(where: {
  readonly from: string;
  readonly to: string;
  readonly workspace: string;
  readonly env: Environment;
}): Promise<void> {
  const { from, to, workspace, env } = where;
  await copyRepository(from, to);
  const start = await readHistoryStart(to);
  const state = await readState(workspace);
  const head = state === undefined ? start.first_commit : state.head;
  const git = historyGit(to, env);
  await moveHead({ historyDir: to, workspace, env }, head);
  await dropOtherRefs(git, head);
  await dropLaterProof(to, head);
  // Moving the refs back was noted, with the commits that they stood at.
  await rm(join(to, 'logs'), { recursive: true, force: true });
  const tree = state?.current?.written?.tree;
  await git.text(['prune', '--expire=now', ...(tree === undefined ? [] : [tree])]);
}

/** Names that are of no use in a copy: locks, half-written objects, the index of a commit in the making, logs. */
const passing = /(?:\.lock$|^tmp_|\.tmp$|^factory\.index$|^logs$)/;

async function copyRepository(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await sorted(from)) {
    if (passing.test(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyRepository(source, target);
    else if (entry.isFile()) {
      try {
        await copyFile(source, target, constants.COPYFILE_FICLONE);
      } catch (error) {
        // Its owner may take a file away meanwhile, never one that an earlier moment needs.
        if (!isMissing(error)) throw error;
      }
    }
  }
}

/** Refs before objects: what a ref names is there by the time that objects are listed. */
async function sorted(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return entries.sort((a, b) => Number(a.name === 'objects') - Number(b.name === 'objects'));
}

/** What a later stage has called something stays in the run that it belongs to. */
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

/** A proof of another commit says nothing here. */
async function dropLaterProof(historyDir: string, head: string | null): Promise<void> {
  const { proof } = inHistory(historyDir);
  try {
    if ((await readRecord(proof, ProofRecord)).commit !== head) await rm(proof);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

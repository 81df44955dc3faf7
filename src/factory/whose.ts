/** Checks that a run belongs to this user. */
import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import type { Refusal } from '../engine/casting.ts';
import { layout } from '../model/layout.ts';
import { isCode, neighbourOf, removeFile } from '../system/files.ts';
import { shown } from '../workspace/names.ts';
import { refused } from './types.ts';

/** A refusal if the run directory belongs to another user: its owner could neither read nor remove files that root writes there,
 *  and root's sandboxed nodes cannot change modes and times of the owner's files. Undefined on a disk without owners, where
 *  all files belong to one user. */
export function checkRunOwner(runDir: string): Refusal | undefined {
  const { uid } = statSync(runDir);
  const user = process.geteuid?.();
  if (user === undefined || uid === user || ownerOfNewFile(runDir, uid) === uid) return undefined;
  return refused(
    'run-owner',
    `the run in ${shown(runDir)} belongs to user ${uid}, and this is user ${user}: neither can change files that the other writes there`,
    `resume it as that user (sudo -u '#${uid}' …), or change its owner (as root: chown -hR ${user} ${shown(runDir)})`,
  );
}

/** The owner of a file that this process creates there; undefined without permission, `otherwise` if the disk accepts no file at
 *  all, which taking the lock will report. */
function ownerOfNewFile(runDir: string, otherwise: number): number | undefined {
  const path = neighbourOf(layout(runDir).checkpoint);
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    return isCode(error, 'EACCES', 'EPERM') ? undefined : otherwise;
  }
  try {
    return fstatSync(file).uid;
  } finally {
    closeSync(file);
    removeFile(path);
  }
}

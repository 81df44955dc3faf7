/** Whose a run is, of the users of this system. */
import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import type { Refusal } from '../engine/casting.ts';
import { layout } from '../model/layout.ts';
import { isCode, neighbourOf, removeFile } from '../system/files.ts';
import { shown } from '../workspace/names.ts';
import { refused } from './types.ts';

/** A refusal where the run's folder is another user's: what root writes there its owner can neither read nor remove, and
 *  root's own confined stages may not change modes and times of what is its owner's. Undefined also on a disk that knows no
 *  owners: all that is there is one user's, whoever makes it. */
export function anothers(runDir: string): Refusal | undefined {
  const { uid } = statSync(runDir);
  const us = process.geteuid?.();
  if (us === undefined || uid === us || maker(runDir, uid) === uid) return undefined;
  return refused(
    'run-owner',
    `the run in ${shown(runDir)} is user ${uid}’s, and this is user ${us}: what one of them writes there is out of the other’s reach`,
    `go on with it as that user (sudo -u '#${uid}' …), or let the run be yours (as root: chown -hR ${us} ${shown(runDir)})`,
  );
}

/** Whose a file is that we make there: undefined where we may not, `otherwise` where the disk takes none from anybody, as the
 *  lock will tell. */
function maker(runDir: string, otherwise: number): number | undefined {
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

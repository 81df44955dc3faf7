/** Checks the files of a run's start before a fork or replay uses them. */
import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Checkpoint } from '../../core/records/checkpoint.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { sha256 } from '../../core/sha256.ts';
import { shownPath } from '../../platform/files/names.ts';
import { folderId } from '../../platform/files/read.ts';
import { isCode, removeFile, tempSibling } from '../../platform/files/write.ts';
import { hashArtifact } from '../../run/artifacts.ts';
import { lostText, storedText } from '../../run/inputs.ts';
import { locksIn } from '../../run/lock.ts';
import type { LockFile } from '../../run/lock-file.ts';
import { realOrSame } from '../../workspace/roots.ts';

/** Folder of the records that a replay follows, in `manifest.files`. */
const followed = '.replay/';

/** Refuses if a file or text of the run's start was changed. */
export const changedIn = async (runDir: string, manifest: Manifest): Promise<Refusal | undefined> =>
  lostTextOf(runDir, manifest) ?? (await changedFile(runDir, manifest, (path) => !path.startsWith(followed)));

function lostTextOf(runDir: string, { variables, texts = {} }: Manifest): Refusal | undefined {
  const named = [
    ...Object.entries(variables).map(
      ([name, { file }]) => [`the text of variable "${name}"`, file?.sha256] as const,
    ),
    ...Object.entries(texts),
  ];
  const lost = named.find(([, hash]) => hash !== undefined && storedText(runDir, hash) === undefined);
  return lost && refused('replay-damaged', lostText(runDir, lost[0]), restoreCopy);
}

const restoreCopy = 'restore a copy of that file; nothing of the run was used';

/** The same for the records that a replay follows. */
export const changedInFollowed = (runDir: string, manifest: Manifest): Promise<Refusal | undefined> =>
  changedFile(runDir, manifest, (path) => path.startsWith(followed));

async function changedFile(
  runDir: string,
  manifest: Manifest,
  counts: (path: string) => boolean,
): Promise<Refusal | undefined> {
  for (const [path, sha256] of Object.entries(manifest.files ?? {})) {
    if (!counts(path)) continue;
    const is = await hashArtifact(join(runDir, path));
    if (is !== sha256)
      return refused(
        'replay-damaged',
        `${join(runDir, path)} ${is === undefined ? 'is missing' : 'was changed after the start of the run'}`,
        restoreCopy,
      );
  }
  return undefined;
}

/* Checks that a run belongs to this user. */

/** A refusal if the run directory belongs to another user: its owner could neither read nor remove files that root writes there,
 *  and root's sandboxed nodes cannot change modes and times of the owner's files. Undefined on a disk without owners, where
 *  all files belong to one user. */
export function checkRunOwner(runDir: string): Refusal | undefined {
  const { uid } = statSync(runDir);
  const user = process.geteuid?.();
  if (user === undefined || uid === user || ownerOfNewFile(runDir, uid) === uid) return undefined;
  return refused(
    'run-owner',
    `the run in ${shownPath(runDir)} belongs to user ${uid}, and this is user ${user}: neither can change files that the other writes there`,
    `resume it as that user (sudo -u '#${uid}' …), or change its owner (as root: chown -hR ${user} ${shownPath(runDir)})`,
  );
}

/** The owner of a file that this process creates there; undefined without permission, `otherwise` if the disk accepts no file at
 *  all, which taking the lock will report. */
function ownerOfNewFile(runDir: string, otherwise: number): number | undefined {
  const path = tempSibling(layout(runDir).checkpoint);
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

/* The running time that no checkpoint counts: after the last checkpoint of a killed engine. */

/** Milliseconds that killed engines ran after the last checkpoint, by their last heartbeats; never more than each held the lock
 *  by a monotonic clock, so that a changed wall clock does not matter. `owners` are those since the one that wrote the
 *  checkpoint. An owner that released the lock was not killed. */
export function lostTime(
  loaded: Pick<Checkpoint, 'at' | 'epoch' | 'status'>,
  owners: readonly Pick<LockFile, 'epoch' | 'heartbeat' | 'held_ms' | 'released'>[],
): number {
  let lost = 0;
  for (const { epoch, heartbeat, held_ms: held, released } of owners) {
    if (released !== null) continue;
    const since = Date.parse(heartbeat) - Date.parse(loaded.at);
    // A later owner was killed before its first checkpoint: its whole time counts.
    if (epoch > loaded.epoch) lost += held ?? 0;
    // Only a running run was interrupted after its checkpoint.
    else if (epoch === loaded.epoch && loaded.status === 'running')
      lost += Math.max(0, Math.min(since, held ?? since)) || 0;
  }
  return lost;
}

/* The marker by which the processes of a run are found. A copy of a run directory has another marker than the original, so
 *  that neither ends processes of the other. */

/** Value of `FACTORY_RUN_MARKER` for processes of the run in `runDir`: the manifest's marker; in a copy of a run directory a
 *  different one. A moved directory is no copy. */
export function processMarker(
  runDir: string,
  { marker, workspace_path }: Pick<Manifest, 'marker' | 'workspace_path'>,
): string {
  if (realOrSame(runDir) === realOrSame(dirname(workspace_path))) return marker;
  const here = folderId(runDir);
  const first = [...locksIn(runDir)]
    .sort((a, b) => a.epoch - b.epoch)
    .find(({ folder }) => folder !== undefined);
  const { folder = here.folder, device = here.device } = first ?? {};
  if (folder === here.folder && device === here.device) return marker;
  // The last sixteen letters identify the run.
  return `${marker.slice(0, -16)}${sha256(`${marker}\0${here.folder}\0${here.device}`).slice(0, 16)}`;
}

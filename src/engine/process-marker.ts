/** By what the processes of a run are known: of two folders that hold one run, a copy and what it was copied from, neither
 *  ends what the other has started. */
import { dirname } from 'node:path';
import type { Manifest } from '../model/manifest.ts';
import { sha256 } from '../model/sha256.ts';
import { locksIn } from '../store/lock.ts';
import { folderId } from '../system/read.ts';
import { realOrSame } from '../workspace/dirs.ts';

/** Value of `FACTORY_RUN_MARKER` in what runs for the run in `runDir`: the manifest's marker, and in a copy of a run one
 *  of the copy's own. A folder that was moved, or put back where it was, is no copy. */
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
  // The last sixteen letters are those that tell one run from another.
  return `${marker.slice(0, -16)}${sha256(`${marker}\0${here.folder}\0${here.device}`).slice(0, 16)}`;
}

/** The marker by which the processes of a run are found. A copy of a run directory has another marker than the original, so
 *  that neither ends processes of the other. */
import { dirname } from 'node:path';
import type { Manifest } from '../model/manifest.ts';
import { sha256 } from '../model/sha256.ts';
import { locksIn } from '../store/lock.ts';
import { folderId } from '../system/read.ts';
import { realOrSame } from '../workspace/dirs.ts';

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

/** Checks the files of a run's start before a fork or replay uses them. */
import { join } from 'node:path';
import type { Refusal } from '../engine/casting.ts';
import type { Manifest } from '../model/manifest.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { keptPath } from '../store/inputs.ts';
import { refused } from './types.ts';

/** Folder of the records that a replay follows, in `manifest.files`. */
const followed = '.replay/';

/** Refuses if a file of the run's start was changed. */
export const changedIn = (runDir: string, manifest: Manifest): Promise<Refusal | undefined> =>
  changedFile(runDir, manifest, (path) => !path.startsWith(followed));

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
    const is = await hashFile(keptPath(runDir, manifest, path));
    if (is !== sha256)
      return refused(
        'replay-damaged',
        `${join(runDir, path)} ${is === undefined ? 'is missing' : 'was changed after the start of the run'}`,
        'restore a copy of that file; nothing of the run was used',
      );
  }
  return undefined;
}

/** Whether a run's directory still is what its own checkpoint and manifest vouch for, as far as others build upon it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Refusal } from '../engine/casting.ts';
import { manifestHash } from '../engine/kept.ts';
import { layout } from '../model/layout.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { loadCheckpoint } from '../store/checkpoint.ts';
import { readManifest } from '../store/run-store.ts';
import { refused } from './types.ts';

/** Folder of what a replay follows, in `manifest.files`. */
const followed = '.replay/';

/** Refuses where the manifest, the lines of its visits or the files that it was begun with were changed. */
export async function changedIn(runDir: string): Promise<Refusal | undefined> {
  const at = layout(runDir);
  const read = await readManifest(runDir);
  if (!read.ok) return refused('manifest', read.why);
  const loaded = await loadCheckpoint(at.checkpoint);
  if (!loaded.ok) return refused('run-files', loaded.why);
  const { vouched, visits } = loaded;
  const is = manifestHash(JSON.parse(await readFile(at.manifest, 'utf8')) as object);
  if (vouched.manifest_sha256 !== undefined && ![vouched.manifest_sha256, vouched.manifest_next].includes(is))
    return damaged(at.manifest, 'is not the manifest that the checkpoint knows');
  if (vouched.visits_sha256 !== undefined && visits.sha256 !== vouched.visits_sha256)
    return damaged(at.visits, 'does not have the lines that the checkpoint counts');
  const files = Object.entries(read.manifest.files ?? {});
  return changedFile(
    runDir,
    files.filter(([path]) => !path.startsWith(followed)),
  );
}

/** The same of what a replay keeps of the run that it follows. */
export async function changedInFollowed(runDir: string): Promise<Refusal | undefined> {
  const read = await readManifest(runDir);
  if (!read.ok) return refused('manifest', read.why);
  const files = Object.entries(read.manifest.files ?? {});
  return changedFile(
    runDir,
    files.filter(([path]) => path.startsWith(followed)),
  );
}

async function changedFile(
  runDir: string,
  files: readonly (readonly [path: string, sha256: string])[],
): Promise<Refusal | undefined> {
  for (const [path, sha256] of files) {
    const is = await hashFile(join(runDir, path));
    if (is !== sha256)
      return damaged(join(runDir, path), is === undefined ? 'is missing' : 'is not as the run began with it');
  }
  return undefined;
}

const damaged = (path: string, what: string): Refusal =>
  refused('replay-damaged', `${path} ${what}`, 'put back a copy of that file; nothing of the run was used');

/** Checks the integrity of a run's records before a resume, fork or replay. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Refusal } from '../engine/casting.ts';
import { keptPath, manifestHash } from '../engine/kept.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { quoteWord } from '../policy/words.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { type Loaded, loadCheckpoint } from '../store/checkpoint.ts';
import { notAsVouched } from '../store/marks.ts';
import { readManifest } from '../store/run-store.ts';
import { refused } from './types.ts';

/** Refuses a run whose checkpoint, `visits.jsonl`, manifest, or the part of other journals that the checkpoint counts was
 *  changed. Lines after that part do not matter: a kill or a power cut may have torn them. Only the run's owner may call it;
 *  each file is read once. */
export async function changedRecords(
  runDir: string,
  runId: string,
  { changed, vouched }: Loaded,
): Promise<Refusal | undefined> {
  const at = layout(runDir);
  const paths = changed === undefined ? [] : [changed];
  // A checkpoint that was changed vouches for nothing.
  if (changed !== at.checkpoint) {
    if (await isAnotherManifest(runDir, vouched)) paths.push(at.manifest);
    paths.push(...(await notAsVouched(runDir, vouched.journals ?? {})));
  }
  if (paths.length === 0) return undefined;
  const run = quoteWord(runDir);
  return refused(
    'records-changed',
    `${paths.join(' and ')} ${paths.length === 1 ? 'was' : 'were'} changed after the engine wrote ${paths.length === 1 ? 'it' : 'them'}, so run ${runId} cannot be resumed; nothing was changed`,
    `restore a copy of the run directory (factory verify ${run} shows more), or fork the run from an execution that you trust: factory fork ${run} --at NODE@VISIT`,
  );
}

/** Folder of the records that a replay follows, in `manifest.files`. */
const followed = '.replay/';

/** Refuses if the manifest, the lines of `visits.jsonl` or the files of the run's start were changed. */
export async function changedIn(runDir: string): Promise<Refusal | undefined> {
  const at = layout(runDir);
  const read = await readManifest(runDir);
  if (!read.ok) return refused('manifest', read.why);
  const loaded = await loadCheckpoint(at.checkpoint);
  if (!loaded.ok) return refused('run-files', loaded.why);
  if (loaded.changed !== undefined) return damaged(loaded.changed, 'was changed after the engine wrote it');
  if (await isAnotherManifest(runDir, loaded.vouched))
    return damaged(at.manifest, 'does not match the hash in the checkpoint');
  return changedFile(runDir, read.manifest, (path) => !path.startsWith(followed));
}

/** The same for the records that a replay follows. */
export const changedInFollowed = (runDir: string, manifest: Manifest): Promise<Refusal | undefined> =>
  changedFile(runDir, manifest, (path) => path.startsWith(followed));

async function isAnotherManifest(runDir: string, vouched: Loaded['vouched']): Promise<boolean> {
  const { manifest_sha256, manifest_next } = vouched;
  if (manifest_sha256 === undefined) return false;
  const is = manifestHash(JSON.parse(await readFile(layout(runDir).manifest, 'utf8')) as object);
  return is !== manifest_sha256 && is !== manifest_next;
}

async function changedFile(
  runDir: string,
  { files = {} }: Manifest,
  counts: (path: string) => boolean,
): Promise<Refusal | undefined> {
  for (const [path, sha256] of Object.entries(files)) {
    if (!counts(path)) continue;
    const is = await hashFile(keptPath(runDir, path));
    if (is !== sha256)
      return damaged(
        join(runDir, path),
        is === undefined ? 'is missing' : 'was changed after the start of the run',
      );
  }
  return undefined;
}

const damaged = (path: string, what: string): Refusal =>
  refused('replay-damaged', `${path} ${what}`, 'restore a copy of that file; nothing of the run was used');

/** The files of a run that never change after its start. */
import { existsSync, renameSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { canonicalHash, type Json } from '../core/json.ts';
import { exchangesLayout, followedLayout, historyLayout, layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { namesIn } from '../platform/files/read.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeFolder, syncFolder, syncFolders, writeFileAtomic, writeJson } from '../platform/files/write.ts';
import { hashArtifact } from './artifacts.ts';

/** SHA-256 by path in the run directory, of every file there that is never written again: inputs, the package barrier, the
 *  settings of the history, the records that a replay follows. */
export async function immutableFiles(runDir: string): Promise<Record<string, string>> {
  const at = layout(runDir);
  const { settings, start, sealed } = historyLayout(at.history);
  const followed = followedLayout(at.followed);
  const info = join(at.history, 'info');
  const paths = [
    at.barrier,
    ...namesIn(at.inputs).map((name) => join(at.inputs, name)),
    join(at.history, 'config'),
    settings,
    start,
    sealed,
    ...namesIn(info).map((name) => join(info, name)),
    followed.visits,
    exchangesLayout(followed.exchanges).calls,
  ];
  const hashes: Record<string, string> = {};
  for (const path of paths) {
    const hash = await hashArtifact(path);
    if (hash !== undefined) hashes[relative(runDir, path)] = hash;
  }
  return hashes;
}

const manifestName = basename(layout('').manifest);

/** SHA-256 of a manifest's JSON, independent of the order of its keys. */
export const manifestHash = (manifest: object): string =>
  canonicalHash(JSON.parse(JSON.stringify(manifest)) as Json);

/** The path of the manifest with that hash: it may wait for a resume to put it in its place. */
export function manifestPath(runDir: string, sha256: string): string {
  const at = layout(runDir);
  const waiting = join(at.change, sha256, manifestName);
  return sha256 !== '' && existsSync(waiting) ? waiting : at.manifest;
}

/** The path of an input's text, by its name in `inputs/`. */
export function inputPath(runDir: string, manifest: Manifest, name: string): string {
  const at = layout(runDir);
  const waiting = existsSync(at.change) ? join(at.change, manifestHash(manifest), name) : undefined;
  return waiting !== undefined && existsSync(waiting) ? waiting : join(at.inputs, name);
}

/** The path of a file of `manifest.files`. */
export const keptPath = (runDir: string, manifest: Manifest, path: string): string =>
  dirname(path) === 'inputs' ? inputPath(runDir, manifest, basename(path)) : join(runDir, path);

/** Writes and flushes a manifest and texts that are to replace those of the run; answers the hash by which the journal makes
 *  them count. */
export async function prepareChange(
  runDir: string,
  manifest: Manifest,
  texts: readonly (readonly [name: string, text: string])[],
): Promise<string> {
  const sha256 = manifestHash(manifest);
  const folder = join(layout(runDir).change, sha256);
  for (const [name, text] of texts) await writeFileAtomic(join(folder, name), text, { sync: true });
  await writeJson(join(folder, manifestName), manifest, { sync: true });
  await syncFolders(folder, runDir);
  return sha256;
}

/** Puts what waits for the manifest with that hash in its place, and removes what waits for another one. Only for the run's
 *  owner. */
export async function settleChange(runDir: string, sha256: string): Promise<void> {
  const at = layout(runDir);
  if (!existsSync(at.change)) return;
  const from = join(at.change, sha256);
  // The manifest goes last: while it waits, an interrupted move is repeated.
  const texts = namesIn(from).filter((name) => name !== manifestName);
  for (const name of texts) {
    makeFolder(at.inputs);
    beforeWrite(at.inputs);
    renameSync(join(from, name), join(at.inputs, name));
  }
  if (texts.length > 0) await syncFolder(at.inputs);
  if (existsSync(join(from, manifestName))) {
    beforeWrite(at.manifest);
    renameSync(join(from, manifestName), at.manifest);
    await syncFolder(runDir);
  }
  beforeWrite(at.change);
  await removeTree(at.change);
}

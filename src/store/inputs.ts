/** The manifest of a run and the texts in `inputs/`, which a resume may replace: the new ones wait in `.change/<hash of their
 *  manifest>` until a line of the journal names that hash. From then on they count, wherever they lie. */
import { existsSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { canonicalHash } from '../model/canonical.ts';
import type { Json } from '../model/json.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { beforeWrite } from '../system/fence.ts';
import { makeFolder, syncFolder, syncFolders, writeFileAtomic, writeJson } from '../system/files.ts';
import { namesIn } from '../system/read.ts';
import { removeTree } from '../system/remove.ts';

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

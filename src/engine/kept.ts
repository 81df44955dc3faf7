/** The files of a run that never change after its start, and the hash of its manifest. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { inHistory } from '../builder/in-history.ts';
import { canonicalHash } from '../model/canonical.ts';
import type { Json } from '../model/json.ts';
import { exchangesLayout, followedLayout, layout } from '../model/layout.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { namesIn } from '../system/read.ts';

/** SHA-256 of a manifest's JSON, independent of the order of its keys. */
export const manifestHash = (manifest: object): string =>
  canonicalHash(JSON.parse(JSON.stringify(manifest)) as Json);

/** The folder of new input texts that belong to the run's current manifest and replace those in `inputs/`: an interrupted
 *  resume may have left it. It may not exist. */
export function newTexts(runDir: string): string {
  const at = layout(runDir);
  return join(at.change, manifestHash(JSON.parse(readFileSync(at.manifest, 'utf8')) as object));
}

/** The path of an input's text, by its name in `inputs/`. */
export function inputPath(runDir: string, name: string): string {
  const at = layout(runDir);
  const waiting = existsSync(at.change) ? join(newTexts(runDir), name) : undefined;
  return waiting !== undefined && existsSync(waiting) ? waiting : join(at.inputs, name);
}

/** The path of a file of `manifest.files`. */
export const keptPath = (runDir: string, path: string): string =>
  dirname(path) === 'inputs' ? inputPath(runDir, basename(path)) : join(runDir, path);

/** SHA-256 by path in the run directory, of every file there that is never written again: inputs, the package barrier, the
 *  settings of the history, the records that a replay follows. */
export async function keptFiles(runDir: string): Promise<Record<string, string>> {
  const at = layout(runDir);
  const { settings, start, sealed } = inHistory(at.history);
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
    const hash = await hashFile(path);
    if (hash !== undefined) hashes[relative(runDir, path)] = hash;
  }
  return hashes;
}

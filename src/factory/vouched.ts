/** A run goes on only from records that are what was written there. */
import { readFile } from 'node:fs/promises';
import type { Refusal } from '../engine/casting.ts';
import { manifestHash } from '../engine/kept.ts';
import { layout } from '../model/layout.ts';
import type { Loaded } from '../store/checkpoint.ts';
import { notAsVouched } from '../store/marks.ts';
import { refused } from './types.ts';

/** Refuses a run of which the checkpoint, the visits, the manifest, or what the checkpoint counts of the other journals
 *  was changed since it was written. What stands behind that does not matter: a kill or a power cut may have torn it. To
 *  be asked by the run's owner; each file is read once. */
export async function changedRecords(
  runDir: string,
  runId: string,
  { changed, vouched }: Loaded,
): Promise<Refusal | undefined> {
  const at = layout(runDir);
  const paths = changed === undefined ? [] : [changed];
  // A checkpoint that was changed vouches for nothing.
  if (changed !== at.checkpoint) {
    const { manifest_sha256, manifest_next } = vouched;
    const is = manifestHash(JSON.parse(await readFile(at.manifest, 'utf8')) as object);
    if (manifest_sha256 !== undefined && is !== manifest_sha256 && is !== manifest_next)
      paths.push(at.manifest);
    paths.push(...(await notAsVouched(runDir, vouched.journals ?? {})));
  }
  if (paths.length === 0) return undefined;
  return refused(
    'records-changed',
    `${paths.join(' and ')} ${paths.length === 1 ? 'is' : 'are'} no longer what the engine wrote there, so run ${runId} does not go on from ${paths.length === 1 ? 'it' : 'them'}; nothing was changed`,
    `put back a copy of the run directory (factory verify ${runId} tells more), or go on in a run of its own from a visit that you trust: factory fork ${runId} --at NODE@VISIT`,
  );
}

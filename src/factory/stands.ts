/** Loads the state of a run from its records. */
import { readFile } from 'node:fs/promises';
import type { Begun } from '../engine/building.ts';
import type { Refusal } from '../engine/casting.ts';
import { manifestHash } from '../engine/kept.ts';
import { layout } from '../model/layout.ts';
import { type Loaded, loadCheckpoint } from '../store/checkpoint.ts';
import { readManifest } from '../store/run-store.ts';
import { refused } from './types.ts';

/** The manifest of a run and its last checkpoint, or why it cannot be resumed from them. */
export async function loadRunState(runDir: string): Promise<Begun | Refusal> {
  const readRun = await readManifest(runDir);
  if (!readRun.ok) return refused('manifest', readRun.why);
  const read = await loadCheckpoint(layout(runDir).checkpoint);
  if (!read.ok) return refused('checkpoint', read.why);
  return { manifest: readRun.manifest, read: await withNext(runDir, read) };
}

/** If a resume changed the run and was interrupted before its first checkpoint, its snapshot of the workspace counts as soon as
 *  the new manifest is in place. */
async function withNext(runDir: string, read: Loaded): Promise<Loaded> {
  const { manifest_next, snapshot_next: snapshot } = read.vouched;
  if (snapshot === undefined) return read;
  const is = manifestHash(JSON.parse(await readFile(layout(runDir).manifest, 'utf8')) as object);
  return is === manifest_next ? { ...read, checkpoint: { ...read.checkpoint, snapshot } } : read;
}

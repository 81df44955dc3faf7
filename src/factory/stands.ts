/** How a run stands, as its own records tell it. */
import type { Refusal } from '../engine/casting.ts';
import type { Begun } from '../engine/prepare.ts';
import { layout } from '../model/layout.ts';
import { loadCheckpoint } from '../store/checkpoint.ts';
import { readManifest } from '../store/run-store.ts';
import { refused } from './types.ts';

/** The manifest of a run and its last checkpoint, or why it cannot go on from them. */
export async function standing(runDir: string): Promise<Begun | Refusal> {
  const readRun = await readManifest(runDir);
  if (!readRun.ok) return refused('manifest', readRun.why);
  const read = await loadCheckpoint(layout(runDir).checkpoint);
  if (!read.ok) return refused('checkpoint', read.why);
  return { manifest: readRun.manifest, read };
}

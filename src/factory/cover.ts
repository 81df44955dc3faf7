/** What a run's checkpoint vouches for, and changes of it that a resume makes. */
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { manifestHash } from '../engine/kept.ts';
import { inWorkspace, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { sha256 } from '../model/sha256.ts';
import { type Loaded, saveCheckpoint } from '../store/checkpoint.ts';
import { writeFileAtomic, writeJson } from '../system/files.ts';
import { flushed } from './ended.ts';
import { keptScript } from './types.ts';

/** What a resume changes about a run before it goes on. */
export type Change = {
  readonly manifest: Manifest;
  /** Texts of file variables, by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly script: string | undefined;
};

/** Writes what the run goes on with. The checkpoint names the new manifest before it stands there: whoever is killed in
 *  between leaves one that is vouched for. */
export async function carryOut(change: Change, runDir: string, loaded: Loaded): Promise<void> {
  const at = layout(runDir);
  const files = { ...change.manifest.files };
  for (const [name, text] of Object.entries(change.files)) {
    const stored = change.manifest.variables[name]?.file?.stored;
    if (stored !== undefined) files[relative(runDir, join(at.inputs, stored))] = sha256(text);
  }
  if (change.script !== undefined)
    files[relative(runDir, join(at.inputs, keptScript))] = sha256(change.script);
  const manifest = { ...change.manifest, ...(change.manifest.files === undefined ? {} : { files }) };
  const { vouched, visits, checkpoint } = loaded;
  const { completed_nodes: completed, ...state } = checkpoint;
  const next = manifestHash(manifest);
  const known = [vouched.manifest_sha256, vouched.manifest_next];
  // The one that stands there may be the next one of a change, or of a pause, that was cut.
  const is = manifestHash(JSON.parse(await readFile(at.manifest, 'utf8')) as object);
  if (vouched.manifest_sha256 !== undefined && !(known.includes(is) && known.includes(next)))
    await saveCheckpoint(at.checkpoint, state, {
      seq: visits.seq,
      completed,
      ...(vouched.visits_sha256 === undefined ? {} : { sha256: vouched.visits_sha256 }),
      cover: {
        manifest_sha256: is,
        manifest_next: next,
        journals: vouched.journals ?? {},
      },
    });
  for (const [name, text] of Object.entries(change.files)) {
    const stored = change.manifest.variables[name]?.file?.stored;
    if (stored === undefined) continue;
    await writeFileAtomic(join(at.inputs, stored), text, flushed);
    await writeFileAtomic(join(at.workspace, inWorkspace.inputs, stored), text);
  }
  if (change.script !== undefined) await writeFileAtomic(join(at.inputs, keptScript), change.script, flushed);
  await writeJson(at.manifest, manifest, { sync: true });
}

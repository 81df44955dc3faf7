/** Changes of a run's manifest and inputs at a resume, covered by its checkpoint. */
import { existsSync, renameSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { manifestHash, newTexts } from '../engine/kept.ts';
import { inWorkspace, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { sha256 } from '../model/sha256.ts';
import { type Loaded, saveCheckpoint } from '../store/checkpoint.ts';
import { beforeWrite } from '../system/fence.ts';
import { makeFolder, syncFolder, syncFolders, writeFileAtomic, writeJson } from '../system/files.ts';
import { namesIn } from '../system/read.ts';
import { removeTree } from '../system/remove.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { keptScript } from './types.ts';

/** What a resume changes about a run. */
export type Change = {
  readonly manifest: Manifest;
  /** Texts of file variables, by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly script: string | undefined;
};

/** Writes the changed manifest and texts, also to the workspace, which is as in `snapshot`. The checkpoint names the new
 *  manifest, and the snapshot with the new texts, before the manifest is replaced: a kill in between leaves a manifest that
 *  the checkpoint covers, and a workspace that fits it. Texts of `inputs/` wait in a folder named by the new manifest, and
 *  replace the old ones together with it. */
export async function carryOut(
  change: Change,
  runDir: string,
  loaded: Loaded,
  from: { readonly snapshots: Snapshots; readonly snapshot: Snapshot },
): Promise<void> {
  const at = layout(runDir);
  const files = { ...change.manifest.files };
  const stored = Object.entries(change.files).flatMap(([name, text]) => {
    const file = change.manifest.variables[name]?.file?.stored;
    return file === undefined ? [] : [[file, text] as const];
  });
  for (const [file, text] of stored) files[relative(runDir, join(at.inputs, file))] = sha256(text);
  if (change.script !== undefined)
    files[relative(runDir, join(at.inputs, keptScript))] = sha256(change.script);
  const manifest = { ...change.manifest, ...(change.manifest.files === undefined ? {} : { files }) };
  const { vouched, visits, checkpoint } = loaded;
  const { completed_nodes: completed, ...state } = checkpoint;
  for (const [file, text] of stored)
    await writeFileAtomic(join(at.workspace, inWorkspace.inputs, file), text);
  const snapshot = stored.length === 0 ? undefined : await from.snapshots.take(from.snapshot);
  const next = manifestHash(manifest);
  const known = [vouched.manifest_sha256, vouched.manifest_next];
  // The manifest on disk may be the next one of a change, or of a suspension, that was interrupted.
  const is = manifestHash(JSON.parse(await readFile(at.manifest, 'utf8')) as object);
  const isKnown = known.includes(is) && known.includes(next) && snapshot === undefined;
  if (vouched.manifest_sha256 !== undefined && !isKnown)
    await saveCheckpoint(at.checkpoint, state, {
      seq: visits.seq,
      completed,
      ...(vouched.visits_sha256 === undefined ? {} : { sha256: vouched.visits_sha256 }),
      cover: {
        manifest_sha256: is,
        manifest_next: next,
        ...(snapshot === undefined ? {} : { snapshot_next: snapshot.id }),
        journals: vouched.journals ?? {},
      },
    });
  await keepTexts(
    runDir,
    next,
    change.script === undefined ? stored : [...stored, [keptScript, change.script]],
  );
  await writeJson(at.manifest, manifest, { sync: true, syncFolder: true });
  await settleTexts(runDir);
}

async function keepTexts(
  runDir: string,
  manifest: string,
  texts: readonly (readonly [name: string, text: string])[],
): Promise<void> {
  const folder = join(layout(runDir).change, manifest);
  for (const [name, text] of texts) await writeFileAtomic(join(folder, name), text, { sync: true });
  if (texts.length > 0) await syncFolders(folder, runDir);
}

/** Moves the texts that belong to the manifest into `inputs/`, and removes those of a change that was interrupted before.
 *  Only for the run's owner. */
export async function settleTexts(runDir: string): Promise<void> {
  const at = layout(runDir);
  if (!existsSync(at.change)) return;
  const from = newTexts(runDir);
  const names = namesIn(from);
  for (const name of names) {
    const path = join(at.inputs, name);
    makeFolder(at.inputs);
    beforeWrite(path);
    renameSync(join(from, name), path);
  }
  if (names.length > 0) await syncFolder(at.inputs);
  beforeWrite(at.change);
  await removeTree(at.change);
}

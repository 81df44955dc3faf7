/** What an earlier owner of a run left: processes, and temporary files. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeNotedSessions } from '../../agents/program/session-files.ts';
import { nextNodes } from '../../core/fork.ts';
import type { Checkpoint } from '../../core/records/checkpoint.ts';
import { epochVariable, layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { beforeWrite, mayWrite } from '../../platform/files/fence.ts';
import { namesIn } from '../../platform/files/read.ts';
import {
  hasTempSiblings,
  removeGitLocks,
  removeTempSiblings,
  removeTree,
} from '../../platform/files/remove.ts';
import { endGroup, sweep } from '../../platform/process/sweep.ts';
import { installManifest } from '../../run/inputs.ts';
import { removeLiveTexts } from '../../run/live-texts.ts';
import { livingOwners } from '../../run/lock.ts';
import type { FormerOwner } from '../../run/lock-file.ts';
import { readStage, unlockNodeDirectory } from '../../run/node-directory.ts';
import type { LoadedRun } from './own-run.ts';
import { processMarker } from './run-state.ts';

/** Ends processes and removes files of an earlier owner. Answers the number of processes. */
export async function clearLeftovers({
  runDir,
  lock,
  host: { log },
  recorded: { history },
  manifest,
}: LoadedRun): Promise<number> {
  const { takenOver } = lock;
  if (takenOver !== undefined) {
    const { pid, host, how, heartbeat } = takenOver;
    log('warn', `took the run over: its previous owner ${ownersEnd[how]}`, { pid, host, heartbeat });
  }
  const ended = await endLeftovers(runDir, manifest, history.checkpoint, livingOwners(runDir));
  await removeLeftovers(runDir);
  await installManifest(runDir, history.manifestSha256);
  if (ended > 0) log('warn', 'ended processes that an earlier engine left running', { processes: ended });
  await removeScratch(runDir);
  return ended;
}

/** Removes the private folders of nodes, and what is noted in them: sessions of agents in the user's home. */
export async function removeScratch(runDir: string): Promise<void> {
  const { scratch } = layout(runDir);
  beforeWrite(scratch);
  for (const node of namesIn(scratch)) await removeNotedSessions(join(scratch, node));
  await removeTree(scratch);
}

const ownersEnd: Readonly<Record<FormerOwner['how'], string>> = {
  gone: 'has ended',
  silent: 'missed its heartbeat',
  stopped: 'is stopped, and changes nothing when it continues',
};

/** Ends processes that another engine left running: those with the run's marker, and those in the `stage.json` of the nodes that come
 *  next.
 *  `spare` names processes to leave alone: engines that are stopped (SIGSTOP), not killed. Returns how many it ended. */
export async function endLeftovers(
  runDir: string,
  manifest: Manifest,
  checkpoint: Checkpoint,
  spare: readonly number[],
): Promise<number> {
  const marker = processMarker(runDir, manifest);
  // Another process may have taken the run over since `stage.json` was read.
  const mayEnd = () => mayWrite(runDir);
  beforeWrite(runDir);
  let groups = 0;
  for (const { node } of nextNodes(checkpoint)) {
    const dir = layout(runDir).node(node);
    if (existsSync(dir)) unlockNodeDirectory(dir);
    const stage = await readStage(dir);
    // In a copy of a run directory `stage.json` names a process of the original.
    const noted = marker === manifest.marker ? stage?.process : undefined;
    if (noted != null && mayEnd() && (await endGroup(noted))) groups += 1;
  }
  return (
    groups +
    (await sweep(`FACTORY_RUN_MARKER=${marker}`, spare, mayEnd)) +
    (await sweep(`${epochVariable(marker)}=`, spare, mayEnd))
  );
}

/** Removes temporary files that a killed engine left in the run directory, except in the workspace, which is
 *  restored as a whole. */
export async function removeLeftovers(runDir: string): Promise<void> {
  for (const folder of await ownFolders(runDir)) await removeTempSiblings(folder);
  await removeGitLocks(layout(runDir).history);
  removeLiveTexts(runDir);
}

export async function hasLeftovers(runDir: string): Promise<boolean> {
  for (const folder of await ownFolders(runDir)) if (await hasTempSiblings(folder)) return true;
  return false;
}

/** The folders of a run in which the engine replaces files. In the workspace, the hidden files and the scratch folder, files
 *  belong to the nodes, whatever their names, and folders may be unreadable. */
async function ownFolders(runDir: string): Promise<readonly string[]> {
  const at = layout(runDir);
  const folders = (await readdir(runDir, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(runDir, entry.name))
    .filter((path) => path !== at.workspace && path !== at.hidden && path !== at.scratch);
  return [runDir, ...folders];
}

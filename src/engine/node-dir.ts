/** A node's folder of artifacts: the latest visit at the top, earlier ones under `visits/<n>/`. */
import { lstatSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { nodeLayout } from '../model/layout.ts';
import { beforeWrite } from '../system/fence.ts';
import { isCode, overwriteJson, removeNow } from '../system/files.ts';
import { readSome } from '../system/read.ts';
import { settleTree } from '../system/settle.ts';
import { below } from '../workspace/names.ts';
import { readNames } from '../workspace/walk.ts';
import { keepJson } from './artifacts.ts';
import { reopen } from './reopen.ts';

/** `stage.json`: which visit the folder belongs to, and the process that is or was at work in it. */
const Stage = z.object({
  schema_version: z.literal(1),
  visit: z.number(),
  attempt: z.number(),
  marker: z.string(),
  process: z.object({ pid: z.number(), startTime: z.string(), boot: z.string().exactOptional() }).nullable(),
});
export type Stage = z.infer<typeof Stage>;

export async function readStage(dir: string): Promise<Stage | undefined> {
  const text = await readSome(nodeLayout(dir).stage, 65_536);
  if (text === undefined) return undefined;
  try {
    return Stage.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Not flushed: what a killed engine left running is ended by what stands here, and a power cut leaves nothing running. */
export async function writeStage(dir: string, stage: Omit<Stage, 'schema_version'>): Promise<void> {
  await keepJson(nodeLayout(dir).stage, { schema_version: 1, ...stage });
}

/** Notes in the stage's file which process is at work. */
export async function noteProcess(dir: string, stage: Omit<Stage, 'schema_version'>): Promise<void> {
  if (overwriteJson(nodeLayout(dir).stage, { schema_version: 1, ...stage })) return;
  // The process itself may have locked the folder by now.
  reopen(dir);
  await writeStage(dir, stage);
}

/** Makes the folder ready for its `visit`-th visit: a finished earlier visit is moved to `visits/<n>/`, what a killed
 *  engine left of this very visit is thrown away. May be cut anywhere and done again. */
export async function openVisit(dir: string, visit: number, marker: string): Promise<void> {
  beforeWrite(dir);
  if (!made(dir)) await clear(dir, visit);
  await writeStage(dir, { visit, attempt: 1, marker, process: null });
}

/** False when there was something of that name. */
function made(dir: string): boolean {
  try {
    mkdirSync(dir);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Settles when what the visit has left is on the disk, with the names that the one before it has by now: the record of
 *  a visit tells of these files, also after a power cut. The names that the folder has lost are its own last: where a disk
 *  keeps no order, they must not be gone from both. */
export function settleVisit(dir: string, visit: number): Promise<void> {
  const { visits } = nodeLayout(dir);
  const before = join(visits, String(visit - 1));
  // The folder itself got its name at the first visit.
  if (visit === 1) return settleTree([dir, dirname(dir)], [visits, dirname(dir)]);
  return settleTree([dir, before], [visits, before], dir);
}

/** In calls that nothing comes between: who is stopped in one that is made by a thread of its own has asked whose the run is
 *  long before it is made. */
async function clear(dir: string, visit: number): Promise<void> {
  reopen(dir);
  const entries = readNames(dir).filter((name) => name !== 'visits');
  const stage = await readStage(dir);
  if (entries.length > 0 && stage !== undefined && stage.visit < visit) {
    const archive = join(nodeLayout(dir).visits, String(stage.visit));
    // A later visit may have put a link where its own place would be.
    if (lstatSync(archive, { throwIfNoEntry: false })?.isDirectory() === false) removeNow(archive);
    beforeWrite(dir);
    mkdirSync(archive, { recursive: true });
    // The stage file goes last: as long as it stands here, a cut move is taken up again.
    for (const name of entries.filter((entry) => entry !== 'stage.json')) {
      beforeWrite(dir);
      renameSync(below(dir, name), below(archive, name));
    }
    beforeWrite(dir);
    renameSync(join(dir, 'stage.json'), join(archive, 'stage.json'));
  } else {
    for (const name of entries) removeNow(below(dir, name));
  }
}

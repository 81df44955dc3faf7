/** A node's folder of artifacts: the latest visit at the top, earlier ones under `visits/<n>/`. */
import { lstatSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { nodeLayout } from '../model/layout.ts';
import { beforeRemaking, beforeWrite } from '../system/fence.ts';
import { isCode, overwriteJson, removeNow } from '../system/files.ts';
import { readSome } from '../system/read.ts';
import { settleTree } from '../system/settle.ts';
import { below, toBytes } from '../workspace/names.ts';
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
 *  engine left of this very visit is thrown away. May be cut anywhere and done again. Answers with how the folder of earlier
 *  visits stands. */
export async function openVisit(dir: string, visit: number, marker: string): Promise<string> {
  beforeWrite(dir);
  if (!made(dir)) await clear(dir, visit);
  await writeStage(dir, { visit, attempt: 1, marker, process: null });
  return standOf(nodeLayout(dir).visits);
}

/** Is another one as soon as a name has come or gone there. */
function standOf(folder: string): string {
  const is = lstatSync(folder, { throwIfNoEntry: false, bigint: true });
  return is === undefined ? '' : `${is.ino} ${is.ctimeNs} ${is.nlink} ${is.size}`;
}

/** Puts right what a stage has done to the engine's own names in its folder: a finished visit is known by its stage file,
 *  and nothing stands yet where it and those after it will be moved: at their first visit programs see no folder of earlier
 *  ones, and may make it. `stood` is what `openVisit` has answered. To be called when all of the stage's processes have
 *  ended. */
export async function closeVisit(dir: string, visit: number, marker: string, stood: string): Promise<void> {
  const { visits } = nodeLayout(dir);
  // Whatever stands behind a link is nobody's here.
  if (visit === 1 || !isFolder(visits)) removeNow(visits);
  // There may be thousands, and nobody has been there.
  else if (standOf(visits) === stood) removeNow(join(visits, String(visit)));
  else for (const name of readNames(visits)) if (!isEarlier(name, visit)) removeNow(below(visits, name));
  const is = await readStage(dir);
  if (is?.visit !== visit || is.marker !== marker)
    await writeStage(dir, { visit, attempt: 1, marker, process: null });
}

const isFolder = (path: string | Buffer): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const isEarlier = (name: string, visit: number): boolean => /^[1-9]\d*$/.test(name) && Number(name) < visit;

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
 *  a visit tells of these files, also after a power cut. Those names are first: where a disk keeps no order, they must not be
 *  gone from both places, and the flush of a new file may take its folder along, without the names that it has lost. */
export async function settleVisit(dir: string, visit: number): Promise<void> {
  const { visits } = nodeLayout(dir);
  // The folder itself got its name at the first visit.
  if (visit === 1) return settleTree([dir, dirname(dir)], [visits, dirname(dir)]);
  const before = join(visits, String(visit - 1));
  await settleTree(before, [before]);
  await settleTree(visits, [visits]);
  await settleTree(dir, [visits]);
}

/** In calls that nothing comes between: who is stopped in one that is made by a thread of its own has asked whose the run is
 *  long before it is made. */
async function clear(dir: string, visit: number): Promise<void> {
  reopen(dir);
  const entries = readNames(dir).filter((name) => name !== 'visits');
  const stage = await readStage(dir);
  const archive = join(nodeLayout(dir).visits, String(visit - 1));
  if (entries.length > 0 && stage?.visit === visit - 1) {
    const whole = isWhole(archive);
    beforeWrite(dir);
    beforeRemaking(dir);
    mkdirSync(nodeLayout(dir).visits, { recursive: true });
    // A later visit may have put a link where its own place would be.
    reopen(archive);
    // A power cut, and who mends the disk after it, may leave a name at both places: as two names of one file, which a
    // rename leaves alone, or as something else that it cannot replace. What has its place in one that has its last file
    // is not here again: a stage that was cut may have written another number into its own.
    const there = new Set(readNames(archive));
    const move = (name: string) => {
      if (whole && isPlain(join(archive, name))) return removeNow(below(dir, name));
      if (there.has(name)) removeNow(below(archive, name));
      beforeWrite(archive);
      renameSync(below(dir, name), below(archive, name));
    };
    // The stage file goes last: as long as it stands here, a cut move is taken up again.
    for (const name of entries) if (name !== 'stage.json') move(name);
    move('stage.json');
  } else {
    for (const name of entries) removeNow(below(dir, name));
  }
}

/** Whether a visit has been moved there to its last file. */
const isWhole = (archive: string): boolean => isFolder(archive) && isPlain(join(archive, 'stage.json'));

function isPlain(path: string): boolean {
  try {
    return lstatSync(toBytes(path), { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // What cannot be looked at is put right first.
    return false;
  }
}

/** A node's directory of artifacts: the latest execution at the top, earlier ones under `visits/<n>/`. */
import { chmodSync, lstatSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { once } from '../core/once.ts';
import { nodeLayout } from '../core/records/layout.ts';
import { beforeRemaking, beforeWrite } from '../platform/files/fence.ts';
import { below, toBytes } from '../platform/files/names.ts';
import { readNames, readSome } from '../platform/files/read.ts';
import { dropSetId, hasSetId, withoutSetId } from '../platform/files/set-id.ts';
import { isCode, isMissing, overwriteJson, removeNow } from '../platform/files/write.ts';
import { keepJson } from './artifacts.ts';

/** `stage.json`: the execution that the directory belongs to, and its latest process. */
const stageSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    visit: z.number(),
    attempt: z.number(),
    marker: z.string(),
    process: z
      .object({ pid: z.number(), startTime: z.string(), boot: z.string().exactOptional() })
      .nullable(),
  }),
);
export type Stage = z.infer<ReturnType<typeof stageSchema>>;

const mostOfStage = 65_536;

export async function readStage(dir: string): Promise<Stage | undefined> {
  const text = await readSome(nodeLayout(dir).stage, mostOfStage);
  if (text === undefined) return undefined;
  try {
    return stageSchema().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Not flushed: resume uses it to end the processes of a killed engine, and a power cut leaves none running. */
export async function writeStage(dir: string, stage: Omit<Stage, 'schema_version'>): Promise<void> {
  await keepJson(nodeLayout(dir).stage, written(dir, stage));
}

/** What was written last. */
let latest: { readonly dir: string; readonly text: string } | undefined;

function written(dir: string, stage: Omit<Stage, 'schema_version'>): Stage {
  const content = { schema_version: 1, ...stage } as const;
  latest = { dir, text: JSON.stringify(content, null, 2) };
  return content;
}

/** Records the running process in `stage.json`. */
export async function noteProcess(dir: string, stage: Omit<Stage, 'schema_version'>): Promise<void> {
  if (overwriteJson(nodeLayout(dir).stage, written(dir, stage))) return;
  // The process itself may have locked the directory already.
  unlockNodeDirectory(dir);
  await writeStage(dir, stage);
}

/** Prepares the directory for execution `visit`: a finished earlier one is moved to `visits/<n>/`, remains of this execution
 *  that a killed engine left are removed. May be interrupted anywhere and repeated. Returns a fingerprint of the folder of
 *  earlier executions, for `closeVisit`. */
export async function openVisit(dir: string, visit: number, marker: string): Promise<string> {
  beforeWrite(dir);
  if (!made(dir)) await clear(dir, visit);
  await writeStage(dir, { visit, attempt: 1, marker, process: null });
  return fingerprintOf(nodeLayout(dir).visits);
}

/** Changes whenever a name is added or removed in the folder. */
function fingerprintOf(folder: string): string {
  const is = lstatSync(folder, { throwIfNoEntry: false, bigint: true });
  return is === undefined ? '' : `${is.ino} ${is.ctimeNs} ${is.nlink} ${is.size}`;
}

/** Repairs what the node's programs did to the engine's files in its directory: restores `stage.json`, by which a finished
 *  execution is recognised, and removes files that programs created where this and later executions will be moved. `before` is
 *  the result of `openVisit`. Call it after all processes of the node have ended. */
export async function closeVisit(dir: string, visit: number, marker: string, before: string): Promise<void> {
  const { visits } = nodeLayout(dir);
  if (visit === 1 || !isFolder(visits)) removeNow(visits);
  // An unchanged folder is not listed: it may have thousands of entries.
  else if (fingerprintOf(visits) === before) removeNow(join(visits, String(visit)));
  else for (const name of readNames(visits)) if (!isEarlier(name, visit)) removeNow(below(visits, name));
  // Most programs leave it alone, and then it need not be understood.
  if (latest?.dir === dir && (await readSome(nodeLayout(dir).stage, mostOfStage))?.trimEnd() === latest.text)
    return;
  const is = await readStage(dir);
  if (is?.visit !== visit || is.marker !== marker)
    await writeStage(dir, { visit, attempt: 1, marker, process: null });
}

const isFolder = (path: string | Buffer): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const isEarlier = (name: string, visit: number): boolean => /^[1-9]\d*$/.test(name) && Number(name) < visit;

/** False if the name exists already. */
function made(dir: string): boolean {
  try {
    mkdirSync(dir);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Moves away or removes everything of earlier executions. Uses synchronous calls: between the check of the run's owner and an
 *  asynchronous write, the process could be stopped and another one take over the run. */
async function clear(dir: string, visit: number): Promise<void> {
  unlockNodeDirectory(dir);
  const entries = readNames(dir).filter((name) => name !== 'visits');
  const stage = await readStage(dir);
  const archive = join(nodeLayout(dir).visits, String(visit - 1));
  if (entries.length > 0 && stage?.visit === visit - 1) {
    const whole = isWhole(archive);
    beforeWrite(dir);
    beforeRemaking(dir);
    mkdirSync(nodeLayout(dir).visits, { recursive: true });
    // The node may have put a link at the archive's path.
    unlockNodeDirectory(archive);
    // After a power cut a name may exist at both places: as hard links, which a rename leaves alone, or as something that it
    // cannot replace. If the archive is complete, its file counts: an interrupted execution may have written the file here.
    const there = new Set(readNames(archive));
    const move = (name: string) => {
      if (whole && isPlain(join(archive, name))) return removeNow(below(dir, name));
      if (there.has(name)) removeNow(below(archive, name));
      beforeWrite(archive);
      renameSync(below(dir, name), below(archive, name));
    };
    // `stage.json` goes last: while it is here, an interrupted move is repeated.
    for (const name of entries) if (name !== 'stage.json') move(name);
    move('stage.json');
  } else {
    for (const name of entries) removeNow(below(dir, name));
  }
}

/** Whether an execution was moved there completely. */
const isWhole = (archive: string): boolean => isFolder(archive) && isPlain(join(archive, 'stage.json'));

function isPlain(path: string): boolean {
  try {
    return lstatSync(toBytes(path), { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}

/* Makes a node's directory readable again, whatever its programs did to it. */

/** Makes everything in a node's directory readable for its owner. Anything but files and folders is removed: through a link
 *  the engine would read files that the sandbox hides from the node, and a pipe would block it. A missing directory, or a file
 *  in its place, is replaced by an empty one. The folder of earlier executions is not entered; a file in its place is removed.
 *  Synchronous, because it is called after every attempt for a few files. No process may be running in the directory. The
 *  entry at `checked` is not removed: its reader checks its kind. Returns the paths directly in the directory that are not
 *  regular files. */
export function unlockNodeDirectory(nodeDir: string, checked?: string): readonly string[] {
  const is = opened(nodeDir);
  if (is === 'folder') return openWithin(nodeDir, nodeLayout(nodeDir).visits, checked);
  if (is !== undefined) removeNow(nodeDir);
  try {
    mkdirSync(nodeDir);
  } catch (error) {
    // A missing run directory is reported where it is used.
    if (!isMissing(error)) throw error;
  }
  return [];
}

function openWithin(folder: string, visits?: string, checked?: string): readonly string[] {
  const odd: string[] = [];
  for (const name of readNames(toBytes(folder))) {
    const path = `${folder}/${name}`;
    const is = opened(path);
    if (is === 'folder' || is === 'other') odd.push(path);
    if ((is === 'other' && path !== checked) || (is === 'file' && path === visits)) removeNow(toBytes(path));
    else if (is === 'folder' && path !== visits) openWithin(path);
  }
  return odd;
}

function opened(name: string): 'folder' | 'file' | 'other' | undefined {
  const path = toBytes(name);
  const is = lstatSync(path, { throwIfNoEntry: false });
  if (is === undefined) return undefined;
  const least = is.isDirectory() ? 0o700 : is.isFile() ? 0o400 : 0;
  try {
    if (is.isFile() && hasSetId(is)) dropSetId(path, is);
    if ((is.mode & least) !== least)
      chmodSync(path, (is.isFile() ? withoutSetId(is.mode) : is.mode & 0o7777) | least | 0o200);
  } catch (error) {
    // A missing entry, or one of another user, is reported where it is used.
    if (!isCode(error, 'ENOENT', 'EPERM')) throw error;
  }
  return is.isDirectory() ? 'folder' : is.isFile() ? 'file' : 'other';
}

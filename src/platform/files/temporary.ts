/** Temporary folders, each with its process in its name, so that the next process removes what a killed one has left. */
import { createHash } from 'node:crypto';
import { lstatSync, statSync } from 'node:fs';
import { mkdtemp, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { realClock } from '../clock.ts';
import { isAlive, processId, thisProcess } from '../process/table.ts';
import { removeTree } from './remove.ts';
import { isMissing } from './write.ts';

/** The folder for temporary files in the environment of a command, as an absolute path. A TMPDIR that is no folder is ignored:
 *  shells pass it on long after it has been removed. */
export function temporaryOf(env: Readonly<Record<string, string | undefined>>): string {
  const named = resolve(env['TMPDIR'] || '/tmp');
  try {
    return statSync(named).isDirectory() ? named : '/tmp';
  } catch (error) {
    if (isMissing(error)) return '/tmp';
    // One that may not be looked at is an error where it is used.
    return named;
  }
}

/** Makes a temporary folder in `folder`, and removes those of the same `kind` whose processes have ended. */
export async function makeTemporary(folder: string, kind: string): Promise<string> {
  await clearTemporaries(folder, kind);
  return mkdtemp(join(folder, `${kind}-${creatorTag()}-`));
}

/** Removes those whose processes have ended. One that cannot be removed belongs to another user. */
export async function clearTemporaries(folder: string, kind: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(`${kind}-`)) continue;
    const [, maker = ''] = /^([0-9a-f]{8}\.\d+\.[0-9a-f]{8})-\w+$/.exec(name.slice(kind.length + 1)) ?? [];
    const path = join(folder, name);
    if ((await isAbandoned(maker, path)) !== true) continue;
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (is?.isDirectory() === true && is.uid === process.getuid?.()) await removeTree(path).catch(() => {});
  }
}

/** A word in the name of a half-made folder that names its process, so that others can check whether that still runs. */
const short = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);
const here = (): string => {
  const { host, pidSpace } = thisProcess();
  return short(`${host} ${pidSpace}`);
};

/** Names this process, its host and its pid namespace. */
export function creatorTag(): string {
  const { id } = thisProcess();
  return `${here()}.${id.pid}.${short(id.startTime)}`;
}

const form = /^([0-9a-f]{8})\.(\d+)\.([0-9a-f]{8})$/;

/** Whether the process that made `path` has ended; undefined for a word that names none. One of another host or boot cannot be
 *  seen from here: it counts as ended when nothing was put into the folder for a day. `now` in milliseconds. */
export async function isAbandoned(
  word: string,
  path: string,
  now = realClock.now().getTime(),
): Promise<boolean | undefined> {
  const [, where, pid, startTime] = form.exec(word) ?? [];
  if (where === undefined || pid === undefined || startTime === undefined) return undefined;
  return where === here() ? !isAtWork(Number(pid), startTime) : now - (await lastTouched(path)) > aDay;
}

function isAtWork(pid: number, startTime: string): boolean {
  const maker = processId(pid);
  return maker !== undefined && short(maker.startTime) === startTime && isAlive(maker);
}

const aDay = 24 * 60 * 60 * 1000;

const lastTouched = (path: string): Promise<number> =>
  stat(path).then(
    (is) => is.mtimeMs,
    () => Number.POSITIVE_INFINITY,
  );

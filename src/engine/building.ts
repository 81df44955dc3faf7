/** The folder in which a run is made before it gets its name, and what becomes of it when its maker was killed. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../model/sha256.ts';
import { dropKey } from '../store/sealed.ts';
import { isCode } from '../system/files.ts';
import { isAlive, processId, thisProcess } from '../system/proc.ts';

const short = (text: string): string => sha256(text).slice(0, 8);

/** Hidden, so that no listing takes it for a run; it tells who makes it, and where that process can be looked for. */
export function buildingName(runId: string, unique: string): string {
  const { host, pidSpace, id } = thisProcess();
  return `.${runId}.${unique}.${short(`${host} ${pidSpace}`)}.${id.pid}.${short(id.startTime)}.new`;
}

const named = /^\..+\.([0-9a-f]{8})\.(\d+)\.([0-9a-f]{8})\.new$/;

/** Removes from `runsDir` what makers that have ended left unfinished, each with its key. A folder of another machine's, or of before a
 *  restart, goes when nothing was put into it for a day: whether its maker lives cannot be seen from here. `now` in
 *  milliseconds. */
export async function removeAbandoned(
  runsDir: string,
  now: number,
  env: Parameters<typeof dropKey>[1],
): Promise<void> {
  const { host, pidSpace } = thisProcess();
  const here = short(`${host} ${pidSpace}`);
  for (const name of await readdir(runsDir)) {
    const [, where, pid, startTime] = named.exec(name) ?? [];
    if (where === undefined || pid === undefined || startTime === undefined) continue;
    const path = join(runsDir, name);
    const gone = where === here ? !isAtWork(Number(pid), startTime) : now - (await lastTouched(path)) > aDay;
    // Another user's stays: it must not keep this run from being made.
    if (!gone) continue;
    // The key first: without the folder nobody would know it for one that opens nothing.
    await dropKey(path, env);
    await rm(path, { recursive: true, force: true }).catch(onlyDenied);
  }
}

function isAtWork(pid: number, startTime: string): boolean {
  const maker = processId(pid);
  return maker !== undefined && short(maker.startTime) === startTime && isAlive(maker);
}

const onlyDenied = (error: unknown): void => {
  if (!isCode(error, 'EACCES', 'EPERM', 'ENOTEMPTY')) throw error;
};

const aDay = 24 * 60 * 60 * 1000;

const lastTouched = (path: string): Promise<number> =>
  stat(path).then(
    (is) => is.mtimeMs,
    () => Number.POSITIVE_INFINITY,
  );

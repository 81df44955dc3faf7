/** A word in the name of a half-made folder that names its process, so that others can check whether that still runs. */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { realClock } from './clock.ts';
import { isAlive, processId, thisProcess } from './proc.ts';

const short = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);
const here = (): string => {
  const { host, pidSpace } = thisProcess();
  return short(`${host} ${pidSpace}`);
};

/** Names this process, its host and its pid namespace. */
export function makerWord(): string {
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

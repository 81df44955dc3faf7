/** The rooms that scenarios are run in: below the system's temporary folder, each with its owner in its name, so that what
 *  a killed one has left there, scenarios in plain sight, is found by the next. */
import { lstatSync } from 'node:fs';
import { mkdtemp, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../model/sha256.ts';
import { removeTree } from '../system/files.ts';
import type { Environment } from '../system/git.ts';
import { isAlive, processId, thisProcess } from '../system/proc.ts';

const folderOf = (env: Environment): string => env['TMPDIR'] || '/tmp';

/** Short, since what a product puts there (sockets) may not have long names. */
const short = (text: string): string => sha256(text).slice(0, 6);

/** Where our pids mean something, whatever start of the system it is. */
const space = (): string => {
  const { host, pidSpace } = thisProcess();
  return short(`${host} ${pidSpace.split(' ')[1] ?? ''}`);
};

/** Undefined where no such process is alive. */
function signOf(pid: number): string | undefined {
  const id = processId(pid);
  return id === undefined || !isAlive(id) ? undefined : short(`${id.boot} ${id.startTime}`);
}

export const makeRoom = async (env: Environment): Promise<string> => {
  const { pid } = process;
  return realpath(await mkdtemp(join(folderOf(env), `scenario-${space()}-${pid}-${signOf(pid)}-`)));
};

/** Removes the rooms whose owners have been killed. One that cannot be removed is somebody else's. */
export async function clearRooms(env: Environment): Promise<void> {
  const here = space();
  for (const name of await readdir(folderOf(env)).catch(() => [])) {
    const [, at, pid, sign] = /^scenario-([0-9a-f]{6})-(\d+)-([0-9a-f]{6})-\w+$/.exec(name) ?? [];
    if (at !== here || signOf(Number(pid)) === sign) continue;
    const path = join(folderOf(env), name);
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (is?.isDirectory() === true && is.uid === process.getuid?.()) await removeTree(path).catch(() => {});
  }
}

/** Temporary folders that scenarios run in. They are below the system's temporary folder, so that the next run removes those of
 *  a killed one, which contain readable scenarios. */
import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Environment } from '../system/git.ts';
import { makeTemporary, temporaryOf } from '../system/temporary.ts';

const kind = 'scenario';

export const makeRoom = async (env: Environment): Promise<string> =>
  realpath(await makeTemporary(temporaryOf(env), kind));

/** Whether `path` is the temporary folder of this or another run of scenarios. */
export const isRoomBeside = (room: string, path: string): boolean =>
  dirname(path) === dirname(room) && basename(path).startsWith(`${kind}-`);

/** The temporary folders of this and other runs of scenarios. */
export async function roomsBeside(room: string): Promise<readonly string[]> {
  const names = await readdir(dirname(room));
  return names.map((name) => join(dirname(room), name)).filter((path) => isRoomBeside(room, path));
}

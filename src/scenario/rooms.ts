/** Temporary folders that scenarios run in. They are below the system's temporary folder, so that the next run removes those of
 *  a killed one, which contain readable scenarios. */
import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Environment } from '../system/git.ts';
import { clearTemporaries, makeTemporary, temporaryOf } from '../system/temporary.ts';

const kind = 'scenario';

export const makeRoom = async (env: Environment): Promise<string> =>
  realpath(await makeTemporary(temporaryOf(env), kind));

export const clearRooms = (env: Environment): Promise<void> => clearTemporaries(temporaryOf(env), kind);

/** Whether `path` is the temporary folder of this or another scenario. */
export const isRoomBeside = (room: string, path: string): boolean =>
  dirname(path) === dirname(room) && basename(path).startsWith(`${kind}-`);

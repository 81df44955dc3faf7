/** The rooms that scenarios are run in: below the system's temporary folder, so that those of a killed one, with scenarios
 *  in plain sight, are cleared by the next. */
import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Environment } from '../system/git.ts';
import { clearTemporaries, makeTemporary, temporaryOf } from '../system/temporary.ts';

const kind = 'scenario';

export const makeRoom = async (env: Environment): Promise<string> =>
  realpath(await makeTemporary(temporaryOf(env), kind));

export const clearRooms = (env: Environment): Promise<void> => clearTemporaries(temporaryOf(env), kind);

/** Whether `path` is `room`, or lies beside it and is called as rooms are. */
export const isRoomBeside = (room: string, path: string): boolean =>
  dirname(path) === dirname(room) && basename(path).startsWith(`${kind}-`);

/** The rooms that scenarios are run in: below the system's temporary folder, so that those of a killed one, with scenarios
 *  in plain sight, are cleared by the next. */
import { realpath } from 'node:fs/promises';
import type { Environment } from '../system/git.ts';
import { clearTemporaries, makeTemporary, temporaryOf } from '../system/temporary.ts';

const kind = 'scenario';

export const makeRoom = async (env: Environment): Promise<string> =>
  realpath(await makeTemporary(temporaryOf(env), kind));

export const clearRooms = (env: Environment): Promise<void> => clearTemporaries(temporaryOf(env), kind);

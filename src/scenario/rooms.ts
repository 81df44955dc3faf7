/** The rooms that scenarios are run in: below the system's temporary folder, each with its owner in its name, so that what
 *  a killed one has left there, scenarios in plain sight, is found by the next. */
import { lstatSync } from 'node:fs';
import { mkdtemp, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../system/files.ts';
import type { Environment } from '../system/git.ts';
import { isAbandoned, makerWord } from '../system/maker.ts';

const folderOf = (env: Environment): string => env['TMPDIR'] || '/tmp';

export const makeRoom = async (env: Environment): Promise<string> =>
  realpath(await mkdtemp(join(folderOf(env), `scenario-${makerWord()}-`)));

/** Removes the rooms whose owners have been killed. One that cannot be removed is somebody else's. */
export async function clearRooms(env: Environment): Promise<void> {
  for (const name of await readdir(folderOf(env)).catch(() => [])) {
    const [, maker = ''] = /^scenario-([0-9a-f]{8}\.\d+\.[0-9a-f]{8})-\w+$/.exec(name) ?? [];
    const path = join(folderOf(env), name);
    if ((await isAbandoned(maker, path)) !== true) continue;
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (is?.isDirectory() === true && is.uid === process.getuid?.()) await removeTree(path).catch(() => {});
  }
}

/** Temporary folders, each with its process in its name, so that the next process removes what a killed one has left. */
import { lstatSync, statSync } from 'node:fs';
import { mkdtemp, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isMissing } from './files.ts';
import { isAbandoned, makerWord } from './maker.ts';
import { removeTree } from './remove.ts';

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
  return mkdtemp(join(folder, `${kind}-${makerWord()}-`));
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

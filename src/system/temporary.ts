/** Folders below the system's temporary one, each with its maker in its name, so that what a killed one has left there is
 *  found by the next. */
import { lstatSync, statSync } from 'node:fs';
import { mkdtemp, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isMissing } from './files.ts';
import { isAbandoned, makerWord } from './maker.ts';
import { removeTree } from './remove.ts';

/** Where temporary things go, by the environment that a command was given; an absolute path, as those who are told of it may
 *  be elsewhere. A TMPDIR that is no folder names no place: shells hand it down for long after it has been removed. */
export function temporaryOf(env: Readonly<Record<string, string | undefined>>): string {
  const named = resolve(env['TMPDIR'] || '/tmp');
  try {
    return statSync(named).isDirectory() ? named : '/tmp';
  } catch (error) {
    if (isMissing(error)) return '/tmp';
    // Where it may not be looked at, whoever uses it is told so.
    return named;
  }
}

/** Makes one in `folder`, and removes those of the same `kind` whose makers have been killed. */
export async function makeTemporary(folder: string, kind: string): Promise<string> {
  await clearTemporaries(folder, kind);
  return mkdtemp(join(folder, `${kind}-${makerWord()}-`));
}

/** Removes those whose makers have been killed. One that cannot be removed is somebody else's. */
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

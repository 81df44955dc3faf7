/** The files of a copy of the product that a scenario is shown: all, some of them emptied or changed, or none. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, lstat, mkdir, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** `whole`: as they are. A list: slash paths of files that are emptied. `none`: an empty folder. Or files with other texts. */
export type ShownFiles = 'whole' | 'none' | readonly string[] | ChangedTexts;

export type ChangedTexts = {
  /** By slash paths. */
  readonly texts: ReadonlyMap<string, string>;
  /** Milliseconds of the newest other file: what is made of these must look outdated. */
  readonly newerThan: number;
};

/** Makes the folder `app`; `copy` copies the product to it. */
export async function placeProduct(
  copy: () => Promise<unknown>,
  app: string,
  shown: ShownFiles = 'whole',
): Promise<void> {
  if (shown === 'none') {
    await mkdir(app);
    return;
  }
  await copy();
  if (shown === 'whole') return;
  if ('texts' in shown)
    for (const [path, text] of shown.texts) {
      const file = join(app, path);
      await rewrite(file, text);
      const seconds = shown.newerThan / 1000 + 1;
      if ((await lstat(file)).mtimeMs <= shown.newerThan) await utimes(file, seconds, seconds);
    }
  else for (const path of shown) await rewrite(join(app, path), '');
}

async function rewrite(file: string, text: string): Promise<void> {
  const is = await lstat(file).catch(() => undefined);
  if (is?.isFile() !== true) return;
  // It may be read-only.
  await chmod(file, 0o600);
  await writeFile(file, text);
  await chmod(file, is.mode & 0o777);
}

/** Files of a product, without git's, the engine's and those below `except`; slash paths, sorted. */
export function filesOfProduct(app: string, except: readonly string[]): readonly string[] {
  const found: string[] = [];
  const folders = [app];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (entry.name === '.git' || path === join(app, '.factory') || except.includes(path)) continue;
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) found.push(relative(app, path));
    }
  return found.sort();
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** The files among `paths` of the product `app` that are missing in the tree `base`, or that differ there. */
export const filesWrittenSince = (base: string, app: string, paths: readonly string[]): readonly string[] =>
  paths.filter((path) => !isSame(join(base, path), join(app, path)));

function isSame(before: string, now: string): boolean {
  const [was, is] = [before, now].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  if (was?.isFile() !== true || is?.isFile() !== true || was.size !== is.size) return false;
  try {
    return readFileSync(before).equals(readFileSync(now));
  } catch {
    return false;
  }
}

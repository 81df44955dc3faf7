/** What a scenario consists of, and whether somebody wrote there while it ran. */
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { sha256 } from '../model/sha256.ts';
import { mayTouch } from '../policy/touching.ts';

/** Caches of Python, which it believes without a look at what they were made of. */
export const isCache = (path: string): boolean => /(?:^|\/)__pycache__(?:\/|$)|\.pyc$/.test(path);

const isModules = (name: string): boolean => name === 'node_modules';

/** What an interpreter finds by name beside the script that it runs, and prefers to its own. */
const isLoaded = (path: string): boolean =>
  isCache(path) ||
  path.split('/').some(isModules) ||
  loadedNames.has(basename(path)) ||
  loadedEnds.has(extname(path));
const loadedEnds: ReadonlySet<string> = new Set([
  '.py',
  '.pth',
  '.so',
  '.js',
  '.cjs',
  '.mjs',
  '.node',
  '.rb',
  '.pl',
  '.pm',
  '.sh',
]);
const loadedNames: ReadonlySet<string> = new Set(['package.json', 'pytest.ini', 'tox.ini', 'setup.cfg']);

export type OwnFiles = {
  /** From here on nothing of it may be touched; before, its text may be written again by its own selftest. */
  begin(): void;
  /** What is not as it was copied, or was not all the while since `begin`; sorted. */
  changed(): readonly string[];
};

/** The files and links of the folder that a scenario was copied to from `source`, as they are now. What is new in it later is
 *  nobody's, unless it is what a program of the scenario would load. `above` are the folders around it in which nobody makes
 *  anything, from the outermost on. */
export function ownFiles(folder: string, source: string, above: readonly string[]): OwnFiles {
  const copied = filesIn(folder);
  const known = new Set(copied);
  const contents = copied.map((path) => contentOf(join(folder, path)));
  const texts = [...textsOf(folder, copied)];
  const hashed = mayTouch(texts);
  /** What its own text names it may well make itself. Nobody names a cache, or means it when others load it. */
  const isSpokenOf = (path: string): boolean =>
    !isCache(path) && texts.some((text) => text.includes(path.split('/').find(isModules) ?? basename(path)));
  const changed = new Set(
    copied.filter((path, n) => contents[n] !== contentOf(join(source, path), join(folder, path))),
  );
  const folders = [...above, folder, ...foldersIn(folder)];
  let facts: readonly string[] = [];
  let places: ReadonlyMap<string, Place> = new Map();
  return {
    begin() {
      for (const [n, path] of copied.entries())
        if (contentOf(join(folder, path)) !== contents[n]) changed.add(path);
      facts = copied.map((path) => factsOf(join(folder, path), hashed));
      places = new Map(folders.map((path) => [path, placeOf(path)]));
    },
    changed() {
      for (const [n, path] of copied.entries())
        if (factsOf(join(folder, path), hashed) !== facts[n]) changed.add(path);
      for (const path of filesIn(folder))
        if (!known.has(path) && isLoaded(path) && !isSpokenOf(path)) changed.add(path);
      for (const path of movedIn(places, hashed))
        changed.add(path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : basename(folder));
      return [...changed].sort();
    },
  };
}

/** Relative to the folder; sorted. */
function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() || one.isSymbolicLink())
      .map((one) => join(one.parentPath, one.name).slice(folder.length + 1))
      .sort();
  } catch {
    return [];
  }
}

const foldersIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isDirectory())
    .map((one) => join(one.parentPath, one.name));

function* textsOf(folder: string, paths: readonly string[]): Generator<Buffer> {
  for (const path of paths) if (isFile(join(folder, path))) yield readFileSync(join(folder, path));
}

const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** Empty for what cannot be read. `as`: a link is followed where a file stands there, which has its content. */
function contentOf(path: string, as = path): string {
  try {
    if (lstatSync(as).isSymbolicLink()) return 'link';
    return statSync(path).isFile() ? sha256(readFileSync(path)) : '';
  } catch {
    return '';
  }
}

/** The change time tells of every write, but of a mode that was set as well. Empty for what cannot be looked at. */
function factsOf(path: string, hashed: boolean): string {
  try {
    const is = lstatSync(path, { bigint: true });
    const told = !hashed ? is.ctimeNs : is.isFile() ? sha256(readFileSync(path)) : '';
    return `${is.ino} ${is.size} ${is.mtimeNs} ${told}`;
  } catch {
    return '';
  }
}

type Place = { readonly ino: bigint; readonly ctimeNs: bigint } | undefined;

const placeOf = (path: string): Place => lstatSync(path, { bigint: true, throwIfNoEntry: false });

/** Folders that were elsewhere for a while, so that another one could answer in their place, or still are. Of the files in it
 *  that tells nothing; of the folder and of the one around it the change time does, and only a new file in both does as much:
 *  around the outermost one there always is one. */
function* movedIn(places: ReadonlyMap<string, Place>, hashed: boolean): Generator<string> {
  const isOther = (path: string): boolean => {
    const was = places.get(path);
    return was === undefined || placeOf(path)?.ctimeNs !== was.ctimeNs;
  };
  for (const [path, was] of places)
    if (placeOf(path)?.ino !== was?.ino || (!hashed && isOther(path) && isOther(dirname(path)))) yield path;
}

/** Detects changes of a scenario's files while it runs. */
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { mayTouch } from '../core/policy/holdout-paths.ts';
import { sha256 } from '../core/sha256.ts';

/** Caches of Python, which it may load without checking their source. */
export const isCache = (path: string): boolean => /(?:^|\/)__pycache__(?:\/|$)|\.pyc$/.test(path);

const isModules = (name: string): boolean => name === 'node_modules';

/** Files that an interpreter loads by name from the folder of the script that it runs. */
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
  /** Starts the watch: from here on no file may be changed, not even temporarily. Before, the selftest may rewrite files with
   *  the same content. */
  begin(): void;
  /** Files that differ from their copies, or were changed since `begin`; sorted. */
  changed(): readonly string[];
};

/** Records the current files and links of `folder`, the copy of a scenario's folder `source`. Files that are created later do not
 *  count, unless a program of the scenario would load them. `above` are the folders around it, in which no program creates
 *  files, from the outermost. */
export function ownFiles(folder: string, source: string, above: readonly string[]): OwnFiles {
  const copied = filesIn(folder);
  const known = new Set(copied);
  const contents = copied.map((path) => contentOf(join(folder, path)));
  const texts = [...textsOf(folder, copied)];
  const hashed = mayTouch(texts);
  /** The scenario itself may create files that its text names, except caches. */
  const isNamed = (path: string): boolean =>
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
        if (!known.has(path) && isLoaded(path) && !isNamed(path)) changed.add(path);
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

/** Hash of a file; empty if it cannot be read. A link is followed unless `as` is a link too. */
function contentOf(path: string, as = path): string {
  try {
    if (lstatSync(as).isSymbolicLink()) return 'link';
    return statSync(path).isFile() ? sha256(readFileSync(path)) : '';
  } catch {
    return '';
  }
}

/** Facts that change with every write. The change time changes with the mode too, so `hashed` uses the content instead. Empty
 *  for an entry that cannot be examined. */
function factsOf(path: string, hashed: boolean): string {
  try {
    const is = lstatSync(path, { bigint: true });
    const content = !hashed ? is.ctimeNs : is.isFile() ? sha256(readFileSync(path)) : '';
    return `${is.ino} ${is.size} ${is.mtimeNs} ${content}`;
  } catch {
    return '';
  }
}

type Place = { readonly ino: bigint; readonly ctimeNs: bigint } | undefined;

const placeOf = (path: string): Place => lstatSync(path, { bigint: true, throwIfNoEntry: false });

/** Folders that were renamed, even temporarily, so that another folder could replace them. The files in it do not show that, but
 *  the change times of the folder and of its parent do: apart from a rename, both change only if a file is created in each. */
function* movedIn(places: ReadonlyMap<string, Place>, hashed: boolean): Generator<string> {
  const isOther = (path: string): boolean => {
    const was = places.get(path);
    return was === undefined || placeOf(path)?.ctimeNs !== was.ctimeNs;
  };
  for (const [path, was] of places)
    if (placeOf(path)?.ino !== was?.ino || (!hashed && isOther(path) && isOther(dirname(path)))) yield path;
}

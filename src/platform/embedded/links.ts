/** Links of the product in the places that it shares with its scenario. */
import fs, { type Dirent } from 'node:fs';
import path from 'node:path';

/** Whether a text names the place, or one below it. */
export const isNamedIn = (text: string, place: string): boolean =>
  text
    .split(place)
    .slice(1)
    .some((rest) => !/^[\w.-]/.test(rest));

export const linkTarget = (place: string): string | undefined => {
  try {
    return fs.readlinkSync(place);
  } catch {
    return undefined;
  }
};

type FolderEntries = {
  /** Another one where the folder is another or its entries have changed. */
  readonly key: string;
  readonly folders: readonly string[];
  readonly links: readonly string[];
};

/** Of earlier calls, by path. */
const known = new Map<string, FolderEntries>();
/** Within this time a file system may give two changes of a folder the same time: some keep whole seconds. */
const tickMs = 2000;

/** The folders and links in a folder, which is read again only when it has changed. Undefined where the script could not read it either. */
const entriesOf = (folder: string): FolderEntries | undefined => {
  const now = Date.now();
  let key = '';
  let changedMs = now;
  let entries: Dirent[] = [];
  try {
    const { dev, ino, ctimeNs } = fs.lstatSync(folder, { bigint: true });
    key = `${dev} ${ino} ${ctimeNs}`;
    changedMs = Number(ctimeNs / 1_000_000n);
    const before = known.get(folder);
    if (before?.key === key) return before;
    entries = fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return undefined;
  }
  const places = (kept: Dirent[]) => kept.map(({ name }) => path.join(folder, name));
  const found = {
    key,
    folders: places(entries.filter((entry) => entry.isDirectory())),
    links: places(entries.filter((entry) => entry.isSymbolicLink())),
  };
  if (now - changedMs > tickMs) known.set(folder, found);
  return found;
};

type SharedPlaces = Readonly<Record<'app' | 'temporary', string>> & { readonly hidden: readonly string[] };

/** A link in the product's places that leads a program of the script to the script's own files: `cmp wanted out` compares a file with
 *  itself where `out` is a link to `/proc/self/fd/3`. */
export const badLink = ({ app, temporary, hidden }: SharedPlaces): string | undefined => {
  const isAstray = (at: string): boolean =>
    /^\/(?:proc|dev\/(?:fd|stdin))(?:\/|$)/.test(at) || hidden.some((place) => isNamedIn(at, place));
  const folders = [temporary, app];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = entriesOf(folder);
    for (const inner of entries?.folders ?? []) folders.push(inner);
    for (const place of entries?.links ?? []) {
      const to = linkTarget(place);
      if (to !== undefined && passesOn(folder, to, isAstray)) return `${place} -> ${to}`;
    }
  }
  return undefined;
};

/** As the system: it opens nothing behind more of them. */
const mostLinks = 40;

/** Whether the way of a link in the folder leads through such a place. Its links are followed, as the system does: `/dev/fd/../root` is
 *  not `/dev/root`, and `out -> d/fd/3` with `d -> /dev` leads to `/dev/fd/3`. */
const passesOn = (folder: string, to: string, isAstray: (at: string) => boolean): boolean => {
  let at = folder;
  const rest = [to];
  for (let followed = 0; rest.length > 0 && followed <= mostLinks; ) {
    const [, root, part = '', more] = /^(\/?)\/*([^/]*)(.*)$/s.exec(rest.pop() as string) ?? [];
    if (root !== '') at = '/';
    if (more !== undefined && more.length > 0) rest.push(more.replace(/^\/+/, ''));
    at = path.join(at, part);
    if (isAstray(at)) return true;
    // These lead to what the reader itself writes.
    const next = /^\/dev\/std(?:out|err)$/.test(at) ? undefined : linkTarget(at);
    if (next === undefined) continue;
    followed += 1;
    at = path.dirname(at);
    rest.push(next);
  }
  return false;
};

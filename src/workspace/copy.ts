/** The copy of a workdir that a run works in. */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  futimesSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  type Stats,
  symlinkSync,
} from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { pour, readSmall, writeWhole } from '../platform/files/bytes.ts';
import { below, parentOf, shownPath, toBytes } from '../platform/files/names.ts';
import { type Plain, readPlain } from '../platform/files/read.ts';
import { hasSetId, withoutSetId } from '../platform/files/set-id.ts';
import { codeOf, isDenied, trouble, WorkspaceError } from '../platform/files/workspace-error.ts';
import { type Ignore, readIgnore } from './ignore.ts';
import { isWithin, realOf } from './roots.ts';
import type { Copied, CopyOptions } from './snapshot.ts';
import { type FoundEntry, secondsOf, targetOf, walk } from './walk.ts';

/** Called with every file that was read whole: its path, its bytes (valid until it returns) and the stat of its copy. What it
 *  throws ends the copy. */
type Reader = (path: string, bytes: Buffer, copy: Stats) => void;

/** What must be known of a file to copy it. */
type CopySource = Pick<FoundEntry, 'path' | 'mode' | 'stat'>;

/** Copies the tree at `from` (a folder or a link to one) to `to`, which must be missing or empty. Modes are exact
 *  whatever the umask, modification times are kept, links stay links, hard links become separate files. Left
 *  out: anything called `.git`, `.factory/runs` at the top, `exclude`, `to` itself, and what `.factoryignore` at the
 *  top names (unless `whole`). Paths in the answer are slash paths, sorted. Rejects with a WorkspaceError that names the path when
 *  something cannot be read or written; what was copied until then stays. Nothing is written once it has settled.
 *
 *  Large files are copied by the thread pool while small ones are copied here one by one, since a call through the pool costs
 *  more than the copy. Nothing is awaited where nothing is to wait for: a turn for each file would add up. */
export async function copyTree(
  from: string,
  to: string,
  options: CopyOptions,
  copied?: Reader,
): Promise<Copied> {
  const top = topOf(from);
  if (!lstatSync(top).isDirectory())
    throw new WorkspaceError(`cannot copy "${shownPath(from)}": it is not a folder`);
  const target = prepareTarget(to);
  const leaveOut = exclusions(
    top,
    [...options.exclude, target],
    options.whole === true ? () => false : ignoreOf(top),
  );

  const tasks = tasksAtOnce(2);
  const folders: FoundEntry[] = [];
  const links: Link[] = [];
  const skipped: { path: string; why: string }[] = [];
  let files = 0;
  try {
    for (const found of walk(top, { enter: (folder) => !leaveOut(folder), denied: tasks.noteFolder })) {
      options.goOn?.();
      if (leaveOut(found)) continue;
      if (found.kind === 'dir') {
        folders.push(found);
        writing(found.path, () => mkdirSync(below(target, found.path), 0o700));
      } else if (found.kind === 'link') {
        links.push(...copyLink(top, target, found));
      } else if (found.kind === 'special') {
        skipped.push({ path: found.path, why: specialKind(found) });
      } else {
        files += 1;
        // Ctrl-C and the tasks get a turn.
        if (files % 256 === 0) await lstat(target);
        const source = hasSetId(found) ? { ...found, mode: withoutSetId(found.mode) } : found;
        if (!tasks.did(source, () => copySmall(top, target, source, copied)))
          await tasks.add(source, () => copyLarge(top, target, source, options.goOn));
      }
    }
  } finally {
    await tasks.idle();
  }
  tasks.check();
  // Contents first and the folders' own modes last: nothing can be put into a read-only folder.
  for (const folder of folders.reverse()) {
    writing(folder.path, () => {
      setTimes(below(target, folder.path), folder);
      chmodSync(below(target, folder.path), folder.mode);
    });
  }
  // The engine must be able to write at the top, whatever the mode there.
  writing('', () => chmodSync(target, (lstatSync(top).mode & 0o7777) | 0o700));
  return { files: files + links.length, skipped, outsideLinks: await leadingOut(top, links) };
}

function topOf(from: string): string {
  try {
    return realpathSync.native(resolve(from));
  } catch (error) {
    throw trouble('copy the folder', from, error);
  }
}

function prepareTarget(to: string): string {
  try {
    mkdirSync(to, { recursive: true });
    if (readdirSync(to).length > 0)
      throw new WorkspaceError(`cannot copy into "${shownPath(to)}": the folder is not empty`);
    return realpathSync.native(to);
  } catch (error) {
    throw trouble('make the folder', to, error);
  }
}

/** What `.factoryignore` at the top of a folder leaves out. */
export function ignoreOf(top: string): Ignore {
  let read: Plain;
  try {
    read = readPlain(join(top, '.factoryignore'));
  } catch (error) {
    throw trouble('read', '.factoryignore', error);
  }
  if (read.kind === 'text') return readIgnore(read.text);
  // A list that cannot be read would let into the run what its writer wants left out.
  if (read.kind === 'none' && read.why !== 'is a folder')
    throw new WorkspaceError(`cannot read ".factoryignore": it ${read.why}`);
  return () => false;
}

/** What is left out, by name, by place, by identity and by the user's own list. */
function exclusions(top: string, places: readonly string[], ignored: Ignore): (found: FoundEntry) => boolean {
  const paths = new Set([join(top, '.factory', 'runs')]);
  const identities = new Map<string, string>();
  for (const place of places) {
    paths.add(realOf(place));
    // A link that is called so is left out too: copied, it would lead the stages into the runs.
    paths.add(join(realOf(dirname(resolve(place))), basename(place)));
    const real = realOf(place);
    const stat = ifSeen(real);
    if (stat?.isDirectory() === true) identities.set(`${stat.dev} ${stat.ino}`, real);
  }
  const left = new Set([...paths].filter((path) => isWithin(top, path)).map((path) => relative(top, path)));
  let asked: FoundEntry | undefined;
  let answer = false;
  return (found) => {
    if (found === asked) return answer;
    asked = found;
    const { path, kind, stat } = found;
    answer =
      path === '.git' ||
      path.endsWith('/.git') ||
      left.has(path) ||
      (kind === 'dir' && isOne(below(top, path), identities.get(`${stat.dev} ${stat.ino}`))) ||
      ignored(path, kind === 'dir');
    return answer;
  };
}

/** Asked about folders whose inodes look the same: as numbers those above 2^53, which some file systems have, may look the
 *  same and be others. */
function isOne(path: string | Buffer, other: string | undefined): boolean {
  if (other === undefined) return false;
  const whole = { bigint: true, throwIfNoEntry: false } as const;
  const [a, b] = [lstatSync(path, whole), lstatSync(other, whole)];
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}

/** Undefined where nothing is, or where we may not look: such a folder cannot be in the tree either. */
function ifSeen(path: string): ReturnType<typeof lstatSync> | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    // A home that is a file (`/dev/null`), or a link in a circle, is where nothing is.
    if (isDenied(error) || ['ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** Copies a file that is not large; false when it is. Reading and writing takes half the time of the system's own
 *  copying, which looks for blocks to share first. */
function copySmall(top: string, target: string, found: CopySource, copied: Reader | undefined): boolean {
  const bytes = copying(top, found, () => readSmall(below(top, found.path), found.stat.size));
  if (bytes === 'gone') return true;
  if (bytes === undefined) return false;
  const stat = writing(found.path, () => {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    const file = openSync(below(target, found.path), flags, found.mode & 0o777);
    try {
      writeWhole(file, bytes);
      futimesSync(file, secondsOf(found.stat.atimeMs), secondsOf(found.stat.mtimeMs));
      const made = fstatSync(file);
      if ((made.mode & 0o7777) === found.mode) return made;
      fchmodSync(file, found.mode);
      return fstatSync(file);
    } finally {
      closeSync(file);
    }
  });
  copied?.(found.path, bytes, stat);
  return true;
}

async function copyLarge(
  top: string,
  target: string,
  found: CopySource,
  goOn: (() => void) | undefined,
): Promise<void> {
  const copy = below(target, found.path);
  try {
    await pour(below(top, found.path), copy, { mode: found.mode, goOn });
    setTimes(copy, found);
  } catch (error) {
    copying(top, found, () => {
      throw error;
    });
  }
}

/** Tells a file that vanished while the tree was read, which then was not there, from one that cannot be copied. */
function copying<T>(top: string, found: CopySource, act: () => T): T | 'gone' {
  try {
    return act();
  } catch (error) {
    const isGone = lstatSync(below(top, found.path), { throwIfNoEntry: false }) === undefined;
    if (codeOf(error instanceof WorkspaceError ? error.cause : error) === 'ENOENT' && isGone) return 'gone';
    throw trouble('copy', found.path, error);
  }
}

/** A link that was copied, and where it points. */
type Link = { readonly path: string; readonly leadsTo: string };

function copyLink(top: string, target: string, found: FoundEntry): readonly Link[] {
  const { path } = found;
  const read = copying(top, found, () => ({ path, leadsTo: targetOf(top, path) }));
  if (read === 'gone') return [];
  writing(path, () => {
    symlinkSync(toBytes(read.leadsTo), below(target, path));
    setTimes(below(target, path), found);
  });
  return [read];
}

const setTimes = (path: string | Buffer, found: CopySource): void =>
  lutimesSync(path, secondsOf(found.stat.atimeMs), secondsOf(found.stat.mtimeMs));

function writing<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw trouble('write the copy of', path, error);
  }
}

const specialKind = ({ stat }: FoundEntry): string =>
  (stat.mode & constants.S_IFMT) === constants.S_IFSOCK
    ? 'a socket'
    : (stat.mode & constants.S_IFMT) === constants.S_IFIFO
      ? 'a pipe'
      : 'a device';

/** Links that lead to what is not in the tree: absolute, climbing over the top, or through another link. */
async function leadingOut(top: string, links: readonly Link[]): Promise<string[]> {
  const out: string[] = [];
  for (const { path, leadsTo } of links) {
    const climbs = /^\.\.(?:\/|$)/.test(join(parentOf(path), leadsTo));
    if (isAbsolute(leadsTo) || climbs || !isWithin(top, await realEnd(top, path))) out.push(path);
  }
  return out;
}

/** Where a link really ends; the top where it ends nowhere. */
const realEnd = (top: string, path: string): Promise<string> => realpath(below(top, path)).catch(() => top);

/** Runs tasks, at most `most` at a time, each about one path. Denials are gathered and thrown together by `check`, in
 *  the order of their paths, so that the user sees every unreadable file at once; any other error is thrown by the next
 *  call. */
function tasksAtOnce(most: number) {
  const running = new Set<Promise<void>>();
  const denied: { readonly path: string; readonly message: string }[] = [];
  const failed: unknown[] = [];
  const note = (error: unknown, path: string): void => {
    if (error instanceof WorkspaceError && isDenied(error)) denied.push({ path, message: error.message });
    else failed.push(error);
  };
  const throwFailed = (): void => {
    if (failed.length > 0) throw failed[0];
  };
  return {
    /** About a folder's contents. */
    noteFolder: (error: unknown, path: string): void => note(error, `${path}/`),
    async add({ path }: CopySource, task: () => Promise<void>): Promise<void> {
      throwFailed();
      const one = task()
        .catch((error: unknown) => note(error, path))
        .finally(() => running.delete(one));
      running.add(one);
      if (running.size >= most) await Promise.race(running);
    },
    /** What a task that is done at once answers; true when it was denied. */
    did({ path }: CopySource, task: () => boolean): boolean {
      throwFailed();
      try {
        return task();
      } catch (error) {
        note(error, path);
        return true;
      }
    },
    async idle(): Promise<void> {
      await Promise.all(running);
    },
    check(): void {
      throwFailed();
      if (denied.length === 0) return;
      const messages = denied.sort((a, b) => (a.path < b.path ? -1 : 1)).map(({ message }) => message);
      const rest = messages.length > 10 ? [`and ${messages.length - 10} more`] : [];
      throw new WorkspaceError([...messages.slice(0, 10), ...rest].join('\n'));
    },
  };
}

/** The words that bubblewrap is started with. */
import {
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeRemaking, beforeWrite } from '../fence.ts';
import { allows } from '../read.ts';
import { type Confinement, kernelSettings, systemFolders, systemSecrets } from './confinement.ts';
import { namespaces } from './ladder.ts';

/** The private folders of one stage. */
export const scratchOf = (scratch: string) => ({
  home: join(scratch, 'home'),
  tmp: join(scratch, 'tmp'),
  covers: join(scratch, 'covers'),
});

/** Everything between the program `bwrap` and the stage's own argv. Makes the private folders. */
export function bwrapArguments(confinement: Confinement, cwd: string): string[] {
  const { binds, masks, inside, home, network, scratch, covers, pinned, parts } = confinement;
  const own = scratchOf(scratch);
  beforeWrite(own.tmp);
  beforeRemaking(own.tmp);
  mkdirSync(own.tmp, { recursive: true, mode: 0o700 });
  if (home !== undefined) mkdirSync(own.home, { recursive: true, mode: 0o700 });
  // An earlier stage may have locked the door to its own workspace.
  for (const { path, write } of inside) if (write) unlock(path);
  // What is private would take writes beside the workspace without a word; in a mask they fail.
  const kept = ['/tmp', '/var/tmp', ...(home === undefined ? [] : [home])];
  // What is named by a link lies elsewhere, where a system folder or a bind may show it.
  const places = [...new Set(masks.flatMap((mask) => [seatOf(mask), realOf(mask)]))];
  const shown = binds.filter((bind) => bind.write || !leadsInto(bind.path, places));
  const within = inside.map((bind) => ({ ...bind, path: seatOf(bind.path) }));
  const seen = [...systemFolders, ...kept, ...shown.map((bind) => bind.path)];
  const masked = places.filter(
    (mask) =>
      isFolder(mask) &&
      seen.some((path) => isWithin(mask, path)) &&
      !kept.some((path) => isWithin(path, mask)),
  );
  const outermost = withoutInner(masked);
  // Our own program may be shown around a mask, or in one: what is shown of it lies over the mask.
  const again = within.map(({ path, write }) =>
    write ? [] : withoutInner(places.filter((mask) => isWithin(mask, path) && existsSync(mask))),
  );
  return [
    ...namespaces,
    // Only with it may root be root in a sandbox of its own. It gives no file more than the bit for root's rights, which
    // such a stage can set anyway.
    ...(parts === true && process.getuid?.() === 0 ? ['--cap-add', 'CAP_SETFCAP'] : []),
    ...(network ? [] : ['--unshare-net']),
    ...system(),
    ...(network ? resolver() : []),
    ...['--dev', '/dev', '--proc', '/proc', ...kernel(), '--dir', '/run', '--symlink', '../run', '/var/run'],
    // Twice the same, and no link: some programs follow none on the way to a file, and a run may lie below either.
    ...['--bind', own.tmp, '/tmp', '--bind', own.tmp, '/var/tmp'],
    ...(home === undefined ? [] : ['--bind', own.home, home]),
    ...shown.filter((bind) => bind.write || !isShown(bind.path)).flatMap(bound),
    ...outermost.flatMap((mask) => ['--tmpfs', mask]),
    ...within.flatMap((bind, n) => [...bound(bind), ...(again[n] ?? []).flatMap(masking)]),
    ...pinned.map(seatOf).flatMap((path) => ['--bind', path, path]),
    ...covers.flatMap((path, n) => ['--bind', emptyLike(path, join(own.covers, String(n))), seatOf(path)]),
    // What lies under no bind is nobody's: it must not look as if it could be written.
    ...[...outermost, ...again.flat().filter(isFolder)].flatMap((mask) => ['--remount-ro', mask]),
    ...['--remount-ro', '/', '--chdir', cwd, '--'],
  ];
}

function unlock(folder: string): void {
  const is = statSync(folder, { throwIfNoEntry: false });
  if (is?.isDirectory() === true && (is.mode & 0o700) !== 0o700)
    chmodSync(folder, (is.mode & 0o7777) | 0o700);
}

/** An empty file or folder to lie over `path`. */
function emptyLike(path: string, empty: string): string {
  mkdirSync(dirname(empty), { recursive: true, mode: 0o700 });
  if (isFolder(path)) mkdirSync(empty, { recursive: true });
  else writeFileSync(empty, '');
  return empty;
}

/** Files that a stage made where it saw nothing: paths like `hidden`, whose order is that of the covers. */
export async function madeInCovers(
  { scratch }: Pick<Confinement, 'scratch'>,
  hidden: readonly string[],
): Promise<readonly string[]> {
  const { covers } = scratchOf(scratch);
  const made: string[] = [];
  for (const [n, path] of hidden.entries()) {
    const cover = join(covers, String(n));
    const is = lstatSync(cover, { throwIfNoEntry: false });
    if (is?.isDirectory() === true) {
      // A folder that was locked inside is somebody's work too, whatever is in it.
      const names = await readdir(cover, { recursive: true }).catch(() => ['']);
      made.push(...names.map((name) => join(path, name)));
    } else if (is !== undefined && is.size > 0) made.push(path);
  }
  return made.sort();
}

const withoutInner = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => !paths.some((other) => other !== path && isWithin(path, other)));

const masking = (path: string): string[] =>
  isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];

/** Whether a folder of PATH or the like is a link to what is masked, or to a folder around it: under its own name nothing
 *  would lie over it. What may be written is refused before, when somebody names it. */
function leadsInto(path: string, masks: readonly string[]): boolean {
  const is = realOf(path);
  return is !== path && masks.some((mask) => isWithin(is, mask) || isWithin(mask, is));
}

/** Where something is put so that it is found under its name: a link in a system folder is there in the sandbox too, and
 *  nothing can be laid over a link. */
const seatOf = (path: string): string =>
  systemFolders.some((folder) => isWithin(path, folder)) ? realOf(path) : path;

function realOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/** What is only to be read and cannot even be looked at (another user's folder on PATH) is left out: unconfined it would
 *  be of no use either. */
const bound = ({ path, write }: { readonly path: string; readonly write: boolean }): string[] =>
  write ? ['--bind-try', path, path] : allows(path, constants.R_OK) ? ['--ro-bind-try', path, path] : [];

/** Root's stages are root to the kernel, whatever they lack in capabilities: its settings (a program that it starts when
 *  another one crashes is one of them) are read-only to them. Others may write none, and a sandbox of their own needs them
 *  uncovered. */
const kernel = (): readonly string[] =>
  process.getuid?.() === 0 ? kernelSettings.flatMap((path) => ['--ro-bind-try', path, path]) : [];

let systemWords: readonly string[] | undefined;

const shownPaths = new Map<string, boolean>();

/** What a system folder shows already needs no mount of its own: each costs a stage a tenth of a millisecond. */
function isShown(path: string): boolean {
  const known = shownPaths.get(path) ?? looksShown(path);
  shownPaths.set(path, known);
  return known;
}

function looksShown(path: string): boolean {
  if (!systemFolders.some((folder) => isWithin(path, folder))) return false;
  const kept = systemFolders.filter((folder) => lstatSync(folder, { throwIfNoEntry: false })?.isDirectory());
  try {
    return [path, realpathSync(path)].every(
      (one) =>
        kept.some((folder) => isWithin(one, folder)) &&
        !secrets().some((secret) => isWithin(secret, one) || isWithin(one, secret)),
    );
  } catch {
    return false;
  }
}

/** The system's folders; those that are links on this machine stay links. The same for every stage. */
function system(): readonly string[] {
  systemWords ??= [
    ...systemFolders.flatMap((path) => {
      const is = lstatSync(path, { throwIfNoEntry: false });
      if (is === undefined) return [];
      return is.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
    }),
    ...secrets().flatMap((path) =>
      statSync(path).isDirectory() ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path],
    ),
  ];
  return systemWords;
}

let secretPaths: readonly string[] | undefined;

/** Files and folders below the system's that are not shown; an empty file has nothing to hide. */
function secrets(): readonly string[] {
  secretPaths ??= [
    ...new Set([...systemSecrets, ...notForEverybody('/etc'), ...notForEverybody('/opt', 2)]),
  ].filter((path) => {
    const is = statSync(path, { throwIfNoEntry: false });
    return is !== undefined && (is.isDirectory() || is.size > 0);
  });
  return secretPaths;
}

/** What below a system folder not everybody may read: to root, and so to its stages, modes are no obstacle. */
function notForEverybody(folder: string, depth = 16): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    const is = lstatSync(path, { throwIfNoEntry: false });
    if (systemSecrets.includes(path) || !(is?.isDirectory() === true || is?.isFile() === true)) return [];
    if ((is.mode & (is.isDirectory() ? 0o005 : 0o004)) === 0) return [path];
    return is.isDirectory() && depth > 1 ? notForEverybody(path, depth - 1) : [];
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Names are looked up by a file that may lie in `/run`, which is hidden. */
function resolver(): readonly string[] {
  try {
    const real = realpathSync('/etc/resolv.conf');
    return real.startsWith('/etc/') ? [] : ['--ro-bind-try', real, real];
  } catch {
    return [];
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

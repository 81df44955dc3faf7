/** The arguments that bubblewrap is started with. */
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
import {
  type Bind,
  type Confinement,
  kernelSettings,
  systemFolders,
  systemSecrets,
} from '../../core/contracts/sandbox.ts';
import { isAtOrBelow } from '../../core/policy/holdout-paths.ts';
import { beforeRemaking, beforeWrite } from '../files/fence.ts';
import { allows } from '../files/read.ts';
import { namespaces } from './capabilities.ts';
import { type Relocation, relocationOf } from './relocate.ts';

/** The private folders of one node. */
const scratchOf = (scratch: string) => ({
  home: join(scratch, 'home'),
  tmp: join(scratch, 'tmp'),
  covers: join(scratch, 'covers'),
});

/** All arguments between the program `bwrap` and the node's argv. Creates the private folders. */
export function bwrapArguments(confinement: Confinement, cwd: string): string[] {
  const { binds, masks, inside, home, network, scratch, covers, pinned, frozen, parts, nested } = confinement;
  const own = scratchOf(scratch);
  const at = relocationOf(confinement);
  beforeWrite(own.tmp);
  beforeRemaking(own.tmp);
  mkdirSync(own.tmp, { recursive: true, mode: 0o700 });
  if (home !== undefined) mkdirSync(own.home, { recursive: true, mode: 0o700 });
  for (const bind of binds) makePrivate(bind, at);
  // An earlier node may have removed its permissions on the workspace.
  for (const { path, write } of inside) if (write) unlock(path);
  const kept = ['/tmp', '/var/tmp', ...(home === undefined ? [] : [home])];
  // The target of a symbolic link lies elsewhere, where a system folder or a bind may show it.
  const places = [...new Set(masks.flatMap((mask) => [seatOf(mask), realOf(mask)]))];
  const shown = binds.filter((bind) => bind.write || !leadsInto(bind.path, places));
  const within = inside.map((bind) => ({
    ...bind,
    path: seatOf(at(bind.path)),
    source: seatOf(bind.source ?? bind.path),
  }));
  const seen = [...systemFolders, ...shown.map((bind) => bind.path)];
  const masked = places.filter(
    (mask) =>
      isFolder(mask) &&
      seen.some((path) => isAtOrBelow(mask, path)) &&
      !kept.some((path) => isAtOrBelow(path, mask)),
  );
  const outermost = withoutInner(masked);
  // A private folder would silently accept writes next to the workspace; in these they fail. And what is mounted in them makes no
  // folders on disk.
  const ways = (folder: string) => waysTo([...places, ...within.map(({ path }) => path)], folder);
  const tops = [...new Set(kept.flatMap(ways))].filter((top) => !kept.includes(top));
  // The folders of this program may lie around a mask, or in one: they are mounted over the mask.
  const again = within.map(({ path, write }) =>
    write ? [] : withoutInner(places.filter((mask) => isAtOrBelow(mask, path) && existsSync(mask))),
  );
  return [
    ...namespaces,
    // Only with this capability can root be root in a nested sandbox. It lets the node grant files capabilities, which is
    // no more than the setuid bit of root, which such a node can set anyway.
    ...((parts === true || nested === true) && isRoot() ? ['--cap-add', 'CAP_SETFCAP'] : []),
    ...(network ? [] : ['--unshare-net']),
    ...system(),
    ...(network ? resolver() : []),
    ...['--dev', '/dev', '--proc', '/proc', ...kernel(), '--dir', '/run', '--symlink', '../run', '/var/run'],
    ...(nested === true && isRoot() ? wholeProc : []),
    // The same folder at both paths instead of a symbolic link: some programs follow no link on the way to a file,
    // and a run may lie below either path.
    ...['--bind', own.tmp, '/tmp', '--bind', own.tmp, '/var/tmp'],
    ...tops.filter((top) => home === undefined || !isAtOrBelow(top, home)).flatMap((top) => ['--tmpfs', top]),
    ...(home === undefined ? [] : ['--bind', own.home, home]),
    ...tops.filter((top) => home !== undefined && isAtOrBelow(top, home)).flatMap((top) => ['--tmpfs', top]),
    ...shown.filter((bind) => bind.write || !isShown(bind.path)).flatMap(bound),
    ...outermost.flatMap((mask) => ['--tmpfs', mask]),
    ...within.flatMap((bind, n) => [...bound(bind), ...(again[n] ?? []).flatMap(masking)]),
    ...pinned.map(seatOf).flatMap((path) => ['--bind', path, at(path)]),
    // A folder that is pinned would cover what is mounted in it before.
    ...(frozen ?? []).map(seatOf).flatMap((path) => ['--ro-bind-try', path, at(path)]),
    ...covers.flatMap((path, n) => [
      '--bind',
      emptyLike(path, join(own.covers, String(n))),
      seatOf(at(path)),
    ]),
    // Paths outside every mount are read-only, so that they do not look writable.
    ...[...tops, ...outermost, ...again.flat().filter(isFolder)].flatMap((mask) => ['--remount-ro', mask]),
    ...['--remount-ro', '/', '--chdir', at(cwd), '--'],
  ];
}

function makePrivate({ from, text }: Bind, seen: Relocation): void {
  if (from === undefined) return;
  mkdirSync(text === undefined ? from : dirname(from), { recursive: true, mode: 0o700 });
  if (text !== undefined) writeFileSync(from, seen(text), { mode: 0o600 });
}

function unlock(folder: string): void {
  const is = statSync(folder, { throwIfNoEntry: false });
  if (is?.isDirectory() === true && (is.mode & 0o700) !== 0o700)
    chmodSync(folder, (is.mode & 0o7777) | 0o700);
}

/** An empty file or folder to mount over `path`. */
function emptyLike(path: string, empty: string): string {
  mkdirSync(dirname(empty), { recursive: true, mode: 0o700 });
  if (isFolder(path)) mkdirSync(empty, { recursive: true });
  else writeFileSync(empty, '');
  return empty;
}

/** Files that a node created below hidden paths: paths like `hidden`, in the order of the covers. */
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
      // A folder without permissions inside may hold work too, whatever is in it.
      const names = await readdir(cover, { recursive: true }).catch(() => ['']);
      made.push(...names.map((name) => join(path, name)));
    } else if (is !== undefined && is.size > 0) made.push(path);
  }
  return made.sort();
}

/** For each path deeper in `folder`, the folder directly in it that leads there. */
function waysTo(paths: readonly string[], folder: string): readonly string[] {
  return paths.flatMap((path) => {
    const name = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split('/', 1)[0] : '';
    const way = `${folder}/${name}`;
    return name === '' || (way === path && !isFolder(way)) ? [] : [way];
  });
}

const withoutInner = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => !paths.some((other) => other !== path && isAtOrBelow(path, other)));

const masking = (path: string): string[] =>
  isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];

/** Whether `path` (a folder of PATH or the like) is a symbolic link to a masked folder, or to a folder around one:
 *  the mask would not cover it under its own name. Writable binds of this kind are refused earlier. */
function leadsInto(path: string, masks: readonly string[]): boolean {
  const is = realOf(path);
  return is !== path && masks.some((mask) => isAtOrBelow(is, mask) || isAtOrBelow(mask, is));
}

/** The real path of a mount: a symbolic link in a system folder exists in the sandbox too, and nothing can be
 *  mounted over a link. */
const seatOf = (path: string): string =>
  systemFolders.some((folder) => isAtOrBelow(path, folder)) ? realOf(path) : path;

function realOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/** A read-only path that cannot even be examined (another user's folder on PATH) is skipped: without a sandbox it
 *  would be useless too. */
const bound = ({ path, write, from, source = path }: Bind): string[] =>
  from !== undefined
    ? ['--bind', from, path]
    : write
      ? ['--bind-try', source, path]
      : allows(source, constants.R_OK)
        ? ['--ro-bind-try', source, path]
        : [];

/** The kernel treats root's nodes as root, whatever capabilities they lack: its settings (such as the program that
 *  it starts after a crash) are read-only for them. Other users cannot write them, and a nested sandbox needs them
 *  uncovered. */
const kernel = (): readonly string[] =>
  isRoot() ? kernelSettings.flatMap((path) => ['--ro-bind-try', path, path]) : [];

const isRoot = (): boolean => process.getuid?.() === 0;

/** The kernel lets a nested sandbox mount a new `/proc` only where a complete one is mounted, and root's has read-only covers. So the
 *  outer one is mounted too, below an empty file system that no program in the sandbox can remove. */
const hiddenProc = '/run/.proc';
const wholeProc: readonly string[] = [
  ...['--dir', hiddenProc, '--dir', `${hiddenProc}/proc`, '--bind', '/proc', `${hiddenProc}/proc`],
  ...['--tmpfs', hiddenProc, '--remount-ro', hiddenProc],
];

let systemWords: readonly string[] | undefined;

const shownPaths = new Map<string, boolean>();

/** A path that a system folder already shows needs no separate mount: each costs a tenth of a millisecond. */
function isShown(path: string): boolean {
  const known = shownPaths.get(path) ?? looksShown(path);
  shownPaths.set(path, known);
  return known;
}

function looksShown(path: string): boolean {
  if (!systemFolders.some((folder) => isAtOrBelow(path, folder))) return false;
  const kept = systemFolders.filter((folder) => lstatSync(folder, { throwIfNoEntry: false })?.isDirectory());
  try {
    return [path, realpathSync(path)].every(
      (one) =>
        kept.some((folder) => isAtOrBelow(one, folder)) &&
        !secrets().some((secret) => isAtOrBelow(secret, one) || isAtOrBelow(one, secret)),
    );
  } catch {
    return false;
  }
}

/** The system folders; those that are symbolic links on this machine stay links. The same for every node. */
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

/** Files and folders below the system folders that are hidden; an empty file has nothing to hide. */
function secrets(): readonly string[] {
  secretPaths ??= [
    ...new Set([...systemSecrets, ...notForEverybody('/etc'), ...notForEverybody('/opt', 2)]),
  ].filter((path) => {
    const is = statSync(path, { throwIfNoEntry: false });
    return is !== undefined && (is.isDirectory() || is.size > 0);
  });
  return secretPaths;
}

/** Paths below a system folder that not every user may read: permissions do not restrict root and its nodes. */
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

/** Name resolution reads a file that may lie in `/run`, which is hidden. */
function resolver(): readonly string[] {
  try {
    const real = realpathSync('/etc/resolv.conf');
    return real.startsWith('/etc/') ? [] : ['--ro-bind-try', real, real];
  } catch {
    return [];
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

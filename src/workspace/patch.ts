/** What happened to a workspace between two snapshots as a patch: git makes it, and `git apply` takes it. */
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { namesGit } from '../core/policy/paths.ts';
import { writeWhole } from '../platform/files/bytes.ts';
import { about } from '../platform/files/disk-error.ts';
import { ancestorsOf, toBytes } from '../platform/files/names.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { makeRepository, ownGit } from '../platform/git.ts';
import { diff } from './diff.ts';
import type { Entry, Snapshot, Snapshots } from './snapshot.ts';

export type Sides = { readonly before: Snapshot; readonly after: Snapshot };

/** Why a path is not, or not whole, in a patch. */
export type Untold = { readonly path: string; readonly why: 'folder' | 'permissions' | 'large' | 'name' };

/** Bytes of a file above which its contents are not compared: the patch would be too long to read. */
const mostBytes = 16 * 1024 * 1024;

/** Gives the patch to `take`, piece by piece, and answers with what no patch can tell. The repository that git needs for
 *  it is a temporary one. Rejects with a `GitError` where git is missing or fails, and with what is wrong with the store. */
export async function patchOf(
  sides: Sides,
  snapshots: Pick<Snapshots, 'read'>,
  options: {
    readonly env: Environment;
    /** Name contents as a SHA-256 repository does: git applies a binary patch only by ids of the same hash. */
    readonly sha256?: boolean;
    readonly colour: boolean;
    /** For reading: of a binary file the patch only says that it differs; otherwise its bytes are included. */
    readonly toBeRead: boolean;
    /** One part for each path: a renamed file is a deleted and a created one. */
    readonly byPath?: boolean;
    /** Which paths count. */
    readonly only: (path: string) => boolean;
    readonly take: (piece: Buffer) => void;
  },
): Promise<readonly Untold[]> {
  const untold: Untold[] = [];
  const paths = pathsOf(sides, options.only, untold);
  if (paths.length === 0) return untold;
  const folder = await makeTemporary(temporaryOf(options.env), 'factory-diff');
  try {
    const stream = join(folder, 'stream');
    await about(stream, writeStream(stream, paths, sides, snapshots));
    const repository = join(folder, 'repository.git');
    const where = { settingsFile: join(folder, 'settings'), env: options.env };
    await makeRepository(repository, {
      ...where,
      bare: true,
      branch: 'before',
      sha256: options.sha256 === true,
    });
    const git = ownGit({ cwd: repository, ...where });
    // No name is forbidden but what `pathsOf` has left out: nothing is ever put onto a disk.
    const anyName = ['-c', 'core.protectNTFS=false', '-c', 'core.protectHFS=false'];
    await git.text([...anyName, 'fast-import', '--quiet'], { inputFile: stream });
    const patch = join(folder, 'patch');
    await git.text([
      // A ground of the letters' own colour would hide them.
      ...['-c', 'color.diff.whitespace=reverse'],
      ...['diff-tree', '-r', '-p', options.byPath === true ? '--no-renames' : '-M'],
      ...['--no-ext-diff', '--no-textconv'],
      ...[options.colour ? '--color=always' : '--color=never', `--output=${patch}`],
      ...(options.toBeRead ? [] : ['--binary']),
      ...['refs/heads/before', 'refs/heads/after'],
    ]);
    pour(patch, options.take);
    return untold;
  } finally {
    await removeTree(folder);
  }
}

/** The paths that git can tell something of; of all others it is noted why. */
function pathsOf(
  { before, after }: Sides,
  only: (path: string) => boolean,
  untold: Untold[],
): readonly string[] {
  const { created, modified, deleted, folders } = diff(before, after);
  const paths: string[] = [];
  for (const path of new Set([...created, ...modified, ...deleted].filter(only))) {
    const was = before.tree.get(path);
    const is = after.tree.get(path);
    if (isRefused(path, was) || isRefused(path, is)) untold.push({ path, why: 'name' });
    else if ((was?.size ?? 0) > mostBytes || (is?.size ?? 0) > mostBytes) untold.push({ path, why: 'large' });
    else {
      const isSameFile = was !== undefined && is?.kind === was.kind;
      if (isSameFile && gitMode(was) === gitMode(is) && was.mode !== is.mode)
        untold.push({ path, why: 'permissions' });
      if (!isSameFile || wordOf(was) !== wordOf(is)) paths.push(path);
    }
  }
  // Git makes and removes folders with what is in them.
  const listed = new Set(paths.flatMap(ancestorsOf));
  for (const path of [...folders.created, ...folders.deleted].filter((one) => only(one) && !listed.has(one)))
    untold.push({ path, why: 'folder' });
  for (const path of folders.modified.filter(only)) untold.push({ path, why: 'folder' });
  return paths.sort();
}

/** Whether `git apply` refuses a whole patch for this path, whatever the system: what git keeps for itself, links in the
 *  place of a file that it reads, and folders with a blank at the end, which it cannot tell in a patch without lines. */
const isRefused = (path: string, entry: Entry | undefined): boolean =>
  namesGit(path.replaceAll('\\', '/')) ||
  path.includes(' /') ||
  (entry?.kind === 'link' && /(?:^|[/\\])(?:\.gitmodules|gitmod~\d)[ .]*(?:[:/\\]|$)/i.test(path));

/** All that git knows of an entry. */
const wordOf = (entry: Entry): string => `${gitMode(entry)} ${entry.hash ?? entry.target ?? ''}`;

const gitMode = ({ kind, mode }: Entry): string =>
  kind === 'link' ? '120000' : (mode & 0o100) !== 0 ? '100755' : '100644';

/** Both sides as commits, for `git fast-import`. */
async function writeStream(
  path: string,
  paths: readonly string[],
  { before, after }: Sides,
  snapshots: Pick<Snapshots, 'read'>,
): Promise<void> {
  const file = openSync(path, 'wx', 0o600);
  const say = (text: string | Buffer): void => writeWhole(file, Buffer.from(text));
  try {
    for (const [branch, { tree }] of [
      ['before', before],
      ['after', after],
    ] as const) {
      say(`commit refs/heads/${branch}\ncommitter factory <factory> 0 +0000\ndata 0\n`);
      for (const one of paths) {
        const entry = tree.get(one);
        if (entry === undefined || entry.kind === 'dir') continue;
        const bytes =
          entry.hash === undefined
            ? Buffer.from(toBytes(entry.target ?? ''))
            : await snapshots.read(entry.hash);
        say(`M ${gitMode(entry)} inline `);
        say(quoted(one));
        say(`\ndata ${bytes.length}\n`);
        say(bytes);
        say('\n');
      }
    }
  } finally {
    closeSync(file);
  }
}

/** A path as git's stream has it: in quotes, with what would end it or begin something else as `\nnn`. */
function quoted(path: string): Buffer {
  const parts: Buffer[] = [Buffer.from('"')];
  for (const byte of Buffer.from(toBytes(path))) {
    const isPlain = byte >= 0x20 && byte !== 0x22 && byte !== 0x5c && byte !== 0x7f;
    parts.push(
      isPlain ? Buffer.from([byte]) : Buffer.from(`\\${byte.toString(8).padStart(3, '0')}`, 'latin1'),
    );
  }
  return Buffer.concat([...parts, Buffer.from('"')]);
}

function pour(path: string, take: (piece: Buffer) => void): void {
  const file = openSync(path, 'r');
  try {
    for (;;) {
      const piece = Buffer.allocUnsafe(64 * 1024);
      const size = readSync(file, piece);
      if (size === 0) return;
      take(piece.subarray(0, size));
    }
  } finally {
    closeSync(file);
  }
}

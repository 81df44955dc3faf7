/** Errors of the file system about a workspace or the contents of a run, with messages for people. */
import { shownPath } from './names.ts';

/** The file system refused something; the message names the path and the fix. Not an internal error. */
export class WorkspaceError extends Error {
  override readonly name: string = 'WorkspaceError';
}

/** A snapshot or a list of hidden paths is not what was written; nothing of it was used. */
export class DamagedStore extends WorkspaceError {
  override readonly name = 'DamagedStore';
}

/** The snapshots could not be written: an error of the disk, never of the node that wrote into the workspace. */
export class StoreTrouble extends WorkspaceError {
  override readonly name = 'StoreTrouble';
}

/** The error code of a system call (`ENOENT`), empty for any other error. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** True where the system denies access: the file's mode, the folder's, or the user. */
export const isDenied = (error: unknown): boolean =>
  ['EACCES', 'EPERM'].includes(codeOf(error instanceof WorkspaceError ? error.cause : error));

/** True where a path is longer than the system takes. */
export const isTooLong = (error: unknown): boolean =>
  codeOf(error instanceof WorkspaceError ? error.cause : error) === 'ENAMETOOLONG';

const lacking = 'the file system there cannot do that; it may keep no modes or have no links';
const gone = 'the file system there has gone away; mount it again';

const words: Readonly<Record<string, string>> = {
  EACCES:
    'permission denied; make it readable for this user (chmod u+r, for a folder u+rwx), or leave it out',
  EPERM: 'the system does not permit it; the file may belong to another user or be immutable',
  EEXIST: 'a name that is there already is the same to this file system, which may not tell case apart',
  ENAMETOOLONG: 'the path is longer than the system allows; use a shorter runs directory or a flatter tree',
  EXDEV:
    'the folder is in a lower layer of a container image and cannot be renamed; copy the run directory there (cp -a)',
  EIO: 'the disk reports an error',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than the system allows; raise its limit (ulimit -f)',
  EROFS: 'the file system is read-only',
  ENOSYS: lacking,
  ENOTSUP: lacking,
  ENOTCONN: gone,
  ECONNABORTED: gone,
  ESHUTDOWN: gone,
  EMFILE: 'too many files are open; raise their limit (ulimit -n)',
};

/** The same for the run directory, which cannot be excluded. */
const storeWords: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; let this user write there again (chmod u+rwx)',
  ENOENT: 'the folder is gone',
};

/** `cannot read "src/a.ts": permission denied; …`. What is already a WorkspaceError passes unchanged. */
export function trouble(doing: string, path: string, error: unknown, Kind = WorkspaceError): Error {
  if (error instanceof WorkspaceError) return error;
  const code = codeOf(error);
  if (code === '') return error instanceof Error ? error : new Error(String(error));
  const message =
    (Kind === StoreTrouble ? storeWords[code] : undefined) ?? words[code] ?? 'the system refused it';
  return new Kind(`cannot ${doing} "${shownPath(path)}": ${message} (${code})`, {
    cause: error,
  });
}

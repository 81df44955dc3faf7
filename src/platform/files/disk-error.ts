/** Disk errors: how to recognise them, and which file they concern. */

/** Error codes of a disk that is full, broken or not writable. The work can be repeated once the disk is fixed. */
const codes = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE'];

/** Error codes of a file system that went away: the program that serves it has exited, or its server cannot be
 *  reached. Sockets report some of them too. */
const away = ['ENOTCONN', 'ECONNABORTED', 'ESHUTDOWN', 'EHOSTDOWN', 'EHOSTUNREACH', 'ETIMEDOUT', 'EREMOTEIO'];

/** Error codes of a file system that does not support the operation, usually file modes. */
const lacking = ['ENOSYS', 'ENOTSUP'];

/** Codes without a name in Node (stale file handle, damaged tree) come from the disk, except the one that macOS
 *  returns when a socket is opened as a file. */
const nameless = /^Unknown system error -(?!102$)\d+$/;

/** Whether the error concerns a file: for sockets and programs Node's message starts with the system call. */
const isOfFile = (error: Error, code: string): boolean => error.message.startsWith(`${code}:`);

/** The disk error that `error` is or was caused by, with its path where known; undefined for any other error. */
export function diskError(
  error: unknown,
): { readonly code: string; readonly path: string | undefined; readonly error: Error } | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string' && isDisk(error, error.code))
    return { code: error.code, path: pathOf(error, error.code), error };
  return diskError(error.cause);
}

const isDisk = (error: Error, code: string): boolean =>
  codes.includes(code) ||
  ((away.includes(code) || lacking.includes(code) || nameless.test(code)) && isOfFile(error, code)) ||
  takesNone(error);

/** For a copy the system names both files; only the destination needs disk space. */
function pathOf(error: Error, code: string): string | undefined {
  if ('dest' in error && typeof error.dest === 'string' && takingRoom.includes(code)) return error.dest;
  return 'path' in error && typeof error.path === 'string' ? error.path : undefined;
}

const takingRoom = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'];

/** A virtual file system such as `/proc` reports ENOENT for a new folder. */
const takesNone = (error: Error): boolean =>
  'code' in error && error.code === 'ENOENT' && 'syscall' in error && error.syscall === 'mkdtemp';

/** Whether the disk itself is full or broken, which no node causes. A denied access counts only outside `workspace`
 *  (empty: nowhere), because a node can change permissions in its workspace. */
export function isDisks(error: unknown, workspace = ''): boolean {
  const trouble = diskError(error);
  if (trouble === undefined) return false;
  const { code, path, error: message } = trouble;
  // No node can have changed the permissions of a temporary file that this process has just created.
  const justMade = 'syscall' in message && message.syscall === 'fchmod';
  const denied = (code === 'EACCES' || code === 'EPERM') && !justMade;
  return !(denied && (path === undefined || workspace === '' || `${path}/`.startsWith(`${workspace}/`)));
}

/** Whether `error` is, or was caused by, a disk or a quota without space. */
export const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(diskError(error)?.code ?? '');

/** The exit code by which a tool of this package reports to the engine that a disk error stopped it, so that the
 *  node is not blamed. */
const diskExit = 74;
/** Commands of this package that run as nodes. */
const tools = ['order', 'plan', 'scenario'];
const isTool = new RegExp(`^\\s*factory\\s+(?:${tools.join('|')})\\s`);

/** Whether a node with this end is a command of this package that a disk error stopped. */
export const stoppedByDisk = (command: string, code: number): boolean =>
  code === diskExit && isTool.test(command);

/** The exit code of `command` after a disk error: inside a node the one that the engine recognises, else a plain
 *  failure. */
export const exitOfDisk = (command: string, env: Readonly<Record<string, string | undefined>>): number =>
  tools.includes(command) && env['FACTORY_NODE_DIR'] !== undefined ? diskExit : 1;

/** What programs print for a disk error; git does not always print the cause. */
const printed =
  /No space left on device|Disk quota exceeded|Input\/output error|Read-only file system|Too many open files|Transport endpoint is not connected|Stale (?:NFS )?file handle|[Oo]ut of disk ?space|unable to write |couldn't write '/;
export const tellsOfDisk = (text: string): boolean => printed.test(text);

/** The error code for the disk error that a program has printed; ENOSPC where the text does not say. */
export function codeIn(text: string): string {
  const words = {
    EROFS: /read-only/i,
    EIO: /input\/output error/i,
    EDQUOT: /quota/i,
    EMFILE: /too many (?:open )?files|files are open/i,
    ENOTCONN: /endpoint is not connected|stale (?:nfs )?file handle|has gone away/i,
    EFBIG: /file (?:size limit|too large|would be larger)/i,
    ENOENT: /takes no new folders/i,
  };
  return Object.entries(words).find(([, pattern]) => pattern.test(text))?.[0] ?? 'ENOSPC';
}

/** A printed disk error as an error object; it concerns `runDir` where the text names no path. */
export function errorFrom(text: string, runDir: string): Error {
  const code = codeIn(text);
  const path = /^error\[system\]: (\/.*?): /m.exec(text)?.[1] ?? runDir;
  const syscall = code === 'ENOENT' ? { syscall: 'mkdtemp' } : {};
  return Object.assign(new Error('stopped by a disk error'), { code, path, ...syscall });
}

export const fixDisk = 'fix that (space, permissions, the disk or its mount), then retry';

/** A command that a disk error stopped. The message names the file, `fix` what to do. */
export class DiskStop extends Error {
  override readonly name = 'DiskStop';
  readonly fix: string;
  /** The exit code, where it is no plain failure. */
  readonly code: number | undefined;
  constructor(message: string, fix: string, cause: unknown, code?: number) {
    super(message, { cause });
    this.fix = fix;
    this.code = code;
  }
}

/** Runs `work`; adds `path` to a system error that names no path, as errors of flushes and of writes to an open
 *  file do. */
export async function about<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw named(path, error);
  }
}

/** Adds `path` to a system error that names none. */
export function named(path: string, error: unknown): unknown {
  if (error instanceof DiskStop) return error;
  if (error instanceof Error && 'code' in error && !('path' in error)) {
    error.message = `${error.message}, ${path}`;
    return Object.assign(error, { path });
  }
  return error;
}

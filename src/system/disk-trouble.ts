/** Troubles of the disk: which they are, and about which file. */

/** Codes of a disk that is full, broken or closed to us. Whatever was being done, it is nobody's fault here, and it can
 *  be done again once the disk is well. */
const codes = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE'];

/** Codes of a file system that has gone away: the program that serves it has ended, or its server is out of reach. Sockets
 *  have some of them too. */
const away = ['ENOTCONN', 'ECONNABORTED', 'ESHUTDOWN', 'EHOSTDOWN', 'EHOSTUNREACH', 'ETIMEDOUT', 'EREMOTEIO'];

/** Codes of a file system that lacks what is asked of it: modes, above all. */
const lacking = ['ENOSYS', 'ENOTSUP'];

/** Codes that Node has no name for, by their numbers (of a file handle that the server no longer knows, of a tree that is
 *  damaged), come from the disk, but for one: what macOS says when a socket is opened as a file. */
const nameless = /^Unknown system error -(?!102$)\d+$/;

/** Whether the error is about a file: of sockets and programs Node names the call first. */
const isOfFile = (error: Error, code: string): boolean => error.message.startsWith(`${code}:`);

/** What the system said, where the error is such a trouble or was caused by one; `path` where it is known. */
export function diskTrouble(
  error: unknown,
): { readonly code: string; readonly path: string | undefined; readonly error: Error } | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string' && isDisk(error, error.code))
    return { code: error.code, path: pathOf(error, error.code), error };
  return diskTrouble(error.cause);
}

const isDisk = (error: Error, code: string): boolean =>
  codes.includes(code) ||
  ((away.includes(code) || lacking.includes(code) || nameless.test(code)) && isOfFile(error, code)) ||
  takesNone(error);

/** Of what reads one file and writes another the system names both; only the other takes room. */
function pathOf(error: Error, code: string): string | undefined {
  if ('dest' in error && typeof error.dest === 'string' && takingRoom.includes(code)) return error.dest;
  return 'path' in error && typeof error.path === 'string' ? error.path : undefined;
}

const takingRoom = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'];

/** A file system of the system's own (`/proc`) says of a new folder that it is not there. */
const takesNone = (error: Error): boolean =>
  'code' in error && error.code === 'ENOENT' && 'syscall' in error && error.syscall === 'mkdtemp';

/** Whether the disk itself is full or broken, which is no stage's doing. That access is denied may be the doing of whoever
 *  wrote there: anywhere, or only below `workspace`, where a stage can take it away. */
export function isDisks(error: unknown, workspace = ''): boolean {
  const trouble = diskTrouble(error);
  if (trouble === undefined) return false;
  const { code, path, error: said } = trouble;
  // A file that we have made ourselves, a moment ago, is nobody's to close to us.
  const justMade = 'syscall' in said && said.syscall === 'fchmod';
  const denied = (code === 'EACCES' || code === 'EPERM') && !justMade;
  return !(denied && (path === undefined || workspace === '' || `${path}/`.startsWith(`${workspace}/`)));
}

/** The exit code by which our own tools tell the engine that the disk has stopped them: nothing is said of the stage. */
const diskExit = 74;
/** Commands of ours that are stages. */
const tools = ['order', 'plan', 'scenario'];
const isTool = new RegExp(`^\\s*factory\\s+(?:${tools.join('|')})\\s`);

/** Whether a stage that ended so is one of ours that the disk has stopped. */
export const stoppedByDisk = (command: string, code: number): boolean =>
  code === diskExit && isTool.test(command);

/** How `command` ends when the disk stops it: in a stage, so that the engine knows; else as anything that fails. */
export const exitOfDisk = (command: string, env: Readonly<Record<string, string | undefined>>): number =>
  tools.includes(command) && env['FACTORY_NODE_DIR'] !== undefined ? diskExit : 1;

/** What programs print in such a case; git does not always say why it could not write. */
const printed =
  /No space left on device|Disk quota exceeded|Input\/output error|Read-only file system|Too many open files|Transport endpoint is not connected|Stale (?:NFS )?file handle|[Oo]ut of disk ?space|unable to write |couldn't write '/;
export const tellsOfDisk = (text: string): boolean => printed.test(text);

/** The trouble that a program has printed, as the system's code; most often there is no space. */
export function codeToldBy(text: string): string {
  const words = {
    EROFS: /read-only/i,
    EIO: /input\/output error/i,
    EDQUOT: /quota/i,
    EMFILE: /too many (?:open )?files|files are open/i,
    ENOTCONN: /endpoint is not connected|stale (?:nfs )?file handle|has gone away/i,
    EFBIG: /file (?:size limit|too large|would be larger)/i,
    ENOENT: /takes no new folders/i,
  };
  return Object.entries(words).find(([, said]) => said.test(text))?.[0] ?? 'ENOSPC';
}

/** The same as the error of a tool of ours that the disk has stopped; about `runDir` where the tool names no path. */
export function toldTrouble(text: string, runDir: string): Error {
  const code = codeToldBy(text);
  const path = /^error\[system\]: (\/.*?): /m.exec(text)?.[1] ?? runDir;
  const syscall = code === 'ENOENT' ? { syscall: 'mkdtemp' } : {};
  return Object.assign(new Error('the disk has stopped it'), { code, path, ...syscall });
}

export const mendDisk = 'mend that (space, permissions, the disk or its mount), then do it again';

/** Work that the disk has stopped, in words for people: the message names the file, `fix` says how to go on. */
export class DiskStop extends Error {
  override readonly name = 'DiskStop';
  readonly fix: string;
  constructor(message: string, fix: string, cause: unknown) {
    super(message, { cause });
    this.fix = fix;
  }
}

/** Gives an error of the system the path it is about where it names none, as that of a flush or of a write into an open
 *  file does; settles as `work` does. */
export async function about<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw named(path, error);
  }
}

/** The same for an error at hand. */
export function named(path: string, error: unknown): unknown {
  if (error instanceof Error && 'code' in error && !('path' in error)) {
    error.message = `${error.message}, ${path}`;
    return Object.assign(error, { path });
  }
  return error;
}

/** Why a program could not be started, in words that say what to fix. */
import { closeSync, constants, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { SpawnRequest } from '../../core/contracts/process.ts';
import { allows } from '../files/read.ts';
import { isCode } from '../files/write.ts';

const kindOf = (path: string): 'file' | 'dir' | undefined => {
  try {
    const is = statSync(path);
    return is.isDirectory() ? 'dir' : 'file';
  } catch {
    return undefined;
  }
};

/** What no system can start in a request, checked in advance; undefined when there is nothing. Values are never
 *  shown: they may be secrets. */
export function unusable(request: SpawnRequest): string | undefined {
  if (request.argv[0] === '') return 'the program name is empty';
  const argument = request.argv.findIndex((word) => word.includes('\0'));
  if (argument !== -1) return `argument ${argument} contains a NUL byte, which no program can be given`;
  if (request.cwd.includes('\0')) return 'the working directory contains a NUL byte';
  const bad = Object.entries(request.env).find(
    ([name, value]) => name.includes('\0') || value.includes('\0'),
  );
  if (bad !== undefined) return `the environment variable ${JSON.stringify(bad[0])} contains a NUL byte`;
  return undefined;
}

/** Codes of a machine that lacks the resources to start a program at the moment. */
export const isNoRoom = (code: string): boolean => ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(code);

/** The same in the words of other programs. */
export const saysNoRoom = (text: string): boolean =>
  /Resource temporarily unavailable|Cannot allocate memory|Too many open files/.test(text);

/** Programs without input read it; where it is missing none can be started, and the system reports the same error
 *  as for a missing program. */
export const hasNull = (): boolean => kindOf('/dev/null') !== undefined;
export const noNull = 'this machine has no /dev/null, without which no program starts: mount its /dev';

/** The reason in words for the system's error code. */
export function spawnError(request: SpawnRequest, code: string): string {
  const { argv, cwd, env } = request;
  const [program] = argv;
  const folder = kindOf(cwd);
  if (folder !== 'dir')
    return `its working directory ${cwd} ${folder === undefined ? 'does not exist' : 'is not a directory'}`;
  if (!allows(cwd, constants.X_OK))
    return `its working directory ${cwd} may not be entered (permission denied)`;
  const path = resolve(cwd, program);
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      if (!hasNull()) return noNull;
      if (!program.includes('/'))
        return `"${program}" is not installed: no directory of PATH has it (PATH=${env['PATH'] ?? 'unset'})`;
      if (kindOf(path) === undefined) return `there is no file ${path}`;
      return noInterpreter(path);
    case 'EACCES':
    case 'EPERM':
      if (!program.includes('/')) return refusedOnPath(program, env['PATH'] ?? '', cwd);
      if (kindOf(path) === 'dir') return `${path} is a directory`;
      return `${path} is not executable (chmod +x), or its folder or file system forbids it`;
    case 'ENOEXEC':
      return `"${program}" is no program for this machine (exec format error)`;
    case 'E2BIG':
      return `its arguments and environment are too long for this system (argument list too long: ${sizeOf(request)} bytes)`;
    case 'ETXTBSY':
      return `"${program}" is being written by another process (text file busy)`;
    case 'EAGAIN':
      return 'the system allows no more processes (resource temporarily unavailable)';
    case 'EMFILE':
    case 'ENFILE':
      return 'the system allows no more open files (ulimit -n)';
    case 'ENOMEM':
      return 'the system has no memory left for it';
    default:
      return `the system could not start "${program}" (${code})`;
  }
}

/** The system reports the same error for a program that is not executable and for a PATH directory that cannot be
 *  searched. */
function refusedOnPath(program: string, path: string, cwd: string): string {
  const directories = path.split(':').map((directory) => resolve(cwd, directory));
  const found = directories.map((directory) => join(directory, program)).find((at) => kindOf(at) === 'file');
  if (found !== undefined) return `${found} is not executable (chmod +x)`;
  const closed = directories.find((directory) => isDenied(join(directory, program)));
  const where = closed === undefined ? path : `${path}; ${closed} may not be searched by this user`;
  return `"${program}" is not installed: no directory of PATH has it (PATH=${where})`;
}

function isDenied(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return isCode(error, 'EACCES');
  }
}

/** For a script with a missing interpreter the message quotes the interpreter's name, so that a carriage return
 *  shows. */
function noInterpreter(path: string): string {
  let named: string | undefined;
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const head = Buffer.alloc(256);
    const read = readSync(file, head, 0, head.length, 0);
    closeSync(file);
    named = /^#![ \t]*([^ \t\n]+)/.exec(head.toString('latin1', 0, read))?.[1];
  } catch {
    // A program that may be run but not read.
  }
  return named !== undefined && kindOf(named) === undefined
    ? `${path} exists, but its first line names the interpreter ${JSON.stringify(named)}, which does not`
    : `${path} exists, but not the interpreter that its first line or header names`;
}

const sizeOf = ({ argv, env }: SpawnRequest): number => {
  const words = [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  return words.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
};

/* Processes that the system killed because it was out of memory. */

/** Counts them on the whole machine; none where the system keeps no count. */
export class OutOfMemory {
  private seen: number;

  /** `count` returns how many there were since boot; undefined where the system has no count. */
  constructor(private readonly count: () => number | undefined = kills) {
    this.seen = this.count() ?? 0;
  }

  /** How many there were since the last call, or since this was created. */
  since(): number {
    const before = this.seen;
    this.seen = this.count() ?? before;
    return this.seen - before;
  }
}

function kills(): number | undefined {
  try {
    const [, count] = /^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'latin1')) ?? [];
    return count === undefined ? undefined : Number(count);
  } catch {
    return undefined;
  }
}

/** What ends a command from outside of it, told as everything else that is wrong. */
import { relative } from 'node:path';
import { BadRecord } from '../builder/record.ts';
import {
  codeToldBy,
  DiskStop,
  diskTrouble,
  exitOfDisk,
  isDisks,
  tellsOfDisk,
} from '../system/disk-trouble.ts';
import { Superseded } from '../system/fence.ts';
import { isCode, systemWords } from '../system/files.ts';
import { GitError, startGitAgain } from '../system/git.ts';
import { temporaryOf } from '../system/temporary.ts';
import type { Io } from './io.ts';
import { refuse, wrong } from './refuse.ts';

/** Tells what was thrown, and answers with the exit code. `given` are the words of the command line. */
export async function tellTrouble(error: unknown, io: Io, given: readonly string[]): Promise<number> {
  const json = given.includes('--json');
  if (error instanceof Superseded) {
    const fix = 'factory runs tells how the run stands';
    await refuse([wrong('run-taken', error.message, fix)], io, { json }, 1);
    return 1;
  }
  if (error instanceof GitError) {
    const fix = error.missing
      ? 'install git'
      : error.unanswered
        ? startGitAgain
        : tellsOfDisk(error.message)
          ? mending(codeToldBy(error.message), error.where, io.env)
          : 'check the repository with git fsck; put back a copy of it if there is one';
    await refuse([wrong('git', error.message, fix)], io, { json }, 1);
    return 1;
  }
  // What a run has put down, and something else has changed: what it built, where no sandbox keeps that from it.
  if (error instanceof BadRecord) {
    const fix = 'put back a copy of that file; factory verify tells what else of the run was changed';
    await refuse([wrong('bad-record', error.message, fix)], io, { json }, 1);
    return 1;
  }
  const inTheWay = somethingElse(error);
  if (inTheWay !== undefined) {
    const problem = {
      message: diskWords(inTheWay),
      fix: 'put what belongs there back, or take away what is in its place',
    };
    await refuse([{ code: 'system', severity: 'error', ...problem }], io, { json }, 1);
    return 1;
  }
  // A full or unwritable disk is not an internal error.
  const trouble = diskTrouble(error);
  if (trouble !== undefined) {
    const problem =
      error instanceof DiskStop
        ? { message: error.message, fix: error.fix }
        : {
            message: diskWords(trouble),
            fix: mending(trouble.code, trouble.path, io.env),
          };
    await refuse([{ code: 'system', severity: 'error', ...problem }], io, { json }, 1);
    return isDisks(error) ? exitOfDisk(given[0] ?? '', io.env) : 1;
  }
  if (isForbiddenByNode(error)) {
    const fix = 'start it without --permission (NODE_OPTIONS may set it): nodes have a separate sandbox';
    await refuse(
      [wrong('node', `Node's permission model forbids what factory needs: ${systemWords(error)}`, fix)],
      io,
      { json },
      1,
    );
    return 1;
  }
  io.err(
    `factory: an error of factory itself: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 70;
}

/** Whether Node's own permissions are in the way. */
const isForbiddenByNode = (error: unknown): boolean =>
  error instanceof Error && (isCode(error, 'ERR_ACCESS_DENIED') || isForbiddenByNode(error.cause));

/** A path of ours at which there is a file or directory of another kind. */
function somethingElse(error: unknown): { readonly path: string; readonly error: Error } | undefined {
  if (!(error instanceof Error)) return undefined;
  if (isCode(error, 'ELOOP', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ENAMETOOLONG') && 'path' in error)
    // What is put there, and not where, is gone again, or was never in the way.
    return { path: String('dest' in error ? error.dest : error.path), error };
  return somethingElse(error.cause);
}

/** Whether the path is one of our temporary directories, or in one. A project with a similar name may be there too. */
const isTemporary = (path: string | undefined, env: Io['env']): boolean =>
  path !== undefined &&
  /^(?:(?:factory|scenario)(?:-[a-z]+)?-[0-9a-f]{8}\.\d+\.[0-9a-f]{8}-|factory-proof-)/.test(
    relative(temporaryOf(env), path),
  );

function mending(code: string, path: string | undefined, env: Io['env']): string {
  if (isTemporary(path, env) && ['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOSPC', 'EDQUOT'].includes(code))
    return code === 'ENOSPC' || code === 'EDQUOT'
      ? 'make room there, or set TMPDIR to another place'
      : 'set TMPDIR to a place that can be written to';
  switch (code) {
    case 'EMFILE':
      return 'raise the limit, e.g. ulimit -n 4096';
    case 'ENFILE':
      return 'end programs that have many files open, or raise the limit of the whole system (fs.file-max)';
    case 'EACCES':
    case 'EPERM':
      return 'check who owns it, its permissions and those of the folders above it';
    case 'EROFS':
    case 'ENOENT':
      return 'use a place that can be written to, or mount that one with writing allowed';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'make room there (files, or a larger quota)';
    case 'EFBIG':
      return 'raise the limit of file sizes (ulimit -f), or use a file system that has larger ones';
    case 'ENOSYS':
    case 'ENOTSUP':
      return 'use a place on another file system';
    case 'ENOTCONN':
    case 'ECONNABORTED':
    case 'ESHUTDOWN':
      return 'mount it again (unmount first what is left of it), then do the same';
    default:
      return 'check the disk, and what the system says of it (dmesg)';
  }
}

/** What the disk has said, and about which file. */
export const diskWords = ({
  path,
  error,
}: Pick<NonNullable<ReturnType<typeof diskTrouble>>, 'path' | 'error'>): string =>
  `${path === undefined ? '' : `${path}: `}${systemWords(error)}`;

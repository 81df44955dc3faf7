/** What ends a command from outside of it, told as everything else that is wrong. */
import { relative, resolve } from 'node:path';
import { type Diagnostic, wrong } from '../../core/diagnostic.ts';
import {
  codeIn,
  DiskStop,
  diskError,
  exitOfDisk,
  isDisks,
  tellsOfDisk,
} from '../../platform/files/disk-error.ts';
import { Superseded } from '../../platform/files/fence.ts';
import { BadJsonRecord } from '../../platform/files/json-record.ts';
import { readPlain } from '../../platform/files/read.ts';
import { temporaryOf } from '../../platform/files/temporary.ts';
import { diskWords, inTheWay, isCode, systemWords } from '../../platform/files/write.ts';
import { GitError, startGitAgain } from '../../platform/git.ts';
import { invocationOf } from '../arguments.ts';
import { errColumns, type Io, paints } from '../io.ts';
import { fewOfEach, formatDiagnostic } from './diagnostics.ts';

/** Prints what was thrown, and answers with the exit code. `given` are the words of the command line. */
export async function reportTrouble(error: unknown, io: Io, given: readonly string[]): Promise<number> {
  const trouble = troubleOf(error, io.env);
  if (trouble !== undefined) {
    const [code, message, fix] = trouble;
    const plain = code === 'system' && isDisks(error) ? exitOfDisk(given[0] ?? '', io.env) : 1;
    const exit = plain === 1 && error instanceof DiskStop ? (error.code ?? plain) : plain;
    return reportError([wrong(code, message, fix)], io, { json: given.includes('--json') }, exit);
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  io.err(`factory: an error of factory itself: ${text}\n`);
  return 70;
}

/** Code, message and fix; undefined for an internal error. */
function troubleOf(error: unknown, env: Io['env']): readonly [string, string, string] | undefined {
  if (error instanceof Superseded)
    return ['run-taken', error.message, 'factory runs tells how the run stands'];
  if (error instanceof GitError) return ['git', error.message, gitFix(error, env)];
  // What a run has put down, and something else has changed: what it built, where no sandbox keeps that from it.
  if (error instanceof BadJsonRecord)
    return [
      'bad-record',
      error.message,
      'put back a copy of that file; factory verify tells what else of the run was changed',
    ];
  const other = inTheWay(error);
  if (other !== undefined)
    return ['system', diskWords(other), 'put what belongs there back, or take away what is in its place'];
  // A full or unwritable disk is not an internal error.
  const trouble = diskError(error);
  if (trouble !== undefined && error instanceof DiskStop) return ['system', error.message, error.fix];
  if (trouble !== undefined) return ['system', diskWords(trouble), fixFor(trouble.code, trouble.path, env)];
  if (!isForbiddenByNode(error)) return undefined;
  return [
    'node',
    `Node's permission model forbids what factory needs: ${systemWords(error)}`,
    'start it without --permission (NODE_OPTIONS may set it): nodes have a separate sandbox',
  ];
}

function gitFix({ missing, unanswered, message, where }: GitError, env: Io['env']): string {
  if (missing) return 'install git';
  if (unanswered) return startGitAgain;
  if (tellsOfDisk(message)) return fixFor(codeIn(message), where, env);
  return 'check the repository with git fsck; put back a copy of it if there is one';
}

/** Whether Node's own permissions are in the way. */
const isForbiddenByNode = (error: unknown): boolean =>
  error instanceof Error && (isCode(error, 'ERR_ACCESS_DENIED') || isForbiddenByNode(error.cause));

/** Whether the path is one of our temporary directories, or in one. A project with a similar name may be there too. */
const isTemporary = (path: string | undefined, env: Io['env']): boolean =>
  path !== undefined &&
  /^(?:(?:factory|scenario)(?:-[a-z]+)?-[0-9a-f]{8}\.\d+\.[0-9a-f]{8}-|factory-proof-)/.test(
    relative(temporaryOf(env), path),
  );

const makeRoom = 'make room there (files, or a larger quota)';
const checkOwner = 'check who owns it, its permissions and those of the folders above it';
const writable = 'use a place that can be written to, or mount that one with writing allowed';
const mount = 'mount it again (unmount first what is left of it), then do the same';
const other = 'use a place on another file system';
const fixes: Readonly<Record<string, string>> = {
  EMFILE: 'raise the limit, e.g. ulimit -n 4096',
  ENFILE: 'end programs that have many files open, or raise the limit of the whole system (fs.file-max)',
  EACCES: checkOwner,
  EPERM: checkOwner,
  EROFS: writable,
  ENOENT: writable,
  ENOSPC: makeRoom,
  EDQUOT: makeRoom,
  EFBIG: 'raise the limit of file sizes (ulimit -f), or use a file system that has larger ones',
  ENOSYS: other,
  ENOTSUP: other,
  ENOTCONN: mount,
  ECONNABORTED: mount,
  ESHUTDOWN: mount,
};

function fixFor(code: string, path: string | undefined, env: Io['env']): string {
  if (isTemporary(path, env) && (code === 'ENOSPC' || code === 'EDQUOT'))
    return 'make room there, or set TMPDIR to another place';
  if (isTemporary(path, env) && ['EACCES', 'EPERM', 'EROFS', 'ENOENT'].includes(code))
    return 'set TMPDIR to a place that can be written to';
  return fixes[code] ?? 'check the disk, and what the system says of it (dmesg)';
}

/* Says why nothing was done, with the text that is wrong. */

/** Prints what is wrong on standard error; with `json` the result on standard output has it too, and `more`. Answers with
 *  the exit code. */
export async function reportError(
  found: readonly Diagnostic[],
  io: Io,
  options: { readonly json?: boolean; readonly color?: boolean },
  code = 2,
  more: object = {},
): Promise<number> {
  const problems = found.map((problem) => typed(problem, io));
  if (options.json === true)
    io.out(
      `${JSON.stringify({ schema_version: 1, status: 'refused', exit_code: code, problems, ...more }, null, 2)}\n`,
    );
  const texts = await textsOfFiles(problems, io.cwd);
  printFindings(problems, (file) => texts.get(file), io, options.color);
  return code;
}

/** The texts of the files in which findings are. */
export async function textsOfFiles(
  found: readonly Diagnostic[],
  cwd: string,
  texts = new Map<string, string | undefined>(),
): Promise<ReadonlyMap<string, string | undefined>> {
  for (const { place } of found)
    if (place !== undefined && !texts.has(place.file))
      // A file that cannot be read any more is drawn without its line.
      texts.set(place.file, textIn(resolve(cwd, place.file)));
  return texts;
}

/** Prints findings on standard error: on a terminal the first of each code. */
export function printFindings(
  found: readonly Diagnostic[],
  textOf: (file: string) => string | undefined,
  io: Io,
  color: boolean | undefined,
): void {
  const colour = paints(io, io.errIsTerminal, color);
  const { shown, more } = fewOfEach(found, io.errIsTerminal);
  for (const one of shown)
    io.err(
      `${formatDiagnostic(one, one.place === undefined ? undefined : textOf(one.place.file), colour, errColumns(io), io.called?.program)}\n`,
    );
  for (const line of more) io.err(`${line}\n`);
}

/** With the commands that it proposes as this user types them. Only our own words are touched, no text of a pipeline. */
const typed = (problem: Diagnostic, { called }: Io): Diagnostic => ({
  ...problem,
  message: problem.place === undefined ? invocationOf(problem.message, called?.program) : problem.message,
  ...(problem.fix === undefined ? {} : { fix: invocationOf(problem.fix, called?.program) }),
});

/** Undefined where no plain file can be read: a pipe would be waited for. */
function textIn(path: string): string | undefined {
  try {
    const read = readPlain(path);
    return read.kind === 'text' ? read.text : undefined;
  } catch {
    return undefined;
  }
}

/** Where a workdir and a runs directory may lie, by their real paths, and the top of a workspace. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  realpathSync,
  type Stats,
  statSync,
  unlinkSync,
} from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { layout } from '../core/records/layout.ts';
import { beforeRemaking, beforeWrite } from '../platform/files/fence.ts';
import { codeOf, isDenied, trouble } from '../platform/files/workspace-error.ts';
import { isCode, isMissing, systemWords } from '../platform/files/write.ts';

export type DirProblem = {
  readonly which: 'workdir' | 'runsdir';
  readonly message: string;
  readonly fix: string;
};

/** What is wrong with the two folders before anything is written, or undefined. The workdir must be a readable
 *  folder (a link to one will do); the runs directory need not exist, may lie in the workdir, but may neither be it
 *  nor contain it: the copy of the tree would contain itself. */
export function checkDirs(dirs: {
  readonly workdir: string;
  readonly runsdir: string;
}): DirProblem | undefined {
  return checkWorkdir(dirs.workdir) ?? checkRunsdir(dirs.runsdir, dirs.workdir);
}

function checkWorkdir(workdir: string): DirProblem | undefined {
  const no = (message: string, fix: string): DirProblem => ({ which: 'workdir', message, fix });
  const found = look(workdir);
  if (found === 'missing')
    return no(`the workdir ${workdir} does not exist`, 'name a folder that exists with --workdir');
  if ('unreachable' in found)
    return no(`the workdir ${workdir} cannot be reached: ${found.unreachable}`, 'check the folders above it');
  if (!found.isDirectory())
    return no(`the workdir ${workdir} is not a folder`, 'name a folder with --workdir');
  try {
    opendirSync(workdir).closeSync();
    lstatSync(`${workdir}/.`);
  } catch {
    return no(`the workdir ${workdir} cannot be read`, 'make it readable for this user (chmod u+rx)');
  }
  // Much is copied before it comes to /proc, which cannot be.
  if (realpathSync.native(workdir) === '/' && !existsSync('/.factoryignore'))
    return no(
      `the workdir ${workdir} is the whole file system`,
      `name the folder of the project with --workdir, or workdir="none" on the graph for an empty one`,
    );
  return undefined;
}

function checkRunsdir(runsdir: string, workdir: string): DirProblem | undefined {
  const no = (message: string, fix: string): DirProblem => ({ which: 'runsdir', message, fix });
  const elsewhere = 'name another folder with --runsdir';
  const found = look(runsdir);
  if (found !== 'missing' && 'unreachable' in found)
    return no(
      `the runs directory ${runsdir} cannot be reached: ${found.unreachable}`,
      'check the folders above it',
    );
  if (found === 'missing') {
    // A link to nothing: making the folder would fail later, in the middle of the start.
    if (isLink(runsdir)) return no(`the runs directory ${runsdir} is a link that leads nowhere`, elsewhere);
  } else if (!found.isDirectory()) return no(`the runs directory ${runsdir} is not a folder`, elsewhere);

  const top = realpathSync.native(workdir);
  const runs = realOf(runsdir);
  for (let folder = top; ; folder = dirname(folder)) {
    if (folder === runs || (found !== 'missing' && isSame(folder, runsdir)))
      return folder === top
        ? no(`the runs directory ${runsdir} is the workdir itself`, `${elsewhere}, such as .factory/runs`)
        : no(`the runs directory ${runsdir} contains the workdir ${workdir}`, elsewhere);
    if (folder === dirname(folder)) return undefined;
  }
}

/** The real path of `path`, also where its last parts do not exist yet, or lie where this user may not look: another
 *  user's home, as in an environment that was kept by `su`. */
export function realOf(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync.native(whole);
  } catch (error) {
    const nothing = isMissing(error) || isDenied(error) || ['ELOOP', 'ENAMETOOLONG'].includes(codeOf(error));
    if (dirname(whole) === whole || !nothing) throw error;
    return join(realOf(dirname(whole)), basename(whole));
  }
}

/** The same, or the path unchanged where it cannot be resolved. */
export function realOrSame(path: string): string {
  try {
    return realOf(path);
  } catch {
    return path;
  }
}

/** True when `path` is `folder` or lies in it; both real and absolute. */
export const isWithin = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

function look(path: string): Stats | 'missing' | { readonly unreachable: string } {
  try {
    return statSync(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'missing';
    if (isDenied(error) || ['ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(codeOf(error)))
      return { unreachable: systemWords(error) };
    throw error;
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** The same folder under two names: a bind mount, or a file system that ignores case. */
function isSame(path: string, other: string): boolean {
  // As numbers, inodes above 2^53 may look the same and be others.
  const [a, b] = [statSync(path, { bigint: true }), statSync(other, { bigint: true })];
  return a.ino === b.ino && a.dev === b.dev;
}

/** Makes the top of a workspace a folder that can be written in; a link or a file that took its place goes. Snapshots do not record the
 *  mode of the top: a resume begins with it like this, and so must a run that continues without one. Throws a
 *  WorkspaceError. */
export function assertWorkspaceRoot(workspace: string): void {
  const stat = lstatSync(workspace, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true && (stat.mode & 0o700) === 0o700) return;
  beforeWrite(workspace);
  beforeRemaking(workspace);
  try {
    if (stat !== undefined && !stat.isDirectory()) unlinkSync(workspace);
    if (stat === undefined || !stat.isDirectory()) mkdirSync(workspace, { recursive: true });
    else chmodSync(workspace, (stat.mode & 0o7777) | 0o700);
  } catch (error) {
    throw trouble('restore into', workspace, error);
  }
}

/** Why nothing may be written to `folder`, as the end of a sentence: it is inside `runDir` or another run, whose records would
 *  not hold any more. Undefined if it is not, or if the calling node may write there. */
export async function liesInRun(
  folder: string,
  runDir: string,
  env: Environment,
): Promise<string | undefined> {
  const real = realOf(folder);
  if (isWithin(await realpath(runDir), real)) return 'lies in the folder of the run';
  const stage = env['FACTORY_WORKSPACE'];
  const own = stage === undefined || stage === '' ? undefined : realOf(stage);
  for (let above = real; above !== dirname(above) && above !== own; above = dirname(above)) {
    if (await isRunFolder(above)) return `lies in the folder of another run, ${above}`;
  }
  return undefined;
}

async function isRunFolder(folder: string): Promise<boolean> {
  const { manifest, contents } = layout(folder);
  for (const path of [manifest, contents]) {
    const there = await lstat(path).catch((error: unknown) => {
      if (isMissing(error) || isCode(error, 'EACCES', 'ELOOP', 'ENAMETOOLONG')) return undefined;
      throw error;
    });
    if (there === undefined) return false;
  }
  return true;
}

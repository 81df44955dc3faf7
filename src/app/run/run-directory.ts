/** Creates run directories atomically: each is filled under a temporary name and renamed. If that is refused, fails or is
 *  killed, the temporary folder is removed, in the last case by a later run. */
import { chmodSync, renameSync } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Diagnostic, Refusal } from '../../core/diagnostic.ts';
import { quoteWord } from '../../core/policy/words.ts';
import { layout } from '../../core/records/layout.ts';
import { dropKey, keyFileOf } from '../../holdout/vault.ts';
import { diskError } from '../../platform/files/disk-error.ts';
import { settleTree } from '../../platform/files/flush-tree.ts';
import { namesIn } from '../../platform/files/read.ts';
import { removeTree } from '../../platform/files/remove.ts';
import { creatorTag, isAbandoned } from '../../platform/files/temporary.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { isCode, makeFolder, syncFolders, systemWords } from '../../platform/files/write.ts';
import { makingFolder } from '../../platform/process/cleanup-registry.ts';
import { makeRunsDir } from '../../run/runs.ts';

/** The run to create, and where. */
export type RunDirectoryRequest = {
  readonly runId: string;
  /** A word that no other process uses. */
  readonly unique: string;
  readonly runsDir: string;
  readonly startedAt: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Cancels the creation; nothing is left behind. */
  readonly signal: AbortSignal;
};

/** Creates a run directory with `fillIn`, which receives the temporary folder and the final path; nothing is left behind when
 *  it refuses or fails. A WorkspaceError that it throws becomes a refusal with this code. */
export async function createAtomically<Filled extends object>(
  request: RunDirectoryRequest,
  code: 'workdir' | 'snapshots',
  fillIn: (building: string, final: string) => Promise<Filled | { readonly problem: Diagnostic }>,
): Promise<(Filled & { readonly runDir: string }) | Refusal> {
  const { runId, unique, runsDir, startedAt, env, signal } = request;
  const final = join(runsDir, runId);
  // Unique to this process: two processes that want the same run id must not fill one folder.
  const building = join(runsDir, buildingName(runId, unique));
  let first: string | undefined;
  try {
    first = makeFolder(runsDir);
  } catch (error) {
    return { problems: [unwritable(runsDir, 'cannot be made', error)] };
  }
  const settling: (() => void)[] = [];
  const settled = () => {
    for (const settle of settling) settle();
  };
  const clear = async () => {
    await dropKey(building, env);
    await removeTree(building);
    settled();
    if (first !== undefined) await removeEmpty(runsDir, first);
  };
  try {
    await makeRunsDir(runsDir);
    await removeAbandoned(runsDir, Date.parse(startedAt), env);
    const key = keyFileOf(building, env);
    for (const path of key === undefined ? [building] : [key, building]) settling.push(makingFolder(path));
    makeFolder(building);
    // It holds prompts, answers and the product: only its owner reads it.
    chmodSync(building, 0o700);
    const made = await fillIn(building, final);
    if (signal.aborted) throw new InterruptedCreation();
    if ('problem' in made) {
      await clear();
      return { problems: [made.problem] };
    }
    if (!(await named(building, final, first))) {
      await clear();
      return { problems: [nameInUse(request, final)] };
    }
    settled();
    return { ...made, runDir: final };
  } catch (error) {
    await clear();
    if (error instanceof InterruptedCreation) return { problems: [cutShort(signal)], code: 130 };
    return { problems: [refusal(error, runsDir, building, code)] };
  }
}

/** Thrown while the folder is filled, when the signal fires. */
export class InterruptedCreation extends Error {}

/** Flushes the new directory and renames it to the run's name; false if that name is taken. `first` is the topmost of the
 *  folders that were created above it. */
async function named(building: string, final: string, first: string | undefined): Promise<boolean> {
  const runsDir = dirname(final);
  // Flushed once, since nothing counts before the rename. The workspace needs no flush: its snapshot restores it.
  await settleTree(building, [layout(building).workspace]);
  if (!takeName(building, final)) return false;
  try {
    // If the folders above were lost, the run would be lost too.
    await syncFolders(runsDir, first === undefined ? runsDir : dirname(first));
  } catch (error) {
    await removeTree(final);
    throw error;
  }
  return true;
}

/** Renames; false if the name is taken. A rename never replaces a folder that is not empty, nor a file. */
function takeName(building: string, final: string): boolean {
  try {
    renameSync(building, final);
    return true;
  } catch (error) {
    if (isCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) return false;
    throw error;
  }
}

/** Removes the empty folders that were created for a refused run, from the runs directory up to `first`; a folder that is not
 *  empty belongs to another run. */
async function removeEmpty(runsDir: string, first: string): Promise<void> {
  for (let at = runsDir; at.length >= first.length; at = dirname(at)) {
    const isFactory = at === dirname(runsDir) && basename(at) === '.factory';
    if (isFactory && (await readdir(at)).join() === '.gitignore')
      await rm(join(at, '.gitignore'), { force: true });
    const gone = await rmdir(at).then(
      () => true,
      () => false,
    );
    if (!gone) return;
  }
}

const cutShort = ({ reason }: AbortSignal): Diagnostic => ({
  code: 'interrupted',
  severity: 'error',
  message: `interrupted by ${String(reason)} before the run started; no run directory was created`,
  fix: 'the same command starts it again',
});

const nameInUse = ({ runId, runsDir }: RunDirectoryRequest, final: string): Diagnostic => ({
  code: 'usage',
  severity: 'error',
  message: `there is a run "${runId}" in ${runsDir} already`,
  fix: `resume it: factory resume ${quoteWord(final)}; or leave out --run-id for a new one`,
});

/** Turns a disk or workspace error into a diagnostic; throws any other error. */
function refusal(
  error: unknown,
  runsDir: string,
  building: string,
  code: 'workdir' | 'snapshots',
): Diagnostic {
  const trouble = diskError(error);
  if (trouble !== undefined && (trouble.path ?? building).startsWith(runsDir))
    return unwritable(runsDir, 'cannot be written to', trouble.error);
  if (error instanceof WorkspaceError) {
    const fix =
      code === 'snapshots'
        ? 'no run was created; checkpoints with other snapshots can still be forked'
        : `${isLinks(error.cause) ? otherFolder : 'fix that in the workdir'}, or exclude it from the copy by naming it in .factoryignore`;
    return { code, severity: 'error', message: error.message, fix };
  }
  if (trouble !== undefined || isCode(error, 'ENAMETOOLONG'))
    return unwritable(runsDir, 'cannot be written to', error);
  throw error;
}

const unwritable = (runsDir: string, what: string, error: unknown): Diagnostic => ({
  code: 'runsdir',
  severity: 'error',
  message: `the runs directory ${runsDir} ${what}: ${systemWords(error)}`,
  fix: otherFolder,
});

const otherFolder = 'name another folder with --runsdir';

/** Whether the disk of the runs directory cannot hold symbolic links. */
const isLinks = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && error.syscall === 'symlink' && !isCode(error, 'EEXIST');

/** Hidden, so that no listing takes it for a run; it names the process that creates it. */
export const buildingName = (runId: string, unique: string): string =>
  `.${runId}.${unique}.${creatorTag()}.new`;

const makersFolder = /^\..+\.([0-9a-f]{8}\.\d+\.[0-9a-f]{8})\.new$/;

/** Removes unfinished run directories of processes that have ended from `runsDir`, each with its key. `now` in milliseconds. */
export async function removeAbandoned(
  runsDir: string,
  now: number,
  env: Parameters<typeof dropKey>[1],
): Promise<void> {
  for (const name of namesIn(runsDir)) {
    const maker = makersFolder.exec(name)?.[1];
    // There may be thousands of runs.
    if (maker === undefined) continue;
    const path = join(runsDir, name);
    if ((await isAbandoned(maker, path, now)) !== true) continue;
    // The key first: without the folder, nothing would show that the key is unused.
    await dropKey(path, env);
    // A folder of another user stays; it must not prevent this run.
    await removeTree(path).catch(onlyDenied);
  }
}

const onlyDenied = (error: unknown): void => {
  if (!isCode(error, 'EACCES', 'EPERM', 'ENOTEMPTY')) throw error;
};

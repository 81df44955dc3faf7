/** A run's folder exists entirely or not: it is made whole under another name and renamed. Here is what that takes, and what
 *  becomes of the folder when its maker refuses, fails or is killed. */
import { readdirSync, renameSync } from 'node:fs';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Diagnostic } from '../model/diagnostic.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { quoteWord } from '../policy/words.ts';
import type { Loaded } from '../store/checkpoint.ts';
import { makeRunsDir } from '../store/run-store.ts';
import { dropKey, keyFileOf } from '../store/sealed.ts';
import { diskTrouble } from '../system/disk-trouble.ts';
import { isCode, makeFolder, syncFolders, systemWords } from '../system/files.ts';
import { makingFolder } from '../system/live.ts';
import { isAbandoned, makerWord } from '../system/maker.ts';
import { removeTree } from '../system/remove.ts';
import { settleTree } from '../system/settle.ts';
import { WorkspaceError } from '../workspace/trouble.ts';

/** Which run is to be made, and where. */
export type Wanted = {
  readonly runId: string;
  /** A word that no other process uses. */
  readonly unique: string;
  readonly runsDir: string;
  readonly startedAt: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Fires: what was made until then goes. */
  readonly signal: AbortSignal;
};

/** How a run stands that has just been made: what reading its manifest and its checkpoint would tell. */
export type Begun = { readonly manifest: Manifest; readonly read: Loaded };
export type Made = { readonly runDir: string; readonly notes: readonly string[]; readonly begun?: Begun };
export type Filled = Omit<Made, 'runDir'>;
/** Why there is no run directory; with a code where the process shall end by another one than for wrong input. */
export type NotMade = { readonly problem: Diagnostic; readonly code?: number };

/** Makes a run directory by `fillIn`, which is given the folder to fill and the one that it will be; nothing is left
 *  behind when it refuses or fails. A WorkspaceError of its becomes a refusal with this code. */
export async function makeWhole(
  wanted: Wanted,
  code: 'workdir' | 'snapshots',
  fillIn: (building: string, final: string) => Promise<Filled | { problem: Diagnostic }>,
): Promise<Made | NotMade> {
  const { runId, unique, runsDir, startedAt, env, signal } = wanted;
  const final = join(runsDir, runId);
  // A folder of this process's own: two that want the same id must not fill one folder.
  const building = join(runsDir, buildingName(runId, unique));
  let first: string | undefined;
  try {
    first = makeFolder(runsDir);
  } catch (error) {
    return { problem: unwritable(runsDir, 'cannot be made', error) };
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
    const made = await fillIn(building, final);
    if (signal.aborted) throw new Cut();
    if ('problem' in made) {
      await clear();
      return made;
    }
    if (!(await named(building, final, first))) {
      await clear();
      return { problem: nameTaken(wanted, final) };
    }
    settled();
    return { runDir: final, ...made };
  } catch (error) {
    await clear();
    if (error instanceof Cut) return { problem: cutShort(signal), code: 130 };
    return { problem: refusal(error, runsDir, building, code) };
  }
}

/** Thrown by whoever fills the folder, when the signal fires. */
export class Cut extends Error {}

/** Puts all that was made on the disk and gives it the run's name; false when something else has that. `first` is the first
 *  of the folders above that were made for it. */
async function named(building: string, final: string, first: string | undefined): Promise<boolean> {
  const runsDir = dirname(final);
  // All at once, since nothing of it counts before it has its name; the workspace outlives a power cut in its snapshot,
  // whose large contents are flushed already.
  const { workspace, snapshots } = layout(building);
  await settleTree(building, [workspace, join(snapshots, 'large')]);
  if (!takeName(building, final)) return false;
  try {
    // A run in folders that are lost is lost.
    await syncFolders(runsDir, first === undefined ? runsDir : dirname(first));
  } catch (error) {
    await removeTree(final);
    throw error;
  }
  return true;
}

/** Gives the run its name; false when something else has it. A rename never replaces a folder that holds anything, nor what
 *  is no folder. */
function takeName(building: string, final: string): boolean {
  try {
    renameSync(building, final);
    return true;
  } catch (error) {
    if (isCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) return false;
    throw error;
  }
}

/** Takes back the folders that were made for a run that is refused, from the runs directory up to the first of them; a
 *  folder that holds anything else by now is another run's. */
async function removeEmpty(runsDir: string, first: string): Promise<void> {
  for (let at = runsDir; at.length >= first.length; at = dirname(at)) {
    const ours = at === dirname(runsDir) && basename(at) === '.factory';
    if (ours && (await readdir(at)).join() === '.gitignore')
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
  message: `interrupted by ${String(reason)} before the run began; nothing of it is left`,
  fix: 'the same command starts it again',
});

const nameTaken = ({ runId, runsDir }: Wanted, final: string): Diagnostic => ({
  code: 'usage',
  severity: 'error',
  message: `there is a run "${runId}" in ${runsDir} already`,
  fix: `go on with it: factory resume ${quoteWord(final)}; or leave out --run-id for a new one`,
});

/** An error as a refusal with the words for it; throws one that is neither the disk's nor the workspace's. */
function refusal(
  error: unknown,
  runsDir: string,
  building: string,
  code: 'workdir' | 'snapshots',
): Diagnostic {
  const trouble = diskTrouble(error);
  if (trouble !== undefined && (trouble.path ?? building).startsWith(runsDir))
    return unwritable(runsDir, 'cannot be written to', trouble.error);
  if (error instanceof WorkspaceError) {
    const fix =
      code === 'snapshots'
        ? 'nothing was made; a moment that another snapshot holds can still be forked'
        : `${isLinks(error.cause) ? otherFolder : 'mend that in the workdir'}, or leave it out of the copy by naming it in .factoryignore`;
    return { code, severity: 'error', message: error.message, fix };
  }
  if (trouble !== undefined || isCode(error, 'ENAMETOOLONG'))
    return unwritable(runsDir, 'cannot be written to', error);
  throw error;
}

const unwritable = (runsDir: string, what: string, error: unknown): Diagnostic => ({
  code: 'runsdir',
  severity: 'error',
  message: `the folder for runs ${runsDir} ${what}: ${systemWords(error)}`,
  fix: otherFolder,
});

const otherFolder = 'name another folder with --runsdir';

/** Whether a link could not be made: it is for the disk of the runs to have any. */
const isLinks = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && error.syscall === 'symlink' && !isCode(error, 'EEXIST');

/** Hidden, so that no listing takes it for a run; it tells who makes it, and where that process can be looked for. */
export const buildingName = (runId: string, unique: string): string =>
  `.${runId}.${unique}.${makerWord()}.new`;

const makersFolder = /^\..+\.([0-9a-f]{8}\.\d+\.[0-9a-f]{8})\.new$/;

/** Removes from `runsDir` what makers that have ended left unfinished, each with its key. `now` in milliseconds. */
export async function removeAbandoned(
  runsDir: string,
  now: number,
  env: Parameters<typeof dropKey>[1],
): Promise<void> {
  for (const name of readdirSync(runsDir)) {
    const [, maker = ''] = makersFolder.exec(name) ?? [];
    const path = join(runsDir, name);
    // Another user's stays: it must not keep this run from being made.
    if ((await isAbandoned(maker, path, now)) !== true) continue;
    // The key first: without the folder nobody would know it for one that opens nothing.
    await dropKey(path, env);
    await removeTree(path).catch(onlyDenied);
  }
}

const onlyDenied = (error: unknown): void => {
  if (!isCode(error, 'EACCES', 'EPERM', 'ENOTEMPTY')) throw error;
};

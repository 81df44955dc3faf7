/** Where a compilation's records and work orders go: the folder of its artifacts, and the one they are exported to. */
import { constants } from 'node:fs';
import { access, lstat, mkdir, readdir, realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isCode, makeFolder, systemWords, writeFileAtomic } from '../system/files.ts';
import { namesIn } from '../system/read.ts';
import { type Problem, readIfThere } from './desk.ts';
import { manifestFile } from './emit.ts';

const flushed = { sync: true } as const;

/** Makes the folder that all artifacts go to; answers with its real path. */
export async function artifactsRoot(path: string): Promise<{ readonly root: string } | Problem> {
  try {
    makeFolder(path);
    return { root: await realpath(path) };
  } catch (error) {
    return { problem: `the artifacts folder ${path} cannot be made: ${systemWords(error)}` };
  }
}

/** Makes the folder of one compilation, which must be new. */
export async function openShelf(root: string, runId: string): Promise<{ readonly dir: string } | Problem> {
  const dir = join(root, 'planner', runId);
  try {
    makeFolder(join(root, 'planner'));
    await mkdir(dir).catch(async (error: unknown) => {
      if (!isCode(error, 'EEXIST') || !(await neverRan(dir))) throw error;
    });
    makeFolder(join(dir, 'compile'));
  } catch (error) {
    return {
      problem: isCode(error, 'EEXIST')
        ? `there are artifacts of a run ${runId} already: ${dir}`
        : `the artifacts folder ${dir} cannot be made: ${systemWords(error)}`,
    };
  }
  return { dir };
}

/** Whether the folder is all that is left of a process that was killed before its run began. */
async function neverRan(dir: string): Promise<boolean> {
  if (namesIn(join(dir, 'compile')).length > 0) return false;
  const record = await readIfThere(join(dir, 'run.json'));
  return record === undefined || /^ {2}"finished_at_utc": null,$/m.test(record);
}

/** Writes the records, in their order, and removes what an earlier end of the same run left beside them. */
export async function writeRecords(dir: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const folder of ['compile', 'output']) {
    for (const name of namesIn(join(dir, folder))) {
      if (!files.has(`${folder}/${name}`))
        await rm(join(dir, folder, name), { recursive: true, force: true });
    }
  }
  for (const [path, text] of files) await writeFileAtomic(join(dir, path), text, flushed);
}

const isOrder = (name: string): boolean => /^WO-.*\.json$/.test(name) || name === manifestFile;

/** What of `outdir` an export would run into. `ours` are the texts about to be written: a file that is the same already
 *  is no conflict, so that an export that was cut can be made again. */
export async function exportConflict(
  outdir: string,
  ours: Readonly<Record<string, string>> = {},
): Promise<Problem | undefined> {
  let names: string[];
  try {
    names = await readdir(outdir);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    return { problem: `the output folder ${outdir} cannot be used: ${systemWords(error)}` };
  }
  const there: string[] = [];
  for (const name of names.filter(isOrder).sort()) {
    const same = Object.hasOwn(ours, name) && (await readIfThere(join(outdir, name))) === ours[name];
    if (!same) there.push(name);
  }
  if (there.length === 0) return undefined;
  const named = there.slice(0, 3).join(', ') + (there.length > 3 ? ', …' : '');
  return {
    problem: `the output folder ${outdir} holds work orders already (${named}): pass --overwrite to replace them`,
  };
}

/** Why nothing could be put into `outdir`; undefined where something can. Nothing is touched. */
export async function exportProblem(outdir: string): Promise<Problem | undefined> {
  try {
    // What is missing will be made in the first folder above it that is there.
    let at = outdir;
    for (; !(await isAnything(at)); at = dirname(at));
    // A link that leads nowhere is a name that is taken.
    const leads = await realpath(at).catch((error: unknown) => {
      if (isCode(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (leads === undefined) return unwritable(outdir, `${at} is a link that leads nowhere`);
    await access(`${leads}/.`, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return unwritable(outdir, systemWords(error));
  }
}

const isAnything = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: unknown) => {
      if (isCode(error, 'ENOENT')) return false;
      throw error;
    },
  );

const unwritable = (outdir: string, why: string): Problem => ({
  problem: `the output folder ${outdir} cannot be written: ${why}`,
});

/** Puts the orders into `outdir`, the manifest last. With `overwrite` the orders that are there go first, and nothing
 *  else; without it, an order that is there refuses the export. */
export async function exportOrders(
  outdir: string,
  output: Readonly<Record<string, string>>,
  overwrite: boolean,
): Promise<Problem | undefined> {
  const conflict = overwrite ? undefined : await exportConflict(outdir, output);
  if (conflict !== undefined) return conflict;
  return written(outdir, async () => {
    await rm(join(outdir, manifestFile), { force: true });
    for (const name of namesIn(outdir)) if (isOrder(name)) await rm(join(outdir, name), { force: true });
    for (const [name, text] of Object.entries(output))
      await writeFileAtomic(join(outdir, name), text, flushed);
  });
}

/** Puts the findings of a plan that was given up into `outdir`. */
export const exportFindings = (outdir: string, text: string): Promise<Problem | undefined> =>
  written(outdir, () => writeFileAtomic(join(outdir, 'validation_errors.json'), text, flushed));

async function written(outdir: string, work: () => Promise<void>): Promise<Problem | undefined> {
  try {
    makeFolder(outdir);
    await work();
    return undefined;
  } catch (error) {
    return unwritable(outdir, systemWords(error));
  }
}

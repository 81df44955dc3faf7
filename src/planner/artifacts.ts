/** Writes the report of a compilation to the artifacts, and its work orders to the export directory. */
import { constants, existsSync } from 'node:fs';
import { access, readdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from '../platform/files/read.ts';
import { isCode, makeFolder, systemWords, writeFileAtomic } from '../platform/files/write.ts';
import { manifestFile } from './emit.ts';
import { type PlanFileProblem, readIfThere } from './files.ts';

const flushed = { sync: true } as const;

/** Creates the directory of all artifacts; answers with its real path. */
export async function artifactsRoot(path: string): Promise<{ readonly root: string } | PlanFileProblem> {
  try {
    makeFolder(path);
    return { root: await realpath(path) };
  } catch (error) {
    return { problem: `the artifacts directory ${path} cannot be created: ${systemWords(error)}` };
  }
}

/** The directory of one compilation, which has no report yet. */
export const recordsDirectory = (root: string, runId: string): string => join(root, 'planner', runId);

/** Why a new compilation cannot use that directory. */
export const recordsProblem = (dir: string): PlanFileProblem | undefined =>
  existsSync(join(dir, 'run.json')) ? { problem: `there are artifacts of another run in ${dir}` } : undefined;

/** Writes the files in their order and removes those that an earlier report of the same run has left. */
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

/** The work orders in `outdir` that an export would replace. A file that equals one of `ours`, which will be written, is no
 *  conflict: an interrupted export can be repeated. */
export async function exportConflict(
  outdir: string,
  ours: Readonly<Record<string, string>> = {},
): Promise<PlanFileProblem | undefined> {
  let names: string[];
  try {
    names = await readdir(outdir);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    return { problem: `the output directory ${outdir} cannot be used: ${systemWords(error)}` };
  }
  const there: string[] = [];
  for (const name of names.filter(isOrder).sort()) {
    const same = Object.hasOwn(ours, name) && (await readIfThere(join(outdir, name))) === ours[name];
    if (!same) there.push(name);
  }
  if (there.length === 0) return undefined;
  const named = there.slice(0, 3).join(', ') + (there.length > 3 ? ', …' : '');
  return {
    problem: `the output directory ${outdir} has work orders already (${named}): pass --overwrite to replace them`,
  };
}

/** Creates `outdir`; answers why nothing can be written there. */
export const exportProblem = (outdir: string): Promise<PlanFileProblem | undefined> =>
  written(outdir, () => access(outdir, constants.W_OK | constants.X_OK));

/** Writes the orders to `outdir`, the manifest last. `overwrite` first removes the orders there; without it, an order there
 *  refuses the export. */
export async function exportOrders(
  outdir: string,
  output: Readonly<Record<string, string>>,
  overwrite: boolean,
): Promise<PlanFileProblem | undefined> {
  const conflict = overwrite ? undefined : await exportConflict(outdir, output);
  if (conflict !== undefined) return conflict;
  return written(outdir, async () => {
    await rm(join(outdir, manifestFile), { force: true });
    for (const name of namesIn(outdir)) if (isOrder(name)) await rm(join(outdir, name), { force: true });
    for (const [name, text] of Object.entries(output))
      await writeFileAtomic(join(outdir, name), text, flushed);
  });
}

/** Writes the findings of a failed plan to `outdir`. */
export const exportFindings = (outdir: string, text: string): Promise<PlanFileProblem | undefined> =>
  written(outdir, () => writeFileAtomic(join(outdir, 'validation_errors.json'), text, flushed));

async function written(outdir: string, work: () => Promise<void>): Promise<PlanFileProblem | undefined> {
  try {
    makeFolder(outdir);
    await work();
    return undefined;
  } catch (error) {
    return { problem: `the output directory ${outdir} cannot be written: ${systemWords(error)}` };
  }
}

/** Folders of runs, where nobody but the run itself may put anything: its records would not hold any more. */
import { lstat, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { layout } from '../model/layout.ts';
import { isCode, isMissing } from '../system/files.ts';
import { isWithin, realOf } from '../workspace/dirs.ts';

/** Why nothing may be written to `folder`, as the end of a sentence: it is inside `runDir` or another run. Undefined if it is
 *  not, or if the calling node may write there. */
export async function liesInRun(
  folder: string,
  runDir: string,
  env: Readonly<Record<string, string | undefined>>,
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
  const { manifest, snapshots } = layout(folder);
  for (const path of [manifest, snapshots]) {
    const there = await lstat(path).catch((error: unknown) => {
      if (isMissing(error) || isCode(error, 'EACCES', 'ELOOP', 'ENAMETOOLONG')) return undefined;
      throw error;
    });
    if (there === undefined) return false;
  }
  return true;
}

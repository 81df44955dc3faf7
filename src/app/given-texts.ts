/** Texts that a request gives for variables of a new run: files in the runs directory, named after the run, for its owner only. */
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { requestLayout } from '../core/records/layout.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeFolder, writeNewFile } from '../platform/files/write.ts';
import { makeRunsDir } from '../run/runs.ts';

/** A text, and the extension of its file. */
export type GivenText = { readonly text: string; readonly extension: string };

/** Writes the texts; answers with their paths, by variable. They are kept as long as the run: its job begins later, and a resume may
 *  read them again. */
export async function writeGivenTexts(
  runsDir: string,
  runId: string,
  texts: Readonly<Record<string, GivenText>>,
): Promise<Readonly<Record<string, string>>> {
  const all = Object.entries(texts);
  if (all.length === 0) return {};
  await makeRunsDir(runsDir);
  const { given, givenTo } = requestLayout(runsDir);
  for (const folder of [given, givenTo(runId)]) {
    makeFolder(folder);
    chmodSync(folder, 0o700);
  }
  const paths = all.map(([name, { extension }]) => [name, join(givenTo(runId), `${name}${extension}`)]);
  for (const [at, [, path = '']] of paths.entries()) await writeNewFile(path, all[at]?.[1].text ?? '', 0o600);
  return Object.fromEntries(paths);
}

/** Of a run that did not begin, or is removed. */
export const removeGivenTexts = (runsDir: string, runId: string): Promise<void> =>
  removeTree(requestLayout(runsDir).givenTo(runId));

/** Keeps git from reporting sealed paths: they are removed from the workspace and restored, and no order commits them. */

import * as z from 'zod';
import { once } from '../model/once.ts';
import { isMissing, writeFileAtomic, writeJson } from '../system/files.ts';
import { type Git, ignoreFactory } from '../system/git.ts';
import { inHistory } from './in-history.ts';
import { readRecord } from './record.ts';

const sealedPathsSchema = once(() =>
  z.object({
    version: z.literal(1),
    paths: z.array(z.string()),
    tracked: z
      .boolean()
      .exactOptional()
      .describe('False if the first commit has none of them, nor any later one'),
  }),
);

/** Records the sealed paths of a new history and excludes them, so that git does not report new files there. */
export async function noteSealed(
  historyDir: string,
  paths: readonly string[],
  first: string | null,
): Promise<void> {
  if (paths.length === 0) return;
  const { sealed, exclude } = inHistory(historyDir);
  const record = { version: 1, paths: [...paths] } as const;
  // A history without commits has none of them.
  await writeJson(sealed, first === null ? { ...record, tracked: false } : record);
  const literal = (path: string) => path.replace(/[\\*?[\]!# ]/g, '\\$&');
  await writeFileAtomic(exclude, ignoreFactory + paths.map((path) => `/${literal(path)}\n`).join(''));
}

/** Makes git treat tracked files at sealed paths as present and unchanged. `git` must use the index that commands of nodes
 *  see. */
export async function overlookSealed(historyDir: string, git: Git): Promise<void> {
  const file = inHistory(historyDir).sealed;
  const sealed = await readRecord(file, sealedPathsSchema()).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (sealed === undefined || sealed.tracked === false) return;
  const { paths } = sealed;
  const tracked = await git.list(['--literal-pathspecs', 'ls-files', '-z', '--', ...paths]);
  if (sealed.tracked === undefined) await writeJson(file, { ...sealed, tracked: tracked.length > 0 });
  if (tracked.length > 0)
    await git.text(['update-index', '--skip-worktree', '-z', '--stdin'], {
      input: tracked.map((path) => `${path}\0`).join(''),
    });
}

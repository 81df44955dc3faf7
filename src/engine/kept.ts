/** The files of a run that never change after its start. */
import { join, relative } from 'node:path';
import { inHistory } from '../builder/in-history.ts';
import { exchangesLayout, followedLayout, layout } from '../model/layout.ts';
import { hashFile } from '../store/artifact-hashes.ts';
import { namesIn } from '../system/read.ts';

/** SHA-256 by path in the run directory, of every file there that is never written again: inputs, the package barrier, the
 *  settings of the history, the records that a replay follows. */
export async function keptFiles(runDir: string): Promise<Record<string, string>> {
  const at = layout(runDir);
  const { settings, start, sealed } = inHistory(at.history);
  const followed = followedLayout(at.followed);
  const info = join(at.history, 'info');
  const paths = [
    at.barrier,
    ...namesIn(at.inputs).map((name) => join(at.inputs, name)),
    join(at.history, 'config'),
    settings,
    start,
    sealed,
    ...namesIn(info).map((name) => join(info, name)),
    followed.visits,
    exchangesLayout(followed.exchanges).calls,
  ];
  const hashes: Record<string, string> = {};
  for (const path of paths) {
    const hash = await hashFile(path);
    if (hash !== undefined) hashes[relative(runDir, path)] = hash;
  }
  return hashes;
}

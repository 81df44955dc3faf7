/** Where a run's holdout comes from, when it is not in the workdir. */
import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { present } from '../model/attribute.ts';
import type { Graph } from '../model/graph.ts';
import type { Manifest } from '../model/manifest.ts';
import { own } from '../model/own.ts';
import { isCode } from '../system/files.ts';

export type HoldoutSource = {
  /** Absolute. Whether it is there is only known of one that lies beside a file. */
  readonly folder: string;
  /** Who named it: the flag `--holdout`, the attribute `holdout_from`, or the attribute `holdout_beside`. */
  readonly said: 'flag' | 'graph' | 'beside';
};

/** The name of the folder beside a file that judges what is made of it. */
const besideName = 'scenarios';

/** The flag first (relative to the caller's folder, so given as it is resolved), then `holdout_from` (relative to the
 *  pipeline file), then the folder `scenarios` beside the file of the variable that `holdout_beside` names, where there is
 *  one: whoever builds by a spec of their own is never judged by another's scenarios. `pipelineFile` is absolute. */
export function holdoutSource(
  graph: Graph,
  variables: Manifest['variables'],
  pipelineFile: string,
  flag: string | undefined,
): HoldoutSource | undefined {
  if (flag !== undefined) return { folder: resolve(flag), said: 'flag' };
  const from = present(graph.attrs, 'holdout_from')?.value.text.trim();
  if (from !== undefined) return { folder: resolve(dirname(pipelineFile), from), said: 'graph' };
  const beside = present(graph.attrs, 'holdout_beside')?.value.text.trim();
  const file = beside === undefined ? undefined : own(variables, beside)?.file;
  if (file === undefined) return undefined;
  const folder = join(dirname(file.source), besideName);
  return isFolder(folder) ? { folder, said: 'beside' } : undefined;
}

/** A link that leads to itself is none. What may not be looked at is not taken for none: it may have to be sealed. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    if (isCode(error, 'ELOOP')) return false;
    throw error;
  }
}

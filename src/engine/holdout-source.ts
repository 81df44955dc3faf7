/** The folder that a run's holdout is taken from, when it is not in the workdir. */
import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Graph } from '../model/graph.ts';
import type { Manifest } from '../model/manifest.ts';
import { own } from '../model/own.ts';
import { isCode } from '../system/files.ts';

export type HoldoutSource = {
  /** Absolute. Its existence was checked only for `holdout_beside`. */
  readonly folder: string;
  /** The setting that names it: the flag `--holdout`, the attribute `holdout_from`, or the attribute `holdout_beside`. */
  readonly setting: 'flag' | 'graph' | 'beside';
};

/** The name of the holdout folder next to a spec. */
const besideName = 'scenarios';

/** The flag (resolved by the caller), else `holdout_from` (relative to the pipeline file), else the folder `scenarios` next to
 *  the file of the variable that `holdout_beside` names, if there is one: so a spec is never checked with the scenarios of
 *  another spec. `pipelineFile` is absolute. */
export function holdoutSource(
  graph: Graph,
  variables: Manifest['variables'],
  pipelineFile: string,
  flag: string | undefined,
): HoldoutSource | undefined {
  if (flag !== undefined) return { folder: resolve(flag), setting: 'flag' };
  const { holdout_from: from, holdout_beside: beside } = graph.settings;
  if (from !== undefined) return { folder: resolve(dirname(pipelineFile), from), setting: 'graph' };
  const file = beside === undefined ? undefined : own(variables, beside)?.file;
  if (file === undefined) return undefined;
  const folder = join(dirname(file.source), besideName);
  return isFolder(folder) ? { folder, setting: 'beside' } : undefined;
}

/** Throws where the folder cannot be examined: it may contain a holdout that must be sealed. A circular link is no folder. */
function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    if (isCode(error, 'ELOOP')) return false;
    throw error;
  }
}

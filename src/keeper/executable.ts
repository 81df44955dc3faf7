/** Whether this worker can execute a run that another process has begun. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { holdoutKeyFile } from '../holdout/vault.ts';
import { otherVersionOf, readManifest } from '../run/runs.ts';

/** Why it cannot, for people; undefined where it can, or where the run is not there yet. */
export async function whyNotExecutable(
  runsDir: string,
  id: string,
  env: Environment,
): Promise<string | undefined> {
  const dir = join(runsDir, id);
  if (!existsSync(dir)) return undefined;
  const other = await otherVersionOf(dir);
  if (other !== undefined) return `it ${other.what}`;
  const read = await readManifest(dir);
  const holdout = read.ok ? read.manifest.holdout : undefined;
  if (holdout === undefined || holdout === null) return undefined;
  const file = holdoutKeyFile(holdout, env);
  return file !== undefined && existsSync(file)
    ? undefined
    : `the key of its holdout scenarios is not here (${file ?? 'FACTORY_KEYS and HOME are not set'})`;
}

/** Opens the guard over what a run has sealed. */
import { type LeakGuard, leakGuard } from '../engine/leaks.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { readSealed } from '../store/sealed.ts';
import { readVisits } from '../store/visits.ts';
import type { Snapshots } from '../workspace/snapshot.ts';
import type { Environment, Refusal } from './types.ts';
import { refused } from './types.ts';

/** Undefined where nothing is sealed. */
export async function openLeaks(
  runDir: string,
  manifest: Manifest,
  snapshots: Snapshots,
  env: Environment,
): Promise<LeakGuard | Refusal | undefined> {
  if (manifest.holdout === undefined) return undefined;
  const sealed = await readSealed(runDir, manifest.holdout, env);
  if ('problem' in sealed) return { problems: [sealed.problem] };
  const read = await readVisits(layout(runDir).visits, 1);
  if (!read.ok) return refused('run-files', read.why);
  const [first] = read.records;
  if (first?.type !== 'Start') throw new Error('Internal: visits without a beginning');
  return leakGuard({ runDir, manifest, snapshots, start: first.snapshot, files: sealed.files });
}

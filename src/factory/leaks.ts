/** Opens the guard against holdout leaks. */
import { type LeakGuard, leakGuard } from '../engine/leaks.ts';
import type { Sealed } from '../engine/sealing.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { readVisits } from '../store/visits.ts';
import type { Snapshots } from '../workspace/snapshot.ts';
import type { Refusal } from './types.ts';
import { refused } from './types.ts';

/** `leaks` is undefined in a run without a holdout. */
export async function openLeaks(
  runDir: string,
  manifest: Manifest,
  snapshots: Snapshots,
  sealed: Sealed | undefined,
): Promise<{ readonly leaks: LeakGuard | undefined } | Refusal> {
  if (sealed === undefined) return { leaks: undefined };
  const read = await readVisits(layout(runDir).visits, 1);
  if (!read.ok) return refused('run-files', read.why);
  const [first] = read.records;
  if (first?.type !== 'Start') throw new Error('Internal: visits without a start record');
  const files = sealed.files();
  return { leaks: leakGuard({ runDir, manifest, snapshots, start: first.snapshot, files }) };
}

/** Opens the guard against holdout leaks. */
import { type LeakGuard, leakGuard } from '../engine/leaks.ts';
import type { Sealed } from '../engine/sealing.ts';
import type { Manifest } from '../model/manifest.ts';
import type { RunRecord } from '../model/visit-record.ts';
import type { Snapshots } from '../workspace/snapshot.ts';

/** `leaks` is undefined in a run without a holdout. */
export async function openLeaks(
  runDir: string,
  manifest: Manifest,
  records: readonly RunRecord[],
  snapshots: Snapshots,
  sealed: Sealed | undefined,
): Promise<{ readonly leaks: LeakGuard | undefined }> {
  if (sealed === undefined) return { leaks: undefined };
  const [first] = records;
  if (first?.type !== 'Start') throw new Error('Internal: visits without a start record');
  const files = sealed.files();
  return { leaks: leakGuard({ runDir, manifest, snapshots, start: first.snapshot, files }) };
}

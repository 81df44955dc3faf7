/** The lines of a run's holdout that the audit searches for. */
import type { AuditReport } from '../../core/records/audit.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { knownTexts } from '../../holdout/access.ts';
import { type Canaries, canariesIn } from '../../holdout/leak-scan.ts';
import { readSealed } from '../../holdout/vault.ts';
import type { Snapshots } from '../../workspace/snapshot.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export type SealedCanaries = {
  readonly holdout: AuditReport['holdout'];
  readonly canaries?: Canaries;
  readonly problem?: string;
};

/** The canaries of a run's holdout, or why there are none. */
export async function canariesFor(
  runDir: string,
  manifest: Manifest,
  snapshots: Snapshots,
  start: string,
  env: Environment,
): Promise<SealedCanaries> {
  if (manifest.holdout === undefined) return { holdout: 'none' };
  const sealed = await readSealed(runDir, manifest.holdout, env);
  if ('problem' in sealed)
    return {
      holdout: 'unreadable',
      problem: `${sealed.problem.message}${sealed.problem.fix === undefined ? '' : `; ${sealed.problem.fix}`}`,
    };
  const files = [...sealed.files].filter(({ kind }) => kind === 'file');
  const canaries = await canariesIn(files, knownTexts(runDir, manifest, snapshots, start));
  return { holdout: 'checked', canaries };
}

/** Reads the holdout of a run before anything changes, and places its files when the run stops. */
import type { Refusal } from '../engine/casting.ts';
import { type Sealed, sealedOf } from '../engine/sealing.ts';
import type { Manifest } from '../model/manifest.ts';
import { readSealed } from '../store/sealed.ts';
import { placeSealed } from '../workspace/sealed.ts';
import type { Environment } from './types.ts';

/** The holdout of a run; `sealed` is undefined in a run without one. Refuses a missing or damaged store or key. */
export async function readHoldout(
  runDir: string,
  { holdout }: Pick<Manifest, 'holdout'>,
  env: Environment,
): Promise<{ readonly sealed: Sealed | undefined } | Refusal> {
  if (holdout === undefined) return { sealed: undefined };
  const read = await readSealed(runDir, holdout, env);
  return 'problem' in read ? { problems: [read.problem] } : { sealed: sealedOf(holdout, read.files) };
}

/** Places the holdout files in the workspace of a run that has ended; a resume removes them, since it restores the checkpoint.
 *  May be repeated. */
export function unseal(workspace: string, sealed: Sealed | undefined): void {
  if (sealed !== undefined) placeSealed(workspace, sealed.paths, sealed.files());
}

/** The same after a disk error, which may make this fail as well: the store still has the files. */
export function unsealIfPossible(workspace: string, sealed: Sealed | undefined): void {
  try {
    unseal(workspace, sealed);
  } catch {
    // The disk error is reported already; a resume restores the workspace.
  }
}

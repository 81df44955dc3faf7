/** The judge of a run that is at work or at its end: read whole before anything changes, put back when the run stops. */
import type { Refusal } from '../engine/casting.ts';
import { type Sealed, sealedOf } from '../engine/sealing.ts';
import type { Manifest } from '../model/manifest.ts';
import { readSealed } from '../store/sealed.ts';
import { placeSealed } from '../workspace/sealed.ts';
import type { Environment } from './types.ts';

/** What is sealed in a run; undefined where nothing is. Refuses a store or a key that is gone or damaged. */
export async function readJudge(
  runDir: string,
  { holdout }: Pick<Manifest, 'holdout'>,
  env: Environment,
): Promise<{ readonly sealed: Sealed | undefined } | Refusal> {
  if (holdout === undefined) return { sealed: undefined };
  const read = await readSealed(runDir, holdout, env);
  return 'problem' in read ? { problems: [read.problem] } : { sealed: sealedOf(holdout, read.files) };
}

/** Puts the files back into the workspace of a run that has ended; the next resume restores the checkpoint, which has none
 *  of them. Done again after a cut it ends the same. */
export function unseal(workspace: string, sealed: Sealed | undefined): void {
  if (sealed !== undefined) placeSealed(workspace, sealed.paths, sealed.files());
}

/** For a run that the disk has stopped, which may refuse this as well: the store still has them. */
export function unsealIfPossible(workspace: string, sealed: Sealed | undefined): void {
  try {
    unseal(workspace, sealed);
  } catch {
    // What is wrong is being said already; a resume begins by putting the workspace right.
  }
}

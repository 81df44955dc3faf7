/** The holdout of a run that is judged by what another run has sealed: the scenarios go from store to store, and are never files that an
 *  agent could find. */
import { join } from 'node:path';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { SealedFile } from '../../core/records/manifest.ts';
import { openHoldout } from '../../holdout/mount.ts';
import { type ChosenHoldout, keysAmongRuns, readFrom, unsealable } from '../../holdout/seal.ts';
import { keysFix } from '../../holdout/vault.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { openRun } from '../../run/open-run.ts';
import { newRunIdProblem } from '../../run/runs.ts';

type Where = {
  /** Absolute; undefined for an empty tree. */
  readonly workdir: string | undefined;
  readonly runsDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** `id`: of the run that has sealed it, in the same runs directory. */
export async function holdoutSealedBy(
  id: string,
  { workdir, runsDir, env }: Where,
): Promise<{ readonly chosen: ChosenHoldout } | Refusal> {
  const no = (why: string, fix?: string): Refusal => refused('holdout', `--holdout-of: ${why}`, fix);
  const bad = newRunIdProblem(id);
  if (bad !== undefined) return no(bad, 'name a run by its id');
  const dir = join(runsDir, id);
  const read = await openRun(dir).manifest();
  if (!read.ok) return no(read.why, 'factory runs lists the runs');
  const { holdout } = read.manifest;
  if (holdout === undefined) return no(`run ${id} has no holdout`, 'leave out --holdout-of');
  const opened = await openHoldout(dir, read.manifest, env);
  if ('problems' in opened) return opened;
  const among = keysAmongRuns(runsDir, env);
  if (among !== undefined) return no(among, keysFix);
  const { paths, from, committed } = holdout;
  try {
    // What the workdir has there is kept from agents, too.
    const own: SealedFile[] = [];
    for (const path of workdir === undefined ? [] : paths)
      own.push(...(await readFrom(workdir ?? '', path, path, [runsDir])));
    const given = opened.sealed?.files() ?? [];
    const inWorkdir = workdir === undefined ? [] : paths.map((path) => join(workdir, path));
    const leaveOut = from === 'workdir' ? inWorkdir : [...inWorkdir, from];
    const chosen = { ...{ paths, from, own, given, leaveOut, env }, whole: true as const };
    return { chosen: committed === undefined ? chosen : { ...chosen, committed } };
  } catch (error) {
    if (error instanceof WorkspaceError) return { problems: [unsealable(error)] };
    throw error;
  }
}

/** Checks before a resume that the inputs of the run are unchanged; changes are refused without `--accept-changes`. */
import { resolve } from 'node:path';
import type { Refusal } from '../engine/casting.ts';
import { varNotTaken, whatChanged } from '../engine/resume.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Graph } from '../model/graph.ts';
import { keepsTexts, type Manifest } from '../model/manifest.ts';
import type { Doors, RunFlags } from './types.ts';
import { refused } from './types.ts';

/** The accepted changes, or a refusal. `stored` is the pipeline in the manifest, `graph` the current file's. With `keeps`, the
 *  run keeps its texts, and their files are not compared. */
export async function checkUnchangedInputs(
  manifest: Manifest,
  texts: { readonly stored: Graph | undefined; readonly graph: Graph | undefined; readonly keeps: boolean },
  flags: RunFlags,
  doors: Pick<Doors, 'cwd'>,
): Promise<{ readonly accepted: readonly Diagnostic[] } | Refusal> {
  const { stored, graph } = texts;
  const replays = manifest.replay_of !== undefined;
  if (flags.live === true && !replays)
    return refused('usage', `run ${manifest.run_id} is not a replay: it is live anyway`, 'leave out --live');
  // A replay keeps the texts of the recorded run, a fork those of the forked run, unless it was given others.
  const keeps =
    texts.keeps ||
    flags.keepsTexts === true ||
    (graph === undefined && keepsTexts(manifest) && !flags.acceptChanges);
  const differs =
    replays || keeps
      ? await whatChanged(
          { ...manifest, prompts: {}, schemas: {} },
          replays ? stored : (graph ?? stored),
          flags,
          doors.cwd,
        )
      : await whatChanged(manifest, graph, flags, doors.cwd);
  if (differs.length > 0 && !flags.acceptChanges) return { problems: differs };
  const lost = await varNotTaken(manifest, graph, flags, doors.cwd);
  if (lost !== undefined) return { problems: [lost] };
  const { holdout } = manifest;
  if (flags.holdout !== undefined && resolve(doors.cwd, flags.holdout) !== holdout?.from)
    return refused(
      'resume-changed',
      `--holdout ${flags.holdout} differs from the run's holdout: ${holdout === undefined ? 'none' : holdout.from === 'workdir' ? `${holdout.paths.join(', ')} of its workdir` : holdout.from}`,
      'leave out the flag, or start a new run: the holdout of a run cannot be changed',
    );
  return { accepted: differs };
}

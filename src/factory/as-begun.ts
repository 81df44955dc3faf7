/** Whether a run that is taken up again is as it was begun: what has changed is refused, unless somebody accepts it. */
import { resolve } from 'node:path';
import type { Refusal } from '../engine/casting.ts';
import { varNotTaken, whatChanged } from '../engine/resume.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Graph } from '../model/graph.ts';
import { keepsTexts, type Manifest } from '../model/manifest.ts';
import type { Doors, RunFlags } from './types.ts';
import { refused } from './types.ts';

/** What has changed and is accepted; a refusal where it is not, or cannot be. `stored` is the pipeline that the run keeps,
 *  `graph` the one that there is now. With `keeps` the run goes on with its own texts, whatever their files say. */
export async function asBegun(
  manifest: Manifest,
  texts: { readonly stored: Graph | undefined; readonly graph: Graph | undefined; readonly keeps: boolean },
  flags: RunFlags,
  doors: Pick<Doors, 'cwd'>,
): Promise<{ readonly accepted: readonly Diagnostic[] } | Refusal> {
  const { stored, graph } = texts;
  const replays = manifest.replay_of !== undefined;
  if (flags.live === true && !replays)
    return refused('usage', `run ${manifest.run_id} is no replay: it is live anyway`, 'leave out --live');
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
      `--holdout ${flags.holdout} is not what the run has sealed: ${holdout === undefined ? 'nothing' : holdout.from === 'workdir' ? `${holdout.paths.join(', ')} of its workdir` : holdout.from}`,
      'leave the flag out, or start a new run: what judges a run stays as it was when the run began',
    );
  return { accepted: differs };
}

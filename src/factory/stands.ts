/** Loads the state of a run from its records. */
import type { Refusal } from '../engine/casting.ts';
import type { Manifest } from '../model/manifest.ts';
import { quoteWord } from '../policy/words.ts';
import { type RunHistory, readRun } from '../store/run-journal.ts';
import { readManifest } from '../store/run-store.ts';
import { refused } from './types.ts';

export type RunStanding = { readonly manifest: Manifest; readonly history: RunHistory };

/** The manifest of a run and its state, or why it cannot be resumed from them: a file is damaged or was changed. */
export async function loadRunState(runDir: string): Promise<RunStanding | Refusal> {
  const history = await readRun(runDir);
  if (!history.ok) return refused(history.missing ? 'run-files' : 'records-changed', history.why);
  const read = await readManifest(runDir, history);
  if (!read.ok) return refused('manifest', read.why);
  if (read.sha256 === history.manifestSha256) return { manifest: read.manifest, history };
  const run = quoteWord(runDir);
  return refused(
    'records-changed',
    `${runDir}/manifest.json was changed after the engine wrote it, so run ${read.manifest.run_id} cannot be resumed; nothing was changed`,
    `restore a copy of the run directory (factory verify ${run} shows more), or fork the run from an execution that you trust: factory fork ${run} --at NODE@VISIT`,
  );
}

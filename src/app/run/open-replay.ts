/** The record that answers in a replay. */
import { type Refusal, refused } from '../../core/diagnostic.ts';
import { followedLayout, layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { historyFollower } from '../../git/fork-history.ts';
import { createReplay, type Replay } from '../../run/answers.ts';
import { bodiesIn } from '../../run/exchanges.ts';
import { openRun } from '../../run/open-run.ts';
import { divergenceOf } from '../../run/result.ts';
import type { Snapshots } from '../../workspace/snapshot.ts';
import type { Host } from '../types.ts';
import { changedInFollowed } from './run-state.ts';

/** What answers in place of agents, tools and verifications. */
export async function openReplay(
  runDir: string,
  manifest: Manifest,
  variables: Readonly<Record<string, string>>,
  snapshots: Snapshots,
  host: Host,
): Promise<Replay | Refusal> {
  const { replay_of: replayOf } = manifest;
  if (replayOf === undefined) throw new Error('Internal: no replay');
  const { followed, history, workspace } = layout(runDir);
  const at = followedLayout(followed);
  const changed = await changedInFollowed(runDir, manifest);
  if (changed !== undefined) return changed;
  const recorded = openRun(followed).history();
  if (!recorded.ok) return refused('replay-records', recorded.why);
  snapshots.store.refresh();
  return createReplay(
    {
      replayOf,
      records: recorded.records,
      exchanges: recorded.exchanges,
      body: bodiesIn(runDir),
      followHistory:
        manifest.git === undefined
          ? undefined
          : historyFollower({ historyDir: history, workspace, env: host.env }),
    },
    {
      manifest,
      runDir,
      variables,
      snapshots,
      log: host.log,
      divergenceFile: at.divergence,
      diverged: replayOf.live && (await divergenceOf(runDir)).divergence !== undefined,
    },
  );
}

/** The exchanges of a run: where they are recorded, and in a replay those that answer. */
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { codergens } from '../../core/pipeline.ts';
import { exchangesLayout, followedLayout, layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { historyFollower } from '../../git/fork-history.ts';
import { createReplay, type Replay } from '../../run/answers.ts';
import { type ExchangeLog, openExchanges, readExchanges } from '../../run/exchanges.ts';
import { divergenceOf } from '../../run/result.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { readVisits } from '../../run/visits.ts';
import type { Snapshots } from '../../workspace/snapshot.ts';
import type { Host } from '../types.ts';
import { changedInFollowed } from './run-state.ts';

/** Where the exchanges of a run are recorded; undefined for a pipeline without agents. */
export const exchangesOf = (
  graph: Graph,
  runDir: string,
  { marks }: Pick<RunHistory, 'marks'>,
): ExchangeLog | undefined =>
  codergens(graph).length === 0
    ? undefined
    : openExchanges(layout(runDir).exchanges, marks[exchangesLayout(layout('').exchanges).calls]);

/** What answers in place of agents, tools and verifications; undefined for a run that is no replay. */
export async function openReplay(
  runDir: string,
  manifest: Manifest,
  variables: Readonly<Record<string, string>>,
  snapshots: Snapshots,
  host: Host,
): Promise<{ readonly replay: Replay | undefined } | Refusal> {
  const { replay_of: replayOf } = manifest;
  if (replayOf === undefined) return { replay: undefined };
  const { followed, history, workspace } = layout(runDir);
  const at = followedLayout(followed);
  const changed = await changedInFollowed(runDir, manifest);
  if (changed !== undefined) return changed;
  const visits = await readVisits(at.visits);
  if (!visits.ok) return refused('replay-records', visits.why);
  const read = await readExchanges(at.exchanges);
  if (!read.ok) return refused('replay-records', read.why);
  const replay = createReplay(
    {
      replayOf,
      records: visits.records,
      exchanges: read.exchanges,
      exchangesDir: at.exchanges,
      artifact: at.artifact,
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
  return { replay };
}

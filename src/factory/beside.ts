/** Optional parts of a run: the record of exchanges with agents, a replay's answers, the guard against holdout leaks. Each is
 *  loaded only for runs that have it. */
import type { Refusal } from '../engine/casting.ts';
import { codergens } from '../engine/casting.ts';
import type { LeakGuard } from '../engine/leaks.ts';
import type { Replay } from '../engine/replay.ts';
import type { Sealed } from '../engine/sealing.ts';
import type { Graph } from '../model/graph.ts';
import type { Manifest } from '../model/manifest.ts';
import type { ExchangeLog } from '../store/exchanges.ts';
import type { RunHistory } from '../store/run-journal.ts';
import type { Snapshots } from '../workspace/snapshot.ts';
import type { Doors } from './types.ts';

export type RunExtensions = {
  readonly exchanges: ExchangeLog | undefined;
  readonly replay: Replay | undefined;
  readonly leaks: LeakGuard | undefined;
};

/** Opens the parts that the run has. */
export async function openRunExtensions(
  run: {
    readonly graph: Graph;
    readonly runDir: string;
    readonly manifest: Manifest;
    readonly variables: Readonly<Record<string, string>>;
    readonly history: RunHistory;
    readonly snapshots: Snapshots;
    readonly sealed: Sealed | undefined;
  },
  doors: Doors,
): Promise<RunExtensions | Refusal> {
  const { graph, runDir, manifest, history, snapshots, sealed } = run;
  const asks = codergens(graph).length > 0 || manifest.replay_of !== undefined;
  const agents = asks ? await import('./exchanges.ts') : undefined;
  const follows = await agents?.openReplay(runDir, manifest, run.variables, snapshots, doors);
  if (follows !== undefined && 'problems' in follows) return follows;
  const guard =
    sealed === undefined
      ? undefined
      : await (await import('./leaks.ts')).openLeaks(runDir, manifest, history.records, snapshots, sealed);
  return {
    exchanges: agents?.exchangesOf(graph, runDir, history),
    replay: follows?.replay,
    leaks: guard?.leaks,
  };
}

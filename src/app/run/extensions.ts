/** Optional parts of a run: the record of exchanges with agents, a replay's answers, the guard against holdout leaks. Each is
 *  loaded only for runs that have it. */
import type { Refusal } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { codergens } from '../../core/pipeline.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { LeakGuard } from '../../holdout/leak-guard.ts';
import type { SealedHoldout } from '../../holdout/mount.ts';
import type { Replay } from '../../run/answers.ts';
import type { ExchangeLog } from '../../run/exchanges.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import type { Snapshots } from '../../workspace/snapshot.ts';
import type { Host } from '../types.ts';

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
    readonly sealed: SealedHoldout | undefined;
  },
  host: Host,
): Promise<RunExtensions | Refusal> {
  const { graph, runDir, manifest, history, snapshots, sealed } = run;
  const asks = codergens(graph).length > 0 || manifest.replay_of !== undefined;
  const agents = asks ? await import('./open-replay.ts') : undefined;
  const follows = await agents?.openReplay(runDir, manifest, run.variables, snapshots, host);
  if (follows !== undefined && 'problems' in follows) return follows;
  const guard =
    sealed === undefined
      ? undefined
      : await (await import('../../holdout/leak-guard.ts')).openLeaks(
          runDir,
          manifest,
          history.records,
          snapshots,
          sealed,
        );
  return {
    exchanges: agents?.exchangesOf(graph, runDir, history),
    replay: follows?.replay,
    leaks: guard?.leaks,
  };
}

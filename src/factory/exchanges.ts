/** A run's exchanges as it begins or goes on: what it follows when it is a replay, and what a kill cut off. */
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { historyFollower } from '../builder/history-fork.ts';
import type { Refusal } from '../engine/casting.ts';
import { codergens } from '../engine/casting.ts';
import { readStage } from '../engine/node-dir.ts';
import { type Replay, replayOf } from '../engine/replay.ts';
import { divergenceOf } from '../engine/result.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import type { Graph } from '../model/graph.ts';
import { followedLayout, layout, nodeLayout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { own } from '../model/own.ts';
import { isPaused } from '../model/park.ts';
import { sha256 } from '../model/sha256.ts';
import { kinds } from '../nodes/index.ts';
import { type ExchangeLog, openExchanges, readExchanges } from '../store/exchanges.ts';
import { readVisits } from '../store/visits.ts';
import { readSome } from '../system/read.ts';
import type { Snapshots } from '../workspace/snapshot.ts';
import type { Doors } from './types.ts';
import { refused } from './types.ts';
import { changedInFollowed } from './vouched.ts';

/** Where the exchanges of a run are written down; undefined for a pipeline that asks no agent. */
export const exchangesOf = (graph: Graph, runDir: string): ExchangeLog | undefined =>
  codergens(graph, kinds).length === 0 ? undefined : openExchanges(layout(runDir).exchanges);

/** What answers in place of agents; undefined for a run that is no replay. */
export async function openReplay(
  runDir: string,
  manifest: Manifest,
  variables: Readonly<Record<string, string>>,
  { snapshots, loaded }: { readonly snapshots: Snapshots; readonly loaded: Checkpoint },
  doors: Doors,
): Promise<{ readonly replay: Replay | undefined } | Refusal> {
  const { replay_of: of } = manifest;
  if (of === undefined) return { replay: undefined };
  const here = layout(runDir);
  const at = followedLayout(here.followed);
  const changed = await changedInFollowed(runDir);
  if (changed !== undefined) return changed;
  const visits = await readVisits(at.visits);
  if (!visits.ok) return refused('replay-records', visits.why);
  const read = await readExchanges(at.exchanges);
  if (!read.ok) return refused('replay-records', read.why);
  const before = await readExchanges(layout(runDir).exchanges);
  const ours = before.ok
    ? before.exchanges.filter(({ exchange }) => exchange.run_id === manifest.run_id)
    : [];
  const { divergence } = await divergenceOf(runDir);
  // A visit that was cut leaves the record anew.
  const left = divergence !== undefined && (own(loaded.visits, divergence.node) ?? 0) >= divergence.visit;
  const replay = replayOf(
    {
      replayOf: of,
      records: visits.records,
      exchanges: read.exchanges,
      exchangesDir: at.exchanges,
      artifact: at.artifact,
      bringHistory:
        manifest.git === undefined
          ? undefined
          : historyFollower({
              historyDir: here.history,
              workspace: here.workspace,
              proof: at.proof,
              env: doors.env,
            }),
      diverged:
        of.live && (left || ours.some(({ exchange }) => exchange.complete && exchange.replayed === null)),
    },
    {
      manifest,
      runDir,
      variables,
      realRunDir: await realpath(runDir),
      snapshots,
      live: of.live,
      log: doors.log,
      divergenceFile: at.divergence,
    },
  );
  return { replay };
}

/** Writes down that the call which a killed engine was making was never answered. */
export async function markCut(
  log: ExchangeLog,
  graph: Graph,
  manifest: Manifest,
  loaded: Checkpoint,
  runDir: string,
  doors: Doors,
): Promise<void> {
  const node = codergens(graph, kinds).find(({ id }) => id === loaded.next_node);
  // A run that waited for something outside was not cut: its last call ended.
  if (node === undefined || isPaused(loaded.status)) return;
  const dir = layout(runDir).node(node.id);
  const stage = await readStage(dir);
  const visit = (own(loaded.visits, node.id) ?? 0) + 1;
  if (stage === undefined || stage.visit !== visit || stage.marker !== manifest.marker) return;
  const at = nodeLayout(dir);
  // Without a prompt nobody was asked yet.
  if (!existsSync(at.prompt)) return;
  const read = await readExchanges(layout(runDir).exchanges);
  const last = read.ok ? read.exchanges.findLast(({ exchange }) => exchange.node === node.id) : undefined;
  if (last?.exchange.visit === visit && !last.exchange.complete) return;
  const prompt = ((await readSome(at.prompt, 64 * 1024 * 1024)) ?? '').replace(/\n$/, '');
  await log.append({
    schema_version: 1,
    run_id: manifest.run_id,
    epoch: loaded.epoch,
    at: doors.clock.now().toISOString(),
    node: node.id,
    visit,
    attempt: stage.attempt,
    call: (own(loaded.calls, node.id) ?? 0) + stage.attempt,
    complete: false,
    agent: { name: manifest.agent.name, describe: manifest.agent.describe },
    attributes: {},
    prompt_sha256: sha256(prompt),
    prompt: await log.body(prompt),
    schema: null,
    items: '',
    items_dropped: 0,
    report: null,
    artifacts: [],
    actions: [],
    hidden: { paths: [], made: [] },
    files: null,
    usage: null,
    elapsed_ms: 0,
    replayed: null,
  });
}

/** The end of a visit that counts, where its engine was killed between the checkpoint and the story: whoever goes on tells
 *  it first, so that the story has no gap. */
import { statSync } from 'node:fs';
import { readGraph } from '../dot/read.ts';
import type { EventFacts } from '../model/event.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { own } from '../model/own.ts';
import type { TraceFacts } from '../model/trace.ts';
import type { Loaded } from '../store/checkpoint.ts';
import { beginning, readJournal } from '../store/journal-read.ts';
import { readVisits, stateAfter } from '../store/visits.ts';
import { conditionLookup, delta } from './context.ts';
import { outputCaptured, stageEnded } from './records.ts';
import { route } from './route.ts';
import type { Teller } from './teller.ts';

/** Bytes of a journal's end that are looked at first: mostly all that it has of the last visit stands there. */
const endBytes = 1024 * 1024;

/** What the two journals have of a visit, from the last time on that it began. */
type Told = { readonly began: boolean; readonly types: ReadonlySet<string> };

async function toldOf(path: string, begins: string, node: string, visit: number): Promise<Told> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  // One line may be longer, or the visit have many. However far back: one line at a time is in memory.
  for (let bytes = endBytes; ; bytes *= 8) {
    const offset = Math.max(0, size - bytes);
    const told = await toldFrom(offset, path, begins, node, visit);
    if (told !== undefined) return told;
    if (offset === 0) return { began: false, types: new Set() };
  }
}

/** Undefined where no visit begins from `offset` on. */
async function toldFrom(
  offset: number,
  path: string,
  begins: string,
  node: string,
  visit: number,
): Promise<Told | undefined> {
  let began: boolean | undefined;
  let types = new Set<string>();
  // Where that begins in the middle of a line, the rest of it is no record.
  for await (const entry of readJournal(path, { ...beginning, offset })) {
    if (entry.kind !== 'record') continue;
    const { type, node_id, visit: number, last_completed_node, from_node } = entry.record;
    if (typeof type !== 'string') continue;
    if (type === begins) {
      began = node_id === node && number === visit;
      types = new Set();
    } else if ((node_id ?? last_completed_node ?? from_node ?? node) === node) types.add(type);
  }
  return began === undefined ? undefined : { began, types };
}

/** Tells what events and trace lack of the last visit that the checkpoint counts, and of the run's end where that was its
 *  last; nothing where they have it all, or where they do not know of it. */
export async function retell(runDir: string, manifest: Manifest, read: Loaded, tell: Teller): Promise<void> {
  const at = layout(runDir);
  const { last_completed_node: node, visits } = read.checkpoint;
  const visit = own(visits, node) ?? 0;
  const events = await toldOf(at.events, 'StageStarted', node, visit);
  const trace = await toldOf(at.trace, 'NodeInputCaptured', node, visit);
  await retellVisit(runDir, manifest, read, { node, visit, events, trace }, tell);
  const { ended } = read.checkpoint;
  if (ended === null) return;
  const end: EventFacts & TraceFacts = ended.ok
    ? { type: 'PipelineCompleted' }
    : { type: 'PipelineFailed', error: ended.reason };
  if (trace.began && !trace.types.has(end.type)) await tell.trace(end);
  if (events.began && !events.types.has(end.type)) await tell.event(end);
}

async function retellVisit(
  runDir: string,
  manifest: Manifest,
  { checkpoint: state, visits: { seq } }: Loaded,
  told: { readonly node: string; readonly visit: number; readonly events: Told; readonly trace: Told },
  tell: Teller,
): Promise<void> {
  const { node, visit, events, trace } = told;
  const at = layout(runDir);
  const ended = events.types.has('StageCompleted') || events.types.has('StageFailed');
  const saved = events.types.has('CheckpointSaved');
  const left = trace.types.has('NodeOutputCaptured');
  const routed = trace.types.has('RouteEvaluated');
  if ((!events.began || saved) && (!trace.began || routed)) return;
  const read = await readVisits(at.visits, seq);
  const record = read.ok ? read.records.at(-1) : undefined;
  if (!read.ok || record?.type !== 'Visit' || record.node !== node || record.visit !== visit) return;
  const { outcome, replayed, steps, usage } = record;
  const before = stateAfter(read.records, seq - 1);
  const took = record.took_ms ?? record.elapsed_ms - before.elapsed_ms;
  if (events.began && !ended)
    await tell.event(stageEnded(node, visit, outcome, took, usage, replayed !== undefined));
  if (events.began && !saved) await tell.event({ type: 'CheckpointSaved', last_completed_node: node });
  if (!trace.began) return;
  if (!left) {
    if (outcome.status === 'fail' && outcome.broke && !trace.types.has('NodeExecutionErrored'))
      await tell.trace({ type: 'NodeExecutionErrored', node_id: node, error: outcome.reason });
    const changed = delta(before.context, state.context);
    const dir = at.node(node);
    await tell.trace(
      outputCaptured(node, visit, outcome, state.context, changed, steps, dir, usage, replayed),
    );
  }
  const { graph } = readGraph(manifest.pipeline_path, manifest.pipeline.text);
  if (routed || graph === undefined || record.node_type === 'exit') return;
  const { edge, how, candidates } = route(graph, node, outcome, conditionLookup(state.context, outcome));
  await tell.trace({
    type: 'RouteEvaluated',
    from_node: node,
    outcome: outcome.status,
    next_node: edge?.to ?? '',
    how,
    candidates,
  });
}

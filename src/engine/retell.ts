/** Writes the events and trace records that are missing after a crash: if the engine was killed between the checkpoint and the
 *  records of an execution, resume writes them first, so that they have no gap. */
import { readGraph } from '../dot/read.ts';
import type { EventFacts } from '../model/event.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { own } from '../model/own.ts';
import type { TraceFacts } from '../model/trace.ts';
import type { Loaded } from '../store/checkpoint.ts';
import { readJournal } from '../store/journal-read.ts';
import { readVisits, stateAfter } from '../store/visits.ts';
import { conditionLookup, delta } from './context.ts';
import { outputCaptured, stageEnded } from './records.ts';
import { route } from './route.ts';
import type { EventWriter } from './teller.ts';

/** The types of records that a journal has of an execution, after its latest start. */
type Written = { readonly began: boolean; readonly types: ReadonlySet<string> };

async function writtenOf(path: string, begins: string, node: string, visit: number): Promise<Written> {
  let began = false;
  let types = new Set<string>();
  for await (const entry of readJournal(path)) {
    if (entry.kind !== 'record') continue;
    const { type, node_id, visit: number, last_completed_node, from_node } = entry.record;
    if (typeof type !== 'string') continue;
    if (type === begins) {
      began = node_id === node && number === visit;
      types = new Set();
    } else if ((node_id ?? last_completed_node ?? from_node ?? node) === node) types.add(type);
  }
  return { began, types };
}

/** Writes the missing events and trace records of the checkpoint's last execution and, if the run ended with it, of the end.
 *  Nothing if none is missing, or if a journal does not have the start of the execution. */
export async function writeMissingRecords(
  runDir: string,
  manifest: Manifest,
  read: Loaded,
  writer: EventWriter,
): Promise<void> {
  const at = layout(runDir);
  const { last_completed_node: node, visits } = read.checkpoint;
  const visit = own(visits, node) ?? 0;
  const events = await writtenOf(at.events, 'StageStarted', node, visit);
  const trace = await writtenOf(at.trace, 'NodeInputCaptured', node, visit);
  await writeMissingOfExecution(runDir, manifest, read, { node, visit, events, trace }, writer);
  const { ended } = read.checkpoint;
  if (ended === null) return;
  const end: EventFacts & TraceFacts = ended.ok
    ? { type: 'PipelineCompleted' }
    : { type: 'PipelineFailed', error: ended.reason };
  if (trace.began && !trace.types.has(end.type)) await writer.trace(end);
  if (events.began && !events.types.has(end.type)) await writer.event(end);
}

async function writeMissingOfExecution(
  runDir: string,
  manifest: Manifest,
  { checkpoint: state, visits: { seq } }: Loaded,
  written: {
    readonly node: string;
    readonly visit: number;
    readonly events: Written;
    readonly trace: Written;
  },
  writer: EventWriter,
): Promise<void> {
  const { node, visit, events, trace } = written;
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
    await writer.event(stageEnded(node, visit, outcome, took, usage, replayed !== undefined));
  if (events.began && !saved) await writer.event({ type: 'CheckpointSaved', last_completed_node: node });
  if (!trace.began) return;
  if (!left) {
    if (outcome.status === 'fail' && outcome.broke && !trace.types.has('NodeExecutionErrored'))
      await writer.trace({ type: 'NodeExecutionErrored', node_id: node, error: outcome.reason });
    const changed = delta(before.context, state.context);
    const dir = at.node(node);
    await writer.trace(
      outputCaptured(node, visit, outcome, state.context, changed, steps, dir, usage, replayed),
    );
  }
  const { graph } = readGraph(manifest.pipeline_path, manifest.pipeline.text);
  if (routed || graph === undefined || record.node_type === 'exit') return;
  const { edge, how, candidates } = route(graph, node, outcome, conditionLookup(state.context, outcome));
  await writer.trace({
    type: 'RouteEvaluated',
    from_node: node,
    outcome: outcome.status,
    next_node: edge?.to ?? '',
    how,
    candidates,
  });
}

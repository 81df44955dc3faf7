/** Opens the records of a run: a replay's answers, the events and the trace, the journal, the costs. */
import { dirname } from 'node:path';
import { pricesOf } from '../../core/budget/prices.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import { nodeOf } from '../../core/graph.ts';
import { once } from '../../core/once.ts';
import { agentNodes } from '../../core/pipeline.ts';
import { layout } from '../../core/records/layout.ts';
import { DayCapGate } from '../../engine/day-cap.ts';
import { copiedCalls } from '../../engine/day-spending.ts';
import { nodeInput } from '../../engine/event-log.ts';
import type { Run } from '../../engine/run-context.ts';
import { Superseded } from '../../platform/files/fence.ts';
import type { Replay } from '../../run/answers.ts';
import { runNames, withoutNames } from '../../run/comparable.ts';
import { exchangeLog } from '../../run/exchanges.ts';
import type { StoredRun } from '../../run/open-run.ts';
import { rebuildViews } from '../../run/rebuild.ts';
import { openRunJournal, type RunJournal } from '../../run/run-journal.ts';
import type { ViewFile } from '../../run/view-file.ts';
import type { Snapshots } from '../../workspace/snapshot.ts';
import { storedGraph } from '../read-pipeline.ts';
import type { TraceExporter } from '../traces/exporter.ts';
import type { Host } from '../types.ts';
import { openRunBudget } from './budget.ts';
import type { LoadedRun } from './own-run.ts';

/** What answers in a replay, loaded for one only. */
export async function replayOfRun(
  run: LoadedRun & { readonly snapshots: Snapshots },
): Promise<{ readonly value: { readonly replay: Replay | undefined } } | Refusal> {
  const { runDir, task, manifest, snapshots, host } = run;
  if (manifest.replay_of === undefined) return { value: { replay: undefined } };
  const { openReplay } = await import('./open-replay.ts');
  const replay = await openReplay(runDir, manifest, task.terms.texts.variables, snapshots, host);
  return 'problems' in replay ? replay : { value: { replay } };
}

/** The guard against leaks of the holdout. */
export async function leakGuard(run: LoadedRun & { readonly snapshots: Snapshots }) {
  const { runDir, recorded, manifest, snapshots, sealed } = run;
  if (sealed === undefined) return { value: { leaks: undefined } };
  const { openLeaks } = await import('../../holdout/leak-guard.ts');
  const { leaks } = await openLeaks(runDir, manifest, recorded.history.records, snapshots, sealed);
  return { value: { leaks } };
}

export async function eventsAndTrace({ runDir, recorded, lock, host }: LoadedRun) {
  const { events, trace } = await openEndRecords(runDir, recorded, lock.epoch, host);
  return { value: { events, trace }, close: () => Promise.all([events.close(), trace.close()]) };
}

/** The journal, with the exchanges of a run that asks agents. A commit is refused as soon as another process has the run. */
export async function journalOfRun(run: LoadedRun & { readonly snapshots: Snapshots }) {
  const { runDir, task, recorded, manifest, lock } = run;
  const { store } = run.snapshots;
  const options = { runId: manifest.run_id, epoch: lock.epoch };
  const written = await openRunJournal(runDir, options, recorded.history, () => store.flush());
  const traces = await tracesOfRun(run);
  const journal: Run['journal'] = {
    note: (line) => {
      written.note(line);
      traces?.add(line);
    },
    mark: () => written.mark(),
    viewed: () => written.viewed(),
    commit: async (line, before, view) => {
      lock.assertOwner();
      if (!(await lock.stillOwner())) {
        const { locks } = layout(runDir);
        throw new Superseded(
          `the lock of run ${manifest.run_id} is gone: ${locks} was removed or taken over; this process stops`,
        );
      }
      const state = await written.commit(line, before, view);
      traces?.add(line);
      return state;
    },
  };
  const asks = agentNodes(task.terms.graph).length > 0;
  const exchanges = asks ? exchangeLog(store, (line) => written.note(line)) : undefined;
  return {
    value: { journal, exchanges, past: pastOfRun(run), visits: () => written.visits() },
    close: async () => {
      if (traces !== undefined) sendLast(traces, run.host);
      await written.close();
    },
  };
}

/** Loaded only where the environment names a collector. */
async function tracesOfRun({ recorded, manifest, host }: LoadedRun): Promise<TraceExporter | undefined> {
  const named = Object.keys(host.env).some((name) => /^OTEL_EXPORTER_OTLP_(?:TRACES_)?ENDPOINT$/.test(name));
  if (!named) return undefined;
  const { openTraceExporter } = await import('../traces/exporter.ts');
  return openTraceExporter(manifest, recorded.history.lines, host);
}

/** A collector that is slow does not delay the result. */
function sendLast(traces: TraceExporter, { atLast }: Host): void {
  const send = () => traces.close();
  if (atLast === undefined) void send();
  else atLast(send);
}

/** What prompts say of the run: without the names of the runs whose texts its journal may have. */
function pastOfRun({ runDir, reader, manifest }: LoadedRun): Run['past'] {
  const { run_id, workspace_path, forked_from: from, replay_of: of } = manifest;
  const others = [from, of, of?.forked_from].flatMap((one) => (one === undefined ? [] : [one]));
  const names = [
    ...[runDir, dirname(workspace_path)].map((dir) => runNames(run_id, dir)),
    ...others.map((one) => runNames(one.run_id, one.run_dir)),
  ];
  const unnamed = once(() => withoutNames(names));
  return {
    history() {
      const read = reader.history();
      if (!read.ok) throw new Error(`Internal: the journal of a run that is executed: ${read.why}`);
      return read;
    },
    withoutNames: (text) => unnamed()(text).replaceAll('<run>/workspace/', ''),
  };
}

type Writable = { readonly journal: Pick<RunJournal, 'note' | 'commit'> };

export async function costsOfRun({
  runDir,
  task,
  recorded,
  manifest,
  resumed,
  journal,
  lock,
  host,
}: LoadedRun & Writable) {
  const { calls, checkpoint: loaded, lines } = recorded.history;
  const about = { manifest, calls, loaded, resumed, caps: task.terms.caps };
  let allows = false;
  const dayCaps = new DayCapGate({
    ...{ runsDir: dirname(runDir), runId: manifest.run_id, epoch: lock.epoch, clock: host.clock },
    ...{ labels: manifest.labels ?? [], prices: pricesOf(manifest), allows: () => allows },
    warn: (message) => host.log('warn', message),
  });
  const watching = { watch: dayCaps.spending, copied: copiedCalls(lines) };
  const { costs, caps, close } = await openRunBudget(runDir, journal, { ...about, watching }, host);
  allows = caps.unknown_cost === 'allow';
  // The owner before may have been killed during a call.
  if (resumed) await dayCaps.nested();
  return { value: { costs, caps, gates: [dayCaps] }, close };
}

/** Opens the events and the trace of a run after the views of its journal were brought up to date. */
export async function openEndRecords(
  runDir: string,
  recorded: StoredRun,
  epoch: number,
  { log }: Pick<Host, 'log'>,
): Promise<{ readonly events: ViewFile; readonly trace: ViewFile }> {
  const { manifest } = recorded;
  const graph = once(() => storedGraph(manifest));
  const input = (id: string) => {
    const node = nodeOf(graph(), id);
    const unknown = { node_type: '', node_shape: '', node_attrs: {}, workspace: manifest.workspace_path };
    return node === undefined ? unknown : nodeInput(node, manifest.workspace_path);
  };
  const owner = { runId: manifest.run_id, epoch };
  const { events, trace, rewritten } = await rebuildViews(recorded, owner, { runDir, input });
  for (const line of rewritten) log('info', line);
  return { events, trace };
}

/** The journal of a run that begins at another run's checkpoint. */
import { createHash } from 'node:crypto';
import type { Json } from '../../core/json.ts';
import type { Exchange } from '../../core/records/exchange.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { CallRecord, RunRecord, StartRecord } from '../../core/records/visit.ts';
import { answersOf } from '../../run/answers.ts';
import { manifestHash } from '../../run/inputs.ts';
import { openRunJournal } from '../../run/run-journal.ts';
import { stateAfter } from '../../run/visits.ts';
import { costsIn } from './budget.ts';
import { copyArtifacts, withOwnArtifacts, writeAnswers } from './copy-artifacts.ts';

/** SHA-256 of records as they are in the journal. */
export function hashOfRecords(records: readonly RunRecord[]): string {
  const hash = createHash('sha256');
  for (const record of records) hash.update(`${JSON.stringify(record)}\n`);
  return hash.digest('hex');
}

/** Copies the folders of the executions in `from.records`, and writes the journal with these executions and what they have spent. */
export async function writeCopiedJournal(
  from: {
    readonly dir: string;
    /** All paths that its records may have for it. */
    readonly paths: readonly string[];
    readonly records: readonly RunRecord[];
    readonly calls: readonly CallRecord[];
    readonly exchanges: readonly Exchange[];
    /** Of the new run's pipeline, which may be another one. */
    readonly goal: Json | undefined;
  },
  to: {
    readonly building: string;
    /** Its directory to be. */
    readonly final: string;
    readonly manifest: Manifest;
    readonly snapshot: string;
  },
): Promise<{ readonly history: undefined; readonly notes: readonly string[] }> {
  const { building, final, manifest, snapshot } = to;
  const lost = await copyArtifacts(from.dir, building, from.records, manifest.marker);
  await writeAnswers(building, from.records);
  const records = from.records.map((record) =>
    record.type === 'Start'
      ? withGoal(record, from.goal)
      : record.type === 'BranchStopped'
        ? record
        : withOwnArtifacts(record, lost.includes(`${record.node}@${record.visit}`), from.paths, final),
  );
  const runId = manifest.run_id;
  const manifest_sha256 = manifestHash(manifest);
  const journal = await openRunJournal(building, { runId, epoch: 1, sync: false });
  const calls = byExecution(from.calls);
  const exchanges = byExecution(answersOf(from.records, from.exchanges).values());
  const paid: CallRecord[] = [];
  for (const record of records) {
    const its = record.type !== 'Visit' ? [] : (calls.get(callOf(record)) ?? []);
    for (const call of its) journal.note(call);
    if (record.type === 'Visit') for (const one of exchanges.get(callOf(record)) ?? []) journal.note(one);
    paid.push(...its);
    journal.note(record.type === 'Start' ? { ...record, manifest_sha256 } : record);
  }
  const { completed_nodes: _, ...state } = stateAfter(records);
  const spent = costsIn(paid, manifest).run();
  const { elapsed_ms } = state;
  const resumed = { type: 'Resumed', at: state.at, elapsed_ms, spent, snapshot } as const;
  await journal.commit({ ...resumed, manifest_sha256 }, { ...state, run_id: runId });
  await journal.close();
  const notes = lost.map((execution) => `the artifacts of ${execution} no longer exist and are not copied`);
  return { history: undefined, notes };
}

type Execution = { readonly node: string; readonly visit: number };

const callOf = ({ node, visit }: Execution): string => `${node} ${visit}`;

function byExecution<T extends Execution>(all: Iterable<T>): ReadonlyMap<string, readonly T[]> {
  const found = new Map<string, T[]>();
  for (const one of all) {
    const its = found.get(callOf(one));
    if (its === undefined) found.set(callOf(one), [one]);
    else its.push(one);
  }
  return found;
}

/** The goal is the pipeline's, and no node can set it: what it is now, it was from the beginning. */
function withGoal(record: StartRecord, goal: Json | undefined): StartRecord {
  const key = 'graph.goal';
  const { [key]: _, ...context } = record.context;
  const { [key]: __, ...origins } = record.origins;
  return goal === undefined
    ? { ...record, context, origins }
    : { ...record, context: { ...context, [key]: goal }, origins: { ...origins, [key]: 'engine' } };
}

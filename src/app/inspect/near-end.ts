/** What `why` says of a long run, from the end of its records. */
import { statSync } from 'node:fs';
import * as z from 'zod';
import { once } from '../../core/once.ts';
import { markSchema } from '../../core/records/checkpoint.ts';
import { layout } from '../../core/records/layout.ts';
import { manifestSchema } from '../../core/records/manifest.ts';
import { agentBefore } from '../../run/agent-before.ts';
import { cursorNearEnd } from '../../run/journal-read.ts';
import { openRun } from '../../run/open-run.ts';
import type { RunHistory } from '../../run/run-journal.ts';
import { jsonOf, manifestJson } from '../../run/runs.ts';
import { readEvents } from './event-history.ts';
import { executionsOf } from './executions.ts';
import type { InspectedRun } from './read-run.ts';
import type { InspectHost } from './rows.ts';

/** What the cause of a run is made from. */
export type CauseFacts = Pick<
  InspectedRun,
  'dir' | 'row' | 'manifest' | 'graph' | 'history' | 'executions' | 'withheld'
> & {
  /** Of all executions. */
  readonly counts: { readonly all: number; readonly failed: number };
};

/** Bytes of a journal that is read to its beginning: it takes some hundredths of a second. */
const shortBytes = 1024 * 1024;
/** Bytes of the end of a longer one that are read instead. */
const endBytes = 256 * 1024;

export const isLongRun = (dir: string): boolean =>
  (statSync(layout(dir).journal, { throwIfNoEntry: false })?.size ?? 0) > shortBytes;

/** The facts from the last `bytes` of the journal; undefined where only all of it can tell. */
export async function causeFactsNearEnd(
  dir: string,
  row: InspectedRun['row'],
  host: InspectHost,
  bytes = endBytes,
): Promise<CauseFacts | undefined> {
  const reader = openRun(dir);
  if (row.status === 'overridden' || !isPlain(dir)) return undefined;
  const history = reader.historyNearEnd(bytes);
  if (history === undefined || !hasFailure(history, row.status)) return undefined;
  const read = await reader.manifest();
  if (!read.ok) return undefined;
  const { manifest } = read;
  const counts = row.status === 'completed' ? countsIn(dir, history) : { all: 0, failed: 0 };
  if (counts === undefined) return undefined;
  const withheld = () => false;
  const events = await readEvents(reader, cursorNearEnd(layout(dir).events, bytes));
  const facts = { history, events, graph: undefined, withheld, status: row.status, now: host.clock.now() };
  const executions = executionsOf(facts);
  const open = history.open.at(-1) ?? events.latest;
  // Whether an execution is the next one of its node, its latest one before tells.
  const isKnown = executions.some(({ node, visit }) => node === open?.node && visit === open.visit);
  return isKnown
    ? { ...{ dir, row, manifest, graph: undefined }, ...{ history, executions, withheld, counts } }
    : undefined;
}

const plainSchema = once(() => manifestSchema().pick({ pipeline: true, holdout: true }));

/** Whether the run has neither branches nor a holdout: else its cause depends on more than its end. */
function isPlain(dir: string): boolean {
  const read = plainSchema().safeParse(manifestJson(dir)).data;
  return read?.pipeline.branches === false && read.holdout === undefined;
}

/** Whether the lines have the failure that a failed run is about, and the agent before it. */
const hasFailure = ({ records, checkpoint }: RunHistory, status: InspectedRun['row']['status']): boolean =>
  status !== 'failed' ||
  (records.some((one) => one.type === 'Visit' && one.last_failure !== undefined) &&
    (Object.keys(checkpoint.calls).length === 0 ||
      agentBefore(records, checkpoint.last_failure?.node ?? '') !== undefined));

const countsSchema = once(() =>
  z.object({
    stages: z.int(),
    failed_stages: z.int(),
    evidence: z.object({ journals: z.record(z.string(), markSchema()) }),
  }),
);

/** The counts of its result, if that is of this very journal. */
function countsIn(dir: string, { committed }: RunHistory): CauseFacts['counts'] | undefined {
  const read = countsSchema().safeParse(jsonOf(layout(dir).result)).data;
  if (read?.evidence.journals[layout('').journal]?.sha256 !== committed.sha256) return undefined;
  return { all: read.stages, failed: read.failed_stages };
}

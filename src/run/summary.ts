/** How a run stands, as a list shows it. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { nothingSpent, type Spent, spentSchema } from '../core/budget/usage.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { once } from '../core/once.ts';
import { type FailureClass, failureClasses, isPaused, parkedSchema, pausedWords } from '../core/outcome.ts';
import { type EndCause, endedSchema, journalMarkSchema } from '../core/records/checkpoint.ts';
import { layout } from '../core/records/layout.ts';
import { nodeId } from '../core/records/names.ts';
import { livingOwners, ownerOf } from './lock.ts';
import { openRun, type RunReader } from './open-run.ts';
import { byWord, isRun, jsonOf, manifestJson, runIds, storySchema } from './runs.ts';
import { otherVersion } from './unreadable.ts';

const statusWords = ['running', 'completed', 'overridden', 'failed', 'interrupted', ...pausedWords] as const;
const savedSchema = once(() =>
  z.object({
    status: z.enum(statusWords),
    // The status counts even if the checkpoint lacks these.
    next_node: z.string().nullish().catch(null),
    elapsed_ms: z.number().catch(0),
    cut_ms: z.number().optional().catch(undefined),
    ended: endedSchema().pick({ reason: true, cause: true }).nullish().catch(null),
    last_failure: z
      .object({ node: nodeId(), class: z.enum(failureClasses).optional().catch(undefined) })
      .nullish()
      .catch(null),
    spent: spentSchema().optional().catch(undefined),
    parked: parkedSchema().optional().catch(undefined),
    journal: journalMarkSchema().optional().catch(undefined),
  }),
);
type ForkLink = NonNullable<z.infer<ReturnType<typeof storySchema>>['forked_from']>;

export type RunSummary = {
  readonly id: string;
  readonly dir: string;
  /** Status of the checkpoint; `running` also if the run has just been resumed, `crashed` if it says running and the run has
   *  no owner; `unreadable` without a valid checkpoint or manifest. */
  readonly status: (typeof statusWords)[number] | 'crashed' | 'unreadable';
  /** RFC 3339; empty if the manifest cannot be read. */
  readonly startedAt: string;
  readonly pipeline: string;
  /** Until its last checkpoint. */
  readonly elapsedMs: number;
  readonly spent: Spent;
  /** When a run that is suspended for a quota resumes (RFC 3339); null for any other. */
  readonly wakeAt: string | null;
  /** Why it failed, or what it waits for; empty otherwise. */
  readonly reason: string;
  /** What ended it, where the next command depends on it. */
  readonly cause: EndCause | undefined;
  /** The next node; empty if the run has reached an exit. */
  readonly nextNode: string;
  /** Its next node had begun when it was interrupted or suspended. */
  readonly cut: boolean;
  /** The node of the latest failure; empty without one. */
  readonly failedNode: string;
  /** Its class; undefined without one. */
  readonly failureClass: FailureClass | undefined;
  /** The checkpoint of another run that it started from; null if it is not a fork. */
  readonly forkedFrom: ForkLink | null;
  /** The recorded run of a replay; null for any other. */
  readonly replayOf: string | null;
  /** A replay without agents that diverged: a resume ends at the same place unless it has --live. */
  readonly offline: boolean;
};

/** The runs of a directory, newest first; damaged runs are listed as unreadable. */
export async function listRuns(runsDir: string, clock: Clock): Promise<RunSummary[]> {
  const runs: RunSummary[] = [];
  // One after the other: a directory of thousands of runs must not open thousands of files at once.
  for (const id of await runIds(runsDir)) {
    const dir = join(runsDir, id);
    const run = await summaryOf(id, dir, clock);
    // A run that was removed in the meantime is not damaged.
    if (run.status !== 'unreadable' || (await isRun(dir))) runs.push(run);
  }
  return runs.sort((a, b) => byWord(b.startedAt, a.startedAt) || byWord(b.id, a.id));
}

/** Status of one run; `dir` is its directory. */
export const summaryOf = async (id: string, dir: string, clock: Clock): Promise<RunSummary> =>
  (await summaryWithFiles(id, dir, { clock })).summary;

/** The same with the two files that it was read from, as JSON; undefined for one that is none. */
export type SummaryWithFiles = {
  readonly summary: RunSummary;
  readonly manifest: unknown;
  readonly checkpoint: unknown;
};

/** `hasEnded`: the process that holds its lock has ended it, and reports that before it releases it. */
export async function summaryWithFiles(
  id: string,
  dir: string,
  host: { readonly clock: Clock; readonly hasEnded?: boolean },
  reader = openRun(dir),
): Promise<SummaryWithFiles> {
  const at = layout(dir);
  const manifest = manifestJson(dir);
  const story = storySchema().safeParse(manifest);
  const checkpoint = jsonOf(at.checkpoint);
  const isEarlier = !existsSync(at.journal);
  const inFile = savedSchema().safeParse(isEarlier ? undefined : checkpoint);
  const ownerNow = async () => host.hasEnded !== true && (await hasLiveOwner(dir, host.clock));
  let owned = mayRun(inFile) ? await ownerNow() : false;
  // An owner keeps its checkpoint up to date; its journal need not be read.
  const { saved, why = '' } = isEarlier || owned === true ? { saved: inFile } : savedIn(reader, inFile);
  if (mayRun(saved) && !mayRun(inFile)) owned = await ownerNow();
  const recorded = saved.success ? saved.data.status : 'unreadable';
  const isOwned = owned === true;
  // Its engine may have ended between the two reads.
  if (recorded === 'running' && owned === false && !isDeepStrictEqual(jsonOf(at.checkpoint), checkpoint))
    return summaryWithFiles(id, dir, host, reader);
  // The status of another version is not interpreted, and the run cannot be resumed.
  const other = isOwned ? undefined : otherVersion(checkpoint);
  const damaged =
    other !== undefined || owned === 'unknown' || !story.success || otherVersion(manifest) !== undefined;
  const status = isOwned ? 'running' : damaged ? 'unreadable' : recorded === 'running' ? 'crashed' : recorded;
  const summary: RunSummary = {
    id,
    dir,
    status,
    startedAt: story.success ? story.data.started_at : '',
    pipeline: story.success ? story.data.pipeline_path : '',
    elapsedMs: saved.success ? saved.data.elapsed_ms : 0,
    spent: (saved.success && saved.data.spent) || nothingSpent,
    wakeAt: (saved.success && isPaused(status) && saved.data.parked?.wake_at) || null,
    reason:
      (other !== undefined && `${other.fix}: it ${other.what}`) ||
      (isEarlier && 'it was begun by an earlier version of factory: it has no journal.jsonl') ||
      why ||
      (saved.success &&
        !isOwned &&
        !damaged &&
        (saved.data.ended?.reason ?? (isPaused(status) ? saved.data.parked?.reason : ''))) ||
      '',
    cause: saved.success ? saved.data.ended?.cause : undefined,
    nextNode: (saved.success && saved.data.status !== 'completed' && saved.data.next_node) || '',
    cut: saved.success && saved.data.cut_ms !== undefined,
    failedNode: (saved.success && saved.data.last_failure?.node) || '',
    failureClass: saved.success ? saved.data.last_failure?.class : undefined,
    forkedFrom: (story.success && story.data.forked_from) || null,
    replayOf: (story.success && story.data.replay_of?.run_id) || null,
    offline: story.success && story.data.replay_of?.live === false,
  };
  return { summary, manifest, checkpoint };
}

type Saved = z.ZodSafeParseResult<z.infer<ReturnType<typeof savedSchema>>>;

/** Whether an owner would make the run a running one: a resumed run has its previous status until its first node has finished. */
const mayRun = ({ data }: Saved): boolean =>
  data !== undefined && data.status !== 'completed' && (data.status === 'running' || data.next_node != null);

/** Whether a process executes the run, or waits to resume it: of a suspended run the lock is free, and its owner may wait all the
 *  same; any other whose lock is free has ended. */
export const isAtWork = ({ status, dir }: Pick<RunSummary, 'status' | 'dir'>): boolean =>
  status === 'running' || (isPaused(status) && livingOwners(dir).length > 0);

/** The state of the run: the checkpoint's, or the journal's where a crash left an older checkpoint or none. A checkpoint
 *  without the journal that it was written from says nothing; `why` names what is wrong with the journal then. */
function savedIn(reader: RunReader, saved: Saved): { readonly saved: Saved; readonly why?: string } {
  const size = statSync(layout(reader.dir).journal, { throwIfNoEntry: false })?.size;
  if (saved.success && saved.data.journal?.bytes === size) return { saved };
  const history = reader.history();
  if (history.ok) return { saved: savedSchema().safeParse(history.checkpoint) };
  return { saved: savedSchema().safeParse(undefined), why: history.why };
}

/** A run that cannot be read does not hide the others. */
const hasLiveOwner = (dir: string, clock: Clock): Promise<boolean | 'unknown'> =>
  ownerOf(dir, clock).then(
    (owner) => owner !== undefined,
    () => 'unknown',
  );

/** Answers an execution of a tool or a verification from the record, where everything that it could see is the same. */
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '../core/contracts/watcher.ts';
import { viewOf } from '../core/fork.ts';
import type { Node } from '../core/graph.ts';
import { type Json, type JsonObject, own } from '../core/json.ts';
import type { Context, Outcome } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { Exchange } from '../core/records/exchange.ts';
import { nodeLayout } from '../core/records/layout.ts';
import type { Manifest, ReplayOf } from '../core/records/manifest.ts';
import type { RanCommand, RunRecord, VisitRecord } from '../core/records/visit.ts';
import { sha256 } from '../core/sha256.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { StoreTrouble, WorkspaceError } from '../platform/files/workspace-error.ts';
import { GitError } from '../platform/git.ts';
import { diff, isNothing } from '../workspace/diff.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { firstDifferentField, renameDirsIn, runNames } from './comparable.ts';
import type { ReadBody } from './exchanges.ts';
import type { RecordedOrder } from './recorded-order.ts';
import { statesOf } from './visits.ts';

/** An execution that is about to run. */
export type ExecutionStart = {
  readonly node: Node;
  readonly visit: number;
  /** Of the workspace in which it works. */
  readonly snapshots: Snapshots;
  readonly state: RunState;
  readonly snapshot: Snapshot;
  readonly nodeDir: string;
};

/** An execution as the record has it. */
export type RecordedAnswer = {
  readonly outcome: Outcome;
  readonly context: Context;
  readonly counts: { readonly retries: number; readonly calls: number };
  readonly snapshot: Snapshot;
  readonly usage: undefined;
  readonly commands: readonly RanCommand[];
  /** The state of the run's tools, if it changed. */
  readonly toolState: JsonObject | undefined;
  /** Number of the record. */
  readonly replayed: number;
};

export type RecordMismatch = { readonly unlike: string };

/** Commands with access to the run directory that change nothing there except the history, whose head their state names. */
const historyOnly =
  /^\s*factory (?:plan (?:prompt|check|emit)|order (?:next|prompt|apply|commit|rollback|proof|mend))(?:\s[^;&|<>`$()\n]*)?$/;

/** SHA-256 of what determines a node's work: its attributes, and the variables that they name (all of them where it may
 *  read the run directory); `code`: the hash of the file of an own node type. */
export function workHash(
  node: Node,
  variables: Readonly<Record<string, string>>,
  code?: string | null,
): string {
  const attrs = [...node.attrs.values()].map(({ key, value }) => [key, value.text]);
  const text = JSON.stringify(attrs);
  const named = Object.entries(variables).filter(
    ([name]) => hasRunAccess(node) || text.includes(`\${var.${name}}`),
  );
  return sha256(JSON.stringify([attrs, named.sort(), ...(code == null ? [] : [code])]));
}

const codeOf = ({ type }: Node, { manifest }: ReplayingRun): string | null | undefined =>
  manifest.node_types?.[type]?.sha256;

type Here = ReplayingRun & { readonly normal: (text: string) => string };

/** Answers executions; the next one after each is found at once. */
export function recordedExecutions(
  { replayOf: of, records, followHistory }: RecordedRun,
  order: RecordedOrder,
  here: Here,
): (start: ExecutionStart, was: VisitRecord) => Promise<RecordedAnswer | RecordMismatch> {
  const stateAfter = statesOf(records);
  const { dirs } = runNames(of.run_id, of.run_dir);
  return async (start, was) => {
    const { node, state, snapshot, nodeDir } = start;
    const at = stateAfter(records.indexOf(was));
    // Another branch may ask meanwhile.
    const whole = order.hasBranches ? structuredClone(at) : at;
    const then = viewOf(whole, was.branch);
    const isBesides = order.besides(was.branch, whole);
    const isAsked =
      was.asked_sha256 === workHash(node, here.variables, codeOf(node, here)) &&
      !of.changed.includes('env_pass');
    const unlike =
      unanswerable(node, was) ??
      (isAsked ? undefined : 'its attributes or variables are not the recorded ones') ??
      (await otherFiles(was, snapshot, here)) ??
      otherState(was, withoutNodes(then, isBesides), withoutNodes(state, isBesides), here.normal) ??
      damagedArtifact(was, here.snapshots);
    if (unlike !== undefined) return { unlike };
    const toolState = was.tool_state ?? then.tool_state;
    const after = await restored(start, was, async () => {
      if (hasRunAccess(node)) await followHistory?.(toolState);
    });
    if ('unlike' in after) return after;
    await copyArtifacts(was, nodeDir, here.snapshots);
    const more = was.retries - (own(then.retry_counts, node.id) ?? 0);
    const retries = (own(state.retry_counts, node.id) ?? 0) + more;
    return {
      // Later nodes must not reach into the recorded run.
      outcome: renameDirsIn(was.outcome as unknown as Json, dirs, here.runDir) as unknown as Outcome,
      context: more > 0 ? { ...state.context, [`internal.retry_count.${node.id}`]: retries } : state.context,
      counts: { retries, calls: own(state.calls, node.id) ?? 0 },
      snapshot: after,
      usage: undefined,
      commands: was.commands ?? [],
      toolState: was.tool_state && (renameDirsIn(was.tool_state, dirs, here.runDir) as JsonObject),
      replayed: was.seq,
    };
  };
}

/** Brings workspace and history to where the execution left them; where that fails the workspace is as before. */
async function restored(
  { snapshot, snapshots }: ExecutionStart,
  was: VisitRecord,
  followHistory: () => Promise<void>,
): Promise<Snapshot | RecordMismatch> {
  try {
    let after = snapshot;
    if (was.after !== snapshot.id) {
      const recorded = await snapshots.load(was.after);
      // Build tools compare times: the files are written now.
      await snapshots.restore(recorded, undefined, { times: 'now' });
      after = await snapshots.take(snapshot);
      if (after.id !== was.after && !isNothing(diff(recorded, after)))
        throw new WorkspaceError('the recorded workspace cannot be restored');
    }
    await followHistory();
    return after;
  } catch (error) {
    const isRecord = error instanceof WorkspaceError || error instanceof GitError;
    if (!isRecord || error instanceof StoreTrouble) throw error;
    await snapshots.restore(snapshot);
    return { unlike: error.message };
  }
}

async function otherFiles(was: VisitRecord, now: Snapshot, { snapshots }: Here): Promise<string | undefined> {
  if (was.before === now.id) return undefined;
  const changes = await snapshots.load(was.before).then(
    (before) => diff(before, now),
    (error: unknown) => {
      if (error instanceof WorkspaceError) return undefined;
      throw error;
    },
  );
  if (changes !== undefined && isNothing(changes)) return undefined;
  const { created = [], modified = [], deleted = [] } = changes ?? {};
  const paths = [...modified, ...created, ...deleted].slice(0, 3).join(', ');
  return `the workspace before it is not the recorded one${paths === '' ? '' : `: ${paths}`}`;
}

/** The artifacts of the recorded nodes are among the contents of the run. */
function damagedArtifact(was: VisitRecord, { store }: Snapshots): string | undefined {
  for (const [name, hash] of Object.entries(was.artifacts ?? {}))
    if (!store.isWhole(hash)) return `its recorded artifact ${name} is damaged`;
  return undefined;
}

async function copyArtifacts(was: VisitRecord, nodeDir: string, { store }: Snapshots): Promise<void> {
  for (const [name, hash] of Object.entries(was.artifacts ?? {})) {
    const target = join(nodeDir, name);
    beforeWrite(target);
    mkdirSync(dirname(target), { recursive: true });
    rmSync(target, { force: true });
    await store.writeTo(hash, target, target === nodeLayout(nodeDir).context ? 0o444 : 0o644);
  }
}

/** The state without outcomes of other branches. */
const withoutNodes = (state: RunState, isBesides: (node: string) => boolean): RunState => ({
  ...state,
  outcomes: Object.fromEntries(Object.entries(state.outcomes).filter(([node]) => !isBesides(node))),
});

/** How the run's state, as a node may see it, is not the recorded one; undefined where it is. */
function otherState(
  { node: id, node_type }: VisitRecord,
  then: RunState,
  now: RunState,
  normal: (text: string) => string,
): string | undefined {
  const state = (of: RunState) => (node_type === 'tool' ? { tool_state: of.tool_state ?? {} } : {});
  const was = {
    ...visibleState({ ...then, context: { ...then.context, current_node: id } }),
    ...state(then),
  };
  const found = firstDifferentField(was, { ...visibleState(now), ...state(now) }, normal);
  return found && `${found.field} is not the recorded one: it was ${found.was} and is ${found.is}`;
}

function visibleState({ context, origins, outcomes, last_outcome, last_failure }: RunState): JsonObject {
  // The engine writes the time, whatever the nodes do.
  const { 'last_failure.at': _, ...values } = context;
  return JSON.parse(JSON.stringify({ context: values, origins, outcomes, last_outcome, last_failure }));
}

const commandOf = ({ settings }: Node): string => settings.tool_command ?? '';
const hasRunAccess = ({ settings }: Node): boolean => settings.access !== undefined;

/** Why no record of this node can answer, whatever the workspace holds; or undefined. */
function unanswerable(node: Node, was: VisitRecord): string | undefined {
  if (was.artifacts === undefined || was.artifacts_more !== undefined)
    return 'the record does not have all files that it left in its directory';
  const command = commandOf(node).replace(/\$\{var\.[A-Za-z0-9_.-]+\}/g, '');
  return hasRunAccess(node) && !historyOnly.test(command)
    ? 'it may change the run directory, which no record covers'
    : undefined;
}

/** What a replay has of the recorded run. */
export type RecordedRun = {
  readonly replayOf: ReplayOf;
  /** Its records from the first one on. */
  readonly records: readonly RunRecord[];
  readonly exchanges: readonly Exchange[];
  readonly body: ReadBody;
  /** Moves the history to the commit that the state of the tools names; undefined in a run without commits. */
  readonly followHistory: ((toolState: JsonObject | undefined) => Promise<void>) | undefined;
};

/** The run that replays it. */
export type ReplayingRun = {
  readonly manifest: Manifest;
  readonly runDir: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly snapshots: Snapshots;
  readonly log: Log;
  /** Where a divergence is written. */
  readonly divergenceFile: string;
  /** Whether an earlier process of this run has diverged and continued live. */
  readonly diverged: boolean;
};

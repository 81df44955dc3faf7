/** Joins the branches of a fork where they meet: their files come into the workspace, what they did into the context. Then the node
 *  runs as what it is; where the join fails it does not. */

import { fanInType } from '../../core/graph.ts';
import {
  isJoinKey,
  type JoinedBranch,
  type JoinResult,
  type JoinRules,
  joinResult,
  joinRulesIn,
} from '../../core/join.ts';
import { type Json, type JsonObject, own, put } from '../../core/json.ts';
import { failed, type Outcome } from '../../core/outcome.ts';
import { maskedObject } from '../../core/policy/mask.ts';
import { outsideScope } from '../../core/policy/paths.ts';
import type { RunState } from '../../core/records/checkpoint.ts';
import type { Fork } from '../../core/records/fork.ts';
import { nodeLayout } from '../../core/records/layout.ts';
import { unmetAtJoin } from '../../core/unmet-gates.ts';
import { GitError } from '../../platform/git.ts';
import { keepJson, keepLists } from '../../run/artifacts.ts';
import { diff } from '../../workspace/diff.ts';
import type { TreeMerge } from '../../workspace/merge.ts';
import { conflictKinds } from '../../workspace/merge.ts';
import type { Changes, Snapshot } from '../../workspace/snapshot.ts';
import { environmentOf, type NodeEnvironment, passedTo } from '../environment.ts';
import { beginningIn } from '../execute-node.ts';
import { type JoinSide, keepConflicts, mergeSides } from '../merge-branches.ts';
import { changedPaths } from '../undo.ts';
import type { Executed, Layer, LayerContext } from './layer.ts';

export const joinLayer: Layer = (next) => async (context) => {
  const { fork } = context.state;
  // A call has one branch, which has worked in this workspace.
  if (fork?.join !== context.node.id || fork.call === true) return next(context);
  const join = new Join(context, fork);
  const result = await join.result();
  const joined = join.joinedState(result);
  const merged = result.outcome.status === 'fail' ? result.outcome : await join.merge(result);
  // Without `joined`: a resume that executes the node again finds the branches.
  if ('status' in merged) return join.failure(joined, merged);
  const state = { ...joined, last_outcome: withoutUpdates(result.outcome) };
  const executed = await next(context.with({ state, ...beginningIn(context.run, state, merged) }));
  await join.keepDifference(executed.snapshot);
  const outcome = withFailures(executed.outcome, result);
  const setters = Object.entries(join.setters(result)).filter(
    ([key]) => own(outcome.updates, key) === undefined,
  );
  const origins = Object.fromEntries(setters);
  return {
    ...executed,
    ...setupOfJoin(executed, context),
    ...{ outcome, context: executed.context ?? state.context, joined: { origins } },
  };
};

/** The journal has the merged workspace only as what the setup of a node that joins began with: it follows the base. */
const setupOfJoin = ({ setup }: Executed, { before }: LayerContext): Pick<Executed, 'setup'> =>
  setup === undefined
    ? {}
    : { setup: { ...setup, record: { locks: [], ...setup.record, before: before.id } } };

class Join {
  private readonly rules: JoinRules;
  private readonly shown: NodeEnvironment;
  private readonly loaded = new Map<string, Snapshot>();

  constructor(
    private readonly context: LayerContext,
    private readonly fork: Fork,
  ) {
    const { run, graph, node } = context;
    this.rules = joinRulesIn(graph, fork);
    this.shown = environmentOf(run, passedTo(run, node));
  }

  /** What becomes of the branches, by what they have committed. */
  async result(): Promise<JoinResult> {
    const { fork, context } = this;
    const { state } = context;
    const base = await this.load(fork.base);
    const branches: JoinedBranch[] = [];
    for (const [at, [id, cursor]] of Object.entries(fork.branches).entries()) {
      const { ended: end, last_outcome: last, context: its } = cursor;
      if (end === undefined) throw new Error(`Internal: branch ${id} has not ended`);
      const files = this.listed(diff(base, await this.load(cursor.snapshot)));
      const notes = await this.clean(last?.notes ?? '');
      const reason = await this.clean(end.reason);
      const item = fork.items?.[at];
      branches.push({ id, end: { ...end, reason }, last: last?.status, notes, files, context: its, item });
    }
    return joinResult(this.rules, branches, state.context);
  }

  private async load(id: string): Promise<Snapshot> {
    const { before, snapshots } = this.context;
    const found = id === before.id ? before : (this.loaded.get(id) ?? (await snapshots.load(id)));
    if (this.loaded.size < mostLoaded) this.loaded.set(id, found);
    return found;
  }

  private clean = async (text: string): Promise<string> =>
    (await this.context.run.leaks?.printable(text)) ?? text;

  private listed({ created, modified, deleted }: Pick<Changes, 'created' | 'modified' | 'deleted'>) {
    const shown = (paths: readonly string[]) => paths.map(this.shown.mask);
    return { created: shown(created), modified: shown(modified), deleted: shown(deleted) };
  }

  /** The state as the node sees it: without the keys of an earlier join. */
  joinedState(result: JoinResult): RunState {
    const { state, run } = this.context;
    const context: Record<string, Json> = {};
    for (const [key, value] of Object.entries(state.context)) if (!isJoinKey(key)) put(context, key, value);
    const updates = { ...result.outcome.updates, ...unmetAtJoin(run.graph, this.fork, state) };
    for (const [key, value] of Object.entries(updates)) put(context, key, value);
    return { ...state, context, origins: { ...state.origins, ...this.setters(result) } };
  }

  /** Who has set the keys that a branch has handed on. */
  setters({ setIn }: JoinResult): RunState['origins'] {
    const setters: Record<string, RunState['origins'][string]> = {};
    for (const [key, branch] of Object.entries(setIn))
      put(setters, key, own(this.fork.branches[branch]?.origins ?? {}, key) ?? 'engine');
    return setters;
  }

  /** The workspace with the files of the branches that count, or why they cannot be in it; then nothing of it has changed. */
  async merge({ counted }: JoinResult): Promise<Snapshot | Outcome> {
    const { context, fork, rules } = this;
    const { snapshots, before } = context;
    if (rules.merge === 'none' || counted.length === 0) return before;
    const base = await this.load(fork.base);
    const sides = counted.map((id): JoinSide => {
      const { snapshot = '' } = fork.branches[id] ?? {};
      return { id, tree: async () => (await this.load(snapshot)).tree };
    });
    const merge = await mergeSides(context, base, sides).catch((error: unknown) => {
      if (!(error instanceof GitError)) throw error;
      return failed(`the files of the branches could not be merged: ${error.message}`, 'infra');
    });
    if ('status' in merge) return merge;
    const refused =
      merge.conflicts.size > 0 ? await this.conflict(merge, base, sides) : await this.outside(merge);
    await this.keepRecord(merge, sides, refused?.at);
    if (refused !== undefined) return refused.outcome;
    if (merge.tree.top.id === before.id) return before;
    const merged = await snapshots.keepTree(merge.tree);
    await snapshots.restore(merged);
    return snapshots.take(merged);
  }

  private async conflict(
    { conflicts }: TreeMerge,
    base: Snapshot,
    sides: readonly JoinSide[],
  ): Promise<{ readonly outcome: Outcome; readonly at: JsonObject }> {
    const { fork, context, shown } = this;
    const paths = [...conflicts.keys()].sort();
    const all = [{ id: fork.node, tree: async () => base.tree }, ...sides];
    const at = await keepConflicts(context, paths, all, shown.values);
    const first = paths
      .slice(0, 20)
      .map((path) => `${path} (${conflictKinds[conflicts.get(path) ?? 'lines']})`);
    const more = paths.length > first.length ? ` and ${paths.length - first.length} more` : '';
    const why = `the branches conflict in ${paths.length} path${paths.length === 1 ? '' : 's'}, nothing was merged: ${first.join(', ')}${more}`;
    const updates = { 'parallel.conflicts': paths.map(shown.mask) };
    return { outcome: failed(shown.mask(why), 'product', { updates }), at };
  }

  /** What the merge would change where the node may not write, or where the holdout is placed. */
  private async outside({
    tree,
  }: TreeMerge): Promise<{ readonly outcome: Outcome; readonly at: JsonObject } | undefined> {
    const { node, run, before, writer } = this.context;
    const { allowed_write_paths: allowed } = node.settings;
    const changed = changedPaths(diff(before, { id: tree.top.id, tree }));
    const sealed = run.sealed;
    const blocks = (path: string): boolean =>
      sealed !== undefined &&
      (sealed.isSealed(path) || (tree.has(path) && sealed.paths.some((one) => one.startsWith(`${path}/`))));
    const wrong = [
      ...(allowed === undefined ? [] : outsideScope(changed, allowed)),
      ...changed.filter(blocks),
    ];
    if (wrong.length === 0) return undefined;
    const paths = [...new Set(wrong)].sort().map(this.shown.mask);
    await writer.event({ type: 'GuardrailViolation', node_id: node.id, paths });
    const why = `guardrail_violation: the branches have changed files that the join may not change, nothing was merged: ${paths.join(',')}`;
    return { outcome: failed(why, 'guardrail'), at: {} };
  }

  /** `join.json`: what was merged, and what not. */
  private async keepRecord(merge: TreeMerge, sides: readonly JoinSide[], at: JsonObject = {}): Promise<void> {
    const { context, fork } = this;
    const { mask } = this.shown;
    await keepJson(nodeLayout(context.nodeDir).join, {
      fan_out: fork.node,
      base: fork.base,
      merged: sides.map(({ id }) => ({ branch: id, snapshot: fork.branches[id]?.snapshot ?? '' })),
      conflicts: [...merge.conflicts]
        .sort()
        .map(([path, kind]) => ({ path: mask(path), kind, why: conflictKinds[kind] })),
      sides: maskedObject(at, mask),
      kept_first: merge.kept.slice(0, mostKept).map(mask),
      ...(merge.kept.length > mostKept ? { kept_first_more: merge.kept.length - mostKept } : {}),
    });
  }

  /** What the whole execution has changed: the layers around the node know only what it did itself. */
  async keepDifference(after: Snapshot): Promise<void> {
    const { nodeDir, before } = this.context;
    await keepLists(nodeLayout(nodeDir).diff, this.listed(diff(before, after)));
  }

  async failure(state: RunState, outcome: Outcome): Promise<Executed> {
    const { before, node } = this.context;
    await this.keepDifference(before);
    return {
      outcome: notRun(node, withoutUpdates(outcome)),
      snapshot: before,
      context: { ...state.context, ...outcome.updates },
      counts: { retries: own(state.retry_counts, node.id) ?? 0, calls: own(state.calls, node.id) ?? 0 },
    };
  }
}

/** Snapshots that are kept in memory: each may be large. */
const mostLoaded = 16;

/** Caches that a record lists. */
const mostKept = 1000;

/** The context has them already. */
const withoutUpdates = (outcome: Outcome): Outcome => ({ ...outcome, updates: {} });

/** A node of another type has not run: only an edge that asks for the failure takes it, no option of a gate and no way on. */
const notRun = ({ type }: LayerContext['node'], outcome: Outcome): Outcome =>
  outcome.status === 'fail' && type !== fanInType && type !== 'conditional'
    ? { ...outcome, broke: true }
    : outcome;

/** The outcome of the node; its notes begin with the branches that have not succeeded. */
function withFailures(outcome: Outcome, { outcome: joined, counted, total }: JoinResult): Outcome {
  if (counted.length === total || outcome.notes.startsWith(joined.notes)) return outcome;
  return { ...outcome, notes: outcome.notes === '' ? joined.notes : `${joined.notes}\n${outcome.notes}` };
}

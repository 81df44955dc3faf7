/** Holds what the node changed against what it may write, and restores the rest. */
import type { Node } from '../../core/graph.ts';
import { failed, keptOfAttempt, type Outcome, reasonOf } from '../../core/outcome.ts';
import { folderInScope, outsideScope } from '../../core/policy/paths.ts';
import { liesIn } from '../../platform/files/names.ts';
import { diff } from '../../workspace/diff.ts';
import { putBack } from '../../workspace/restore.ts';
import type { Changes, Snapshot } from '../../workspace/snapshot.ts';
import { changedPaths, undo } from '../undo.ts';
import type { Executed, Layer, LayerContext } from './layer.ts';

export const scope: Layer = (next) => async (context) => {
  const executed = await next(context);
  if (!context.kind.executable) return executed;
  const reported = await withPartialWork(context, executed);
  const violation =
    executed.unreadable === undefined
      ? await judged(context, { ...executed, outcome: reported })
      : everythingOf(context, executed);
  if (violation === undefined) return { ...executed, outcome: reported };
  const { paths, snapshot } = violation;
  // A cancelled attempt did not end: resume repeats the execution from the snapshot before it.
  if (context.signal.aborted) return { ...executed, snapshot };
  if (paths.length > 0)
    await context.writer.event({ type: 'GuardrailViolation', node_id: context.node.id, paths });
  return { ...executed, outcome: { ...violation.outcome, ...keptOfAttempt(reported) }, snapshot };
};

/** `snapshot`: the workspace with the paths restored. */
type Violation = { readonly paths: string[]; readonly outcome: Outcome; readonly snapshot: Snapshot };

function everythingOf(
  { secrets: { mask }, hidden }: LayerContext,
  { unreadable = '', snapshot }: Executed,
): Violation {
  const why = `${mask(unreadable)}; everything that the node wrote was undone`;
  return { paths: hidden.sealed.map(mask), outcome: failed(why, 'guardrail', { broke: true }), snapshot };
}

/** What the node wrote where it must not, restored; undefined if there is none. */
async function judged(context: LayerContext, executed: Executed): Promise<Violation | undefined> {
  const { before, snapshots, hidden, secrets } = context;
  const { snapshot: after, outcome, holdout, strays = [], tampered = [] } = executed;
  const rules = rulesOf(context);
  const changes = diff(before, after);
  const copied = holdout?.copies(before, after, hidden.sealed.length > 0) ?? [];
  // A node that replaces a folder above a holdout path would decide where the holdout is placed next.
  const lost = holdout?.removed.blocked ?? [];
  const wrong = [...new Set([...rules.forbidden(changes, after), ...copied, ...lost, ...tampered])];
  // Files created in place of hidden or holdout files are removed already, so that no diff has them. Programs that ended
  // leave sockets behind; pipes and devices are created on purpose.
  const odd = strays.filter(({ isSocket }) => !isSocket).map(({ path }) => path);
  const made = [...hidden.made, ...hidden.sealed, ...odd.filter(rules.isOutside)];
  if (wrong.length + made.length === 0) return undefined;
  const broken = new Set(wrong);
  const snapshot = await undo(after, wrong, async (now, paths) => {
    await putBack(snapshots, before, paths, rules.may);
    const then = await snapshots.take(now);
    const left = diff(before, then);
    return [then, [...rules.forbidden(left, then), ...changedPaths(left).filter((path) => broken.has(path))]];
  });
  const paths = [...new Set([...wrong, ...made])].sort().map(secrets.mask);
  const touched = changedPaths(changes).filter(rules.isHidden);
  const counts = [
    counted(new Set([...hidden.made, ...touched]).size, 'at paths hidden from the agent'),
    bracketed([
      part(hidden.sealed.length, 'at sealed paths'),
      part(lost.length, 'in place of a folder above a sealed path'),
      part(copied.length, 'copies of sealed files'),
    ]),
    counted(wrong.filter(rules.isGiven).length, 'files given to the run as variables'),
    counted(tampered.length, 'changed while a check used them: verification.may_change may name them'),
  ].join('');
  // A node that also broke may leave only by an edge whose condition is true.
  const broke = outcome.status === 'fail' && outcome.broke;
  const also = broke ? ` (the node also failed: ${reasonOf(outcome)})` : '';
  const why = `guardrail_violation: wrote disallowed files: ${paths.join(',')}${counts}${also}`;
  return { paths, outcome: failed(why, 'guardrail', { broke }), snapshot };
}

const part = (count: number, what: string): string => (count === 0 ? '' : `${count} of them ${what}`);
const bracketed = (parts: readonly string[]): string => {
  const clauses = parts.filter((one) => one !== '');
  return clauses.length === 0 ? '' : ` (${clauses.join(', ')})`;
};
const counted = (count: number, what: string): string => bracketed([part(count, what)]);

/** Where the node may write. */
function rulesOf({ run, node, before, hidden }: LayerContext) {
  const { allowed_write_paths: own } = node.settings;
  const allowed = own === undefined ? undefined : withResponse(node, own);
  const away = new Set(hidden.paths);
  const isHidden = (path: string): boolean => liesIn(away, path);
  // Even a node without a scope may not change the input files, which later nodes verify against.
  const given = new Set(allowed === undefined ? outsideScope(run.inputFiles, withResponse(node, [])) : []);
  const isGiven = (path: string): boolean => given.has(path);
  // A changed mode is allowed: `chmod -R` is not aimed at these files.
  const isGone = (path: string, now: Snapshot): boolean =>
    isGiven(path) && before.tree.get(path)?.hash !== now.tree.get(path)?.hash;
  const isOutside = (path: string): boolean =>
    allowed !== undefined && outsideScope([path], allowed).length > 0;
  return {
    isHidden,
    isGiven,
    isOutside,
    may: (path: string): boolean => !isHidden(path) && !isGiven(path) && !isOutside(path),
    forbidden: (changed: Changes, now: Snapshot): readonly string[] => [
      ...(allowed === undefined ? [] : outside(changed, allowed)),
      ...changedPaths(changed).filter((path) => isHidden(path) || isGone(path, now)),
    ],
  };
}

/** The response file of a codergen node is always in its scope. */
function withResponse(node: Node, allowed: readonly string[]): readonly string[] {
  const { response_file: response } = node.settings;
  return response === undefined ? allowed : [...allowed, response];
}

/** Files and links outside the scope, and folders there whose mode was changed. Empty folders do not count. */
function outside(changes: Changes, allowed: readonly string[]): readonly string[] {
  const folders = changes.folders.modified.filter((path) => !folderInScope(path, allowed));
  return [...outsideScope(changedPaths(changes), allowed), ...folders].sort();
}

/** Names the snapshot that holds the partial work of a stalled agent, in the reason and in `stalled.json`. */
async function withPartialWork(
  { before, files }: LayerContext,
  { outcome, snapshot: after, unreadable }: Executed,
): Promise<Outcome> {
  if (outcome.status !== 'fail' || outcome.class !== 'stalled' || unreadable !== undefined) return outcome;
  const { created, modified, deleted } = diff(before, after);
  const { reason } = outcome;
  const partial = { reason, snapshot: after.id, before: before.id, created, modified, deleted };
  await files.keep('stalled.json', `${JSON.stringify(partial, null, 2)}\n`);
  const count = created.length + modified.length + deleted.length;
  const work = `${count} changed file${count === 1 ? '' : 's'}`;
  return { ...outcome, reason: `${reason}; its partial work (${work}) is snapshot ${after.id}` };
}

/** Keeps a check out of the reach of what it checks: what it uses is read-only in the sandbox, and compared afterwards. */
import { lstatSync } from 'node:fs';
import { join, posix } from 'node:path';
import { executionsOnPath } from '../../core/branch-path.ts';
import { isAgentType } from '../../core/graph.ts';
import { once } from '../../core/once.ts';
import { isSource } from '../../core/policy/check-files.ts';
import { isSourceCode } from '../../core/policy/test-files.ts';
import { below } from '../../platform/files/names.ts';
import { openRun } from '../../run/open-run.ts';
import { contentIn, diff } from '../../workspace/diff.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';
import { type CheckSet, checkSetOf } from '../check-set.ts';
import type { Run } from '../run-context.ts';
import type { Executed, Layer, LayerContext } from './layer.ts';

export const checks: Layer = (next) => async (context) => {
  const { kind, run, state, before } = context;
  if (!kind.executable) return next(context);
  const work = workOf(run, state.steps);
  if (isAgentType(kind.type)) {
    const executed = await next(context);
    work.add(before, executed.snapshot);
    return executed;
  }
  const set = await checkSetOf(context);
  if (set === undefined) return next(context);
  const written = isOfOrders(run) ? new Set<string>() : await work.paths(context.snapshots);
  const guard = guardOf(context, set, written);
  const executed = await next(context.with({ checked: frozenOf(context, set) }));
  const tampered = guard(executed);
  return tampered.length === 0 ? executed : { ...executed, tampered };
};

/** Work orders have a scope and commits: what their agents write is checked there. */
const isOfOrders = ({ historyEnv }: Run): boolean => Object.keys(historyEnv).length > 0;

/** Records the facts of the files; the returned function names those that are not as they were. */
function guardOf(
  { run, before }: LayerContext,
  { own, files, reached }: CheckSet,
  written: ReadonlySet<string>,
): (executed: Executed) => readonly string[] {
  const withCode = once(
    () => new Set([...files.keys()].filter(isSourceCode).map((path) => posix.dirname(path))),
  );
  const sources = [...written].filter((path) => {
    const entry = files.get(path);
    return (
      entry !== undefined &&
      isSource(path, (entry.mode & 0o111) !== 0 && entry.kind === 'file', (folder) => withCode().has(folder))
    );
  });
  const paths = [...new Set([...own, ...sources])];
  const folders = foldersOf(own);
  const facts = paths.map((path) => factsOf(run.workspace, path, reached.touches));
  const places = folders.map((path) => placeOf(run.workspace, path));
  return ({ snapshot: after }) => {
    const isOther = (path: string): boolean => contentIn(before, path) !== contentIn(after, path);
    const changed = paths.filter(
      (path, n) => factsOf(run.workspace, path, reached.touches) !== facts[n] || isOther(path),
    );
    const moved = folders.filter((path, n) => {
      const [was, is] = [places[n], placeOf(run.workspace, path)];
      if (was?.ino !== is?.ino) return true;
      // A new file gives its folder the same time twice, a new name only the time of change.
      return !reached.touches && was?.ctimeNs !== is?.ctimeNs && is?.ctimeNs !== is?.mtimeNs;
    });
    return [...changed, ...moved].sort();
  };
}

const placeOf = (workspace: string, path: string) =>
  lstatSync(below(workspace, path), { bigint: true, throwIfNoEntry: false });

/** Facts that change with every write; where the check itself sets modes, without the time of change. */
function factsOf(workspace: string, path: string, touches: boolean): string {
  const is = placeOf(workspace, path);
  return is === undefined ? '' : `${is.ino} ${is.size} ${touches ? '' : `${is.mtimeNs} ${is.ctimeNs}`}`;
}

/** The folders around these paths. */
const foldersOf = (paths: readonly string[]): readonly string[] => [
  ...paths.reduce((folders, path) => {
    for (
      let at = path.lastIndexOf('/');
      at > 0 && !folders.has(path.slice(0, at));
      at = path.lastIndexOf('/', at - 1)
    )
      folders.add(path.slice(0, at));
    return folders;
  }, new Set<string>()),
];

/** Upper bounds of mounts: each costs a tenth of a millisecond. */
const mostFrozen = 100;

/** What is mounted read-only: files, or in a large project folders that hold nothing but files of the check; and the folders
 *  above, which cannot be renamed then. */
function frozenOf({ run }: LayerContext, { own, files }: CheckSet): NonNullable<LayerContext['checked']> {
  const plain = own.filter((path) => files.get(path)?.kind === 'file');
  const chosen = (plain.length <= mostFrozen ? plain : byFolder(plain, files)).slice(0, mostFrozen);
  const above = foldersOf(chosen).filter((folder) => !chosen.includes(folder));
  const at = (path: string): string => join(run.workspace, path);
  return { frozen: chosen.map(at), pinned: above.sort().slice(0, mostFrozen).map(at) };
}

function byFolder(own: readonly string[], files: CheckSet['files']): readonly string[] {
  const mine = new Set(own);
  const others = new Set(foldersOf([...files.keys()].filter((path) => !mine.has(path))));
  const whole = foldersOf(own).filter((folder) => !others.has(folder));
  const isBelow = (path: string): boolean => whole.some((folder) => path.startsWith(`${folder}/`));
  return [...whole, ...own].filter((path) => !isBelow(path));
}

/* The files that agents of a run have written. */

type AgentWork = {
  add(before: Snapshot, after: Snapshot): void;
  /** Other agents have worked. */
  forget(): void;
  paths(snapshots: Snapshots): Promise<ReadonlySet<string>>;
};

/** By the journal: those of all branches that write to it. */
const works = new WeakMap<Run['journal'], Map<string | undefined, AgentWork>>();

/** In the run or in a branch. `steps`: how many executions the run had when this process met it; their records are read when they are
 *  needed, and again when agents of other branches have worked. */
function workOf({ journal, runDir, branch }: Run, steps: number): AgentWork {
  const all = works.get(journal) ?? new Map<string | undefined, AgentWork>();
  works.set(journal, all);
  const known = all.get(branch);
  if (known !== undefined) return known;
  const found = new Set<string>();
  const add = (before: Snapshot, after: Snapshot): void => {
    const { created, modified } = diff(before, after);
    for (const path of [...created, ...modified]) found.add(path);
  };
  let isRead = steps === 0;
  const work: AgentWork = {
    add(before, after) {
      add(before, after);
      for (const other of all.values()) if (other !== work) other.forget();
    },
    forget() {
      isRead = false;
    },
    async paths(snapshots) {
      if (!isRead) await readEarlier({ runDir, branch }, snapshots, add);
      isRead = true;
      return found;
    },
  };
  all.set(branch, work);
  return work;
}

async function readEarlier(
  { runDir, branch }: { readonly runDir: string; readonly branch: string | undefined },
  snapshots: Snapshots,
  add: AgentWork['add'],
): Promise<void> {
  const read = openRun(runDir).history();
  if (!read.ok) throw new Error(`Internal: ${read.why}`);
  for (const { visit } of executionsOnPath(read.records, branch))
    if (isAgentType(visit.node_type) && visit.before !== visit.after)
      add(await snapshots.load(visit.before), await snapshots.load(visit.after));
}

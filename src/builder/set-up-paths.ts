/** What setup commands have made during an attempt: no order wrote it, and the lock file that the order commits needs it. */
import { type SetUpTree, setUpPaths } from '../core/setup.ts';
import { pathsOf } from '../git/commit.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { openRun } from '../run/open-run.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import type { StepContext } from './step-context.ts';

export type SetUpHere = {
  readonly ready: Snapshot;
  /** Those that the attempt began without, and no file of `tree`. */
  readonly paths: ReadonlySet<string>;
};

/** Undefined where none has run since the attempt began with `began`. `tree`: what the order commits. */
export async function setUpSince(
  place: StepContext,
  snapshots: Pick<Snapshots, 'load'>,
  { began, tree }: { readonly began: SetUpTree; readonly tree: string },
  io: CommandIo,
): Promise<SetUpHere | undefined> {
  const history = openRun(place.run.root).history();
  const setup = history.ok ? history.checkpoint.setup : undefined;
  if (setup?.before === undefined) return undefined;
  const ready = await snapshots.load(setup.snapshot);
  const before = await snapshots.load(setup.before);
  const changed = [...setUpPaths(before.tree, ready.tree)].filter(
    (path) =>
      began.get(path)?.hash !== ready.tree.get(path)?.hash || began.has(path) !== ready.tree.has(path),
  );
  if (changed.length === 0) return undefined;
  const tracked = await pathsOf(place.run.history, tree, io.env);
  return { ready, paths: new Set(changed.filter((path) => !tracked.has(path))) };
}

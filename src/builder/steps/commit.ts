/** `factory order commit`: commits what the proposal wrote. */
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import { notesOf } from '../../core/orders/notes.ts';
import { commitOrder } from '../../git/commit.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import { buildCommits, unchangedOrders, writeBuildState } from '../build-state.ts';
import { setUpSince } from '../set-up-paths.ts';
import type { StepContext } from '../step-context.ts';
import { removeUntracked, type WorkspaceBefore } from '../untracked-changes.ts';
import { onCurrentOrder, type StepOptions } from './in-run.ts';

/** Commits the order's files as they were written, whatever the checks did to them. All else that came into being or
 *  changed since the attempt began is in no commit: it is put back, so that no later order leans on it; what the setup of the
 *  project has installed stays. */
export const orderCommit = (options: StepOptions, io: CommandIo): Promise<StepVerdict> =>
  onCurrentOrder(options, io, async (place, build, hand) => {
    const { workspace } = place;
    const { current, loaded } = hand;
    const { written } = current;
    if (written === null || current.failed !== null) {
      return no('config', `${current.id} has no proposal that was written: run "factory order apply" first`);
    }
    const { head } = build.state;
    const drift = await removeUntracked(
      place,
      { touched: current.touched, written },
      current.snapshot === null ? undefined : await beganWith(place, current.snapshot, written.tree, io),
      head,
      io,
    );
    const made = await commitOrder({
      historyDir: place.run.history,
      workspace,
      env: io.env,
      parent: head,
      tree: written.tree,
      parentTree: build.state.tree,
      order: loaded.order,
      digest: loaded.digest,
      runId: place.runId,
      author: build.start.author,
      date: io.now(),
    });
    const done = { id: current.id, commit: made.commit, subject: made.subject, attempts: current.attempt };
    const state = {
      ...build.state,
      head: made.commit ?? head,
      tree: written.tree,
      // The order may bring another command in place of those of before.
      ...(notesOf(loaded.order).mayChangeChecks ? { verified: [] } : {}),
      done: [...build.state.done, done],
      current: null,
    };
    await writeBuildState(place, state);
    const notes =
      made.commit === null
        ? `${made.subject}: no file has changed, so there is nothing to commit`
        : `${made.commit.slice(0, 12)} ${made.subject}`;
    return yes(notes, {
      updates: {
        'build.commits': buildCommits(state),
        'build.unchanged': unchangedOrders(build, state),
        'order.drift': drift,
      },
    });
  });

/** The workspace at the start of the attempt; what a setup has made since is put back as it left it. */
async function beganWith(
  place: StepContext,
  snapshot: string,
  committed: string,
  io: CommandIo,
): Promise<WorkspaceBefore> {
  const snapshots = await openSnapshots({
    workspace: place.workspace,
    dir: place.run.contents,
    inStage: true,
  });
  const { id, tree } = await snapshots.load(snapshot);
  const setUp = await setUpSince(place, snapshots, { began: tree, tree: committed }, io);
  if (setUp === undefined) return { tree, restore: (only) => snapshots.restore({ id, tree }, only) };
  const { ready, paths } = setUp;
  return {
    tree: new Map([...tree, ...[...ready.tree].filter(([path]) => paths.has(path))]),
    restore: async (only) => {
      await snapshots.restore({ id, tree }, (path) => only(path) && !paths.has(path));
      await snapshots.restore(ready, (path) => only(path) && paths.has(path));
    },
  };
}

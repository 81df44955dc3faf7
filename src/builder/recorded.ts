/** Checks that the history of a run matches its records. The product's tests could move the history's refs to another
 *  commit; only the engine writes the records. */
import { Commit } from '../model/result.ts';
import { readHistoryStart } from './in-history.ts';
import { type Books, readState } from './state.ts';

type Moved = { readonly problem: string; readonly fix: string };

/** Why a history whose refs point at `head` may not be used; undefined if the records name that commit, or have no commits.
 *  `context` is the run's; `first` is the commit that its orders began with. */
export function strayProblem(
  head: string | null,
  { context, first }: { readonly context: Readonly<Record<string, unknown>>; readonly first: string | null },
): Moved | undefined {
  const read = Commit.array().safeParse(context['build.commits']);
  if (!read.success) return undefined;
  const made = read.data.flatMap(({ commit }) => (commit === null ? [] : [commit]));
  const expected = made.at(-1) ?? first;
  if (head === expected) return undefined;
  const short = (commit: string | null) => commit?.slice(0, 12) ?? 'nothing';
  return {
    problem: `the git history of the run is at ${short(head)}, but the run recorded ${short(expected)}: the product or one of its checks has moved it`,
    fix: 'do not trust the product: "factory verify" shows more; fork the run from a checkpoint before the node that moved the history',
  };
}

/** The same check for the build's state file. Without a context, as in a call by hand, any state is accepted. */
export async function isStrayState(
  { workspace, run }: Books,
  context: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  if (context['build.commits'] === undefined) return false;
  const state = await readState(workspace);
  if (state === undefined) return false;
  const { first_commit: first } = await readHistoryStart(run.history);
  return strayProblem(state.head, { context, first }) !== undefined;
}

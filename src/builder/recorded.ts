/** Whether the history of a run is the one that its records tell of. The product's own tests run beside it (in the proof),
 *  and could move its refs to a commit of theirs; the records are the engine's. */
import { Commit } from '../model/result.ts';
import { readHistoryStart } from './in-history.ts';
import { type Books, readState } from './state.ts';

type Moved = { readonly problem: string; readonly fix: string };

/** Why nothing may be taken from a history that stands at `head`; undefined where the records name that commit, or none
 *  at all. `context` is the run's; `first` is where its orders began. */
export function strayProblem(
  head: string | null,
  { context, first }: { readonly context: Readonly<Record<string, unknown>>; readonly first: string | null },
): Moved | undefined {
  const read = Commit.array().safeParse(context['build.commits']);
  if (!read.success) return undefined;
  const made = read.data.flatMap(({ commit }) => (commit === null ? [] : [commit]));
  const should = made.at(-1) ?? first;
  if (head === should) return undefined;
  const short = (commit: string | null) => commit?.slice(0, 12) ?? 'nothing';
  return {
    problem: `the history of the run stands at ${short(head)}, and what the run has recorded ends at ${short(should)}: what is built, or a check of it, has moved it`,
    fix: 'do not trust what is built: "factory verify" tells more, and a fork from before the stage that moved it goes on without that',
  };
}

/** The same of what the build has put down as its state. Without a context, as by hand, any is believed. */
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

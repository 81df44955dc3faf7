/** What a changed pipeline may not change while branches are open: where they meet, and which they are. */
import { regionsOf } from '../../core/branches.ts';
import { branchesOf } from '../../core/fork.ts';
import { type Graph, graphWith, withoutItems } from '../../core/graph.ts';
import type { RunState } from '../../core/records/checkpoint.ts';
import type { Fork } from '../../core/records/fork.ts';

/** The fan-out whose open branches the pipeline has changed, and how. */
export type ChangedFork = { readonly node: string; readonly what: string };

/** Only what the open branches need: what else has changed counts for what is executed from now on. */
export function changedFork(
  stored: Graph | undefined,
  now: Graph,
  state: Pick<RunState, 'fork'>,
): ChangedFork | undefined {
  const open = branchesOf(state);
  for (const fork of new Set(open.map((branch) => branch.fork))) {
    const what = fork.call === true ? undefined : changeOf(stored, now, fork);
    if (what !== undefined) return { node: withoutItems(fork.node), what };
  }
  return undefined;
}

function changeOf(stored: Graph | undefined, now: Graph, fork: Fork): string | undefined {
  const node = withoutItems(fork.node);
  const region = regionsOf(graphWith(now, node)).get(node);
  if (region === undefined) return 'it has no branches any more';
  const join = withoutItems(fork.join);
  if (region.join !== join) return `its branches meet in "${region.join}" and not in "${join}"`;
  const is = region.branches.map(({ id }) => id);
  const first = Object.keys(fork.branches).map(withoutItems);
  const was =
    stored &&
    regionsOf(graphWith(stored, node))
      .get(node)
      ?.branches.map(({ id }) => id);
  const gone = [...new Set([...(was ?? []), ...first])].find((id) => !is.includes(id));
  if (gone !== undefined) return `it has no branch "${gone}" any more`;
  const added = was && is.find((id) => !was.includes(id));
  if (added !== undefined) return `it has another branch "${added}"`;
  for (const [id, { next_node, ended }] of Object.entries(fork.branches)) {
    const next = next_node === null ? undefined : withoutItems(next_node);
    const its = region.branches.find((branch) => branch.id === withoutItems(id))?.nodes;
    if (ended === undefined && next !== undefined && its?.has(next) !== true)
      return `the branch "${withoutItems(id)}" continues with "${next}", which is not in it any more`;
  }
  return undefined;
}

/** The outcomes that a join may have, for findings about the possible paths of runs. */
import { regionJoinedAt } from './branches.ts';
import { listOf } from './for-each.ts';
import { fanInType, type Graph, type Node } from './graph.ts';
import { joinRulesIn } from './join.ts';
import { anyClass, type PossibleOutcome, plainSuccess, possibleOutcome } from './possible-outcomes.ts';

/** Too few branches have succeeded, or their files conflict. */
const joinFailure = possibleOutcome('fail', { classes: anyClass('product') });
const somePart = possibleOutcome('partial_success');

/** What a join may make of its branches; of a node where none meet, what it is after them. */
export function joinOutcomes(graph: Graph, node: Node): readonly PossibleOutcome[] {
  const region = regionJoinedAt(graph, node.id);
  const fanOut = graph.nodes.get(region?.node ?? '');
  if (region === undefined || fanOut === undefined) return [plainSuccess, joinFailure];
  const mayDiffer = region.branches.length > 1 || listOf(fanOut) !== undefined;
  const isPart = mayDiffer && joinRulesIn(graph, region).policy === 'wait_all';
  return [plainSuccess, ...(isPart ? [somePart] : []), joinFailure];
}

/** Of a node of another type that joins branches as well: it runs as itself unless the join has failed, which is no failure that it
 *  reports itself. */
export const withJoinFailure = (
  graph: Graph,
  node: Node,
  own: readonly PossibleOutcome[],
): readonly PossibleOutcome[] =>
  [fanInType, 'conditional'].includes(node.type) || regionJoinedAt(graph, node.id) === undefined
    ? own
    : [...own, possibleOutcome('fail', { broke: true, classes: anyClass('product'), usual: false })];

/** Goal gates: where an exit sends a run that has not reached one, and how a run comes to that. */
import { present } from '../../model/attribute.ts';
import type { Graph, Node } from '../../model/graph.ts';
import type { Move, Place } from './flow.ts';
import { givenByExit, isSet } from './giving.ts';
import { wayTo } from './search.ts';

/** An exit that makes the run a failed one. */
export const failsRun = (node: Node): boolean => present(node.attrs, 'outcome')?.value.text.trim() === 'fail';

export const isGood = ({ giving }: Move): boolean =>
  giving.status === 'success' || giving.status === 'partial_success';

/** A move into an exit that ends the run in success, were it not for goal gates. */
export const isArrival = ({ to, giving, way }: Move): boolean =>
  to?.type === 'exit' && !failsRun(to.node) && (giving.status !== 'fail' || way.how === 'condition');

/** Each goal gate and where an exit sends a run that has not reached it: the gate's own target before the graph's. */
export function retryTargets(graph: Graph): readonly (readonly [gate: string, target: string])[] {
  const keys = ['retry_target', 'fallback_retry_target'];
  const named = (node: Node) =>
    [node.attrs, graph.attrs]
      .flatMap((attrs) => keys.map((key) => present(attrs, key)?.value.text.trim()))
      .find((id) => id !== undefined && graph.nodes.has(id));
  return [...graph.nodes.values()].flatMap((node) => {
    const target = isSet(node, 'goal_gate') ? named(node) : undefined;
    return target === undefined ? [] : [[node.id, target] as const];
  });
}

/** Goal gates that do not stand at success after these moves. */
export function missedGates(moves: readonly Move[]): readonly string[] {
  const stands = new Map<string, boolean>();
  for (const move of moves) {
    const { node } = move.place;
    if (isSet(node, 'goal_gate')) stands.set(node.id, isGood(move));
  }
  return [...stands].flatMap(([id, good]) => (good ? [] : [id]));
}

/** The moves from a gate that is missed to an exit, and from there back to the target; `path` leads to the gate. Undefined
 *  where there are none. */
export function backFrom(gate: Place, target: Place, path: readonly Move[]): readonly Move[] | undefined {
  for (const failure of gate.moves) {
    const { to } = failure;
    if (to === undefined || isGood(failure)) continue;
    const on = isArrival(failure) ? [] : wayTo(to, (move) => move.place !== gate, isArrival);
    if (on === undefined) continue;
    const exit = [failure, ...on].at(-1)?.to;
    const there = [...path, failure, ...on];
    if (exit !== undefined && missedGates(there).join() === gate.node.id)
      return [failure, ...on, jump(exit, target)];
  }
  return undefined;
}

/** An exit sends the run back. */
export function jump(exit: Place, target: Place): Move {
  const words = { label: '', suggested: [], class: undefined, context: new Map<string, string>() };
  return { place: exit, giving: givenByExit, way: { edge: undefined, how: 'none', words }, to: target };
}

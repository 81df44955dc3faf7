/** Every usual outcome of a node is taken by some edge. */
import type { Diagnostic } from '../../core/diagnostic.ts';
import { retryTarget } from '../../core/gates.ts';
import { type Flow, type FlowPlace, flowOf, type Move, missesGate, pathTo } from '../flow/reach.ts';
import { limitedFindings, type Pending, proven } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

const most = 20;

export const outcomeUncovered: Rule = {
  code: 'outcome-uncovered',
  severity: 'warning',
  rule: 'Every usual outcome of a node is covered by an edge.',
  wrong:
    'start; exit; a [shape=parallelogram, tool_command=x]; start -> a; a -> exit [condition="outcome=success"]',
  fix: 'an edge with `condition="outcome=fail"`',
  needs: 'paths',
  check: (subject) => {
    const stuck = new Map<string, Move[]>();
    const flow = flowOf(subject);
    if (flow === undefined) return [];
    for (const place of flow.places) {
      const moves = place.type === 'exit' ? [] : uncovered(place, subject);
      if (moves.length > 0) stuck.set(place.node.id, [...(stuck.get(place.node.id) ?? []), ...moves]);
    }
    const pending = [...stuck].map(
      ([name, moves]): Pending => ({ name, make: () => report(moves, subject, flow) }),
    );
    return limitedFindings(pending, most);
  },
};

/** One move for each usual outcome that no edge takes. */
function uncovered({ node, givings, moves, fork, passes }: FlowPlace, { graph }: Subject): readonly Move[] {
  const isSentBack = retryTarget(graph, node) !== undefined;
  const found = givings
    .filter(({ usual }) => usual)
    .flatMap((giving) => {
      const own = moves.filter((move) => move.giving === giving);
      return own.some(({ way }) => way.edge !== undefined) ? [] : own.slice(0, 1);
    })
    // The failure of a goal gate is taken by its retry target.
    .filter((move) => !(isSentBack && missesGate(move)));
  // For a node without conditions the author expects the run to end if an attempt breaks.
  const minds = passes !== undefined || fork.open.length < fork.edges.length;
  return minds || found.some(({ giving }) => !giving.broke) ? found : [];
}

function report(moves: readonly Move[], { graph }: Subject, flow: Flow): Diagnostic | undefined {
  const [first] = moves;
  const path = first === undefined ? undefined : pathTo(flow, first.place);
  if (first === undefined || path === undefined) return undefined;
  const { node, fork } = first.place;
  const reported = [
    ...new Set(moves.filter(({ giving }) => !giving.broke).map(({ giving }) => giving.status)),
  ];
  const wanted = (reported.length === 0 ? ['fail'] : reported).map((status) => `outcome=${status}`);
  let fix = `add an edge from "${node.id}" with condition="${wanted.join(' || ')}"`;
  const passed = node.type === 'conditional' ? ' that reaches it' : '';
  let message = `no edge of "${node.id}" covers the outcome ${reported.join(' or ')}${passed}: the run would end there`;
  if (fork.edges.length === 0) {
    message = `no edge leaves "${node.id}", and it is not an exit: a run that reaches it fails`;
    fix = `add an edge to an exit, or make it one: ${node.id} [shape=Msquare]`;
  } else if (reported.length === 0) {
    message = `no edge of "${node.id}" is taken when it breaks (a timeout, a crash): unconditional edges only take reported failures`;
  }
  const found = finding(graph, outcomeUncovered, { message, fix, span: node.span });
  return proven(found, [...path, first]);
}

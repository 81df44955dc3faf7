/** Every usual outcome of a node is taken by some edge. */
import { branchAt } from '../../core/branches.ts';
import { retryTarget } from '../../core/goal-gates.ts';
import { fanOutType } from '../../core/graph.ts';
import { type Finding, newEdge, type Repair } from '../../core/settings/repair.ts';
import { type Flow, type FlowPlace, flowOf, type Move, missesGate, pathTo } from '../flow/reach.ts';
import { limitedFindings, type Pending, proven } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';
import { reachedIds, undeclaredNodes, unreachedRoot } from '../unread.ts';

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
    // A node that only edges mention and that leads nowhere is reported as undeclared.
    for (const id of undeclaredNodes(subject).keys()) if (!subject.outgoing.has(id)) stuck.delete(id);
    const lost = unreachedBy([...stuck.values()], subject);
    const pending = [...stuck].map(
      ([name, moves]): Pending => ({ name, make: () => report(moves, subject, flow, lost) }),
    );
    return limitedFindings(pending, most);
  },
};

/** The node that an edge is missing to, where all that is unreached begins there and only one node lacks an edge. */
function unreachedBy(stuck: readonly (readonly Move[])[], subject: Subject): string | undefined {
  const lacking = stuck.filter((moves) =>
    reportedBy(moves).some((status) => /^(?:success|fail)$/.test(status)),
  );
  const reached = lacking.length === 1 ? reachedIds(subject) : undefined;
  return reached === undefined ? undefined : unreachedRoot(subject, reached);
}

const reportedBy = (moves: readonly Move[]): readonly string[] => [
  ...new Set(moves.filter(({ giving }) => !giving.broke).map(({ giving }) => giving.status)),
];

/** One move for each usual outcome that no edge takes. */
function uncovered({ node, givings, moves, fork, passes }: FlowPlace, { graph }: Subject): readonly Move[] {
  const isSentBack = retryTarget(graph, node) !== undefined;
  const isBranch = branchAt(graph, node.id) !== undefined;
  const found = givings
    .filter(({ usual }) => usual)
    .flatMap((giving) => {
      const own = moves.filter((move) => move.giving === giving);
      return own.some(({ way }) => way.edge !== undefined) ? [] : own.slice(0, 1);
    })
    // The failure of a goal gate is taken by its retry target, that of a branch by its join.
    .filter((move) => !(isSentBack && missesGate(move)))
    .filter(({ giving }) => !(isBranch && giving.status === 'fail'));
  // For a node without conditions the author expects the run to end if an attempt breaks.
  const minds = passes !== undefined || fork.open.length < fork.edges.length;
  return minds || found.some(({ giving }) => !giving.broke) ? found : [];
}

function report(
  moves: readonly Move[],
  { graph }: Subject,
  flow: Flow,
  lost: string | undefined,
): Finding | undefined {
  const [first] = moves;
  const path = first === undefined ? undefined : pathTo(flow, first.place);
  if (first === undefined || path === undefined) return undefined;
  const { node, fork } = first.place;
  const reported = reportedBy(moves);
  const condition = (reported.length === 0 ? ['fail'] : reported)
    .map((status) => `outcome=${status}`)
    .join(' || ');
  let fix = `add an edge from "${node.id}" with condition="${condition}"`;
  const repairs: Repair[] = [];
  const passed = node.type === 'conditional' ? ' that reaches it' : '';
  const ends = branchAt(graph, node.id) === undefined ? 'the run would end there' : 'its branch would fail';
  let message = `no edge of "${node.id}" covers the outcome ${reported.join(' or ')}${passed}: ${ends}`;
  if (fork.edges.length === 0) {
    message = `no edge leaves "${node.id}", and it is not an exit: a run that reaches it fails`;
    fix = `add an edge to an exit, or make it one: ${node.id} [shape=Msquare]`;
    if (lost === undefined) repairs.push({ node: node.id, shape: 'Msquare' });
  } else if (node.type === fanOutType) {
    message = `no edge of the fan-out "${node.id}" begins a branch where none of their conditions holds: the run would end there`;
    fix = 'give one of its edges no condition, or lead the run past it where there is nothing to do';
  } else if (reported.length === 0) {
    message = `no edge of "${node.id}" is taken when it breaks (a timeout, a crash): unconditional edges only take reported failures`;
  }
  if (lost !== undefined && reported.length > 0) {
    const shown = fork.edges.length === 0 ? '' : condition;
    message += `; so no run reaches "${lost}"`;
    fix = `add the edge ${node.id} -> ${lost}${shown === '' ? '' : ` [condition="${shown}"]`}`;
    repairs.push({ instead: newEdge(node.id, lost, shown, { span: node.span }) });
  }
  return proven(finding(graph, outcomeUncovered, { message, fix, span: node.span, repairs }), [
    ...path,
    first,
  ]);
}

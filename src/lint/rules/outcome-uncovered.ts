/** Every outcome that a node usually has is carried on by some edge. */
import { flowOf, type Move, type Place, pathTo } from '../flow/flow.ts';
import { isSet } from '../flow/giving.ts';
import { folded, provenBy } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

/** How many findings of a sort are told one by one: that a success or a failure ends the run, that a broken stage does, that
 *  a partial success does. */
const most = { plain: 20, broke: 5, partial: 3 } as const;

export const outcomeUncovered: Rule = (subject) => {
  const flow = flowOf(subject);
  if (flow === undefined) return [];
  const { graph } = subject;
  const stuck = new Map<string, Move[]>();
  for (const place of flow.places) {
    if (place.type === 'exit') continue;
    const moves = uncovered(place);
    if (moves.length > 0) stuck.set(place.node.id, [...(stuck.get(place.node.id) ?? []), ...moves]);
  }
  const found = [...stuck].map(([id, moves]) => ({
    sort: sortOf(moves),
    name: id,
    tell() {
      const [first] = moves;
      const span = graph.nodes.get(id)?.span ?? graph.span;
      const told = finding(graph, 'outcome-uncovered', 'warning', { ...said(id, moves, subject), span });
      const path = first === undefined ? undefined : pathTo(first.place);
      return provenBy(told, graph, path === undefined || first === undefined ? undefined : [...path, first]);
    },
  }));
  return (['plain', 'broke', 'partial'] as const).flatMap((sort) =>
    folded(
      found.filter((one) => one.sort === sort),
      most[sort],
    ),
  );
};

const sortOf = (moves: readonly Move[]): keyof typeof most =>
  moves.every(({ giving }) => giving.status === 'partial_success')
    ? 'partial'
    : moves.every(({ giving }) => giving.broke)
      ? 'broke'
      : 'plain';

/** One move for each usual outcome that never leaves by an edge. */
function uncovered({ givings, moves, fork, passes }: Place): readonly Move[] {
  const found = givings
    .filter(({ usual }) => usual)
    .flatMap((giving) => {
      const own = moves.filter((move) => move.giving === giving);
      return own.some(({ way }) => way.edge !== undefined) ? [] : own.slice(0, 1);
    });
  // A node without conditions leaves it to the engine to end the run when a stage breaks.
  const minds = passes !== undefined || fork.open.length < fork.edges.length;
  return minds || found.some(({ giving }) => !giving.broke) ? found : [];
}

function said(
  id: string,
  moves: readonly Move[],
  { outgoing, graph, kindOf }: Subject,
): { readonly message: string; readonly fix: string } {
  if ((outgoing.get(id) ?? []).length === 0) {
    return {
      message: `no edge leaves "${id}", and it is no exit: a run that comes there fails`,
      fix: `add an edge to an exit, or make it one: ${id} [shape=Msquare]`,
    };
  }
  const broke = moves.some(({ giving }) => giving.broke);
  const reported = [
    ...new Set(moves.filter(({ giving }) => !giving.broke).map(({ giving }) => giving.status)),
  ];
  const wanted = (reported.length === 0 ? ['fail'] : reported).map((status) => `outcome=${status}`);
  const fix = `add an edge from "${id}" with condition="${wanted.join(' || ')}"`;
  if (reported.length === 0) {
    const [open] = (outgoing.get(id) ?? []).filter(({ condition }) => condition === undefined);
    return {
      message: `no edge carries "${id}" on when it breaks (a timeout, a crash)${open === undefined ? '' : `: the unconditional edge to "${open.to}" takes only a failure that was reported`}`,
      fix,
    };
  }
  const which = reported.map((status) => (status === 'fail' && !broke ? 'fail (as reported)' : status));
  const node = graph.nodes.get(id);
  const partly = reported.includes('partial_success') && node !== undefined && isSet(node, 'allow_partial');
  const why = kindOf.get(id)?.type === 'conditional' ? ' that comes to it' : partly ? ' (allow_partial)' : '';
  return {
    message: `no edge of "${id}" covers the outcome ${which.join(' or ')}${why}: the run would end there`,
    fix,
  };
}

/** Every edge can be taken: its condition can be true for an outcome of its source, and no other edge always wins. */
import { type Edge, fanOutType } from '../../core/graph.ts';
import type { Finding } from '../../core/settings/repair.ts';
import { allEdgeWords, choose, leavingEdgesOf } from '../flow/edges.ts';
import { type Flow, flowOf, type Move, pathTo } from '../flow/reach.ts';
import { limitedFindings, listedNames, proven } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

const most = 20;

export const edgeNeverTaken: Rule = {
  code: 'edge-never-taken',
  severity: 'warning',
  rule: 'Every edge can be taken: its condition can be true for an outcome of its source, and no other edge always wins.',
  wrong:
    'start; exit; a [label=a]; b [label=b]; start -> a; a -> exit; a -> b [condition="outcome=retry"]; b -> exit',
  fix: '`outcome=fail`, the outcome after exhausted retries',
  needs: 'paths',
  check: (subject) => {
    const flow = flowOf(subject);
    if (flow === undefined) return [];
    const pending = subject.graph.edges
      .filter((edge) => flow.reached.has(edge.from) && subject.graph.nodes.get(edge.from)?.type !== 'exit')
      .filter((edge) => !flow.routes.has(edge))
      .map((edge) => ({ name: `${edge.from} -> ${edge.to}`, make: () => report(edge, subject, flow) }));
    return limitedFindings(pending, most);
  },
};

function report(edge: Edge, subject: Subject, flow: Flow): Finding {
  const { graph } = subject;
  const { why, fix, instead } = reason(edge, flow, subject);
  const behind = unreached(edge, subject, flow);
  const effect = behind.length === 0 ? '' : `; so no run reaches ${listedNames(behind)}`;
  const message = `the edge ${edge.from} -> ${edge.to} is never taken: ${why}${effect}`;
  const found = finding(graph, edgeNeverTaken, { message, span: edge.span, fix });
  const path = instead === undefined ? undefined : pathTo(flow, instead.place);
  const moves = path === undefined || instead === undefined ? undefined : [...path, instead];
  return proven(found, moves) ?? found;
}

type Reason = {
  readonly why: string;
  readonly fix: string;
  /** The move that its source makes instead. */
  readonly instead: Move | undefined;
};

function reason(edge: Edge, { places }: Flow, { graph }: Subject): Reason {
  const sources = places.filter(({ node }) => node.id === edge.from);
  const alone = leavingEdgesOf(graph, edge.from, [edge]);
  // The edge alone would be taken, but another one wins.
  for (const place of sources) {
    for (const giving of place.type === fanOutType ? [] : place.givings) {
      for (const words of allEdgeWords(alone, giving)) {
        if (choose(alone, giving, words).edge === undefined) continue;
        const winner = choose(place.fork, giving, words).edge;
        if (winner === undefined) continue;
        const instead = place.moves.find((move) => move.giving === giving && move.way.edge === winner);
        return { ...beaten(edge, winner), instead };
      }
    }
  }
  const instead = sources.flatMap(({ moves }) => moves)[0];
  const ends = [...new Set(sources.flatMap(({ givings }) => givings.map(({ status }) => status)))];
  return {
    why: `its condition is always false: ${edge.from} ends in ${ends.join(', ')}`,
    fix: 'compare with an outcome and with values that it can have, or remove the edge',
    instead,
  };
}

function beaten(edge: Edge, winner: Edge): Pick<Reason, 'why' | 'fix'> {
  if (edge.condition === undefined && winner.condition !== undefined) {
    return {
      why: `conditional edges, such as the one to "${winner.to}", cover every outcome that an unconditional one takes`,
      fix: 'remove the edge, or a condition of the others',
    };
  }
  // If both have the same condition, a higher weight would only make the other edge the one that is never taken.
  const isAlike = winner.conditionText === edge.conditionText;
  return {
    why: `wherever it fits, the edge to "${winner.to}" does too and wins (a higher weight, or at equal weight the first by name)`,
    fix: isAlike
      ? `${winner.to === edge.to ? '' : 'give it another condition, or '}remove the edge`
      : 'give it another condition, or a higher weight',
  };
}

/** Nodes that no run reaches because only edges that are never taken lead there. */
function unreached(edge: Edge, subject: Subject, flow: Flow): readonly string[] {
  const found = new Set<string>();
  const open = [edge.to];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id) || flow.reached.has(id) || !subject.graph.nodes.has(id)) continue;
    found.add(id);
    for (const { to } of subject.outgoing.get(id) ?? []) open.push(to);
  }
  return [...found];
}

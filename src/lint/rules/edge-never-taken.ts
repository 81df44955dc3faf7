/** Every edge can be taken: its condition can hold, its source can end so, and no other edge always wins. */
import { compareText } from '../../dot/choose.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import type { Edge } from '../../model/graph.ts';
import { type Flow, flowOf, type Move, type Place, pathTo } from '../flow/flow.ts';
import { type Giving, givingsOf } from '../flow/giving.ts';
import { comparisons } from '../flow/values.ts';
import { choose, forkOf, waysOf } from '../flow/ways.ts';
import { folded, listed, shownBy } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

const most = 20;

export const edgeNeverTaken: Rule = (subject) => {
  const flow = flowOf(subject);
  if (flow === undefined) return [];
  const found = subject.graph.edges
    .filter((edge) => flow.reached.has(edge.from) && subject.kindOf.get(edge.from)?.type !== 'exit')
    .filter((edge) => !flow.taken.has(edge))
    .map((edge) => ({ name: `${edge.from} -> ${edge.to}`, tell: () => told(edge, subject, flow) }));
  return folded(found, most);
};

function told(edge: Edge, subject: Subject, flow: Flow): Diagnostic {
  const { why, fix, instead } = reason(edge, subject, flow);
  const after = starved(edge, subject, flow);
  const behind = after.length === 0 ? '' : `; so no run comes to ${listed(after)}`;
  const message = `the edge ${edge.from} -> ${edge.to} is never taken: ${why}${behind}`;
  const found = finding(subject.graph, 'edge-never-taken', 'warning', { message, span: edge.span, fix });
  const path = instead === undefined ? undefined : pathTo(instead.place);
  const moves = path === undefined || instead === undefined ? undefined : [...path, instead];
  return shownBy(found, subject.graph, moves);
}

type Reason = {
  readonly why: string;
  readonly fix: string;
  /** A stage at the edge's source, and where it goes in its stead. */
  readonly instead: Move | undefined;
};

function reason(edge: Edge, subject: Subject, flow: Flow): Reason {
  const places = flow.places.filter(({ node }) => node.id === edge.from);
  const usual = places.flatMap(({ moves }) => moves)[0];
  const alone = forkOf(edge.from, [edge]);
  const takes = (giving: Giving) => waysOf(alone, giving).find((way) => way.edge === edge);
  const any = subject.graph.nodes.get(edge.from);
  const everything =
    any === undefined ? [] : ['any', 'tool', 'verification'].flatMap((type) => givingsOf(any, type));
  if (edge.condition !== undefined && !everything.some(takes)) {
    return {
      why: 'its condition is false whatever happens',
      fix: 'mend the condition, or take the edge away',
      instead: usual,
    };
  }
  // What such a stage may give, held against this edge alone: where it fits, another one must have won.
  for (const place of places) {
    for (const giving of place.givings) {
      const words = takes(giving)?.words;
      if (words === undefined) continue;
      const { edge: winner, how } = choose(place.fork, giving, words);
      const move = place.moves.find(
        (m) => m.giving === giving && m.way.edge === winner && winner !== undefined,
      );
      if (winner === undefined || winner === edge) continue;
      return { ...beaten(edge, winner, how, place, giving), instead: move ?? usual };
    }
  }
  const ends = either([...new Set(places.flatMap(({ givings }) => givings.map(({ status }) => status)))]);
  const kind = places[0]?.type ?? 'node';
  const retry = asksFor(edge, 'retry');
  return {
    why:
      kind === 'conditional'
        ? `only ${ends} comes to the conditional "${edge.from}"`
        : `a ${kind} node ends in ${ends}${retry ? ' (retries that are used up are a failure)' : ''}`,
    fix: retry
      ? 'give the node max_retries, and write outcome=fail for the failure that is left when they are used up'
      : 'compare with an outcome that it can have, or take the edge away',
    instead: usual,
  };
}

const inWords = ({ status, broke }: Giving): string => (broke ? 'fail (broken)' : status);

const either = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

function asksFor(edge: Edge, outcome: string): boolean {
  const compared = new Map();
  if (edge.condition !== undefined) comparisons(edge.condition, compared);
  return (compared.get('outcome') ?? []).some(({ literal }: { literal: string }) => literal === outcome);
}

function beaten(
  edge: Edge,
  winner: Edge,
  how: string,
  place: Place,
  giving: Giving,
): Pick<Reason, 'why' | 'fix'> {
  const other = `the edge to "${winner.to}"`;
  if (edge.condition === undefined && how === 'condition') {
    return {
      why: `a conditional edge covers every outcome that an unconditional one carries, such as ${inWords(giving)} by ${other}`,
      fix: 'take the edge away, or a condition of the others',
    };
  }
  const tie =
    winner.weight > edge.weight
      ? `its weight ${winner.weight} is higher than ${edge.weight}`
      : compareText(winner.to, edge.to) < 0
        ? 'at equal weight the first target by name wins'
        : 'it stands first at equal weight and target';
  const chooser =
    edge.condition === undefined && !place.givings.some(({ says }) => says)
      ? `, and no label or suggestion comes from "${edge.from}"`
      : '';
  // Of two that fit alike, a higher weight would only make the other one the edge that is never taken.
  const alike = winner.conditionText === edge.conditionText;
  return {
    why: `wherever it fits, ${other} does too and wins: ${tie}${chooser}`,
    fix: alike
      ? `${winner.to === edge.to ? '' : 'give it a condition of its own, or '}take the edge away`
      : 'give it a condition of its own, or a higher weight',
  };
}

/** Nodes that no run comes to, since only this edge and others like it lead there. */
function starved(edge: Edge, subject: Subject, flow: Flow): readonly string[] {
  const found = new Set<string>();
  const open = [edge.to];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id) || flow.reached.has(id) || !subject.graph.nodes.has(id)) continue;
    found.add(id);
    for (const { to } of subject.outgoing.get(id) ?? []) open.push(to);
  }
  return [...found];
}

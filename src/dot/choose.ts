/** Chooses the edge by which a finished node is left: one rule, used by the engine and by lint. */
import type { Edge } from '../model/graph.ts';

/** The input of the rule in addition to the conditions. */
export type Verdict = {
  /** The node broke instead of running to its end: unconditional edges are not taken. */
  readonly broke: boolean;
  readonly label: string;
  readonly suggested: readonly string[];
};

export type Choice = {
  /** Undefined if no edge fits. */
  readonly edge: Edge | undefined;
  readonly how: 'condition' | 'label' | 'suggested' | 'unconditional' | 'none';
};

/** Chooses from `edges`, sorted by `byWeightThenName`: the first whose condition is true; else the unconditional one with
 *  the preferred label; else the first suggested id that is an unconditional target; else the first unconditional one;
 *  else none. */
export function chooseEdge(
  edges: readonly Edge[],
  isTrue: (edge: Edge) => boolean,
  { broke, label, suggested }: Verdict,
): Choice {
  const conditional = edges.find((edge) => edge.condition !== undefined && isTrue(edge));
  if (conditional !== undefined) return { edge: conditional, how: 'condition' };
  const none: Choice = { edge: undefined, how: 'none' };
  if (broke) return none;
  const open = edges.filter((edge) => edge.condition === undefined);
  if (label !== '') {
    const wanted = normalLabel(label);
    const labelled = open.find((edge) => edge.label !== '' && normalLabel(edge.label) === wanted);
    if (labelled !== undefined) return { edge: labelled, how: 'label' };
  }
  for (const id of suggested) {
    const target = open.find((edge) => edge.to === id);
    if (target !== undefined) return { edge: target, how: 'suggested' };
  }
  return open[0] === undefined ? none : { edge: open[0], how: 'unconditional' };
}

/** Lower case, trimmed, without an accelerator such as `[K] `, `K) ` or `K - `. */
export function normalLabel(label: string): string {
  return label
    .trim()
    .toLowerCase()
    .replace(/^(?:\[\w+\]\s*|\w\)\s+|\w\s+-\s+)/, '')
    .trim();
}

export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
/** The order of edges that fit equally: highest weight, then smallest target id. */
export const byWeightThenName = (a: Edge, b: Edge): number => b.weight - a.weight || compareText(a.to, b.to);

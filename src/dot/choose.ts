/** Which of a node's edges a finished stage takes: the rule itself, for the engine that follows it and for lint that
 *  asks where it can lead. */
import type { Edge } from '../model/graph.ts';

/** What the rule looks at beside the conditions. */
export type Verdict = {
  /** The stage broke instead of running to its end: unconditional edges do not carry that. */
  readonly broke: boolean;
  readonly label: string;
  readonly suggested: readonly string[];
};

export type Choice = {
  /** Undefined when no edge fits. */
  readonly edge: Edge | undefined;
  readonly how: 'condition' | 'label' | 'suggested' | 'unconditional' | 'none';
};

/** Of `edges`, sorted by `byWeightThenName`: the first whose condition is true; the unconditional one whose label is
 *  the preferred one; the first suggested id that is an unconditional target; any unconditional one; none. */
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
/** The order in which ties are broken: highest weight, then smallest target id. */
export const byWeightThenName = (a: Edge, b: Edge): number => b.weight - a.weight || compareText(a.to, b.to);

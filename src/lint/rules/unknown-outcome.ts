/** Conditions compare `outcome` with outcomes, or with words that a node before the edge can answer. */
import { parseCondition } from '../../core/conditions.ts';
import type { Edge } from '../../core/graph.ts';
import { nearest } from '../../core/nearest.ts';
import { outcomeOf, outcomeSynonyms, outcomeWords } from '../../core/outcome.ts';
import { withWord } from '../../core/settings/repair.ts';
import { type Attribute, present } from '../../core/settings/types.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

const known: readonly string[] = [...outcomeWords, ...Object.keys(outcomeSynonyms)];

export const unknownOutcome: Rule = {
  code: 'unknown-outcome',
  severity: 'error',
  rule: '`outcome` is compared with an outcome, or with a word that a tool or agent before the edge answers (a near miss there is a warning).',
  wrong: 'start; exit; start -> exit [condition="outcome=done"]',
  fix: '`outcome=success`',
  *check(subject) {
    const { graph } = subject;
    for (const [attribute, edges] of conditionsOf(subject)) {
      const read = parseCondition(attribute.value.text);
      if (!('condition' in read)) continue;
      for (const { key, test, literal, at, length } of read.compared) {
        if (key !== 'outcome' || (test !== '=' && test !== '!=')) continue;
        if (outcomeOf(literal) !== undefined) continue;
        const meant = nearest(literal, known);
        const free = edges.some(({ from }) => answersFreely(subject, from));
        if (free && meant === undefined) continue;
        yield finding(
          graph,
          { ...unknownOutcome, severity: free ? 'warning' : 'error' },
          {
            message: `"${literal}" is not an outcome${meant === undefined ? '' : `; the nearest is "${meant}"`}${free ? '' : ', and no node before this edge can answer it'}`,
            span: spanInValue(graph, attribute, at, length),
            fix: `${meant === undefined ? '' : `write ${meant}: `}compare outcome with one of ${outcomeWords.join(', ')}`,
            repairs:
              meant === undefined ? [] : [{ attribute, instead: withWord(attribute, { at, length }, meant) }],
          },
        );
      }
    }
  },
};

/** Each condition as written once, with its edges. */
function conditionsOf({ graph }: Subject): ReadonlyMap<Attribute, readonly Edge[]> {
  const found = new Map<Attribute, Edge[]>();
  for (const edge of graph.edges) {
    const attribute = present(edge.attrs, 'condition');
    if (attribute === undefined || edge.condition === undefined) continue;
    const edges = found.get(attribute);
    if (edges === undefined) found.set(attribute, [edge]);
    else edges.push(edge);
  }
  return found;
}

/** Node types that answer any word; the outcomes of a verification are fixed. */
const free: ReadonlySet<string> = new Set(['tool', 'codergen']);

/** Whether the outcome with which `id` is left comes from a node that may answer any word: a conditional node passes on
 *  what came before it. */
function answersFreely({ graph, incoming }: Subject, id: string): boolean {
  const seen = new Set<string>();
  const open = [id];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const type = graph.nodes.get(at)?.type ?? '';
    if (type === '' || free.has(type)) return true;
    if (type === 'conditional') open.push(...(incoming.get(at) ?? []).map(({ from }) => from));
  }
  return false;
}

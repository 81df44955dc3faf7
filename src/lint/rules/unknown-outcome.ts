/** Conditions compare `outcome` with outcomes, or with words that a node before the edge can answer. */
import { asksOutcome, parseCondition } from '../../core/conditions.ts';
import { type Edge, isAgentType, type Node } from '../../core/graph.ts';
import { choicesOf, isHumanGate } from '../../core/human-gate.ts';
import { nearest } from '../../core/nearest.ts';
import { outcomeOf, outcomeSynonyms, outcomeWords } from '../../core/outcome.ts';
import { normalLabel } from '../../core/own-words.ts';
import { answersWithDocument } from '../../core/possible-outcomes.ts';
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
        if (!asksOutcome(key) || (test !== '=' && test !== '!=')) continue;
        if (outcomeOf(literal) !== undefined) continue;
        const labels = edges.flatMap(({ from }) => labelsBefore(subject, from));
        if (labels.some((label) => normalLabel(label) === normalLabel(literal))) continue;
        const meant = nearest(literal, [...known, ...labels]);
        const document = edges
          .map(({ from }) => documentBefore(subject, from))
          .find((one) => one !== undefined);
        const free = edges.some(({ from }) => answersFreely(subject, from));
        if (free && meant === undefined) continue;
        yield finding(
          graph,
          { ...unknownOutcome, severity: free ? 'warning' : 'error' },
          {
            message: `"${literal}" is not an outcome${meant === undefined ? '' : `; the nearest is "${meant}"`}${free ? '' : ', and no node before this edge can answer it'}`,
            span: spanInValue(graph, attribute, at, length),
            fix:
              document !== undefined && !free && meant === undefined
                ? `"${document}" answers with a document, which is a success: let a tool after it read the answer and write {"outcome": "${literal}"} to $FACTORY_OUTPUT, or remove response_file and response_schema, so that the answer is the outcome`
                : `${meant === undefined ? '' : `write ${meant}: `}compare outcome with one of ${outcomeWords.join(', ')}`,
            repairs:
              meant === undefined ? [] : [{ attribute, instead: withWord(attribute, { at, length }, meant) }],
          },
        );
      }
    }
  },
};

/** The labels that human gates before the edge can answer. */
const labelsBefore = (subject: Subject, id: string): readonly string[] =>
  sourcesOf(subject, id).flatMap((node) =>
    node !== undefined && isHumanGate(node)
      ? choicesOf(subject.graph, node).options.map(({ label }) => label)
      : [],
  );

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

/** Whether a node may answer any word; the outcomes of a verification are fixed, and a document is no outcome. */
const isFree = (node: Node | undefined): boolean =>
  node === undefined ||
  node.type === '' ||
  node.type === 'tool' ||
  (isAgentType(node.type) && !answersWithDocument(node));

/** Whether the outcome with which `id` is left comes from a node that may answer any word. */
const answersFreely = (subject: Subject, id: string): boolean => sourcesOf(subject, id).some(isFree);

/** A node whose outcome `id` is left with and that answers with a document. */
const documentBefore = (subject: Subject, id: string): string | undefined =>
  sourcesOf(subject, id).find(
    (node) => node !== undefined && isAgentType(node.type) && answersWithDocument(node),
  )?.id;

/** The nodes whose outcome `id` is left with: a conditional node passes on what came before it. */
function sourcesOf({ graph, incoming }: Subject, id: string): readonly (Node | undefined)[] {
  const seen = new Set([id]);
  const sources: (Node | undefined)[] = [];
  for (const at of seen) {
    const node = graph.nodes.get(at);
    if (node?.type === 'conditional') for (const { from } of incoming.get(at) ?? []) seen.add(from);
    else sources.push(node);
  }
  return sources;
}

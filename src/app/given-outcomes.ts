/** The outcomes that a person gives a node of a simulation, in the words of `factory simulate --outcome`. */
import { allNodes, fanOutType, type Graph, graphWith, type Node } from '../core/graph.ts';
import { choicesOf, isHumanGate, optionsNamed, outcomeOfOption } from '../core/human-gate.ts';
import { nearest } from '../core/nearest.ts';
import type { Outcome } from '../core/outcome.ts';
import { wordsOfNode } from '../core/own-words.ts';
import { withoutPercents } from '../core/policy/words.ts';
import { simulatedOutcome } from '../core/simulated-outcome.ts';
import { passesOn } from './simulate.ts';

export type GivenOutcomes = { readonly node: string; readonly outcomes: readonly Outcome[] };

/** `words`: outcomes with commas between them (`fail,success`). */
export function givenOutcomes(
  run: Graph,
  id: string,
  words: string,
): GivenOutcomes | { readonly why: string; readonly fix?: string } {
  const node = allNodes(run).get(id);
  if (node === undefined) {
    const meant = nearest(id, allNodes(run).keys());
    return {
      why: `there is no node "${id}"`,
      ...(meant === undefined ? {} : { fix: `did you mean ${meant}?` }),
    };
  }
  const graph = graphWith(run, id);
  if (passesOn(graph, node))
    return {
      why: `${id} is ${node.type === 'exit' ? 'an' : 'a'} ${node.type} node, which ${node.type === 'conditional' ? 'passes the outcome before it on' : node.type === fanOutType ? 'only begins branches' : 'always succeeds'}`,
      fix: 'name a node that does work',
    };
  const outcomes: Outcome[] = [];
  const known = wordsOfNode(graph, node);
  for (const item of words.split(',')) {
    const read = answerAtGate(item, graph, node) ?? simulatedOutcome(item, known);
    if ('why' in read) return read;
    outcomes.push(read.outcome);
  }
  return { node: id, outcomes };
}

/** `label:Approve`: an option of a human gate by its label, key or target. Undefined for any other item. */
function answerAtGate(
  item: string,
  graph: Graph,
  node: Node,
): { readonly outcome: Outcome } | { readonly why: string } | undefined {
  const word = /^\s*label:(.*)$/s.exec(item)?.[1]?.trim();
  if (word === undefined || !isHumanGate(node)) return undefined;
  const { options } = choicesOf(graph, node);
  const [option, another] = optionsNamed(options, withoutPercents(word));
  if (option !== undefined && another === undefined) return { outcome: outcomeOfOption(graph, node, option) };
  const names = options.map(({ key, label }) => `${key} (${label})`).join(', ');
  return {
    why: `${node.id} has ${option === undefined ? 'no' : 'more than one'} option "${word}"; there are ${names}`,
  };
}

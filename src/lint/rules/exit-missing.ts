/** A pipeline has at least one exit. */
import { listedNames } from '../flow/words.ts';
import { finding, nodesOf, type Rule } from '../rule.ts';

export const exitMissing: Rule = {
  code: 'exit-missing',
  severity: 'error',
  rule: 'There is an exit.',
  wrong: 'start; a [label=a]; start -> a',
  fix: 'add `done [shape=Msquare]` and an edge to it',
  needs: 'whole graph',
  check: (subject) => {
    const { graph, incoming, outgoing } = subject;
    if (nodesOf(subject, 'exit').length > 0) return [];
    const ends = [...graph.nodes.values()].filter(({ id }) => incoming.has(id) && !outgoing.has(id));
    const [first] = ends;
    return [
      finding(graph, exitMissing, {
        message: `there is no exit: a pipeline has at least one exit node${first === undefined ? '' : `, and nothing leaves ${listedNames(ends.map(({ id }) => id))}`}`,
        span: first?.span ?? graph.span,
        fix:
          first === undefined
            ? 'add a node with shape=Msquare and an edge that leads to it'
            : `make it one: ${first.id} [shape=Msquare], or add a node with shape=Msquare and an edge that leads to it`,
        repairs: ends.map(({ id }) => ({ node: id, shape: 'Msquare' })),
      }),
    ];
  },
};

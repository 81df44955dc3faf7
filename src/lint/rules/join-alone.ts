/** A node that only joins branches has branches to join. */
import { branchAt, branchesPast, branchProblems, regionJoinedAt } from '../../core/branches.ts';
import { fanInType, fanOutType, type Node } from '../../core/graph.ts';
import type { Repair } from '../../core/settings/repair.ts';
import { present } from '../../core/settings/types.ts';
import { finding, nodesOf, type Rule, type Subject } from '../rule.ts';

export const joinAlone: Rule = {
  code: 'join-alone',
  severity: 'error',
  rule: 'A node with `shape=tripleoctagon` is where the branches of a fan-out meet.',
  wrong:
    'start; exit; a [label=a]; b [label=b]; j [shape=tripleoctagon]; start -> a -> j; start -> b -> j -> exit',
  fix: '`shape=component` on the node whose edges are the branches; nothing fans out without it',
  needs: 'whole graph',
  *check(subject) {
    const { graph } = subject;
    const intended = new Set(branchProblems(graph).flatMap((one) => ('join' in one ? [one.join] : [])));
    for (const node of nodesOf(subject, fanInType)) {
      if (regionJoinedAt(graph, node.id) !== undefined || intended.has(node.id)) continue;
      yield finding(graph, joinAlone, { ...textsOf(node, subject), span: node.span });
    }
  },
};

type Texts = { readonly message: string; readonly fix: string; readonly repairs?: readonly Repair[] };

function textsOf({ id }: Node, subject: Subject): Texts {
  const past = branchesPast(subject.graph, id);
  if (past !== undefined) {
    const { region, edge } = past;
    return {
      message: `not all branches of "${region.node}" meet in "${id}", but in "${region.join}": the edge ${edge.from} -> ${edge.to} leads past "${id}"`,
      fix: `lead that edge to "${id}", or give "${id}" another shape`,
    };
  }
  const before = joinBefore(id, subject);
  if (before !== undefined)
    return {
      message: `no branch meets another in "${id}": those of "${before.node}" have met in "${before.join}" before`,
      fix: `remove "${id}", or give each branch its own node in place of "${before.join}"`,
    };
  const fork = meantFork(id, subject);
  return {
    message: `no branches meet in "${id}": nothing before it fans out`,
    fix:
      fork === undefined
        ? 'give the node whose edges are the branches shape=component, or remove this one'
        : `write ${fork.id} [shape=component]: without it one of its edges is taken`,
    repairs: fork === undefined ? [] : [{ node: fork.id, shape: 'component' }],
  };
}

/** The region whose branches meet in an ordinary node from which a path leads here. */
function joinBefore(id: string, { graph, incoming }: Subject) {
  const seen = new Set([id]);
  for (const at of seen) {
    const region =
      at === id || branchAt(graph, at) !== branchAt(graph, id) ? undefined : regionJoinedAt(graph, at);
    if (region !== undefined) return graph.nodes.get(at)?.type === fanInType ? undefined : region;
    for (const { from } of incoming.get(at) ?? []) seen.add(from);
  }
  return undefined;
}

/** The node without conditions all of whose several edges lead to the join, by one node each. */
function meantFork(id: string, { graph, incoming, outgoing }: Subject): Node | undefined {
  const before = new Set((incoming.get(id) ?? []).map(({ from }) => from));
  const [first] = before;
  if (first === undefined || before.size < 2) return undefined;
  const forks = (incoming.get(first) ?? []).map(({ from }) => graph.nodes.get(from));
  return forks.find((fork) => {
    const edges = outgoing.get(fork?.id ?? '') ?? [];
    return (
      fork !== undefined &&
      fork.type !== fanOutType &&
      present(fork.attrs, 'type') === undefined &&
      !['start', 'exit'].includes(fork.type) &&
      edges.length > 1 &&
      edges.every(({ to, conditionText }) => conditionText === '' && before.has(to))
    );
  });
}

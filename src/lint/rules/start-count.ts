/** A pipeline has exactly one start. */
import type { Finding } from '../../core/settings/repair.ts';
import { present } from '../../core/settings/types.ts';
import { finding, nodesOf, type Rule, type Subject } from '../rule.ts';

export const startCount: Rule = {
  code: 'start-count',
  severity: 'error',
  rule: 'There is exactly one start.',
  wrong: 'a [label=a]; exit [shape=Msquare]; a -> exit',
  fix: 'add `start [shape=Mdiamond]`',
  needs: 'whole graph',
  check: (subject) => {
    const { graph } = subject;
    const [first, ...others] = nodesOf(subject, 'start');
    if (first === undefined) return [noStart(subject)];
    return others.map(({ id, span, declared }) =>
      finding(graph, startCount, {
        message: `"${id}" is a second start after "${first.id}": a pipeline has exactly one start node`,
        span,
        fix: declared
          ? 'keep one node with shape=Mdiamond or the id start'
          : `give both the same id: "${id}" is not declared, and its id makes it a start`,
      }),
    );
  },
};

/** At the node that is called start, else at the only one that no edge leads to. */
function noStart({ graph, kinds, incoming }: Subject): Finding {
  const ids = kinds.find(({ type }) => type === 'start')?.ids ?? [];
  const nodes = [...graph.nodes.values()];
  const named = nodes.find(({ id }) => ids.includes(id));
  const missing = 'there is no start: a pipeline has exactly one start node';
  if (named !== undefined) {
    const by = present(named.attrs, 'type') ?? present(named.attrs, 'shape');
    return finding(graph, startCount, {
      message: `${missing}, and "${named.id}" is ${named.type === '' ? 'none' : `a ${named.type} node`}`,
      span: by?.valueSpan ?? named.span,
      fix: `write ${named.id} [shape=Mdiamond], and give a node that works another id`,
      repairs: by?.key === 'shape' && named.type !== '' ? [{ node: named.id, shape: 'Mdiamond' }] : [],
    });
  }
  const [first, ...others] = nodes.filter(({ id }) => !incoming.has(id));
  const only = others.length === 0 ? first : undefined;
  return finding(graph, startCount, {
    message: missing,
    span: only?.span ?? graph.span,
    fix: `add a node start with shape=Mdiamond and an edge ${only === undefined ? 'that leaves it' : `start -> ${only.id}`}`,
  });
}

/** Every goal gate has a retry target for runs in which it is unmet. */
import { flag, present } from '../../model/attribute.ts';
import { finding, type Rule } from '../rule.ts';

const targets = ['retry_target', 'fallback_retry_target'];

export const gateWithoutRetry: Rule = ({ graph }) =>
  [...graph.nodes.values()].flatMap(({ id, attrs }) => {
    const gate = present(attrs, 'goal_gate');
    const read = gate === undefined ? undefined : flag().read(gate.value);
    if (gate === undefined || read?.ok !== true || !read.value) return [];
    if (targets.some((key) => present(attrs, key) ?? present(graph.attrs, key))) return [];
    return [
      finding(graph, 'gate-without-retry', 'warning', {
        message: `"${id}" is a goal gate without a retry target: when it fails, the run does`,
        span: gate.keySpan,
        fix: 'give it, or the graph, a retry_target',
      }),
    ];
  });

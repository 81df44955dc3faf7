/** A tool whose outcome decides fails when any of its commands does. */

import { isGate } from '../../core/goal-gates.ts';
import type { Node } from '../../core/graph.ts';
import { type Masked, maskedCommand, shellOptions } from '../../core/policy/masked-failure.ts';
import type { Finding } from '../../core/settings/repair.ts';
import { present } from '../../core/settings/types.ts';
import { spanInValue } from '../../dot/literals.ts';
import { limitedFindings } from '../flow/words.ts';
import { finding, nodesOf, type Rule, type Subject } from '../rule.ts';

export const maskedFailure: Rule = {
  code: 'masked-failure',
  severity: 'warning',
  rule: 'A tool whose outcome decides does not hide the failure of a command: the status of a pipe or a list is that of its last command.',
  wrong:
    'start; exit; a [shape=parallelogram, tool_command="npm test | tee log"]; start -> a; a -> exit [condition="outcome=success"]',
  fix: '`shell="bash -eo pipefail"` on the node or the graph (`head` and `grep -q` may then give 141)',
  check: (subject) => {
    const required = requiredNodes(subject);
    return limitedFindings(
      nodesOf(subject, 'tool').flatMap((node) => {
        const found = maskedIn(node, subject, required);
        return found === undefined ? [] : [{ name: node.id, make: () => found }];
      }),
      most,
    );
  },
};

const most = 20;

/** The ids of the nodes that others require. */
const requiredNodes = ({ graph }: Subject): ReadonlySet<string | undefined> =>
  new Set(Array.from(graph.nodes.values(), ({ settings }) => settings.required_tool_node));

function maskedIn(
  node: Node,
  subject: Subject,
  required: ReadonlySet<string | undefined>,
): Finding | undefined {
  const { graph } = subject;
  const command = present(node.attrs, 'tool_command');
  if (command === undefined) return undefined;
  const { text } = command.value;
  const found = maskedCommand(text, shellOptions(node.settings.shell));
  if (found === undefined || !(required.has(node.id) || decides(node, subject))) return undefined;
  const at = Math.max(text.indexOf(found.command), 0);
  const length = text.startsWith(found.command, at) ? found.command.length : text.length;
  return finding(graph, maskedFailure, {
    message: `"${node.id}" can succeed although this command fails: ${why(found)}`,
    span: spanInValue(graph, command, at, length),
    fix: fixOf(found),
  });
}

const why = ({ by, last }: Masked): string => {
  const whose = last === '' ? '' : `, "${last}"`;
  return by === 'pipe'
    ? `the status of a pipe is that of its last command${whose}`
    : by === 'list'
      ? `the next command${whose} runs all the same, and the last one gives the status`
      : 'the loop continues, and its last round gives the status';
};

const fixOf = ({ by }: Masked): string =>
  by === 'pipe'
    ? 'shell="bash -eo pipefail" on the node or the graph; the exit code is then 141 where head or grep -q stop reading early'
    : 'shell="bash -eo pipefail" on the node or the graph, && between the commands, or set -e before them (with pipefail, head and grep -q may give 141)';

/** Whether something else than a node that requires this one depends on the outcome: an edge tests it, also behind diamonds, or leads
 *  a failure to a success exit; a goal gate or a judge. */
function decides(node: Node, { graph, outgoing }: Subject): boolean {
  const { judge, retry_on } = node.settings;
  if (isGate(node) || judge || retry_on === 'fail') return true;
  const seen = new Set([node.id]);
  for (const id of seen)
    for (const { to, conditionText } of outgoing.get(id) ?? []) {
      if (/\b(?:outcome|failure_class|last_failure)\b/.test(conditionText)) return true;
      const next = graph.nodes.get(to);
      if (next?.type === 'exit' && next.settings.outcome === 'success') return true;
      if (next?.type === 'conditional') seen.add(to);
    }
  return false;
}

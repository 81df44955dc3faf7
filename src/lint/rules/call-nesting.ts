/** Calls come to an end. */
import { callFindings, type Rule } from '../rule.ts';

export const callNesting: Rule = {
  code: 'call-nesting',
  severity: 'error',
  rule: 'No pipeline calls itself, directly or behind others, and calls are nested at most 10 deep.',
  wrong: 'start; exit; a [type=subgraph, graph_ref="itself.dot"]; start -> a -> exit',
  fix: 'remove one of the calls',
  check: (subject) => callFindings(callNesting, subject),
};

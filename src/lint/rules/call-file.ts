/** The file that a call names can be read. */
import { callFindings, type Rule } from '../rule.ts';

export const callFile: Rule = {
  code: 'call-file',
  severity: 'error',
  rule: 'The pipeline that a node calls is there, next to the file that calls it or where the path leads from there.',
  wrong: 'start; exit; a [type=subgraph, graph_ref="gone.dot"]; start -> a -> exit',
  fix: 'the path of a pipeline file, relative to this one',
  check: (subject) => callFindings(callFile, subject),
};

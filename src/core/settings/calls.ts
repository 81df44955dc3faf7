/** Attributes of nodes that call another pipeline. */
import { type AttributeTable, attr, count, list, text, trimmed } from './types.ts';

const calledFile = (more: { readonly graph?: string; readonly example?: string } = {}) =>
  attr(
    trimmed('the path of a pipeline file'),
    'The pipeline to run, relative to the file of this one.',
    more,
  );

const returns = attr(
  list(),
  'Context keys of the called pipeline that the calling one gets when it has ended; all others stay in it.',
  { unset: 'none', example: 'verdict, findings' },
);

/** Attributes of the type `subgraph`. */
export const subgraphAttributes = {
  graph_ref: calledFile({ example: '../review/pipeline.dot' }),
  pipeline: calledFile({ example: 'review.dot' }),
  returns,
} as const satisfies AttributeTable;

/** Attributes of the type `stack.manager_loop`. */
export const managerAttributes = {
  'stack.child_dotfile': calledFile({ graph: 'stack.child_dotfile', example: 'child.dot' }),
  'stack.child_workflow': calledFile({ example: 'child.dot' }),
  child_graph: calledFile({ example: 'child.dot' }),
  'manager.stop_condition': attr(
    text(),
    'A condition, asked after each execution in the called pipeline, about that execution and the context of the pipeline: when it holds, the call ends with success.',
    { unset: 'none', example: 'context.open_issues=0' },
  ),
  'manager.max_cycles': attr(
    count(1),
    'How many executions the called pipeline may make; with one more to come the call fails.',
    { default: '1000', example: '100' },
  ),
  returns,
} as const satisfies AttributeTable;

/** The attributes with inputs of a call: `var.NAME`. */
export const inputPrefixes = ['var.', 'stack.child.var.'] as const;

/** Calls: a node runs another pipeline in the same workspace, with a context that has only what the call hands to it. */
import { fileAttributes, fileOfCall, inputsGiven } from '../core/calls.ts';
import { parseCondition } from '../core/conditions.ts';
import { kind, type NodeKind } from '../core/contracts/node-kind.ts';
import type { CodeDescription, Diagnostic } from '../core/diagnostic.ts';
import { type Graph, managerType, type Node, subgraphType } from '../core/graph.ts';
import { failed, succeeded } from '../core/outcome.ts';
import { anyClass, plainSuccess, possibleOutcome } from '../core/possible-outcomes.ts';
import { managerAttributes, subgraphAttributes } from '../core/settings/calls.ts';
import { commonAttributes } from '../core/settings/node.ts';
import type { AttributeTable } from '../core/settings/types.ts';

const missing = (type: string, wrong: string, fix: string): CodeDescription => ({
  code: `${type}-file`,
  severity: 'error',
  rule: `A ${type} names one pipeline.`,
  wrong,
  fix,
});

const subgraphCodes = [
  missing('subgraph', 'start; exit; a [type=subgraph]; start -> a -> exit', '`graph_ref="child.dot"`'),
];
const managerCodes: readonly CodeDescription[] = [
  missing('manager', 'start; exit; a [shape=house]; start -> a -> exit', '`stack.child_dotfile="child.dot"`'),
  {
    code: 'manager-stop',
    severity: 'error',
    rule: '`manager.stop_condition` is a condition.',
    wrong:
      'start; exit; a [shape=house, stack.child_dotfile="child.dot", manager.stop_condition="a = = b"]; start -> a -> exit',
    fix: '`manager.stop_condition="context.open=0"`',
  },
];

/** What is wrong with the file that a call names, as far as its text shows. */
function* fileProblems(code: string, write: string, node: Node, graph: Graph): Generator<Diagnostic> {
  const [first, second] = fileAttributes(graph, node);
  const at = { code, severity: 'error' as const };
  if (first === undefined)
    yield {
      ...at,
      message: `"${node.id}" calls another pipeline and names none`,
      place: { file: graph.file, span: node.span },
      fix: `name its file: ${write}="child.dot", relative to this file`,
    };
  else if (second !== undefined)
    yield {
      ...at,
      message: `"${node.id}" names two pipelines: ${first.written} and ${second.written}`,
      place: { file: graph.file, span: second.keySpan },
      fix: `remove ${second.written}`,
    };
}

function* stopProblems({ attrs }: Node, { file }: Graph): Generator<Diagnostic> {
  const attribute = attrs.get('manager.stop_condition');
  const text = attribute?.value.text ?? '';
  if (attribute === undefined || text.trim() === '') return;
  const read = parseCondition(text);
  if ('condition' in read) return;
  yield {
    code: 'manager-stop',
    severity: 'error',
    message: `manager.stop_condition: ${read.message}`,
    place: { file, span: attribute.valueSpan },
    fix: 'write it as a condition of an edge: context.open=0',
  };
}

const callKind = <T extends AttributeTable>(
  k: Pick<NodeKind<T>, 'type' | 'does' | 'shapes' | 'aliases' | 'attributes' | 'codes'> & {
    readonly check: (node: Node, graph: Graph) => Iterable<Diagnostic>;
  },
): NodeKind =>
  kind({
    ...k,
    ids: [],
    executable: false,
    check: (node, graph) => [...k.check(node, graph)],
    outcomes: () => [plainSuccess, possibleOutcome('fail', { classes: anyClass('product') })],
    async run(_, context) {
      const { graph, node, inputs } = context;
      const given = inputsGiven(node, inputs.expand);
      if ('problem' in given) return failed(given.problem, 'config', { broke: true });
      return succeeded({ notes: `calls ${fileOfCall(graph, node) ?? ''}` });
    },
  });

export const subgraph = callKind({
  type: subgraphType,
  does: 'Runs another pipeline in the same workspace, with its own context, and has succeeded when that has.',
  shapes: [],
  attributes: { ...commonAttributes, ...subgraphAttributes },
  codes: subgraphCodes,
  check: (node, graph) => fileProblems('subgraph-file', 'graph_ref', node, graph),
});

export const manager = callKind({
  type: managerType,
  does: 'Runs another pipeline as `subgraph` does, until that ends, `manager.stop_condition` holds or it has made `manager.max_cycles` executions.',
  shapes: ['house'],
  attributes: { ...commonAttributes, ...managerAttributes },
  codes: managerCodes,
  *check(node, graph) {
    yield* fileProblems('manager-file', 'stack.child_dotfile', node, graph);
    yield* stopProblems(node, graph);
  },
});

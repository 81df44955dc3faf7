/** What a call hands on is what its pipeline declares. */
import { callsIn, fileAttributes, fileOfCall, inputsOfCall } from '../../core/calls.ts';
import type { Graph, Node } from '../../core/graph.ts';
import { nearest } from '../../core/nearest.ts';
import type { Finding } from '../../core/settings/repair.ts';
import { type Variable, variablesOf } from '../../core/variables.ts';
import { finding, type Rule } from '../rule.ts';

export const callInput: Rule = {
  code: 'call-input',
  severity: 'error',
  rule: 'A call sets variables that its pipeline declares, all of them that have no default.',
  wrong: 'start; exit; a [type=subgraph, graph_ref="child.dot", var.nope=x]; start -> a -> exit',
  fix: '`vars="nope"` in the called pipeline',
  *check({ graph, options }) {
    for (const call of callsIn(graph)) {
      const read = options.calls?.get(call.id);
      if (read === undefined || !('graph' in read)) continue;
      const declared = variablesOf(read.graph);
      yield* undeclared(graph, call, declared);
      yield* unset(graph, call, declared);
    }
  },
};

function* undeclared(graph: Graph, call: Node, declared: readonly Variable[]): Generator<Finding> {
  const names = declared.map(({ name }) => name);
  for (const { name, attribute } of inputsOfCall(call)) {
    if (names.includes(name)) continue;
    const meant = nearest(name, names);
    const instead = names.length === 0 ? 'it declares no variables' : `it declares ${names.join(', ')}`;
    yield finding(graph, callInput, {
      message: `${attribute.written}: the pipeline ${fileOfCall(graph, call)} declares no variable "${name}"; ${instead}`,
      span: attribute.keySpan,
      fix: meant === undefined ? `declare it there: vars="${name}"` : `write var.${meant}`,
    });
  }
}

function* unset(graph: Graph, call: Node, declared: readonly Variable[]): Generator<Finding> {
  const given = new Set(inputsOfCall(call).map(({ name }) => name));
  for (const { name, value, file } of declared) {
    if (given.has(name) || (value !== undefined && !file)) continue;
    const why = file ? 'is a file, which only a run can be given' : 'has no default';
    yield finding(graph, callInput, {
      message: `"${call.id}" sets no value for "${name}", which ${why} in ${fileOfCall(graph, call)}`,
      span: fileAttributes(graph, call)[0]?.valueSpan ?? call.span,
      fix: file ? `hand on the path of a file in the workspace: var.${name}=…` : `add var.${name}=…`,
    });
  }
}

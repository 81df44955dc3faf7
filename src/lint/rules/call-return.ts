/** What a call returns is set in its pipeline. */
import { callsIn, fileOfCall, isCallType } from '../../core/calls.ts';
import { setByEngine } from '../../core/context.ts';
import { type Graph, isAgentType, type Node } from '../../core/graph.ts';
import { gateKeys, isHumanGate } from '../../core/human-gate.ts';
import { answerKey, latestKeys } from '../../core/latest-keys.ts';
import { finding, type Rule } from '../rule.ts';
import { mentionsKey } from './unset-key.ts';

export const callReturn: Rule = {
  code: 'call-return',
  severity: 'warning',
  rule: 'The keys that a call returns are set by a node of its pipeline (an error where none can set them).',
  wrong: 'start; exit; a [type=subgraph, graph_ref="child.dot", returns="nope"]; start -> a -> exit',
  fix: 'a key that a node of the called pipeline sets',
  *check({ graph, options }) {
    for (const call of callsIn(graph)) {
      const read = options.calls?.get(call.id);
      const attribute = call.attrs.get('returns');
      if (read === undefined || !('graph' in read) || attribute === undefined) continue;
      for (const key of call.settings.returns ?? []) {
        const texts = options.textsOf?.(read.graph) ?? {};
        const problem = problemOf(key, read.graph, texts, fileOfCall(graph, call) ?? '');
        if (problem === undefined) continue;
        yield finding(
          graph,
          { ...callReturn, severity: problem.severity },
          { ...problem, span: attribute.valueSpan },
        );
      }
    }
  },
};

type Texts = Parameters<typeof mentionsKey>[2];

type Problem = {
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly fix: string;
};

/** Whether a node of the called pipeline may set the key. */
function problemOf(key: string, child: Graph, texts: Texts, file: string): Problem | undefined {
  const nodes = [...child.nodes.values()];
  const fix = `return a key that a node of ${file} sets, or remove it`;
  if (['tool.output', 'tool_stdout', ...latestKeys].includes(key)) return undefined;
  if (gateKeys.some((one) => one === key))
    return nodes.some(isHumanGate)
      ? undefined
      : { severity: 'error', message: `returns: no human gate of ${file} sets "${key}"`, fix };
  if (setByEngine(key))
    return {
      severity: 'error',
      message: `returns: only the engine sets "${key}", for each pipeline anew`,
      fix,
    };
  if (nodes.some((node) => sets(node, key, texts))) return undefined;
  const mayBe = nodes.some(({ type }) => type === 'tool' || type === '' || isAgentType(type));
  return mayBe
    ? { severity: 'warning', message: `returns: no node of ${file} is seen to set "${key}"`, fix }
    : { severity: 'error', message: `returns: no node of ${file} can set "${key}"`, fix };
}

const sets = (node: Node, key: string, texts: Texts): boolean =>
  isCallType(node.type)
    ? node.settings.returns?.includes(key) === true
    : (isAgentType(node.type) && key === answerKey(node.id)) || mentionsKey(node, key, texts);

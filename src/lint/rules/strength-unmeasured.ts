/** A required strength that nothing can measure would look like a promise that was kept. */
import { callsIn } from '../../core/calls.ts';
import type { Graph, Node } from '../../core/graph.ts';
import { runsScenariosLive } from '../../core/policy/holdout-paths.ts';
import type { Attribute } from '../../core/settings/types.ts';
import { firstStrengthLook } from '../../core/strength.ts';
import { finding, type Rule } from '../rule.ts';

const keys = ['strength', 'min_strength'] as const;

export const strengthUnmeasured: Rule = {
  code: 'strength-unmeasured',
  severity: 'error',
  rule: '`strength` and `min_strength` are set where `factory scenario run` can measure them: by a tool, in a sandbox or with `isolation=auto`, with a sample large enough to decide.',
  wrong:
    'start; exit; a [shape=parallelogram, min_strength=0.8, tool_command="sh test.sh"]; start -> a; a -> exit [condition="outcome=success"]',
  fix: 'set it on the node that runs `factory scenario run`',
  *check({ graph }) {
    for (const node of graph.nodes.values()) {
      const found = problemOf(node, graph);
      if (found === undefined) continue;
      const { attribute, ...texts } = found;
      yield finding(graph, strengthUnmeasured, { ...texts, span: attribute?.valueSpan ?? node.span });
    }
    // A called pipeline may have the node that measures.
    const [attribute] = keys.flatMap((key) => graph.attrs.get(key) ?? []);
    if (attribute === undefined || callsIn(graph).length > 0) return;
    if ([...graph.nodes.values()].some(({ settings }) => runsScenariosLive(settings.tool_command ?? '')))
      return;
    yield finding(graph, strengthUnmeasured, {
      message: `${attribute.written}: no node runs "factory scenario run", so nothing measures it`,
      span: attribute.valueSpan,
      fix: 'add a tool that runs the scenarios, or remove it',
    });
  },
};

type Problem = { readonly message: string; readonly fix: string; readonly attribute: Attribute | undefined };

function problemOf({ id, attrs, settings }: Node, graph: Graph): Problem | undefined {
  const { strength, min_strength: required, isolation, sandbox, tool_command } = settings;
  const attributeOf = (key: (typeof keys)[number]) => attrs.get(key) ?? graph.attrs.get(key);
  if (!runsScenariosLive(tool_command ?? '')) {
    const own = keys.flatMap((key) => attrs.get(key) ?? []).find(({ byDefault }) => byDefault !== true);
    if (own === undefined) return undefined;
    return {
      attribute: own,
      message: `"${id}" does not run "factory scenario run", so nothing measures ${own.written}`,
      fix: `set ${own.written} on the tool that runs the scenarios`,
    };
  }
  if (required === undefined) return undefined;
  if (strength !== undefined && strength < firstStrengthLook)
    return {
      attribute: attributeOf('strength'),
      message: `"${id}" measures at most ${strength} mutants, but min_strength is first decided after ${firstStrengthLook}`,
      fix: `write strength=${firstStrengthLook} or more, or leave strength out`,
    };
  if (sandbox !== 'none' || isolation === 'auto') return undefined;
  return {
    attribute: attributeOf('min_strength'),
    message: `"${id}" has sandbox=none, where mutants are not run, so min_strength would stay undecided`,
    fix: 'remove sandbox=none, or set isolation=auto to run them without a sandbox',
  };
}

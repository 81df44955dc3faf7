/** Shapes and types of other implementations without a handler are refused, never run as something else. */
import { widerKinds } from '../../core/settings/foreign.ts';
import { present } from '../../core/settings/types.ts';
import { finding, type Rule } from '../rule.ts';

export const noHandler: Rule = {
  code: 'no-handler',
  severity: 'error',
  rule: 'Shapes and types of other implementations have no handler here.',
  wrong: 'start; exit; a [label=a, shape=house]; start -> a -> exit',
  fix: 'a supported node type',
  check: ({ graph }) =>
    [...graph.nodes.values()].flatMap((node) => {
      if (node.type !== '') return [];
      const type = present(node.attrs, 'type');
      const typeText = type ?? present(node.attrs, 'shape');
      const word = typeText?.value.text.trim() ?? '';
      const wider = widerKinds.find((kind) => (type === undefined ? kind.shape : kind.type) === word);
      if (typeText === undefined || wider === undefined) return [];
      return [
        finding(graph, noHandler, {
          message: `${type === undefined ? `the shape "${word}"` : `the type "${word}"`} (${wider.type}: ${wider.does}) has no handler yet`,
          span: typeText.valueSpan,
          fix: 'use a node type that is supported, or remove the node',
        }),
      ];
    }),
};

/** The type of every node exists. */
import { nearestOf } from '../../core/nearest.ts';
import { withText } from '../../core/settings/repair.ts';
import { present } from '../../core/settings/types.ts';
import { finding, type Rule } from '../rule.ts';

export const unknownType: Rule = {
  code: 'unknown-type',
  severity: 'error',
  rule: 'Every `type` exists.',
  wrong: 'start; exit; a [label=a, type=codegen]; start -> a -> exit',
  fix: '`type=codergen`',
  check: ({ graph, kinds }) =>
    [...graph.nodes.values()].flatMap((node) => {
      const type = present(node.attrs, 'type');
      const word = type?.value.text.trim() ?? '';
      if (type === undefined || node.type !== '') return [];
      const types = kinds.map((kind) => kind.type);
      const meant = nearestOf(word, types);
      return [
        finding(graph, unknownType, {
          message: `there is no node type "${word}"${meant === undefined ? '' : `; the nearest is "${meant}"`}`,
          span: type.valueSpan,
          fix: meant === undefined ? `use one of ${types.join(', ')}` : `write type=${meant}`,
          repairs: meant === undefined ? [] : [{ attribute: type, instead: withText(type, meant) }],
        }),
      ];
    }),
};

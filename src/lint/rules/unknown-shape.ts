/** The shape of a node without a type names a node kind. */
import { nearest } from '../../core/nearest.ts';
import { withText } from '../../core/settings/repair.ts';
import { present } from '../../core/settings/types.ts';
import { finding, type Rule } from '../rule.ts';

/** What Graphviz calls a box. */
const boxes: readonly string[] = ['rect', 'rectangle'];

export const unknownShape: Rule = {
  code: 'unknown-shape',
  severity: 'error',
  rule: 'Every shape is that of a node type.',
  wrong: 'start; exit; a [label=a, shape=ellipse]; start -> a -> exit',
  fix: 'a shape of the table in the README, or a `type`',
  check: ({ graph, kinds }) =>
    [...graph.nodes.values()].flatMap((node) => {
      const shape = present(node.attrs, 'shape');
      const word = shape?.value.text.trim() ?? '';
      if (shape === undefined || node.type !== '') return [];
      if (present(node.attrs, 'type') !== undefined) return [];
      const shapes = kinds.flatMap((kind) => kind.shapes);
      const byId = kinds.find(({ ids }) => ids.includes(node.id))?.shapes[0];
      const meant = boxes.includes(word) ? 'box' : (nearest(word, shapes) ?? byId);
      return [
        finding(graph, unknownShape, {
          message: `the shape "${word}" is not the shape of a node type${meant === undefined ? '' : `; the nearest is "${meant}"`}`,
          span: shape.valueSpan,
          fix:
            meant === undefined
              ? `use one of ${shapes.join(', ')}, or give the node a type`
              : `write shape=${meant}`,
          repairs: meant === undefined ? [] : [{ attribute: shape, instead: withText(shape, meant) }],
        }),
      ];
    }),
};

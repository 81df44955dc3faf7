/** Attributes of fan-outs over a list. */
import { type AttributeTable, attr, text, trimmed } from './types.ts';

export const forEachAttributes = {
  for_each: attr(
    text(),
    'A list, as JSON or one item a line: the branch of the only edge runs once for each item. `${item}` is the item, `${index}` its number from 1.',
    { unset: 'each edge is a branch', example: '${ctx.items}' },
  ),
  foreach_key: attr(trimmed('a context key'), 'The context key of the list, in place of for_each.', {
    example: 'items',
  }),
  item_key: attr(trimmed('a context key'), 'The context key under which a branch finds its item.', {
    unset: 'none',
    example: 'test_file',
  }),
} as const satisfies AttributeTable;

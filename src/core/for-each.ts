/** Fan-outs over a list: what they say, the items of the list, and what a branch reads of its item. Pure. */
import { regionsAround } from './branches.ts';
import { asText } from './context.ts';
import type { Graph, Node } from './graph.ts';
import { isObject, type Json, own } from './json.ts';
import type { ItemScope } from './references.ts';
import { nodeAttributes } from './settings/node.ts';
import type { Attribute } from './settings/types.ts';

/** The most items of one list. */
export const mostItems = 1000;

/** The text of the list with its references; undefined for a fan-out whose edges are its branches. */
export const listOf = ({ settings }: Pick<Node, 'settings'>): string | undefined =>
  settings.for_each ?? (settings.foreach_key === undefined ? undefined : `\${ctx.${settings.foreach_key}}`);

/** Whether a node runs once for each item of a list. */
export const isInItem = (graph: Graph, node: string): boolean =>
  [...regionsAround(graph, node)].some((region) => {
    const fanOut = graph.nodes.get(region.node);
    return fanOut !== undefined && listOf(fanOut) !== undefined;
  });

/** What a text of a node reads of the item of its branch; undefined outside of such a branch. */
export const itemOf = ({ instance }: Pick<Graph, 'instance'>): ItemScope | undefined =>
  instance === undefined ? undefined : itemScope(instance.item, instance.index);

/** The item where its branch calls it so: `$file` in a prompt, with `item_key=file`. */
export const itemCalled = ({ instance }: Pick<Graph, 'instance'>, name: string): string | undefined =>
  instance !== undefined && instance.key === name ? asText(instance.item) : undefined;

/** The items of a list with its references expanded: a JSON list, also in a code fence, else its lines. */
export function itemsOfList(
  text: string,
): { readonly items: readonly Json[] } | { readonly problem: string } {
  const bare = /^\s*```[^\n]*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
  const trimmed = bare.trim();
  const items = trimmed.startsWith('[') ? listIn(trimmed) : linesIn(trimmed);
  if ('problem' in items || items.items.length <= mostItems) return items;
  return { problem: `the list has ${items.items.length} items, and the most are ${mostItems}` };
}

function listIn(text: string): { readonly items: readonly Json[] } | { readonly problem: string } {
  try {
    const read = JSON.parse(text) as Json;
    return Array.isArray(read) ? { items: read } : { problem: 'the text is no JSON list' };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `the text begins as a JSON list and is none: ${why.slice(0, 200)}` };
  }
}

const linesIn = (text: string): { readonly items: readonly Json[] } => ({
  items: text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== ''),
});

/** What `${item}`, `${item.key}` and `${index}` are for an item; `index`: 1 for the first. */
export const itemScope = (item: Json, index: number): ItemScope => ({
  index,
  value(key) {
    if (key === '') return asText(item);
    let at: Json | undefined = item;
    for (const name of key.split('.'))
      at = Array.isArray(at) ? at[Number(name)] : isObject(at) ? own(at, name) : undefined;
    return at === undefined ? undefined : asText(at);
  },
});

/** Attributes in which the item is put into its place when a branch begins; prompts and commands are expanded when they run. */
const placedAttributes = [
  ...(['label', 'goal_gate', 'llm_model', 'thread_id', 'response_file'] as const),
  ...(['allowed_write_paths', 'read_scope', 'verification.workdir'] as const),
];
/** Expanded when the node runs. */
const laterAttributes = ['prompt', 'prompt_file', 'question', 'tool_command', 'command.run', 'for_each'];

const itemForm = /(?<!\$)\$\{(?:item(?:\.([^\s{}]+))?|(index))\}/g;

/** Attributes of a node in a branch of `for_each` that name the item where nothing reads it. */
export const itemsUnread = ({ attrs }: Pick<Node, 'attrs'>): readonly Attribute[] =>
  [...attrs.values()].filter(
    ({ key, value }) =>
      value.text.search(itemForm) >= 0 &&
      ![...placedAttributes, ...laterAttributes].some((one) => one === key),
  );

/** A text for people with the item in its place; what has no value stays. */
export const withItem = (text: string, scope: ItemScope): string =>
  text.replace(itemForm, (written, path: string = '', index?: string) =>
    index === undefined ? (scope.value(path) ?? written) : String(scope.index),
  );

/** The attributes of a node that change with the item, or why one of them has no value for it. */
export function settingsForItem(
  { id, attrs }: Pick<Node, 'id' | 'attrs'>,
  scope: ItemScope,
): { readonly values: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  const values: Record<string, unknown> = {};
  for (const key of placedAttributes) {
    const attribute = attrs.get(key);
    if (attribute === undefined || attribute.value.text.search(itemForm) < 0) continue;
    const missing: string[] = [];
    const text = attribute.value.text.replace(itemForm, (written, path: string = '', index?: string) => {
      const value = index === undefined ? scope.value(path) : String(scope.index);
      // In a list of paths or names a comma would make two of one.
      if (value === undefined || (isList(key) && /[,\n]/.test(value))) missing.push(written);
      return value ?? '';
    });
    const [without] = missing;
    if (without !== undefined)
      return { problem: `${attribute.written} of "${id}" names ${without}, which has no value that fits` };
    const read = nodeAttributes[key].read({ kind: 'string', text });
    if (!read.ok)
      return { problem: `${attribute.written} of "${id}" is "${text}" for it, which ${read.why}` };
    values[key] = read.value;
  }
  return { values };
}

const isList = (key: string): boolean => !['label', 'goal_gate'].includes(key);

/** Why the branches of a list cannot begin: an attribute of a node in them has no valid value for one of the items. */
export function unfitItem(graph: Graph, nodes: Iterable<string>, items: readonly Json[]): string | undefined {
  const placed = [...nodes]
    .flatMap((id) => graph.nodes.get(id) ?? [])
    .filter(({ attrs }) =>
      placedAttributes.some((key) => (attrs.get(key)?.value.text ?? '').search(itemForm) >= 0),
    );
  for (const [at, item] of items.entries())
    for (const node of placed) {
      const read = settingsForItem(node, itemScope(item, at + 1));
      if ('problem' in read) return `item ${at + 1}: ${read.problem}`;
    }
  return undefined;
}

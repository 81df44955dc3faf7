/** Every place of a pipeline's text that names one of its nodes. */
import { fileAttributes } from '../core/calls.ts';
import { parseCondition } from '../core/conditions.ts';
import { type Graph, isAgentType } from '../core/graph.ts';
import { choicesOf, isHumanGate } from '../core/human-gate.ts';
import { references } from '../core/references.ts';
import { parseStylesheet } from '../core/settings/stylesheet.ts';
import { type Attribute, type Attributes, present } from '../core/settings/types.ts';
import { spanInValue } from '../dot/literals.ts';
import { mentionsIn } from '../dot/mentions.ts';

/** Offsets of the text. */
export type NodePlace = { readonly id: string; readonly start: number; readonly end: number };

/** Attributes whose value is the id of a node. */
export const targetAttributes = ['retry_target', 'fallback_retry_target', 'required_tool_node'];

/** In the order of the text: statements, ends of edges, targets, conditions, references, selectors. */
export function nodePlaces(graph: Graph): readonly NodePlace[] {
  const found = new Map<number, NodePlace>();
  const add = (id: string, start: number, end: number): void => {
    if (graph.nodes.has(id)) found.set(start, { id, start, end });
  };
  for (const { id, start, end } of mentionsIn(graph.text)) {
    const quoted = graph.text[start] === '"' ? 1 : 0;
    add(id, start + quoted, end - quoted);
  }
  const inValue = (attribute: Attribute, id: string, at: number): void => {
    const { start, end } = spanInValue(graph, attribute, at, id.length);
    add(id, start.offset, end.offset);
  };
  for (const attrs of [
    graph.attrs,
    ...[...graph.nodes.values()].map((one) => one.attrs),
    ...graph.edges.map((one) => one.attrs),
  ])
    for (const attribute of attrs.values())
      for (const { id, at } of idsInValue(attribute)) inValue(attribute, id, at);
  for (const node of graph.nodes.values()) {
    const choice = isHumanGate(node) ? present(node.attrs, 'human.default_choice') : undefined;
    const word = choice?.value.text.trim() ?? '';
    const { options } = choice === undefined ? { options: [] } : choicesOf(graph, node);
    // A choice is the id of a target first, then a key or a label.
    if (choice !== undefined && options.some(({ to }) => to === word))
      inValue(choice, word, choice.value.text.indexOf(word));
  }
  return [...found.values()].sort((a, b) => a.start - b.start);
}

type IdInValue = { readonly id: string; readonly at: number };

function idsInValue({ key, value: { text } }: Attribute): readonly IdInValue[] {
  if (targetAttributes.includes(key)) return [{ id: text.trim(), at: text.length - text.trimStart().length }];
  if (key === 'condition') return idsInCondition(text);
  if (key === 'model_stylesheet')
    return parseStylesheet(text).rules.flatMap(({ selector, at }) =>
      selector.startsWith('#') ? [{ id: selector.slice(1), at: at + 1 }] : [],
    );
  return text.includes('$') ? idsInReferences(text) : [];
}

/** Context keys about one node: its answer, or the result of its branch. */
const aboutNode = /^(?:context\.)?(?:response|parallel\.results)\.(\w+)/;

function idsInCondition(text: string): readonly IdInValue[] {
  const read = parseCondition(text);
  return ('condition' in read ? read.keys : []).flatMap(({ key, at }) => {
    const found = aboutNode.exec(key);
    const id = found?.[1] ?? '';
    return found === null ? [] : [{ id, at: at + found[0].length - id.length }];
  });
}

function idsInReferences(text: string): readonly IdInValue[] {
  const braced = references(text, true).flatMap(({ kind, key, at, written }): IdInValue[] => {
    const from = at + written.indexOf(key);
    if (kind === 'node') return [{ id: key.split('.', 1)[0] ?? '', at: from }];
    const found = kind === 'ctx' ? aboutNode.exec(key) : null;
    const id = found?.[1] ?? '';
    return found === null ? [] : [{ id, at: from + found[0].length - id.length }];
  });
  const loose = [...text.matchAll(/\$context\.(?:response|parallel\.results)\.(\w+)/g)].map(
    ({ 0: whole, 1: id = '', index }) => ({ id, at: index + whole.length - id.length }),
  );
  return [...braced, ...loose];
}

/** The file that an attribute at an offset names: a prompt, a schema or a called pipeline. */
export function fileNamedAt(graph: Graph, offset: number): string | undefined {
  const isAt = ({ valueSpan }: Attribute): boolean =>
    valueSpan.start.offset <= offset && offset <= valueSpan.end.offset;
  for (const node of graph.nodes.values()) {
    const file = fileAttributes(graph, node).find(isAt)?.value.text.trim();
    if (file !== undefined) return file;
    const named = isAgentType(node.type) ? atFile(node.attrs, isAt) : undefined;
    if (named !== undefined) return named;
  }
  return undefined;
}

const atFile = (attrs: Attributes, isAt: (one: Attribute) => boolean): string | undefined =>
  ['prompt', 'response_schema'].flatMap((key) => {
    const attribute = present(attrs, key);
    const text = attribute?.value.text.trim() ?? '';
    return attribute !== undefined && isAt(attribute) && /^@[^\r\n]+$/.test(text) ? [text.slice(1)] : [];
  })[0];

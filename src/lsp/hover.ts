/** What people read about a place of a pipeline. */
import { meaningsOf } from '../app/reference.ts';
import type { Graph } from '../core/graph.ts';
import type { AttributeSpec } from '../core/settings/types.ts';
import { variablesOf } from '../core/variables.ts';
import { lex } from '../dot/lex.ts';
import { specOf } from './analysis.ts';
import { cursorAt, type TextCursor } from './cursor.ts';
import { nodePlaces } from './node-places.ts';

export type HoverText = { readonly markdown: string; readonly start: number; readonly end: number };

export function hoverAt(text: string, offset: number, graph: Graph | undefined): HoverText | undefined {
  const named =
    graph === undefined
      ? undefined
      : // The graph may be that of an earlier text.
        nodePlaces(graph).find(
          ({ id, start, end }) => start <= offset && offset <= end && text.slice(start, end) === id,
        );
  if (graph !== undefined && named !== undefined)
    return { markdown: nodeText(graph, named.id), start: named.start, end: named.end };
  const token = lex(text).tokens.find(({ start, end }) => start <= offset && offset < end);
  if (token === undefined) return undefined;
  const cursor = cursorAt(text, token.start);
  const { start, end } = token;
  const word = text.slice(start, end).replace(/^"|"$/g, '');
  const markdown = cursor === undefined ? undefined : wordText(cursor, word, graph, variableAt(text, offset));
  return markdown === undefined ? undefined : { markdown, start, end };
}

/** The variable in whose `${var.NAME}` the offset is. */
function variableAt(text: string, offset: number): string | undefined {
  const before = /\$\{var\.([\w-]*)$/.exec(text.slice(0, offset))?.[1];
  return before === undefined ? undefined : `${before}${/^[\w-]*/.exec(text.slice(offset))?.[0]}`;
}

function wordText(
  cursor: TextCursor,
  word: string,
  graph: Graph | undefined,
  named: string | undefined,
): string | undefined {
  if (cursor.at === 'key' || cursor.at === 'statement') {
    const owner = cursor.at === 'key' ? cursor.owner : { kind: 'graph' as const };
    const [meaning] = meaningsOf(word).found;
    const name = meaning?.kind === 'attribute' ? meaning.name : word;
    const spec = specOf(name, owner, graph);
    if (spec !== undefined && (cursor.at === 'key' || meaning?.kind === 'attribute'))
      return attributeText(name, spec);
    return meaning?.kind === 'unused' ? meaning.means : undefined;
  }
  if (cursor.at !== 'value') return undefined;
  const variable = graph && variablesOf(graph).find(({ name }) => name === named);
  if (variable)
    return `**${variable.name}**: a variable; ${variable.value === undefined ? 'required' : `default \`${variable.value}\``}`;
  if (cursor.key === 'shape' || cursor.key === 'type') {
    const type = meaningsOf(word).found.find(({ kind }) => kind === 'node type');
    return type?.kind === 'node type' ? `**${type.name}**: ${type.does}` : undefined;
  }
  const spec = specOf(cursor.key, cursor.owner, graph);
  return spec === undefined ? undefined : attributeText(cursor.key, spec);
}

function attributeText(name: string, { does, wants, unset, graph, example, ...spec }: AttributeSpec): string {
  const silent = spec.default ?? unset ?? 'none';
  return [
    `**${name}**`,
    does,
    `Value: ${wants}. Default: ${graph === undefined ? silent : `\`${graph}\` of the graph, else ${silent}`}. Example: \`${name}=${/^\w+$/.test(example) ? example : `"${example}"`}\``,
  ].join('\n\n');
}

const mostShown = 400;

function nodeText(graph: Graph, id: string): string {
  const node = graph.nodes.get(id);
  if (node === undefined) return id;
  const { label, prompt, tool_command } = node.settings;
  const text = tool_command ?? prompt ?? '';
  const ways = graph.edges
    .filter(({ from }) => from === id)
    .map(({ to, conditionText }) => `- → \`${to}\`${conditionText === '' ? '' : ` if \`${conditionText}\``}`);
  return [
    `**${id}**${node.type === '' ? '' : `: ${node.type}`}${label === undefined || label === id ? '' : ` (${label})`}`,
    ...(text === '' ? [] : [`\`\`\`\n${text.slice(0, mostShown)}\n\`\`\``]),
    ...(ways.length === 0 ? [] : [ways.join('\n')]),
  ].join('\n\n');
}

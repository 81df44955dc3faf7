/** What can be written at a place of a pipeline. */
import { readdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { CompletionItem } from 'vscode-languageserver/node';
import { kinds } from '../app/kinds.ts';
import { parseCondition } from '../core/conditions.ts';
import { outputKeys } from '../core/context.ts';
import { agentNames } from '../core/contracts/agent.ts';
import type { Graph } from '../core/graph.ts';
import { gateKeys } from '../core/human-gate.ts';
import { answerKey, latestKeys } from '../core/latest-keys.ts';
import { failureClasses, outcomeWords } from '../core/outcome.ts';
import { contextKeysIn, nodeKeys } from '../core/references.ts';
import { styleProperties } from '../core/settings/stylesheet.ts';
import { variablesOf } from '../core/variables.ts';
import { idsIn, specOf, tableAt } from './analysis.ts';
import { cursorAt, type TextCursor } from './cursor.ts';
import { targetAttributes } from './node-places.ts';

/** A word, and what people read about it. `start`: where the word begins that it replaces. */
export type Suggestion = {
  readonly label: string;
  readonly detail: string;
  readonly start: number;
  readonly insert: string;
  readonly kind: CompletionItem['kind'];
};

/** Kinds of the protocol, for the pictures of an editor. */
const kindNumbers = { property: 10, value: 12, keyword: 14, file: 17, reference: 18, variable: 6 } as const;

export type CompletionPlace = {
  readonly text: string;
  readonly offset: number;
  /** The path of the document's file. */
  readonly path: string;
  readonly graph: Graph | undefined;
};

export function suggestionsAt(place: CompletionPlace): readonly Suggestion[] {
  const cursor = cursorAt(place.text, place.offset);
  if (cursor === undefined) return [];
  const { graph, text } = place;
  const ids = idsIn(text, graph).filter((id) => id !== cursor.word);
  if (cursor.at === 'target') return offered(ids, 'node', cursor.start, 'reference');
  if (cursor.at === 'statement')
    return [
      ...offered(ids, 'node', cursor.start, 'reference'),
      ...offered(['node', 'edge', 'subgraph'], 'defaults, a group', cursor.start, 'keyword'),
      ...attributes({ kind: 'graph' }, cursor.start, graph),
    ];
  if (cursor.at === 'key') return attributes(cursor.owner, cursor.start, graph);
  return valuesAt(place, cursor, ids);
}

const offered = (
  labels: readonly string[],
  detail: string,
  start: number,
  kind: keyof typeof kindNumbers,
): readonly Suggestion[] =>
  labels.map((label) => ({ label, detail, start, insert: label, kind: kindNumbers[kind] }));

function attributes(
  owner: Parameters<typeof tableAt>[0],
  start: number,
  graph: Graph | undefined,
): readonly Suggestion[] {
  return Object.entries(tableAt(owner, graph)).map(([key, { does }]) => {
    const name = /^\w+$/.test(key) ? key : `"${key}"`;
    return { label: key, detail: does, start, insert: `${name}=`, kind: kindNumbers.property };
  });
}

const fileKeys = ['graph_ref', 'pipeline', 'stack.child_dotfile', 'stack.child_workflow', 'child_graph'];
const textKeys = ['prompt', 'label', 'tool_command', 'command.run', 'for_each'];

function valuesAt(
  { graph, path }: CompletionPlace,
  cursor: TextCursor & { readonly at: 'value' },
  ids: readonly string[],
): readonly Suggestion[] {
  const { key, word, start, owner } = cursor;
  if (key === 'condition') return conditionWords(word, start, owner.kind === 'edge' ? owner.from : '', graph);
  if (key === 'model_stylesheet') return styleWords(word, start, ids);
  const reference = /\$\{([\w.]*)$/.exec(word);
  if (reference !== null && textKeys.includes(key))
    return references(graph, ids, start + word.length - (reference[1] ?? '').length);
  if (fileKeys.includes(key)) return files(path, word, start, '.dot');
  if (word.startsWith('@') && ['prompt', 'response_schema'].includes(key))
    return files(path, word.slice(1), start + 1, '');
  return offered(wordsFor(cursor, graph, ids), specOf(key, owner, graph)?.wants ?? '', start, 'value').map(
    (one) => (cursor.isQuoted || /^[\w]+$/.test(one.label) ? one : { ...one, insert: `"${one.label}"` }),
  );
}

function wordsFor(
  { key, owner }: TextCursor & { readonly at: 'value' },
  graph: Graph | undefined,
  ids: readonly string[],
): readonly string[] {
  if (targetAttributes.includes(key) || key === 'human.default_choice') return ids;
  if (key === 'shape') return [...new Set(kinds.flatMap(({ shapes }) => shapes))];
  if (key === 'type') return kinds.map(({ type }) => type);
  if (key === 'agent.backend') return agentNames;
  const spec = specOf(key, owner, graph);
  if (spec === undefined) return [];
  if (spec.words !== undefined) return spec.words;
  if (spec.wants === 'true or false') return ['true', 'false'];
  return [...new Set([spec.default ?? spec.example, spec.example])].filter((one) => one.length < 40);
}

/** Keys, then what they can be compared with. */
function conditionWords(
  text: string,
  start: number,
  from: string,
  graph: Graph | undefined,
): readonly Suggestion[] {
  const compared = /([\w.-]+)\s*(?:!=|=)\s*["']?([\w.-]*)$/.exec(text);
  if (compared !== null) {
    const [, key = '', word = ''] = compared;
    return offered(
      literalsFor(key.replace(/^context\./, ''), from, graph),
      `value of ${key}`,
      start + text.length - word.length,
      'value',
    );
  }
  const [word = ''] = /[\w.-]*$/.exec(text) ?? [];
  const at = start + text.length - word.length;
  return [
    ...offered(
      ['outcome', 'preferred_label', 'failure_class'],
      'of the node that the edge leaves',
      at,
      'property',
    ),
    ...offered(
      contextKeysOf(graph).map((key) => `context.${key}`),
      'context key',
      at,
      'variable',
    ),
  ];
}

function literalsFor(key: string, from: string, graph: Graph | undefined): readonly string[] {
  const labels = graph?.edges.filter((edge) => edge.from === from).map(({ label }) => label) ?? [];
  const own = labels.filter((label) => label !== '');
  if (key === 'outcome') return [...outcomeWords, ...own];
  if (key === 'preferred_label') return own;
  return key === 'failure_class' || key === 'last_failure.class' ? failureClasses : [];
}

/** The keys that conditions, prompts and commands of the graph name, and those that the engine sets. */
export function contextKeysOf(graph: Graph | undefined): readonly string[] {
  const named = (graph?.edges ?? []).flatMap(({ conditionText }) => {
    const read = parseCondition(conditionText);
    return 'condition' in read ? read.keys.map(({ key }) => key.replace(/^context\./, '')) : [];
  });
  const nodes = [...(graph?.nodes.values() ?? [])];
  const inTexts = nodes.flatMap(({ attrs }) =>
    [...attrs.values()].flatMap(({ value }) => contextKeysIn(value.text)),
  );
  // What a tool says that it sets.
  const set = nodes.flatMap(({ settings: { tool_command = '' } }) =>
    tool_command.includes('FACTORY_OUTPUT')
      ? [...tool_command.matchAll(/"context_updates"\s*:\s*\{([^}]*)/g)].flatMap(([, body = '']) =>
          [...body.matchAll(/"([\w.-]+)"\s*:/g)].map(([, key = '']) => key),
        )
      : [],
  );
  const isRouter = (key: string): boolean => ['outcome', 'preferred_label', 'failure_class'].includes(key);
  const answers = nodes.filter(({ type }) => type === 'codergen').map(({ id }) => answerKey(id));
  const failure = ['class', 'reason', 'summary', 'node_id'].map((name) => `last_failure.${name}`);
  return [
    ...new Set([
      ...set,
      ...named,
      ...inTexts,
      ...outputKeys,
      ...latestKeys,
      ...failure,
      ...gateKeys,
      ...answers,
    ]),
  ].filter((key) => !isRouter(key));
}

function references(graph: Graph | undefined, ids: readonly string[], start: number): readonly Suggestion[] {
  const vars = graph === undefined ? [] : variablesOf(graph).map(({ name }) => `var.${name}`);
  return [
    ...offered(vars, 'variable', start, 'variable'),
    ...offered(['goal'], 'goal of the graph', start, 'variable'),
    ...offered(
      contextKeysOf(graph).map((key) => `ctx.${key}`),
      'context key',
      start,
      'variable',
    ),
    ...offered(
      ids.flatMap((id) => nodeKeys.map((key) => `node.${id}.${key}`)),
      'value of a node',
      start,
      'variable',
    ),
  ];
}

function styleWords(text: string, start: number, ids: readonly string[]): readonly Suggestion[] {
  const [word = ''] = /[#\w.-]*$/.exec(text) ?? [];
  const at = start + text.length - word.length;
  const isInside = text.lastIndexOf('{') > text.lastIndexOf('}');
  if (!isInside) return offered(['*', ...ids.map((id) => `#${id}`)], 'selector', at, 'reference');
  const [, property, value] = /(\w+)\s*:\s*([\w.-]*)$/.exec(text) ?? [];
  if (property === undefined) return offered(styleProperties, 'property', at, 'property');
  return property === 'backend'
    ? offered(agentNames, 'agent', start + text.length - (value ?? '').length, 'value')
    : [];
}

/** The files of a folder that the author has begun to name, relative to the folder of the pipeline. */
function files(path: string, word: string, start: number, ending: string): readonly Suggestion[] {
  const folder = /^.*\//.exec(word)?.[0] ?? '';
  try {
    const entries = readdirSync(resolve(dirname(path), folder), { withFileTypes: true });
    const names = entries
      .filter((one) => !one.name.startsWith('.') && (one.isDirectory() || one.name.endsWith(ending)))
      .map((one) => `${folder}${one.name}${one.isDirectory() ? '/' : ''}`);
    return offered(names, 'file', start, 'file');
  } catch {
    return [];
  }
}

/** Attributes of nodes that a fork sets: the pipeline of the run, with their values in statements at its end. */
import { dirname, relative, resolve } from 'node:path';
import { fileAttributes } from '../../core/calls.ts';
import {
  type Diagnostic,
  hasErrors,
  type Refusal,
  refused,
  type Span,
  shortText,
} from '../../core/diagnostic.ts';
import { allNodes, type Graph, graphWith, type Node } from '../../core/graph.ts';
import { nearest } from '../../core/nearest.ts';
import { inputPrefixes } from '../../core/settings/calls.ts';
import type { Attribute } from '../../core/settings/types.ts';
import { synonyms } from '../../dot/build.ts';
import { positionsOf } from '../../dot/literals.ts';
import { kindsOf } from '../kinds.ts';
import { checkChangedText } from '../read-pipeline.ts';

/** A value for an attribute of a node. */
export type SetAttribute = {
  /** `NODE.ATTRIBUTE`, as typed. */
  readonly name: string;
  readonly text: string;
  /** The file that the text was read from, as typed. */
  readonly file?: string | undefined;
};

type Target = SetAttribute & { readonly node: Node; readonly key: string };

/** The pipeline with the attributes; `names` has those by their canonical names. */
export type GraphWithAttributes = {
  readonly graph: Graph;
  readonly names: readonly string[];
  readonly warnings: readonly Diagnostic[];
};

/** The pipeline with the attributes, checked like one that its author has changed: only what was not found before is reported, at its
 *  place in the text of the attribute. */
export function withAttributes(
  graph: Graph,
  sets: readonly SetAttribute[],
  { cwd, prompts }: { readonly cwd: string; readonly prompts: ReadonlyMap<string, string> },
): GraphWithAttributes | Refusal {
  if (sets.length === 0) return { graph, names: [], warnings: [] };
  const targets: Target[] = [];
  for (const set of sets) {
    const target = targetOf(graph, set, targets, cwd);
    if ('problems' in target) return target;
    targets.push(target);
  }
  const text = withStatements(
    graph.text,
    targets.map(({ node, key, text }) => [node.id, key, text]),
    'factory fork --set',
  );
  const read = checkChangedText(graph, text, cwd, prompts);
  const changed = read.anyGraph;
  if (changed === undefined || !isInserted(graph, changed, targets)) return cannotInsert;
  const known = new Set(checkChangedText(graph, graph.text, cwd, prompts).found.map(identity));
  const found = read.found
    .filter((one) => !known.has(identity(one)) && !isSecondDeclaration(one, targets))
    .map((one) => placedInSet(one, changed, targets));
  if (hasErrors(found)) return { problems: found.filter(({ severity }) => severity === 'error') };
  return { graph: changed, names: targets.map(nameOf), warnings: found };
}

/** The values that these attributes have in the pipeline of a run, to set them in another one. */
export const setIn = (graph: Graph, names: readonly string[]): readonly SetAttribute[] =>
  names.flatMap((name) => {
    const dot = name.indexOf('.');
    const attribute = graph.nodes.get(name.slice(0, dot))?.attrs.get(name.slice(dot + 1));
    return attribute === undefined ? [] : [{ name, text: attribute.value.text }];
  });

const nameOf = ({ node, key }: Target): string => `${node.id}.${key}`;

const cannotInsert = refused(
  'usage',
  'the attributes cannot be inserted into the text of the pipeline',
  'change the pipeline file, and fork: factory fork RUN --pipeline FILE',
);

/** The text of a pipeline with statements at its end, each for one attribute of a node. */
export function withStatements(
  text: string,
  statements: readonly (readonly [node: string, key: string, value: string])[],
  by: string,
): string {
  const lines = statements.map(
    ([node, key, value]) => `  ${node} [${keyText(key)}="${quotedText(value)}"]\n`,
  );
  const at = text.lastIndexOf('}');
  return `${text.slice(0, at)}\n  // ${by}\n${lines.join('')}${text.slice(at)}`;
}

const keyText = (key: string): string => (/^\w+$/.test(key) ? key : `"${key}"`);

/** A text inside the quotes of a pipeline. */
const quotedText = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\r', '\\r');

/** The node and the attribute that are named, or what is wrong with that. */
function targetOf(graph: Graph, set: SetAttribute, before: readonly Target[], cwd: string): Target | Refusal {
  const { name, text } = set;
  const no = (what: string, fix: string) => refused('usage', `--set ${shortText(name, 80)}: ${what}`, fix);
  const named = nodeAndKey(graph, name);
  if (named === undefined) return noNode(graph, name, no);
  const { node, key } = named;
  if (!graph.nodes.has(node.id))
    return no(
      `the node is in ${graphWith(graph, node.id).file}, which "${node.id.replace(/\.[^.]*$/, '')}" calls`,
      'change it there, and fork: factory fork RUN --pipeline FILE',
    );
  if (before.some((one) => one.node === node && one.key === key))
    return no(`${key} of "${node.id}" is given twice`, 'leave out one of them');
  // The schema of answers is a file of the run, not a text of the pipeline.
  const isReference = key === 'response_schema' && set.file !== undefined;
  const given = {
    ...set,
    node,
    key,
    ...(isReference ? { text: `@${fromPipeline(graph, set.file, cwd)}` } : {}),
  };
  if (key === 'prompt' && text.startsWith('@'))
    return no('a prompt cannot begin with "@"', `for example --set ${node.id}.prompt=@new-prompt.md`);
  if (fileAttributes(graph, node).some((one) => one.key === key))
    return no(
      'another pipeline cannot be called this way',
      'change the pipeline file, and fork: factory fork RUN --pipeline FILE',
    );
  const table = kindsOf(graph).find(({ type }) => type === node.type)?.attributes ?? {};
  const isInput = Object.hasOwn(table, 'returns') && inputPrefixes.some((prefix) => key.startsWith(prefix));
  if (Object.hasOwn(table, key) || isInput) return given;
  const meant = nearest(key, Object.keys(table));
  return no(
    `nodes of type ${node.type} have no attribute "${key}"`,
    `${meant === undefined ? '' : `did you mean "${meant}"? `}factory explain ${node.type} lists their attributes`,
  );
}

/** The path of a file of this directory as the pipeline would write it. */
const fromPipeline = (graph: Graph, file: string, cwd: string): string =>
  relative(dirname(resolve(cwd, graph.file)), resolve(cwd, file));

function noNode(graph: Graph, name: string, no: (what: string, fix: string) => Refusal): Refusal {
  const ids = [...graph.nodes.keys()];
  const id = name.replace(/\.[^.]*$/, '');
  if (!name.includes('.'))
    return graph.nodes.has(name)
      ? no('it names no attribute', `for example --set ${name}.prompt=@new-prompt.md`)
      : no('it is not NODE.ATTRIBUTE', 'for example --set plan.prompt=@new-prompt.md');
  const meant = nearest(id, ids);
  return no(
    `the pipeline has no node "${id}"`,
    `${meant === undefined ? '' : `did you mean "${meant}"? `}its nodes: ${ids.join(', ')}`,
  );
}

/** Ids and names of attributes may have dots: the longest id counts. */
function nodeAndKey(graph: Graph, name: string): { readonly node: Node; readonly key: string } | undefined {
  for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
    const node = allNodes(graph).get(name.slice(0, dot));
    const written = name.slice(dot + 1);
    if (node !== undefined && written !== '') return { node, key: keyOf(node, written) };
  }
  return undefined;
}

const keyOf = ({ settings }: Node, written: string): string =>
  // As people say it.
  written === 'command' && 'tool_command' in settings
    ? 'tool_command'
    : Object.hasOwn(synonyms, written)
      ? (synonyms[written] ?? written)
      : written;

/** Whether the nodes have the new values, and nothing else has changed. */
function isInserted(before: Graph, after: Graph, targets: readonly Target[]): boolean {
  const isSet = (id: string, key: string) => targets.some((one) => one.node.id === id && one.key === key);
  const rest = ({ id, attrs }: Node) =>
    JSON.stringify(
      [...attrs.values()].flatMap(({ key, value }) => (isSet(id, key) ? [] : [[key, value.text]])),
    );
  return (
    after.nodes.size === before.nodes.size &&
    after.edges.length === before.edges.length &&
    targets.every(({ node, key, text }) => {
      const now = after.nodes.get(node.id);
      return now?.attrs.get(key)?.value.text === text && rest(now) === rest(node);
    })
  );
}

/** The same finding in the text before and after: statements at the end move nothing. */
const identity = ({ code, message, place }: Diagnostic): string =>
  JSON.stringify([code, message, place?.file, place?.span.start.offset]);

const isSecondDeclaration = ({ code, message }: Diagnostic, targets: readonly Target[]): boolean =>
  code === 'duplicate-node' && targets.some(({ node }) => message.startsWith(`"${node.id}" `));

/** A finding in the statements has its place in the text that was given. */
function placedInSet(found: Diagnostic, graph: Graph, targets: readonly Target[]): Diagnostic {
  const { place } = found;
  if (place === undefined || place.file !== graph.file) return found;
  for (const target of targets) {
    const attribute = graph.nodes.get(target.node.id)?.attrs.get(target.key);
    if (attribute === undefined) continue;
    const { keySpan, valueSpan } = attribute;
    const { offset } = place.span.start;
    if (offset < keySpan.start.offset || offset > valueSpan.end.offset) continue;
    const file = target.file ?? `--set ${target.name}`;
    return { ...found, place: { file, span: spanInText(target.text, attribute, place.span) } };
  }
  return found;
}

/** The part of `text` that the span has, which is in the quoted value of the attribute. */
function spanInText(text: string, { valueSpan }: Attribute, { start, end }: Span): Span {
  const indexOf = (offset: number): number => {
    let left = offset - valueSpan.start.offset - 1;
    let index = 0;
    for (; left > 0 && index < text.length; index++) left -= quotedText(text[index] ?? '').length;
    return index;
  };
  return positionsOf(text).span(indexOf(start.offset), indexOf(end.offset));
}

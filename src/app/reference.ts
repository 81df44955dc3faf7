/** What `factory explain` and the reference pages say about attributes, node types and codes: read from the tables that
 *  pipelines are read with. */
import { agentKinds } from '../agents/index.ts';
import { agentNames } from '../core/contracts/agent.ts';
import type { NodeKind } from '../core/contracts/node-kind.ts';
import type { CodeDescription } from '../core/diagnostic.ts';
import { nearest } from '../core/nearest.ts';
import { isDrawing, noEffectOf } from '../core/settings/foreign.ts';
import { edgeAttributes, graphAttributes } from '../core/settings/graph.ts';
import type { AttributeSpec } from '../core/settings/types.ts';
import { typingCodes } from '../core/settings/typing.ts';
import { synonyms } from '../dot/build.ts';
import { rules } from '../lint/index.ts';
import { findingCodes, planCode } from '../planner/findings.ts';
import { kinds } from './kinds.ts';

/** An attribute as people read about it. */
export type ReferenceEntry = {
  readonly name: string;
  readonly does: string;
  readonly value: string;
  readonly default: string;
  readonly flag?: string;
  /** Other names that are read. */
  readonly synonyms: readonly string[];
  readonly example: string;
};

/** Attributes that the same elements read. */
export type ReferenceGroup = {
  /** `the graph`, `every node`, `tool and verification nodes`, … */
  readonly on: string;
  readonly entries: readonly ReferenceEntry[];
};

/** All attributes, by the elements that read them. `all`: with own node types of a project. */
export function attributeReference(all: readonly NodeKind[] = kinds): readonly ReferenceGroup[] {
  const groups = new Map<string, Map<string, AttributeSpec>>();
  const add = (on: string, key: string, spec: AttributeSpec): void => {
    const group = groups.get(on) ?? new Map<string, AttributeSpec>();
    groups.set(on, group.set(key, spec));
  };
  for (const [key, spec] of Object.entries<AttributeSpec>(graphAttributes)) add('the graph', key, spec);
  for (const { attributes } of all)
    for (const [key, spec] of Object.entries(attributes)) add(readersOf(key, spec, all), key, spec);
  for (const [key, spec] of Object.entries<AttributeSpec>(edgeAttributes)) add('an edge', key, spec);
  return [...groups].map(([on, table]) => ({
    on,
    entries: [...table].map(([key, spec]) => entryOf(on, key, spec)),
  }));
}

/** The nodes that read an attribute in this sense. */
function readersOf(key: string, spec: AttributeSpec, all: readonly NodeKind[]): string {
  const agent = agentNames.find((name) => agentKinds[name].attributes?.[key] === spec);
  if (agent !== undefined) return `codergen nodes with the agent ${agent}`;
  const types = all.filter(({ attributes }) => attributes[key] === spec).map(({ type }) => type);
  return types.length === all.length ? 'every node' : `${listed(types)} nodes`;
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

function entryOf(on: string, name: string, spec: AttributeSpec): ReferenceEntry {
  const { example } = spec;
  const line = `${name}=${/^\w+$/.test(example) ? example : `"${example}"`}`;
  const silent = spec.default ?? spec.unset ?? 'none';
  return {
    name,
    does: spec.does,
    value: spec.wants,
    default: spec.graph === undefined ? silent : `${spec.graph} of the graph, else ${silent}`,
    ...(spec.flag === undefined ? {} : { flag: spec.flag.replace(/ .*/, '') }),
    synonyms: Object.entries(synonyms).flatMap(([other, key]) => (key === name ? [other] : [])),
    example: on === 'the graph' ? line : on === 'an edge' ? `a -> b [${line}]` : `a [${line}]`,
  };
}

/** The codes of `factory validate`. */
export const lintCodes = (all: readonly NodeKind[] = kinds): readonly CodeDescription[] => [
  ...typingCodes,
  ...all.flatMap(({ codes = [] }) => codes),
  ...rules,
];

/** One meaning of a word. */
export type Meaning =
  | ({ readonly kind: 'attribute'; readonly on: string } & ReferenceEntry)
  | {
      readonly kind: 'node type';
      readonly name: string;
      readonly does: string;
      readonly shapes: readonly string[];
      readonly attributes: readonly string[];
      /** The file of an own node type. */
      readonly file?: string;
    }
  | ({ readonly kind: 'code' } & Pick<CodeDescription, 'severity' | 'rule' | 'wrong' | 'fix'> & {
        readonly name: string;
      })
  | {
      readonly kind: 'plan code';
      readonly name: string;
      readonly strict: boolean;
      readonly means: string;
      readonly fix: string;
    }
  | { readonly kind: 'unused'; readonly name: string; readonly means: string };

/** Everything that a word means; else the nearest word. */
export function meaningsOf(
  word: string,
  all: readonly NodeKind[] = kinds,
): { readonly found: readonly Meaning[]; readonly nearest?: string } {
  const name = Object.hasOwn(synonyms, word) ? (synonyms[word] ?? word) : word;
  const found: Meaning[] = [
    ...attributeReference(all).flatMap(({ on, entries }) =>
      entries
        .filter((entry) => entry.name === name)
        .map((entry) => ({ kind: 'attribute' as const, on, ...entry })),
    ),
    ...all.flatMap((kind): Meaning[] => {
      const { type, does, shapes, attributes, own } = kind;
      const file = own?.path == null ? {} : { file: own.path };
      return type === name || shapes.includes(name)
        ? [{ kind: 'node type', name: type, does, shapes, attributes: Object.keys(attributes), ...file }]
        : [];
    }),
    ...lintCodes(all).flatMap(({ code, severity, rule, wrong, fix }): Meaning[] =>
      code === name ? [{ kind: 'code', name: code, severity, rule, wrong, fix }] : [],
    ),
    ...planCodes(name),
  ];
  if (found.length > 0) return { found };
  const unused = unusedMeaning(name);
  if (unused !== undefined) return { found: [{ kind: 'unused', name, means: unused }] };
  const near = nearest(name, allWords(all));
  return { found, ...(near === undefined ? {} : { nearest: near }) };
}

function planCodes(name: string): readonly Meaning[] {
  const code = planCode(name.toUpperCase());
  if (code === undefined) return [];
  const { strict, means, fix } = code;
  return [{ kind: 'plan code', name: code.code, strict, means, fix }];
}

/** What a word of Graphviz or of another implementation of the language means here. */
function unusedMeaning(name: string): string | undefined {
  const instead = noEffectOf(name);
  if (instead !== undefined)
    return `an attribute of other implementations without effect here${instead === '' ? '' : `: ${instead}`}`;
  return isDrawing(name) ? 'an attribute of Graphviz for drawings; nothing here reads it' : undefined;
}

/** Every word that can be explained. */
export const allWords = (all: readonly NodeKind[] = kinds): readonly string[] => [
  ...new Set([
    ...attributeReference(all).flatMap(({ entries }) => entries.map(({ name }) => name)),
    ...all.map(({ type }) => type),
    ...lintCodes(all).map(({ code }) => code),
    ...findingCodes,
  ]),
];

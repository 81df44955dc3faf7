/** Checks what a project gives as an own node type, and makes a node type of it. Pure. */
import type { KindSource, NodeKind } from './contracts/node-kind.ts';
import type { NodeTools, OwnNodeKind } from './contracts/own-kind.ts';
import { type Diagnostic, errorText } from './diagnostic.ts';
import { failed, succeeded } from './outcome.ts';
import { anyOutcome } from './possible-outcomes.ts';
import { commonAttributes, executableAttributes, nodeAttributes } from './settings/node.ts';
import {
  type AttributeSpec,
  type AttributeTable,
  attr,
  bytes,
  count,
  duration,
  flag,
  integer,
  list,
  number,
  path,
  paths,
  text,
  trimmed,
  word,
} from './settings/types.ts';

/** What a module gets to make its node type with. */
export const nodeTools: NodeTools = {
  kind: (kind) => kind as unknown as OwnNodeKind,
  attr,
  types: { text, trimmed, flag, count, integer, number, duration, bytes, word, list, path, paths },
  succeeded,
  failed,
};

/** Names that an own type cannot have, and whose they are. */
export type ReservedNames = {
  readonly types: ReadonlyMap<string, string>;
  readonly shapes: ReadonlyMap<string, string>;
  readonly attributes: ReadonlySet<string>;
};

export type CheckedKind = { readonly kind: NodeKind } | { readonly wrong: readonly string[] };

/** The node type, or everything that is wrong with it, each in words that follow its name. */
export function checkedKind(given: unknown, source: KindSource, reserved: ReservedNames): CheckedKind {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return { wrong: ['is no node type: an object with type, does, attributes and run'] };
  const of = given as Readonly<Record<string, unknown>>;
  const wrong = [
    ...namesWrong(of, reserved),
    ...(typeof of['does'] === 'string' && of['does'].trim() !== ''
      ? []
      : ['lacks `does`: what a node of this type does, in a sentence']),
    ...attributesWrong(of['attributes'] ?? {}, reserved.attributes),
    ...(typeof of['run'] === 'function' ? [] : ['lacks `run`: async (settings, context) => outcome']),
    ...(['outcomes', 'check'] as const).flatMap((key) =>
      of[key] === undefined || typeof of[key] === 'function' ? [] : [`has a \`${key}\` that is no function`],
    ),
    ...(of['executable'] === false ? ['has `executable: false`: own types are always executable'] : []),
    ...(Array.isArray(of['ids']) && of['ids'].length > 0 ? ['has `ids`: own types go by type or shape'] : []),
  ];
  return wrong.length > 0 ? { wrong } : { kind: safeKind(given as OwnNodeKind, source) };
}

const isNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && one.trim() !== '');

function namesWrong(
  of: Readonly<Record<string, unknown>>,
  { types, shapes }: ReservedNames,
): readonly string[] {
  const { type, aliases = [], shapes: own = [] } = of;
  if (typeof type !== 'string' || !/^[A-Za-z_][\w.-]*$/.test(type))
    return ['lacks `type`: its name, such as "http.check"'];
  if (!isNames(aliases)) return ['has `aliases` that are no list of names'];
  if (!isNames(own)) return ['has `shapes` that are no list of names'];
  return [
    ...[type, ...aliases].flatMap((name) => {
      const by = types.get(name);
      return by === undefined ? [] : [`has the type "${name}", which is ${by}`];
    }),
    ...own.flatMap((shape) => {
      const by = shapes.get(shape);
      return by === undefined ? [] : [`has the shape "${shape}", which is ${by}`];
    }),
  ];
}

function attributesWrong(table: unknown, reserved: ReadonlySet<string>): readonly string[] {
  if (typeof table !== 'object' || table === null || Array.isArray(table))
    return ['has `attributes` that are no object'];
  return Object.entries(table).flatMap(([name, spec]: [string, unknown]) => {
    const named = `has the attribute "${name}"`;
    if (!/^[A-Za-z_][\w.]*$/.test(name)) return [`${named}, which is no name: letters, digits, _ and .`];
    if (reserved.has(name)) return [`${named}, which factory itself reads: choose another name`];
    const why = specWrong(spec);
    return why === undefined ? [] : [`${named}, ${why}`];
  });
}

function specWrong(spec: unknown): string | undefined {
  const made = 'make it with attr(types.text(), "What it does.")';
  if (typeof spec !== 'object' || spec === null) return `which is no attribute: ${made}`;
  const { wants, does, example, read } = spec as Partial<AttributeSpec>;
  if (typeof read !== 'function' || typeof wants !== 'string') return `which has no type: ${made}`;
  if (typeof does !== 'string' || does.trim() === '') return `which does not say what it does: ${made}`;
  if (typeof example !== 'string') return `which has no example: ${made}`;
  try {
    const { ok } = read({ kind: 'string', text: example });
    return ok === true ? undefined : `whose example "${example}" is not valid`;
  } catch (error) {
    return `whose type throws: ${errorText(error)}`;
  }
}

/** The node type, of which only `run` can fail: checks and findings of a project must not end factory. */
function safeKind(given: OwnNodeKind, own: KindSource): NodeKind {
  const { type, does, shapes = [], aliases = [], attributes = {}, codes = [], outcomes, check } = given;
  return {
    ...{ type, does, shapes: [...shapes], aliases: [...aliases], ids: [], executable: true, own, codes },
    attributes: { ...commonAttributes, ...executableAttributes, ...safeTable(attributes) },
    ...(outcomes === undefined
      ? {}
      : { outcomes: (node, graph) => orElse(() => outcomes(node, graph), anyOutcome) }),
    ...(check === undefined ? {} : { check: (node, graph) => foundBy(type, () => check(node, graph)) }),
    run: (settings, context) => given.run(settings as Parameters<OwnNodeKind['run']>[0], context),
  };
}

const safeTable = (table: AttributeTable): AttributeTable =>
  Object.fromEntries(
    Object.entries(table).map(([name, spec]) => [
      name,
      {
        ...spec,
        read(value): ReturnType<AttributeSpec['read']> {
          try {
            return spec.read(value);
          } catch (error) {
            return { ok: false, why: `cannot be read: ${errorText(error)}` };
          }
        },
      } satisfies AttributeSpec,
    ]),
  );

function orElse<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch {
    return otherwise;
  }
}

function foundBy(type: string, check: () => readonly Diagnostic[]): readonly Diagnostic[] {
  const broken = (why: string): readonly Diagnostic[] => [
    { code: ownKindCode, severity: 'error', message: `the check of the node type "${type}" ${why}` },
  ];
  try {
    const found: unknown = check();
    const isFound = (one: unknown) =>
      typeof one === 'object' && one !== null && 'code' in one && 'severity' in one && 'message' in one;
    return Array.isArray(found) && found.every(isFound)
      ? (found as readonly Diagnostic[])
      : broken('answered no list of findings');
  } catch (error) {
    return broken(`threw: ${errorText(error)}`);
  }
}

/** Code of what is wrong with own node types. */
export const ownKindCode = 'own-node-type';

/** Names of attributes that nodes of factory's own types have. */
export const reservedAttributes = (kinds: readonly NodeKind[], more: Iterable<string>): ReadonlySet<string> =>
  new Set([
    ...Object.keys(nodeAttributes),
    ...kinds.flatMap(({ attributes }) => Object.keys(attributes)),
    ...more,
  ]);

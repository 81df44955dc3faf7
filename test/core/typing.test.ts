/** Attribute text becomes settings: the node's own, else the graph's, else the default. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kinds } from '../../src/app/kinds.ts';
import { graphAttributes } from '../../src/core/settings/graph.ts';
import { nodeAttributes } from '../../src/core/settings/node.ts';
import type { AttributeSpec } from '../../src/core/settings/types.ts';
import { sourceOf, withFlags } from '../../src/core/settings/typing.ts';
import { graphOf, typedText } from '../support/graph.ts';

const settingsOf = (body: string) => {
  const settings = graphOf(body).nodes.get('a')?.settings;
  if (settings === undefined) throw new Error('no node');
  return settings;
};

test.for([
  ['a [timeout=5s]', 5_000, 'node'],
  ['default_timeout=5s; a [prompt=x]', 5_000, 'graph'],
  ['default_timeout=5s; a [timeout=7]', 7_000, 'node'],
  ['node [timeout=9s]; a [prompt=x]', 9_000, 'node'],
  ['a [timeout=""]', 1_800_000, 'default'],
  ['a [prompt=x]', 1_800_000, 'default'],
] as const)('in %s the timeout is %s, from the %s', ([body, value, source]) => {
  const settings = settingsOf(body);
  expect([settings.timeout, sourceOf(settings, 'timeout')]).toEqual([value, source]);
});

test.for([
  ['a [max_visits=9]', { max_visits: 2 }, 'max_visits', 2, 'flag'],
  ['a [max_visits=9]', { command_timeout: 7 }, 'max_visits', 9, 'node'],
  ['default_timeout=5s; a [prompt=x]', { command_timeout: 7 }, 'timeout', 7, 'flag'],
  ['a [timeout=5s]', { command_timeout: 7, max_visits: 2 }, 'timeout', 5_000, 'node'],
  ['default_timeout=5s; a [shape=parallelogram]', { command_timeout: 7 }, 'timeout', 5_000, 'graph'],
] as const)(
  'in %s with the flags %j the node has %s = %s, from the %s',
  ([body, flags, key, value, source]) => {
    const settings = withFlags(graphOf(body), flags).nodes.get('a')?.settings;
    expect(settings?.[key]).toBe(value);
    expect(settings === undefined ? undefined : sourceOf(settings, key)).toBe(source);
  },
);

test.for([
  ['sandbox=none; a [prompt=x]', 'sandbox', 'none'],
  ['sandbox=none; a [sandbox=auto]', 'sandbox', 'auto'],
  ['a [shape=parallelogram]', 'sandbox', 'auto'],
  ['network=off; a [prompt=x]', 'network', 'off'],
  ['isolation=required; a [shape=parallelogram]', 'isolation', 'required'],
  ['default_max_visits=7; a [prompt=x]', 'max_visits', 7],
  ['default_max_retries=2; a [prompt=x]', 'max_retries', 2],
  ['a [prompt=x]', 'max_retries', undefined],
  ['breaker=5; a [type=verification]', 'breaker', 5],
  ['env_pass=A_KEY; a [env_pass=B_KEY]', 'env_pass', ['A_KEY', 'B_KEY']],
  ['env_pass=A_KEY; a [prompt=x]', 'env_pass', ['A_KEY']],
  ['sandbox_bind="/a"; a [sandbox_bind="/b:rw"]', 'sandbox_bind', ['/a', '/b:rw']],
  ['max_tokens=9; a [prompt=x]', 'max_tokens', undefined],
  ['retry_target=b; a [prompt=x]; b', 'retry_target', undefined],
  ['a [shape=diamond, timeout=1s]', 'timeout', 1_800_000],
  ['a [max_retries=two]', 'max_retries', undefined],
] as const)('in %s the node has %s = %j', ([body, key, value]) => {
  expect(settingsOf(body)[key]).toEqual(value);
});

test.for([
  ['a [type=tool]', 'tool'],
  ['a [shape=Msquare]', 'exit'],
  ['a [shape=box, type=verification]', 'verification'],
  ['a', 'codergen'],
  ['a [type=nonsense]', ''],
] as const)('%s is a node of the type "%s"', ([body, type]) => {
  expect(graphOf(body).nodes.get('a')?.type).toBe(type);
});

test('every invalid value is reported once, at its place, and its setting is as if nothing were said', () => {
  const text = 'digraph { node [timeout=soon]; a [prompt=x]; b [prompt=x, allowed_write_paths="/x,a/../b"] }';
  const { diagnostics, graph, invalid } = typedText(text);
  expect(diagnostics.map(({ message, place }) => [message, place?.span.start.column])).toEqual([
    ['timeout "soon" is not a duration', 25],
    ['allowed_write_paths: "/x" is absolute', 79],
    ['allowed_write_paths: "a/../b" contains ".."', 79],
  ]);
  expect(invalid.size).toBe(2);
  expect(graph.nodes.get('b')?.settings.allowed_write_paths).toBeUndefined();
});

const types = kinds.map(({ type }) => type);
const anyText = fc.oneof(
  fc.string(),
  fc.constantFrom('', '0', '1', 'true', 'none', '5s', '20%', 'a, b', '~/x:rw'),
);
const attributes = (table: Readonly<Record<string, AttributeSpec>>) =>
  fc.dictionary(fc.constantFrom(...Object.keys(table)), anyText, { maxKeys: 6 });
const written = (all: Readonly<Record<string, string>>): string =>
  Object.entries(all)
    .map(([key, value]) => `"${key}"="${value.replace(/[\\"\0]/g, '')}"`)
    .join(' ');

test('whatever the texts are, a setting has the value of the nearest level that has a valid one', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...types),
      attributes(graphAttributes),
      attributes(nodeAttributes),
      (type, ofGraph, ofNode) => {
        const { type: _, ...own } = ofNode;
        const body = `digraph { graph [${written(ofGraph)}] a [type=${type} ${written(own)}] }`;
        const { graph, invalid } = typedText(body);
        const node = graph.nodes.get('a');
        const table = kinds.find((kind) => kind.type === type)?.attributes ?? {};
        for (const [key, spec] of Object.entries<AttributeSpec>(table)) {
          const valueAt = (attrs: typeof graph.attrs, name: string, of: AttributeSpec): unknown => {
            const attribute = attrs.get(name);
            if (attribute === undefined || invalid.has(attribute) || attribute.value.text.trim() === '')
              return undefined;
            const read = of.read(attribute.value);
            return read.ok ? read.value : undefined;
          };
          const mine = valueAt(node?.attrs ?? new Map(), key, spec);
          const specOfGraph = (graphAttributes as Readonly<Record<string, AttributeSpec>>)[spec.graph ?? ''];
          const theirs =
            specOfGraph === undefined ? undefined : valueAt(graph.attrs, spec.graph ?? '', specOfGraph);
          const both = spec.joined === true && mine !== undefined && theirs !== undefined;
          const expected = both
            ? [...(theirs as string[]), ...(mine as string[])]
            : (mine ?? theirs ?? spec.otherwise);
          expect(((node?.settings ?? {}) as unknown as Record<string, unknown>)[key]).toEqual(expected);
        }
      },
    ),
    { numRuns: 100 },
  );
});

test('--fidelity stands after the words of a node and its stylesheet, and before that of the graph; only agents have it', () => {
  const sheet = 'model_stylesheet="#s { fidelity: truncate; }"; default_fidelity=compact;';
  const graph = graphOf(`${sheet} a; b [fidelity=full]; s; t [shape=parallelogram, tool_command=x]`);
  const wordsIn = ({ nodes }: typeof graph) => [...nodes.values()].map(({ settings }) => settings.fidelity);
  expect(wordsIn(graph)).toEqual(['compact', 'full', 'truncate', 'compact']);
  expect(
    wordsIn(withFlags(graph, { fidelity: 'summary:low', max_visits: undefined, command_timeout: undefined })),
  ).toEqual([...['summary:low', 'full', 'truncate', 'compact']]);
});

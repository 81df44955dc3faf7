/** Attributes, events, variables of nodes and fields of records are documented. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { kinds } from '../src/app/kinds.ts';
import { bundledPrices } from '../src/core/budget/prices.ts';
import { agentNames } from '../src/core/contracts/agent.ts';
import { runEventSchema } from '../src/core/events.ts';
import type { Node } from '../src/core/graph.ts';
import { boundedCheckpointSchema } from '../src/core/records/checkpoint.ts';
import { exchangeSchema } from '../src/core/records/exchange.ts';
import { manifestSchema } from '../src/core/records/manifest.ts';
import { runResultSchema } from '../src/core/records/result.ts';
import { callRecordSchema, runRecordSchema } from '../src/core/records/visit.ts';
import { edgeAttributes, graphAttributes } from '../src/core/settings/graph.ts';
import { withOwnWords } from '../src/engine/environment.ts';
import { moneyWords } from '../src/engine/shared-budget.ts';
import { home, root } from './support/cli.ts';

const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => join('docs', name))]
  .map((name) => readFileSync(join(root, name), 'utf8'))
  .join('\n');
const untold = (names: readonly string[]): readonly string[] =>
  names.filter((name) => !new RegExp(`(?<![\\w.])${name.replaceAll('.', '\\.')}(?!\\w)`).test(pages));

test('every attribute of graphs, edges and nodes is in the docs', () => {
  const tables = [graphAttributes, edgeAttributes, ...kinds.map((kind) => kind.attributes)];
  expect(untold([...new Set(tables.flatMap((table) => Object.keys(table)))])).toEqual([]);
});

test('every event is in the docs', () => {
  expect(untold(runEventSchema().options.flatMap((option) => [...option.shape.type.values]))).toEqual([]);
});

test('every variable that a node gets is in the docs', () => {
  const node = { id: 'a', settings: { access: 'run' } } as unknown as Node;
  const run = {
    runId: 'r',
    runDir: '/r',
    workspace: '/w',
    factoryBin: '/b',
    node: '/n',
    processMarker: 'm',
    epoch: 1,
  };
  const desk = { words: (dir: string) => moneyWords(dir, { ...bundledPrices, from: 'a file' }) };
  const given = withOwnWords(
    {},
    run,
    { node, visit: 1, attempt: 1, snapshotId: 's', desk, promptOnly: ['ask'] },
    '/r/a',
  );
  // Internal variables: they find processes that a node has left, count the cost of nested runs, and name the program.
  const ours = /^FACTORY_(?:RUN_MARKER|RUN_EPOCH_.*|BUDGET|NODE_EXEC)$/;
  const names = Object.keys(given).filter((name) => name.startsWith('FACTORY_') && !ours.test(name));
  expect(untold(names)).toEqual([]);
});

/** Names of fields, however deep; what a schema leaves open has none. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as { readonly properties?: object };
  const own = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  return [...own, ...Object.values(schema).flatMap(fieldsOf)];
}

test('docs/records.md names every field of the records, and no other', () => {
  const schemas = [
    manifestSchema(),
    runResultSchema(),
    boundedCheckpointSchema().partial(),
    runRecordSchema(),
    runEventSchema(),
    callRecordSchema(),
    exchangeSchema(),
  ];
  const fields = schemas.flatMap((schema) => fieldsOf(z.toJSONSchema(schema, { unrepresentable: 'any' })));
  const page = readFileSync(join(root, 'docs/records.md'), 'utf8');
  const told = [...page.matchAll(/`([a-z][a-z_0-9]+)\??`/g)].map(([, name = '']) => name);
  expect([...new Set(fields)].filter((name) => !told.includes(name))).toEqual([]);
  const sources = readdirSync(join(root, 'src'), { recursive: true })
    .map(String)
    .filter((name) => /^(?:core|run|git|engine|planner|builder|app)\/.*\.ts$/.test(name))
    .map((name) => readFileSync(join(root, 'src', name), 'utf8'));
  const known = new Set(sources.join('\n').match(/\w+/g));
  expect([...new Set(told)].filter((name) => !known.has(name))).toEqual([]);
});

test('every variable that a user can set is in the docs', () => {
  const files = (readdirSync(join(root, 'src'), { recursive: true }) as string[]).filter((name) =>
    name.endsWith('.ts'),
  );
  const text = files.map((name) => readFileSync(join(root, 'src', name), 'utf8')).join('\n');
  const words =
    /\b(?:FACTORY|ATTRACT(?:OR|ION)|OPENAI|ANTHROPIC|CODEX|CLAUDE|SCENARIO|ARTIFACTS|REQUIRE)_[A-Z_]*[A-Z]\b/g;
  // Variables that factory sets for its programs and for others.
  const ours =
    /^(?:FACTORY_(?:BUDGET|NODE_EXEC|RUN_MARKER|HOLDOUT|PROOF|(?:MIN_)?STRENGTH(?:_BUILD|_BUDGET)?|TIME_LEFT|SURVIVORS|HISTORY)|SCENARIO_(?:RUN_ID|OWN_END|NODE_OPTIONS)|CLAUDE_CODE_(?:DISABLE.*|ENTRYPOINT))$/;
  const attributes = /^(?:FACTORY_(?:CLAUDE|COMMAND|ACP)|ATTRACTOR_CODEX)(?:_|$)/;
  const names = [...new Set(text.match(words) ?? [])].filter(
    (name) => !ours.test(name) && !attributes.test(name),
  );
  expect(untold(names)).toEqual([]);
});

test.for([['run'], ['plan'], ['order', 'run'], ['order', 'run-all']])(
  '%s --help names every agent',
  async (verb) => {
    await using it = await home();
    const { stdout } = await it.factory([...verb, '--help']);
    const flag = /--agent <name>([\s\S]*?)\n {2}-/.exec(stdout)?.[1] ?? '';
    expect(agentNames.filter((name) => !flag.includes(name))).toEqual([]);
  },
);

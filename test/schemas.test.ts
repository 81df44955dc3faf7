/** `schemas/`, by a validator that is not the one of the sources. `npm run reference` writes the files. */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { readProjectFile } from '../src/app/project-file.ts';
import { parsePrices } from '../src/core/budget/prices.ts';
import { root } from './support/cli.ts';
import { home } from './support/in-process.ts';
import { schemaFiles } from './support/schema-files.ts';

/** What is in the folders of examples and templates. */
const scripts = ['examples', 'templates'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true })
    .map((name) => `${folder}/${name}`)
    .filter((name) => /\/(?:agent|answers)\.json$/.test(name)),
);

const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false });
const schemaIn = (name: string) => JSON.parse(readFileSync(join(root, `schemas/${name}.json`), 'utf8'));
const problems = (name: string, value: unknown): string[] => {
  const check = ajv.getSchema(name) ?? ajv.addSchema(schemaIn(name), name).getSchema(name);
  if (check === undefined) throw new Error(`no schema ${name}`);
  return check(value)
    ? []
    : (check.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
};
const lines = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

test('schemas/ has the files of the table and no other', () => {
  const names = readdirSync(join(root, 'schemas')).sort();
  expect(names).toEqual(
    Object.keys(schemaFiles)
      .map((name) => `${name}.json`)
      .sort(),
  );
});

test('the files of a run that failed, asked an agent and forked branches are valid', async () => {
  await using it = await home({
    'p.dot': `digraph {
      workdir="none"
      start -> ask
      ask [prompt="x"]
      ask -> bad
      bad [shape=parallelogram, tool_command="exit 3"]
      bad -> fan [condition="outcome=fail"]
      bad -> end [condition="outcome=success"]
      fan [shape=component]
      fan -> a -> join
      fan -> b -> join
      a [shape=parallelogram, tool_command="true"]
      b [shape=parallelogram, tool_command="true"]
      join [shape=tripleoctagon]
      join -> end
    }`,
    'answers.json': JSON.stringify({
      $schema: 'any/schemas/agent-script.json',
      format: 'factory-script/1',
      answers: { ask: [{ text: 'done', usage: { input_tokens: 1, output_tokens: 1 } }] },
    }),
  });
  const ran = await it.factory(['run', 'p.dot', '--run-id', 'r1', '--script', 'answers.json']);
  expect(ran.code, ran.stdout + ran.stderr).toBe(0);
  const read = (name: string) => it.read(`.factory/runs/r1/${name}`);
  for (const name of ['manifest', 'result', 'checkpoint'])
    expect(problems(name, JSON.parse(await read(`${name}.json`))), name).toEqual([]);
  const journal = lines(await read('journal.jsonl'));
  expect(new Set(journal.map((line) => (line as { type: string }).type))).toContain('Visit');
  for (const line of journal) expect(problems('journal-line', line), JSON.stringify(line)).toEqual([]);
  for (const line of lines(await read('events.jsonl'))) expect(problems('event', line)).toEqual([]);
});

test.for(scripts)('%s is a valid agent script', (name) => {
  expect(problems('agent-script', JSON.parse(readFileSync(join(root, name), 'utf8')))).toEqual([]);
});

const price = { input: 1, output: 2 };
const script = { format: 'factory-script/1', answers: { a: [{ text: 'x' }] } };

test.for<readonly [string, unknown, boolean]>([
  ['agent-script', { $schema: 'x.json', ...script }, true],
  ['agent-script', { ...script, answers: { a: [{ txt: 'x' }] } }, false],
  ['agent-script', { answers: {} }, false],
  [
    'prices',
    { $schema: 'x.json', format: 'factory-prices/1', dated: '2026-01-31', models: { m: price } },
    true,
  ],
  [
    'prices',
    { format: 'factory-prices/1', dated: '2026-01-31', models: { m: { input: -1, output: 0 } } },
    false,
  ],
  [
    'project',
    { $schema: 'x.json', nodes: ['./a.mjs'], providers: { a: { key: 'A_KEY', prices: { m: price } } } },
    true,
  ],
  ['project', { providers: { a: { api: 'soap' } } }, false],
  ['project', { providers: { 'A B': {} } }, false],
  ['project', { provders: {} }, false],
  [
    'routes',
    { $schema: 'x.json', format: 'factory-routes/1', routes: [{ name: 'a', way: 'start > end' }] },
    true,
  ],
  ['routes', { format: 'factory-routes/1', routes: [] }, false],
  ['auto-answers', { gate: 'ship', other: { text: 'no' } }, true],
  ['auto-answers', { gate: 1 }, false],
  ['event', { seq: 0 }, false],
  ['journal-line', { type: 'Visit' }, false],
  ['checkpoint', { run_id: 'r' }, false],
])('by schemas/%s.json %j is valid: %s', ([name, value, valid]) => {
  expect(problems(name, value).length === 0).toBe(valid);
});

test('a file that names its schema is read like one that does not', () => {
  const prices = { format: 'factory-prices/1', dated: '2026-01-31', note: '', models: { m: price } };
  expect(parsePrices('p.json', JSON.stringify({ $schema: 'x.json', ...prices }))).toEqual({ prices });
  const project = join(mkdtempSync(join(tmpdir(), 'factory-schemas-')), 'factory.json');
  writeFileSync(project, JSON.stringify({ $schema: 'x.json', provider: 'mistral' }));
  expect(readProjectFile(project, 'project')).toMatchObject({ content: { provider: 'mistral' } });
  writeFileSync(project, JSON.stringify({ nods: [] }));
  const { found } = readProjectFile(project, 'project') as { found: readonly { fix: string }[] };
  expect(found.map(({ fix }) => fix)).toEqual(['did you mean "nodes"?']);
});

test('the settings of a queue are valid as the command line writes them', async () => {
  await using it = await home({});
  expect((await it.factory(['queue', 'set', 'max_cost_usd_day', '50'])).code).toBe(0);
  expect((await it.factory(['queue', 'set', 'max_running', '2', '--label', 'night'])).code).toBe(0);
  const settings = JSON.parse(await it.read('.factory/runs/queue/settings.json'));
  expect(problems('queue-settings', settings)).toEqual([]);
  expect(problems('queue-settings', { ...settings, max_cost_usd_day: 'much' })).not.toEqual([]);
});

test('plans and proposals of the example are valid', () => {
  const read = (name: string) => JSON.parse(readFileSync(join(root, 'examples/linkcheck', name), 'utf8'));
  const plan = read('plan.json');
  expect(plan.work_orders.length).toBeGreaterThan(0);
  for (const order of plan.work_orders) expect(problems('work-order', order)).toEqual([]);
  expect(problems('write-proposal', read('answers/propose-1.json'))).toEqual([]);
  expect(problems('write-proposal', { writes: [{ path: 'a' }] })).not.toEqual([]);
});

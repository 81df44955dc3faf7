import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { schemasWhenAsked } from '../../scripts/schemas-when-asked.mjs';
import { tools } from '../../src/agents/openai/tools/index.ts';
import { proposalSchemaOf } from '../../src/model/proposal.ts';
import { home } from '../support/cli.ts';

const root = join(import.meta.dirname, '../..');

/** The exports of a module with this text, built with the plugin into `folder`. */
async function built(text: string, folder: string, resolveDir = root) {
  const outfile = join(folder, 'built.cjs');
  await build({
    stdin: { contents: text, resolveDir, loader: 'ts' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    outfile,
    logLevel: 'silent',
    nodePaths: [join(root, 'node_modules')],
    define: { 'import.meta.url': '__filename' },
    plugins: [schemasWhenAsked],
  });
  return createRequire(import.meta.url)(outfile);
}

const isSchema = (value: unknown): value is z.ZodType => value instanceof z.ZodType;
const samples = [
  undefined,
  null,
  0,
  -1,
  1.5,
  'a',
  '',
  true,
  {},
  [],
  [1],
  { schema_version: 1, type: 'Visit', id: 'a' },
];
const said = (schema: z.ZodType) => samples.map((sample) => JSON.stringify(schema.safeParse(sample)));

test('the schemas sent to models are the same', async () => {
  await using it = await home();
  const program = await built(
    `export { tools } from './src/agents/openai/tools/index.ts';
     export { proposalSchemaOf } from './src/model/proposal.ts';`,
    it.path,
  );
  const told = (all: typeof tools) => all.map(({ name, parameters }) => ({ name, parameters }));
  expect(told(program.tools)).toEqual(told(tools));
  expect(JSON.stringify(program.proposalSchemaOf())).toBe(JSON.stringify(proposalSchemaOf()));
});

test('all schemas of the model room have the same form', async () => {
  await using it = await home();
  const names = readdirSync(join(root, 'src/model')).filter((name) => name.endsWith('.ts'));
  const program = await built(
    names.map((name, i) => `export * as m${i} from './src/model/${name}';`).join('\n'),
    it.path,
  );
  let compared = 0;
  for (const [i, name] of names.entries()) {
    const source: Record<string, unknown> = await import(join(root, 'src/model', name));
    for (const [key, value] of Object.entries(source)) {
      if (!isSchema(value)) continue;
      const other: unknown = program[`m${i}`][key];
      if (!isSchema(other)) throw new Error(`${name} has no schema ${key} when it is built`);
      expect(said(other), `${key} of ${name}`).toEqual(said(value));
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(30);
});

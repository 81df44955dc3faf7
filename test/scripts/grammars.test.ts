/** The built program has the grammars of source code with it. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, expect, test } from 'vitest';
import { languageTables } from '../../src/mutants/languages/index.ts';

const root = join(import.meta.dirname, '../..');
const house = mkdtempSync(join(tmpdir(), 'factory-grammars-'));
afterAll(() => rmSync(house, { recursive: true, force: true }));

test('the build has a grammar for each language, for patterns, and their runtime', () => {
  const names = [
    ...Object.values(languageTables).map(({ grammar }) => `tree-sitter-${grammar}`),
    'tree-sitter',
  ];
  expect(readdirSync(join(root, 'dist/grammars')).sort()).toEqual(
    [...names, 'tree-sitter-regex'].map((name) => `${name}.wasm.br`).sort(),
  );
});

test('the built program finds its grammars where no package is installed', async () => {
  for (const part of ['tree-sitter.cjs', 'grammars', 'package.json'])
    cpSync(join(root, 'dist', part), join(house, part), { recursive: true });
  await build({
    ...{ stdin: { contents: `export * from './src/mutants/mutants.ts'`, resolveDir: root } },
    ...{ bundle: true, platform: 'node', format: 'esm', outfile: join(house, 'mutants.mjs') },
  });
  const texts = {
    ...{ js: 'f(/^a/)', ts: '1', tsx: '2', py: '3', go: 'package a\nvar a = 4' },
    ...{ rs: 'const A: u8 = 5;', java: 'class A { int a = 6; }', sh: 'exit 7' },
  };
  writeFileSync(
    join(house, 'main.mjs'),
    `import { mutantsOf } from './mutants.mjs';
     for (const [ending, text] of Object.entries(${JSON.stringify(texts)}))
       console.log(ending, (await mutantsOf({ path: 'A.' + ending, text })).map((one) => one.replacement).join());`,
  );
  const said = execFileSync(process.execPath, ['main.mjs'], { cwd: house, encoding: 'utf8' });
  expect(said).toBe('js ;,\nts 2\ntsx 3\npy 4\ngo 5\nrs 6\njava 7\nsh :,8\n');
});

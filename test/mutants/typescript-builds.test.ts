/** Mutants of TypeScript for its own compiler, as strict as it can be: what it refuses is no defect that scenarios could notice. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutatedTexts } from './support.ts';

const root = join(import.meta.dirname, '../..');
const strict = {
  ...{ strict: true, noUnusedLocals: true, noUnusedParameters: true, noImplicitReturns: true },
  ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, allowUnreachableCode: false },
  ...{
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    module: 'nodenext',
    types: ['node'],
  },
};

test('a strict compiler accepts most mutants, and refuses none for code that is empty or cannot be reached', async () => {
  const place = await mkdtemp(join(tmpdir(), 'builds-'));
  const core = join(place, 'src/core');
  mkdirSync(core, { recursive: true });
  cpSync(join(root, 'src/core'), core, { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
  writeFileSync(join(place, 'package.json'), '{"type":"module"}');
  const files: string[] = [];
  for (const name of ['amounts', 'conditions']) {
    const text = readFileSync(join(core, `${name}.ts`), 'utf8');
    for (const [n, { mutated }] of (await mutatedTexts(`${name}.ts`, text)).entries()) {
      // Next to the original, so that what it imports is where it was.
      files.push(`src/core/${name}.mutant-${n}.ts`);
      writeFileSync(join(place, files.at(-1) ?? ''), mutated);
    }
  }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions: strict, files }));
  const compiler = join(root, 'node_modules/typescript/lib/tsc.js');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', '.', '--pretty', 'false'], {
    ...{ cwd: place, encoding: 'utf8', maxBuffer: 1e8 },
  });
  expect(stdout).not.toMatch(/error TS(?:1313|7027):/);
  const refused = new Set([...stdout.matchAll(/^(\S+mutant-\d+\.ts)\(/gm)].map(([, file]) => file));
  expect(files.length).toBeGreaterThan(500);
  expect(refused.size / files.length).toBeLessThan(0.13);
  expect(refused.size).toBeGreaterThan(0);
});

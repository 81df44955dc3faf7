/** What holds for mutants in every language; what each language admits is in the tables next to this file. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'acorn';
import { expect, test } from 'vitest';
import { languageTables, mutantLanguage } from '../../src/mutants/languages/index.ts';
import { mutantsOf, mutatedText } from '../../src/mutants/mutants.ts';
import { parseSource } from '../../src/platform/grammars.ts';
import { described, mutatedTexts } from './support.ts';

const root = join(import.meta.dirname, '../..');

test.for([
  ['src/a.js', 'javascript'],
  ['a.mjs', 'javascript'],
  ['a.cjs', 'javascript'],
  ['a.jsx', 'javascript'],
  ['a.b.ts', 'typescript'],
  ['a.mts', 'typescript'],
  ['a.tsx', 'tsx'],
  ['x/a.py', 'python'],
  ['a.go', 'go'],
  ['a.rs', 'rust'],
  ['A.java', 'java'],
  ['A.PY', 'python'],
  ['a.sh', 'bash'],
  ['a.bash', 'bash'],
  ['a.rb', undefined],
  ['README.md', undefined],
  ['Makefile', undefined],
] as const)('the language of %s is %s', ([path, language]) => {
  expect(mutantLanguage(path)).toBe(language);
});

test('a program without an ending has the language of its interpreter', () => {
  expect(mutantLanguage('bin/tool', '#!/usr/bin/env node\n')).toBe('javascript');
  expect(mutantLanguage('bin/tool', '#!/usr/bin/python3\n')).toBe('python');
  expect(mutantLanguage('bin/tool', '#!/usr/bin/env -S bash -e\n')).toBe('bash');
  expect(mutantLanguage('bin/tool', '#!/usr/bin/env -S uv run --script\n')).toBe('python');
  expect(mutantLanguage('bin/tool.cgi', '#!/usr/bin/env bun\n')).toBe('typescript');
  expect(mutantLanguage('bin/tool', '#!/bin/zsh\n')).toBeUndefined();
  expect(mutantLanguage('bin/tool', 'node\n')).toBeUndefined();
});

test('a file in an unknown language has no mutants', async () => {
  expect(await mutantsOf({ path: 'a.rb', text: 'puts 1 + 2' })).toEqual([]);
});

test('only mutants that begin in the given lines are made', async () => {
  const text = 'let a = 1;\nlet b = a &&\n  c;\n';
  expect(await described('a.js', text, new Set([1]))).toEqual(['1 number: 1 → 2']);
  expect(await described('a.js', text, new Set([3]))).toEqual([]);
  expect(await described('a.js', text, new Set())).toEqual([]);
});

test('an id names path, text, place and change', async () => {
  const ids = async (path: string, text: string) => (await mutantsOf({ path, text })).map(({ id }) => id);
  const first = await ids('a.js', 'f(1 + 2);');
  expect(new Set(first).size).toBe(first.length);
  expect(await ids('a.js', 'f(1 + 2);')).toEqual(first);
  for (const others of [await ids('b.js', 'f(1 + 2);'), await ids('a.js', 'f(1 + 3);')])
    expect(others.filter((id) => first.includes(id))).toEqual([]);
});

test('offsets count UTF-16 units', async () => {
  const text = "const a = '🎉é', b = 1;";
  const mutants = await mutatedTexts('a.js', text);
  expect(mutants.map(({ mutated }) => mutated)).toEqual(["const a = '', b = 1;", "const a = '🎉é', b = 2;"]);
});

test('a part that its grammar does not understand keeps the rest from nothing', async () => {
  expect(await described('a.js', 'f(1);\nlet = = ;\ng(2);\n')).toContain('1 number: 1 → 2');
});

async function errorsIn(path: string, text: string): Promise<number> {
  const source = await parseSource(mutantLanguage(path) ?? 'bash', text);
  const errors = source.errors();
  source.close();
  return errors;
}

/** Files of this project, which no test of the tables has seen. */
const files = [
  'src/mutants/rules.ts',
  'src/core/conditions.ts',
  'src/web/page/views/evidence.tsx',
  'scripts/build.mjs',
  'scripts/scenarios/preflight_scenario.sh',
];

test.for(files)('mutants of %s parse, and no two are the same', async (path) => {
  const text = readFileSync(join(root, path), 'utf8');
  const mutants = await mutatedTexts(path, text);
  expect(mutants.length).toBeGreaterThan(20);
  expect(new Set([text, ...mutants.map(({ mutated }) => mutated)]).size).toBe(mutants.length + 1);
  const before = await errorsIn(path, text);
  for (const { mutated } of mutants.filter((_, at) => at % 40 === 0)) {
    // A fresh tree: the mutants were made with one that was edited.
    expect(await errorsIn(path, mutated), mutated).toBeLessThanOrEqual(before);
  }
});

test('mutants of JavaScript parse for another parser, too', async () => {
  const text = readFileSync(join(root, 'scripts/build.mjs'), 'utf8');
  for (const mutant of await mutantsOf({ path: 'build.mjs', text }))
    expect(
      () => parse(mutatedText(text, mutant), { ecmaVersion: 'latest', sourceType: 'module' }),
      `${mutant.line} ${mutant.operator}`,
    ).not.toThrow();
});

test.for([
  ['javascript', 'a.js', 'f(1);\n'],
  ['typescript', 'a.ts', 'f(1);\n'],
  ['tsx', 'a.tsx', 'f(1);\n'],
  ['python', 'a.py', 'x = f(1)\nx = f(2)\n'],
  ['go', 'a.go', 'package a\n\nvar x = 1\n'],
  ['rust', 'a.rs', 'fn f() -> i32 { 1 }\n'],
  ['java', 'A.java', 'class A { int a = 1; }\n'],
  ['bash', 'a.sh', 'if f 1; then g; fi\n'],
] as const)('a comment at the end of %s changes no mutant', async ([language, path, text]) => {
  const placesIn = async (of: string) =>
    (await mutantsOf({ path, text: of })).map(({ start, end, replacement }) => [start, end, replacement]);
  const places = await placesIn(text);
  expect(places.length).toBeGreaterThan(0);
  expect(await placesIn(`${text}${languageTables[language].comment} - 1 < x && y;\n`)).toEqual(places);
});

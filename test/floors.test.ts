/** Rooms of src/ have levels: a file imports from its own room and from the rooms that the table allows, never up, never
 *  sideways. Time, processes and the network are reached through platform/ only. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const belowApp = [
  ...['core', 'platform', 'dot', 'agents', 'git', 'run', 'workspace', 'contents', 'lint', 'nodes', 'holdout'],
  ...['fleet', 'mutants', 'scenarios', 'planner', 'builder', 'engine', 'verify', 'github'],
];

/** Room → the rooms that it may import. A file directly in `src/` is a separate room. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  platform: ['core'],
  dot: ['core'],
  agents: ['platform', 'core'],
  git: ['platform', 'core'],
  github: ['platform', 'core'],
  contents: ['platform', 'core'],
  workspace: ['contents', 'platform', 'core'],
  run: ['workspace', 'contents', 'platform', 'core'],
  lint: ['dot', 'core'],
  nodes: ['platform', 'core'],
  holdout: ['workspace', 'run', 'platform', 'core'],
  fleet: ['run', 'platform', 'core'],
  mutants: ['platform', 'core'],
  scenarios: ['mutants', 'platform', 'core'],
  planner: ['platform', 'core'],
  builder: ['git', 'workspace', 'run', 'platform', 'core'],
  engine: ['fleet', 'holdout', 'workspace', 'run', 'dot', 'platform', 'core'],
  verify: ['holdout', 'git', 'workspace', 'run', 'dot', 'platform', 'core'],
  app: belowApp,
  keeper: ['app', ...belowApp],
  web: ['keeper', 'app', ...belowApp],
  lsp: ['app', ...belowApp],
  cli: ['lsp', 'web', 'keeper', 'app', ...belowApp],
  'index.ts': ['web', 'keeper', 'app', ...belowApp],
};

/** What the pure room may import besides its own files. */
const pure = /^(?:zod|node:(?:path|path\/posix|crypto|util))$/;

/** Modules that give access to time, processes or the network, and the files that may import them. */
const doors: readonly { readonly module: RegExp; readonly may: RegExp }[] = [
  { module: /^node:child_process$/, may: /^platform\// },
  { module: /^node:timers/, may: /^platform\// },
  { module: /^(node:)?https?$|^node:net$/, may: /^platform\// },
];

const globals: readonly { readonly what: RegExp; readonly may: RegExp; readonly fix: string }[] = [
  { what: /\bDate\.now\(|\bnew Date\(\)/, may: /^platform\/|^web\/page\//, fix: 'take a Clock' },
  {
    what: /(?<![.\w])set(?:Timeout|Interval|Immediate)\(/,
    may: /^platform\/|^web\/page\//,
    fix: 'take a Clock',
  },
  { what: /(?<![.\w])fetch\(/, may: /^platform\/|^web\/page\//, fix: 'use the OpenAI client' },
  {
    what: /\bprocess\.exit\b/,
    may: /^cli\/process\.ts$|^platform\/embedded\//,
    fix: 'answer with an exit code',
  },
  { what: /\bconsole\.\w+\(/, may: /^$/, fix: 'answer with text; cli/process.ts prints it' },
];

const source = join(import.meta.dirname, '../src');
const files = (readdirSync(source, { recursive: true }) as string[])
  .filter((name) => /\.tsx?$/.test(name) && statSync(join(source, name)).isFile())
  .sort();
const texts = new Map(files.map((file) => [file, readFileSync(join(source, file), 'utf8')]));
const textOf = (file: string): string => texts.get(file) ?? '';
const roomOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? '') : file);
const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

const importsOf = (text: string): string[] =>
  [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s*'([^']+)'|import\(\s*'([^']+)'\s*\)|^import\s+'([^']+)'/gm,
    ),
  ].map((found) => found[1] ?? found[2] ?? found[3] ?? '');

test('every room is in the table, and the table has no other', () => {
  expect([...new Set(files.map(roomOf))].sort()).toEqual(Object.keys(mayImport).sort());
});

test('the table has no circle', () => {
  const done = new Set<string>();
  for (let left = Object.keys(mayImport); left.length > 0; ) {
    const free = left.filter((room) => mayImport[room]?.every((other) => done.has(other)));
    expect(free, `a circle among ${left.join(', ')}`).not.toEqual([]);
    for (const room of free) done.add(room);
    left = left.filter((room) => !done.has(room));
  }
});

test.for(files)('%s imports from its own room and from those that the table allows', (file) => {
  const room = roomOf(file);
  for (const imported of importsOf(textOf(file))) {
    if (!imported.startsWith('.')) {
      if (room === 'core')
        expect(pure.test(imported), `src/${file} imports ${imported}: core is pure`).toBe(true);
      continue;
    }
    const target = relative(source, join(source, dirname(file), imported));
    const other = roomOf(target);
    expect(
      other === room || mayImport[room]?.includes(other),
      `src/${file} imports src/${target}: move what both need to a lower room, or hand it in from above`,
    ).toBe(true);
  }
});

test('no files import each other in a circle when they load', () => {
  // Neither types nor what a function loads later.
  const loads = (text: string) => importsOf(text.replace(/^(?:import|export) type [^;]*;|\bimport\(/gm, ''));
  const left = new Map(
    files.map((file) => [
      file,
      loads(textOf(file))
        .filter((imported) => imported.startsWith('.'))
        .map((imported) => join(dirname(file), imported)),
    ]),
  );
  for (let before = 0; before !== left.size; ) {
    before = left.size;
    for (const [file, imported] of left) if (!imported.some((other) => left.has(other))) left.delete(file);
  }
  expect([...left.keys()], 'these files, or others that import them, form a circle').toEqual([]);
});

test.for(files)('%s reaches the world through its door', (file) => {
  const text = textOf(file);
  for (const imported of importsOf(text)) {
    const door = doors.find(({ module }) => module.test(imported));
    expect(
      door === undefined || door.may.test(file),
      `src/${file} imports ${imported}: use what platform/ offers`,
    ).toBe(true);
  }
  const code = withoutComments(text);
  for (const { what, may, fix } of globals) {
    expect(!what.test(code) || may.test(file), `src/${file} uses ${what.source}: ${fix}`).toBe(true);
  }
});

test('no two modules export the same name', () => {
  const owners = new Map<string, Set<string>>();
  for (const file of files)
    for (const [, name = ''] of textOf(file).matchAll(
      /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|type|interface|enum) (\w+)/gm,
    ))
      owners.set(name, (owners.get(name) ?? new Set()).add(file));
  const doubled = [...owners].filter(([, by]) => by.size > 1).map(([name, by]) => [name, ...by].join(' '));
  expect(doubled, 'a name that is searched for has one place').toEqual([]);
});

test('no file has outgrown a page by far', () => {
  const long = files.filter((file) => textOf(file).split('\n').length > 420);
  expect(long, 'a file that is two thoughts is two files').toEqual([]);
});

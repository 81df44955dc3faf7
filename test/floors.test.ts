/** Rooms of src/ have floors: a file imports from its own room and from lower floors, never up, never sideways. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

/** Room → floor. A file directly in `src/` is a separate room. */
const floors: Readonly<Record<string, number>> = {
  model: 1,
  system: 1,
  dot: 2,
  policy: 2,
  lint: 3,
  store: 3,
  workspace: 3,
  agents: 3,
  planner: 3,
  builder: 3.8,
  scenario: 3,
  nodes: 4,
  audit: 4,
  engine: 5,
  factory: 6,
  verify: 6,
  'factory.ts': 6.5,
  executor: 7,
  commands: 8,
  'index.ts': 8,
  'command-line.ts': 8.5,
  'program.ts': 9,
  'cli.ts': 10,
};

/** Modules that give access to time, processes or the network, and the files that may import them. */
const doors: readonly { readonly module: RegExp; readonly may: RegExp }[] = [
  { module: /^node:child_process$/, may: /^system\// },
  { module: /^node:timers/, may: /^system\// },
  { module: /^(node:)?https?$|^node:net$/, may: /^system\// },
];

const globals: readonly { readonly what: RegExp; readonly may: RegExp; readonly fix: string }[] = [
  { what: /\bDate\.now\(|\bnew Date\(\)/, may: /^system\//, fix: 'take a Clock' },
  { what: /(?<![.\w])set(?:Timeout|Interval|Immediate)\(/, may: /^system\//, fix: 'take a Clock' },
  { what: /(?<![.\w])fetch\(/, may: /^system\//, fix: 'use the OpenAI client' },
  { what: /\bprocess\.exit\b/, may: /^program\.ts$|^system\/embedded\//, fix: 'answer with an exit code' },
  { what: /\bconsole\.\w+\(/, may: /^$/, fix: 'answer with text; program.ts prints it' },
];

const source = join(import.meta.dirname, '../src');
const files = (readdirSync(source, { recursive: true }) as string[])
  .filter((name) => name.endsWith('.ts') && statSync(join(source, name)).isFile())
  .sort();
const roomOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? '') : file);
const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

const importsOf = (text: string): string[] =>
  [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s*'([^']+)'|import\(\s*'([^']+)'\s*\)|^import\s+'([^']+)'/gm,
    ),
  ].map((found) => found[1] ?? found[2] ?? found[3] ?? '');

test('every room has a floor, and every floor a room', () => {
  expect([...new Set(files.map(roomOf))].sort()).toEqual(Object.keys(floors).sort());
});

test.for(files)('%s imports from its own room and from lower floors only', (file) => {
  const room = roomOf(file);
  for (const imported of importsOf(readFileSync(join(source, file), 'utf8')).filter((name) =>
    name.startsWith('.'),
  )) {
    const target = relative(source, join(source, dirname(file), imported));
    const other = roomOf(target);
    const mine = floors[room] ?? 0;
    const theirs = floors[other] ?? Number.POSITIVE_INFINITY;
    expect(
      other === room || theirs < mine,
      `src/${file} (floor ${mine}) imports src/${target} (floor ${theirs}): move what both need to a lower floor, or hand it in from above`,
    ).toBe(true);
  }
});

test.for(files)('%s reaches the world through its door', (file) => {
  const text = readFileSync(join(source, file), 'utf8');
  for (const imported of importsOf(text)) {
    const door = doors.find(({ module }) => module.test(imported));
    expect(
      door === undefined || door.may.test(file),
      `src/${file} imports ${imported}: use what system/ offers`,
    ).toBe(true);
  }
  const code = withoutComments(text);
  for (const { what, may, fix } of globals) {
    expect(!what.test(code) || may.test(file), `src/${file} uses ${what.source}: ${fix}`).toBe(true);
  }
});

test('no file has outgrown a page by far', () => {
  const long = files.filter((file) => readFileSync(join(source, file), 'utf8').split('\n').length > 420);
  expect(long, 'a file that is two thoughts is two files').toEqual([]);
});

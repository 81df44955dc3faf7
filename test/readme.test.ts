/** The documents match the program. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { kinds } from '../src/app/kinds.ts';
import { home, root } from './support/cli.ts';
import { findingsOf } from './support/graph.ts';

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const map = readFileSync(join(root, 'AGENTS.md'), 'utf8');
const blocks = [...readme.matchAll(/```dot\n([\s\S]*?)```/g)].map((found) => found[1] ?? '');

test('the README shows a pipeline', () => {
  expect(blocks.length).toBeGreaterThan(0);
});

test.for(blocks)('a pipeline of the README is valid, and runs as described', async (text) => {
  expect(findingsOf(text)).toEqual([]);
  await using it = await home({ 'greet.dot': text });
  const ran = await it.factory(['run', 'greet.dot', '--var', 'name=Ada', '--run-id', 'r1']);
  expect(ran.code, ran.stderr).toBe(0);
  expect(await it.read('.factory/runs/r1/workspace/hello.txt')).toBe('Hello, Ada!\n');
});

const drawn = readdirSync(join(root, 'docs')).flatMap((name) =>
  [...readFileSync(join(root, 'docs', name), 'utf8').matchAll(/```dot\n(digraph [\s\S]*?)```/g)].map(
    (found) => [name, found[1] ?? ''] as const,
  ),
);

test.for(drawn)('a pipeline of docs/%s is valid, without a warning', ([, text]) => {
  expect(findingsOf(text)).toEqual([]);
});

test.for(readdirSync(join(root, 'pipelines')))('pipelines/%s is valid, without a warning', (name) => {
  expect(findingsOf(readFileSync(join(root, 'pipelines', name), 'utf8'))).toEqual([]);
});

const pages = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

test.for(['README.md', 'AGENTS.md', 'CHANGELOG.md', ...pages])('the links of %s lead somewhere', (name) => {
  const text = readFileSync(join(root, name), 'utf8');
  const targets = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map((found) => found[1] ?? '');
  expect(targets.filter((target) => !existsSync(join(root, dirname(name), target)))).toEqual([]);
});

test('no line of README is wider than 130 columns', () => {
  const lines = readFileSync(join(root, 'README.md'), 'utf8').split('\n');
  expect(lines.filter((line) => line.length > 130)).toEqual([]);
});

/** As GitHub names the heading of a section. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

test.for(['README.md', 'AGENTS.md', ...pages])('the sections that %s links to are there', (name) => {
  const text = readFileSync(join(root, name), 'utf8');
  const targets = [...text.matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)].filter(([, file = '', anchor = '']) => {
    const page = readFileSync(file === '' ? join(root, name) : join(root, dirname(name), file), 'utf8');
    return ![...page.matchAll(/^#+ (.+)$/gm)].some(([, heading = '']) => anchorOf(heading) === anchor);
  });
  expect(targets.map(([link]) => link)).toEqual([]);
});

test('the map names every room there is', () => {
  const rooms = readdirSync(join(root, 'src'), { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );
  expect(rooms.filter((room) => !map.includes(room))).toEqual([]);
});

test('every kind of node is in the README', () => {
  expect(kinds.map((kind) => kind.type).filter((type) => !readme.includes(`\`${type}\``))).toEqual([]);
});

test('no file of the project names a path of one machine', () => {
  const folders = ['src', 'test', 'prompts', 'pipelines', 'examples', 'scripts'];
  const files = folders.flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[]).map((name) => join(folder, name)),
  );
  const bad = files.filter(
    (file) =>
      /\.(ts|md|json|dot|mjs|sh)$/.test(file) &&
      /\/(?:work\/main|root\/\.|home\/[a-z]+\/src)/.test(readFileSync(join(root, file), 'utf8')) &&
      !file.endsWith('readme.test.ts'),
  );
  expect(bad).toEqual([]);
});

test("the README's picture shows every node of the main pipeline", () => {
  expect(readme).toContain('"docs/run.svg"');
  const picture = readFileSync(join(root, 'docs/run.svg'), 'utf8');
  const pipeline = readFileSync(join(root, 'pipelines/compile-and-build.dot'), 'utf8');
  const nodes = [...pipeline.matchAll(/^ {2}(?!graph)(\w+) \[(?:$|shape=)/gm)].map(([, id]) => id);
  expect(nodes.length).toBeGreaterThan(20);
  // If one is missing: npm run pictures.
  expect(nodes.filter((id) => !picture.includes(`data-node="${id}"`))).toEqual([]);
});

/** Our pipelines are Graphviz DOT: `dot` reads every pipeline of ours and every DOT block of the documents. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { printGraph } from '../src/dot/format.ts';
import { root } from './support/cli.ts';

const missing = spawnSync('dot', ['-V']).error !== undefined;
const read = (...path: readonly string[]) => readFileSync(join(root, ...path), 'utf8');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => join('docs', name))];
const texts = [
  ...readdirSync(join(root, 'pipelines')).map(
    (name) => [`pipelines/${name}`, read('pipelines', name)] as const,
  ),
  ...pages.flatMap((page) =>
    [...read(page).matchAll(/```dot\n([\s\S]*?)```/g)].map((found) => [page, found[1] ?? ''] as const),
  ),
];

const drawn = (text: string) => {
  const { status, stderr } = spawnSync('dot', ['-Tsvg'], { input: text, encoding: 'utf8' });
  return { status, stderr: stderr.match(/.*syntax error.*/g) ?? [] };
};

test.for(texts)('Graphviz draws the pipeline in %s, printed by factory fmt too', ([, text], { skip }) => {
  if (missing) skip('there is no program dot: install Graphviz');
  expect(drawn(text)).toEqual({ status: 0, stderr: [] });
  expect(drawn(printGraph(text))).toEqual({ status: 0, stderr: [] });
});

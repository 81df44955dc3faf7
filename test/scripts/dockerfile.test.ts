/** The Dockerfile, which no test builds: by a linter, and what of it can be compared with the project. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'Dockerfile'), 'utf8');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  bin: Record<string, string>;
};

/** The last instruction of that name, as the image has it. */
const last = (name: string): string | undefined =>
  [...text.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].at(-1)?.[1];

test('the linter finds nothing in it, and something in a wrong one', () => {
  expect(validate(text)).toEqual([]);
  expect(validate(text.replace('ENTRYPOINT', 'ENTRYPIONT'))).toHaveLength(1);
});

test('the image starts the command, not as root', () => {
  expect(Object.keys(manifest.bin)).toContain(JSON.parse(last('ENTRYPOINT') ?? '[]')[0]);
  expect(last('USER')).toBe('node');
});

test('what the build makes anew is not copied into it', () => {
  const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const made = readFileSync(join(root, '.gitignore'), 'utf8')
    .split('\n')
    .map((line) => line.replaceAll('/', ''));
  for (const name of ['node_modules', 'dist', 'types', '.factory']) {
    expect(made).toContain(name);
    expect(ignored).toContain(name);
  }
});

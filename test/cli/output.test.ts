/** `-o`: nothing that was read is replaced, links are followed, streams are written. */
import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, lstatSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';

const good = 'digraph g { workdir="none"; start [shape=Mdiamond] exit [shape=Msquare] start -> exit }';

test.for<readonly [string, string, string]>([
  ['the pipeline itself', 'p.dot', 'the input itself'],
  ['the pipeline by another path', './sub/../p.dot', 'the input itself'],
  ['a link to it', 'link.dot', 'the input itself'],
  ['a hard link of it', 'hard.dot', 'the input itself'],
  ['another pipeline', 'other.dot', 'is a pipeline'],
  ['a pipeline that begins with comments', 'noted.gv', 'is a pipeline'],
  ['a link to another pipeline', 'far.dot', 'is a pipeline'],
  ['a folder', 'sub', 'is a directory'],
])('a drawing does not replace %s', async ([, output, why]) => {
  await using it = await home({
    'p.dot': good,
    'other.dot': good,
    'noted.gv': `// a note\n# another\n/* and\none */ ${good}`,
    'sub/x': '',
  });
  symlinkSync('p.dot', join(it.path, 'link.dot'));
  symlinkSync(join(it.path, 'other.dot'), join(it.path, 'far.dot'));
  linkSync(join(it.path, 'p.dot'), join(it.path, 'hard.dot'));
  chmodSync(join(it.path, 'p.dot'), 0o444);
  const { code, stderr } = await it.factory(['graph', 'p.dot', '-o', output, '--format', 'dot']);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
  for (const file of ['p.dot', 'other.dot']) expect(await it.read(file)).toBe(good);
});

test('a drawing replaces an earlier drawing, with its mode, and the target of a link', async () => {
  await using it = await home({ 'p.dot': good, 'real.svg': 'old' });
  symlinkSync('real.svg', join(it.path, 'link.svg'));
  symlinkSync('missing.svg', join(it.path, 'dangling.svg'));
  for (const output of ['drawn.dot', 'drawn.dot', 'link.svg', 'dangling.svg'])
    expect(await it.factory(['graph', 'p.dot', '-o', output])).toMatchObject({ code: 0, stderr: '' });
  expect(readlinkSync(join(it.path, 'link.svg'))).toBe('real.svg');
  for (const file of ['real.svg', 'missing.svg']) expect(await it.read(file)).toContain('<svg');
});

test('a drawing of a run and its exported answers replace nothing in its directory', async () => {
  await using it = await home({ 'p.dot': good });
  await it.factory(['run', 'p.dot', '--run-id', 'r1']);
  const manifest = await it.read('.factory/runs/r1/manifest.json');
  const drawn = ['graph', 'r1', '--format', 'svg', '-o', '.factory/runs/r1/manifest.json'];
  for (const words of [drawn, ['record', 'export', 'r1', '-o', '.factory/runs/r1/new.json']]) {
    const { code, stderr } = await it.factory(words);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('in the folder') });
  }
  expect(await it.read('.factory/runs/r1/manifest.json')).toBe(manifest);
});

test('a named pipe and a link to an open file are written as streams and stay what they are', async () => {
  await using it = await home({ 'p.dot': good });
  const pipe = join(it.path, 'pipe.svg');
  execFileSync('mkfifo', [pipe]);
  const [text, { code, stderr }] = await Promise.all([
    readFile(pipe, 'utf8'),
    it.factory(['graph', 'p.dot', '-o', 'pipe.svg']),
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'pipe.svg: 2 nodes, 1 edge\n' });
  expect(text).toContain('<svg');
  expect(lstatSync(pipe).isFIFO()).toBe(true);
  symlinkSync('/dev/null', join(it.path, 'null.svg'));
  expect((await it.factory(['graph', 'p.dot', '-o', 'null.svg'])).code).toBe(0);
  expect(readlinkSync(join(it.path, 'null.svg'))).toBe('/dev/null');
  expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);
  expect(readFileSync('/dev/null')).toHaveLength(0);
});

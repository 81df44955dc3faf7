import { lstat, readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Home, home } from '../support/in-process.ts';

const messy = 'digraph g { a[codex.workdir="x"];  a->b }';
const tidy = 'digraph g {\n  a ["codex.workdir"="x"]\n  a -> b\n}\n';

async function formatted(it: Home, files: readonly string[], ...flags: readonly string[]) {
  const { code, stdout, stderr } = await it.factory(['fmt', ...flags, ...files]);
  return { code, out: stdout, err: stderr };
}

test('files are formatted in place, and the names of those that changed are printed', async () => {
  await using it = await home({ 'a.dot': messy, 'b.dot': tidy });
  expect(await formatted(it, ['a.dot', 'b.dot'])).toEqual({ code: 0, out: 'a.dot\n', err: '' });
  expect(await it.read('a.dot')).toBe(tidy);
  expect(await formatted(it, ['a.dot', 'b.dot'])).toEqual({ code: 0, out: '', err: '' });
});

test('--check changes nothing, prints the files that would change, and ends with code 1', async () => {
  await using it = await home({ 'a.dot': messy, 'b.dot': tidy });
  expect(await formatted(it, ['a.dot', 'b.dot'], '--check')).toEqual({
    code: 1,
    out: 'a.dot\n',
    err: '',
  });
  expect(await it.read('a.dot')).toBe(messy);
  expect((await formatted(it, ['b.dot'], '--check')).code).toBe(0);
});

test('a file with mistakes stays unchanged, is reported, and the others are formatted', async () => {
  await using it = await home({ 'bad.dot': 'digraph g { a -> }', 'a.dot': messy });
  const { code, out, err } = await formatted(it, ['bad.dot', 'missing.dot', 'a.dot']);
  expect([code, out]).toEqual([2, 'a.dot\n']);
  expect(err).toContain('this edge has no target');
  expect(err).toContain('there is no pipeline file missing.dot');
  expect(await it.read('bad.dot')).toBe('digraph g { a -> }');
});

test('permissions stay, and a symbolic link leads where it led', async () => {
  await using it = await home({ 'real.dot': messy });
  const link = join(it.path, 'link.dot');
  await symlink('real.dot', link);
  const { mode } = await stat(link);
  expect((await formatted(it, ['link.dot'])).code).toBe(0);
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect((await stat(link)).mode).toBe(mode);
  expect(await readFile(join(it.path, 'real.dot'), 'utf8')).toBe(tidy);
});

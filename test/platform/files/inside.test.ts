import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { assertStaysInNode, filesInside } from '../../../src/platform/files/inside.ts';

function places() {
  const root = mkdtempSync(join(tmpdir(), 'factory-inside-'));
  const [workspace, outside] = [join(root, 'w'), join(root, 'o')];
  for (const folder of [workspace, outside]) mkdirSync(folder);
  writeFileSync(join(outside, 'secret'), 's');
  return { workspace, outside, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

test('a folder that is a link is neither read nor written through, nor is anything in it removed', async () => {
  using it = places();
  symlinkSync(it.outside, join(it.workspace, 'link'));
  const files = filesInside(it.workspace);
  const refused = { code: 'ELOOP' };
  expect(() => files.read('link/secret')).toThrow(expect.objectContaining(refused));
  await expect(files.write('link/new', 'x')).rejects.toMatchObject(refused);
  await expect(files.write('link/a/b', 'x')).rejects.toMatchObject(refused);
  expect(() => files.remove('link/secret')).toThrow(expect.objectContaining(refused));
  expect(existsSync(join(it.outside, 'secret'))).toBe(true);
});

test('a link in place of a file is replaced or removed, not followed', async () => {
  using it = places();
  const link = join(it.workspace, 'a');
  symlinkSync(join(it.outside, 'secret'), link);
  const files = filesInside(it.workspace);
  expect(files.read('a')).toEqual({ kind: 'none', why: 'is a symbolic link' });
  await files.write('a', 'x');
  expect([readFileSync(link, 'utf8'), readFileSync(join(it.outside, 'secret'), 'utf8')]).toEqual(['x', 's']);
});

test('a path that a node names may not lead out of its workspace; one typed by hand may', () => {
  using it = places();
  symlinkSync(join(it.outside, 'secret'), join(it.workspace, 'a'));
  const io = { cwd: it.workspace, env: {} };
  assertStaysInNode(io, 'a');
  const inNode = { ...io, env: { FACTORY_NODE: 'n' } };
  assertStaysInNode(inNode, 'missing');
  expect(() => assertStaysInNode(inNode, 'a')).toThrow('leads out of the workspace');
});

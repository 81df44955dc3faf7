import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeAside, removeTree } from '../../../src/platform/files/remove.ts';
import {
  isCode,
  makeFolder,
  overwriteJson,
  removeNow,
  writeFileAtomic,
  writeFresh,
  writeNewFile,
} from '../../../src/platform/files/write.ts';
import { asHeldByModes } from '../../workspace/folders.ts';
import { temp } from '../temp.ts';

const isFolder = async (path: string) => (await stat(path)).isDirectory();

test('a folder is made with those above it, and the first new one is returned', async () => {
  await using it = await temp();
  expect(makeFolder(join(it.dir, 'a/b/c'))).toBe(join(it.dir, 'a'));
  expect(await isFolder(join(it.dir, 'a/b/c'))).toBe(true);
  expect(makeFolder(join(it.dir, 'a/b/c'))).toBeUndefined();
  expect(makeFolder(join(it.dir, 'a/d'))).toBe(join(it.dir, 'a/d'));
});

test('where no folder can be made, it ends with the reason', async () => {
  await using it = await temp();
  await writeFile(join(it.dir, 'file'), '');
  await mkdir(join(it.dir, 'real'));
  await symlink('nowhere', join(it.dir, 'dangling'));
  expect(() => makeFolder(join(it.dir, 'file'))).toThrow('EEXIST');
  expect(() => makeFolder(join(it.dir, 'file/below'))).toThrow('ENOTDIR');
  expect(() => makeFolder(join(it.dir, 'dangling/below'))).toThrow('EEXIST');
  if (process.platform === 'linux') expect(() => makeFolder('/proc/nothing/below')).toThrow('ENOENT');
});

test('a folder in a file’s place is removed only on request', async () => {
  await using it = await temp();
  await mkdir(it.at('result.json/x'), { recursive: true });
  await expect(writeFileAtomic(it.at('result.json'), 'r')).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await readdir(it.dir)).toEqual(['result.json']);
  await writeFileAtomic(it.at('result.json'), 'r', { evenFolder: true });
  expect(await readFile(it.at('result.json'), 'utf8')).toBe('r');
});

test('a JSON text may be written over a longer or a shorter one', async () => {
  await using it = await temp();
  await writeFile(it.at('a.json'), '{}\n');
  for (const value of [{ long: 'x'.repeat(300) }, { short: 1 }, { long: 'y'.repeat(100) }]) {
    expect(overwriteJson(it.at('a.json'), value)).toBe(true);
    const text = await readFile(it.at('a.json'), 'utf8');
    expect(JSON.parse(text)).toEqual(value);
    expect(text.endsWith('\n')).toBe(true);
  }
});

test('it is not written through a link, nor where there is none', async () => {
  await using it = await temp();
  await writeFile(it.at('a.json'), '{}\n');
  await symlink(it.at('a.json'), it.at('link'));
  await mkdir(it.at('folder'));
  for (const name of ['link', 'folder', 'none']) expect(overwriteJson(it.at(name), { x: 1 })).toBe(false);
  expect(await readFile(it.at('a.json'), 'utf8')).toBe('{}\n');
});

test('a file may come in pieces; before it is whole there is none', async () => {
  await using it = await temp();
  const path = it.at('whole');
  function* pieces(fail: boolean) {
    for (const text of ['aa', 'bb', '', 'cc']) yield Buffer.from(text);
    if (fail) throw new Error('no more of it');
  }
  await expect(writeFileAtomic(path, pieces(true))).rejects.toThrow('no more of it');
  expect(await readdir(it.dir)).toEqual([]);
  await writeFileAtomic(path, pieces(false), { sync: true });
  expect(await readFile(path, 'utf8')).toBe('aabbcc');
});

test('a file whose name is as long as a name may be is written', async () => {
  await using it = await temp();
  const name = '猫'.repeat(85);
  await writeFileAtomic(it.at(name), 'x');
  expect(await readdir(it.dir)).toEqual([name]);
});

// As a program's cache of read-only packages among its other files.
test('a tree is removed whole, however many of its folders are locked', async () => {
  await using it = await temp();
  for (let n = 0; n < 40; n++) {
    await mkdir(it.at(`top/${n}/in`), { recursive: true });
    await writeFile(it.at(`top/${n}/in/x`), '');
    await chmod(it.at(`top/${n}${n % 2 === 0 ? '' : '/in'}`), n % 3 === 0 ? 0o500 : n % 3 === 1 ? 0 : 0o700);
  }
  await asHeldByModes(it.dir, () => removeTree(it.at('top')));
  expect(await readdir(it.dir)).toEqual([]);
});

// Such as another user's folder, or one deeper than a path reaches.
test('where a part cannot be removed the rest is', async () => {
  await using it = await temp();
  for (const one of ['before', 'within', 'z']) await mkdir(it.at(`top/${one}/in`), { recursive: true });
  const name = 'n'.repeat(250);
  const deep = `for (let n = 0; n < 20; n++) { fs.mkdirSync('${name}'); process.chdir('${name}') }`;
  execFileSync(process.execPath, ['-e', deep], { cwd: it.at('top/within') });
  await expect(removeTree(it.at('top'))).rejects.toThrow('ENAMETOOLONG');
  expect(await readdir(it.at('top'))).toEqual(['within']);
  expect(await readdir(it.at('top/within'))).toEqual([name]);
  execFileSync('rm', ['-rf', it.at('top')]);
});

test('a locked tree is removed at once', async () => {
  await using it = await temp();
  await mkdir(it.at('top/shut/in'), { recursive: true });
  await writeFile(it.at('top/shut/in/x'), '');
  await chmod(it.at('top/shut/in'), 0o500);
  await chmod(it.at('top/shut'), 0);
  await asHeldByModes(it.dir, async () => removeNow(it.at('top')));
  expect(await readdir(it.dir)).toEqual([]);
});

test.for(['link', 'link/'])('of a link that is called "%s" only the link goes', async (name) => {
  await using it = await temp();
  await mkdir(it.at('foreign/sub'), { recursive: true });
  await symlink('foreign', it.at('link'));
  await removeTree(`${it.dir}/${name}`);
  expect(await readdir(it.dir)).toEqual(['foreign']);
  expect(await readdir(it.at('foreign'))).toEqual(['sub']);
});

test('a link that may not be removed is not followed: the folder that it leads to stays unchanged', async () => {
  await using it = await temp();
  await mkdir(it.at('foreign/sub'), { recursive: true });
  await mkdir(it.at('locked'));
  await symlink('../foreign', it.at('locked/link'));
  await chmod(it.at('locked'), 0o500);
  await asHeldByModes(it.dir, () => expect(removeTree(it.at('locked/link'))).rejects.toThrow('EACCES'));
  for (const folder of ['foreign', 'foreign/sub'])
    expect((await stat(it.at(folder))).mode & 0o777).toBe(0o777 & ~process.umask());
});

test('a socket that is opened as a file is recognised, also where Node has no name for the error', () => {
  const opened = Object.assign(new Error(), { code: 'Unknown system error -102' });
  expect([isCode(opened, 'ELOOP', 'ENXIO'), isCode(opened, 'ELOOP')]).toEqual([true, false]);
});

test('the mode of a new file is the one that was named, whatever the umask', async () => {
  await using it = await temp();
  const mode = async (name: string) => (await stat(it.at(name))).mode & 0o777;
  await writeNewFile(it.at('a'), 'a', 0o666);
  await writeFileAtomic(it.at('b'), 'b', { mode: 0o666 });
  expect([await mode('a'), await mode('b')]).toEqual([0o666, 0o666]);
  // Where the umask would take something away it is not written in this way at all.
  const isMasked = (0o666 & process.umask()) !== 0;
  expect(writeFresh(it.at('c'), 'c', 0o666)).toBe(!isMasked);
  expect(writeFresh(it.at('d'), 'd', 0o600)).toBe(true);
  expect(await mode('d')).toBe(0o600);
});

test('a file that is to be new is not written over one that is there, nor where no folder is', async () => {
  await using it = await temp();
  await writeFile(it.at('a'), 'old');
  await expect(writeNewFile(it.at('a'), 'new', 0o600)).rejects.toThrow('EEXIST');
  expect(['a', 'none/a', 'a/b'].map((name) => writeFresh(it.at(name), 'new', 0o600))).toEqual([
    false,
    false,
    false,
  ]);
  expect(await readFile(it.at('a'), 'utf8')).toBe('old');
  await writeNewFile(it.at('b'), 'new', 0o600);
  await writeFileAtomic(it.at('none', 'c'), new Uint8Array([0x6e]));
  expect([await readFile(it.at('b'), 'utf8'), await readFile(it.at('none', 'c'), 'utf8')]).toEqual([
    'new',
    'n',
  ]);
});

test('a file whose write waits for something stays unchanged if that fails', async () => {
  await using it = await temp();
  await writeFile(it.at('a'), 'old');
  const first = () => Promise.reject(new Error('not flushed'));
  await expect(writeFileAtomic(it.at('a'), 'new', { first, sync: true })).rejects.toThrow('not flushed');
  expect(await readFile(it.at('a'), 'utf8')).toBe('old');
  expect(await readdir(it.dir)).toEqual(['a']);
});

test('a fresh file that the disk does not take leaves nothing', async () => {
  await using it = await temp();
  const { writeSync } = fs;
  fs.writeSync = () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  syncBuiltinESMExports();
  try {
    expect(() => writeFresh(it.at('a'), 'a', 0o600)).toThrow('ENOSPC');
  } finally {
    fs.writeSync = writeSync;
    syncBuiltinESMExports();
  }
  expect(await readdir(it.dir)).toEqual([]);
});

test('a tree that is removed aside goes, with the folder that held nothing else', async () => {
  await using it = await temp();
  await mkdir(it.at('a', 'b', 'c'), { recursive: true });
  await mkdir(it.at('a', 'other'));
  await removeAside(it.at('a', 'b'));
  expect(await readdir(it.at('a'))).toEqual(['other']);
  await removeAside(it.at('a', 'other'));
  expect(await readdir(it.dir)).toEqual([]);
});

test('a missing tree is no error, and one that may not be moved aside stays with an error', async () => {
  await using it = await temp();
  await mkdir(it.at('empty'));
  await mkdir(it.at('locked', 'tree'), { recursive: true });
  await removeTree(it.at('none'));
  await removeAside(it.at('empty', 'none'));
  expect(await readdir(it.dir)).toEqual(['empty', 'locked']);
  await chmod(it.at('locked'), 0o500);
  await asHeldByModes(it.dir, () => expect(removeAside(it.at('locked', 'tree'))).rejects.toThrow('EACCES'));
  expect(await readdir(it.at('locked'))).toEqual(['tree']);
});

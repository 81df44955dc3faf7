import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DamagedStore } from '../../src/platform/files/workspace-error.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { FolderTree } from '../../src/workspace/tree.ts';
import { asHeldByModes, make, tempFolder, type Wanted } from './folders.ts';

/** A workspace `ws` with the wanted files, and its snapshots in `snaps`. */
async function rig(wanted: Wanted = {}) {
  const it = tempFolder();
  const ws = join(it.path, 'ws');
  const dir = join(it.path, 'snaps');
  mkdirSync(ws);
  make(ws, wanted);
  const reopen = () => openSnapshots({ workspace: ws, dir });
  return { ...it, ws, dir, reopen, snapshots: await reopen() };
}

test('a snapshot lists every path with its kind, mode and content, sorted, the top itself not', async () => {
  await using it = await rig({
    a: 'hello',
    'a-b': { text: '', mode: 0o4711 },
    'a.d/x': 'hello',
    'a.d': { mode: 0o700 },
    'empty/none': {},
    link: { link: 'a.d' },
    'sub/.git/HEAD': 'ref',
  });
  const { tree, id } = await it.snapshots.take();
  const hello = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
  expect([...tree.keys()]).toEqual([...tree.keys()].sort());
  expect(id).toMatch(/^[0-9a-f]{64}$/);
  expect([...tree].map(([path, e]) => [path, e.kind, e.mode.toString(8), e.hash ?? e.target])).toEqual([
    ['a', 'file', '644', hello],
    ['a-b', 'file', '711', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['a.d', 'dir', '700', undefined],
    ['a.d/x', 'file', '644', hello],
    ['empty', 'dir', '755', undefined],
    ['empty/none', 'dir', '755', undefined],
    ['link', 'link', '777', 'a.d'],
    ['sub', 'dir', '755', undefined],
    ['sub/.git', 'dir', '755', undefined],
    ['sub/.git/HEAD', 'file', '644', expect.any(String)],
  ]);
  expect((await it.snapshots.read(hello)).toString()).toBe('hello');
});

test('names in other bytes make other trees, and a tree has one name for ever', () => {
  const idOf = (path: string) => FolderTree.from([[path, { kind: 'link', mode: 0o777, target: 'a' }]]).top.id;
  expect(idOf('\udcff')).not.toBe(idOf('\udcfe'));
  expect(idOf('path')).toBe('cf82b28c9e25826a31650088b761f475df21974d5432a77db7553fc98ed37d98');
});

/** Other bytes in place of those, which are stored uncompressed. */
function damage(file: string, from: string | Buffer, to: string | Buffer): void {
  const bytes = readFileSync(file);
  Buffer.from(to).copy(bytes, bytes.indexOf(from));
  writeFileSync(file, bytes);
}

test('folders are walked in the order of whole paths', async () => {
  const names = ['a/x', 'a b/x', 'a-/x', 'a./x', 'a0/x', 'aa/x', 'a!', 'b'];
  await using it = await rig(Object.fromEntries(names.map((name) => [name, name])));
  const paths = [...(await it.snapshots.take()).tree.keys()];
  expect(paths).toEqual([...paths].sort());
  expect(paths).toHaveLength(14);
});

test('equal trees have equal ids, and a snapshot is written again only where times differ', async () => {
  await using it = await rig({ a: 'a', b: 'b' });
  const first = await it.snapshots.take();
  const size = () => statSync(join(it.dir, 'pack')).size;
  const { atime } = statSync(join(it.ws, 'a'));
  writeFileSync(join(it.ws, 'a'), 'other');
  expect((await it.snapshots.take(first)).id).not.toBe(first.id);
  const before = size();
  writeFileSync(join(it.ws, 'a'), 'a');
  utimesSync(join(it.ws, 'a'), atime, 1e9);
  const touched = await it.snapshots.take();
  expect(touched.id).toBe(first.id);
  const after = size();
  expect(after).toBeGreaterThan(before);
  chmodSync(join(it.ws, 'a'), statSync(join(it.ws, 'a')).mode & 0o777);
  expect((await it.snapshots.take(touched)).id).toBe(first.id);
  expect(size()).toBe(after);
});

test('an edit right after a snapshot is found although the clock has not moved on', async () => {
  await using it = await rig({});
  let before = await it.snapshots.take();
  for (let n = 0; n < 20; n++) {
    writeFileSync(join(it.ws, 'a'), `${1000 + n}`);
    const after = await it.snapshots.take(before);
    expect(after.id).not.toBe(before.id);
    before = after;
  }
});

/** Takes until the file is old enough for its facts to vouch for it. */
async function untilSure(snapshots: Awaited<ReturnType<typeof openSnapshots>>, path: string) {
  for (let last = await snapshots.take(); ; last = await snapshots.take(last)) {
    if (last.tree.get(path)?.ctimeMs !== undefined) return last;
  }
}

test('facts of a snapshot that this store does not hold are not believed', async () => {
  await using it = await rig({ a: 'a' });
  const settled = await untilSure(it.snapshots, 'a');
  const other = await openSnapshots({ workspace: it.ws, dir: join(it.path, 'other') });
  const taken = await other.take(settled);
  expect((await other.read(taken.tree.get('a')?.hash ?? '')).toString()).toBe('a');
});

test('a second opening reads what the first has taken, also what it takes later', async () => {
  await using it = await rig({ a: 'a' });
  const reader = await it.reopen();
  const first = await it.snapshots.take();
  expect([...(await reader.load(first.id)).tree.keys()]).toEqual(['a']);
  writeFileSync(join(it.ws, 'a'), 'later');
  const second = await it.snapshots.take(first);
  const hash = (await reader.load(second.id)).tree.get('a')?.hash ?? '';
  expect((await reader.read(hash)).toString()).toBe('later');
});

test('a snapshot that is not there, or no name of one, is refused with its name', async () => {
  await using it = await rig();
  await expect(it.snapshots.load('0'.repeat(64))).rejects.toThrow(/there is no snapshot 0000/);
  await expect(it.snapshots.load('../../x')).rejects.toThrow('is no name of a snapshot');
  await expect(it.snapshots.read('0'.repeat(64))).rejects.toThrow('knows of no content 0000');
});

test('damaged contents are reported, never used', async () => {
  await using it = await rig({});
  const noise = randomBytes(300_000);
  writeFileSync(join(it.ws, 'a'), noise);
  const taken = await it.snapshots.take();
  damage(join(it.dir, 'pack'), noise.subarray(0, 8), 'otherwise');
  writeFileSync(join(it.ws, 'a'), 'x');
  await expect(it.snapshots.restore(taken)).rejects.toThrow(DamagedStore);
  expect(readFileSync(join(it.ws, 'a'), 'utf8')).toBe('x');
  expect(readdirSync(it.ws)).toEqual(['a']);
});

test.for([
  ['the beginning of a block', Buffer.from('FPK1 and more')],
  ['bytes that never reached the disk', Buffer.alloc(4096)],
] as const)('after %s earlier snapshots are good and the next take is right', async ([, torn]) => {
  await using it = await rig({ a: 'first', b: 'big'.repeat(500_000) });
  const first = await it.snapshots.take();
  writeFileSync(join(it.ws, 'a'), 'second');
  const second = await it.snapshots.take(first);
  appendFileSync(join(it.dir, 'pack'), torn);
  const again = await it.reopen();
  writeFileSync(join(it.ws, 'c'), 'third');
  const third = await again.take(await again.load(second.id));
  rmSync(join(it.ws, 'b'));
  writeFileSync(join(it.ws, 'a'), 'x');
  const reader = await it.reopen();
  await reader.restore(third);
  expect(readFileSync(join(it.ws, 'a'), 'utf8')).toBe('second');
  expect(readFileSync(join(it.ws, 'c'), 'utf8')).toBe('third');
  expect(readFileSync(join(it.ws, 'b'), 'utf8')).toBe('big'.repeat(500_000));
  await reader.restore(await reader.load(first.id));
  expect(readFileSync(join(it.ws, 'a'), 'utf8')).toBe('first');
});

test('a process killed at any byte of a take leaves the snapshots before it, and the next take is whole', async () => {
  await using it = await rig({ a: 'first', 'd/b': 'b' });
  const first = await it.snapshots.take();
  const pack = join(it.dir, 'pack');
  const from = statSync(pack).size;
  writeFileSync(join(it.ws, 'a'), 'second');
  const second = await it.snapshots.take(first);
  const whole = readFileSync(pack);
  // Every third byte and, of the last item, all.
  for (let end = from; end <= whole.length; end += end + 60 < whole.length ? 3 : 1) {
    rmSync(it.dir, { recursive: true });
    mkdirSync(it.dir);
    writeFileSync(pack, whole.subarray(0, end));
    const again = await it.reopen();
    expect([...(await again.load(first.id)).tree]).toEqual([...first.tree]);
    if (end < whole.length) await expect(again.load(second.id)).rejects.toThrow('there is no snapshot');
    expect((await again.take(first)).id).toBe(second.id);
    const reader = await it.reopen();
    const { tree } = await reader.load(second.id);
    expect(String(await reader.read(tree.get('a')?.hash ?? ''))).toBe('second');
  }
});

test('a take that fails in the middle leaves the store unchanged', async () => {
  await using it = await rig({ a: 'first' });
  const first = await it.snapshots.take();
  make(it.ws, { a2: 'new', z: { text: 'no', mode: 0 } });
  await asHeldByModes(it.path, async () => {
    await expect(it.snapshots.take(first)).rejects.toThrow('cannot read "z": permission denied');
    rmSync(join(it.ws, 'z'));
    const second = await it.snapshots.take(first);
    writeFileSync(join(it.ws, 'a2'), 'other');
    await (await it.reopen()).restore(second);
  });
  expect(readFileSync(join(it.ws, 'a2'), 'utf8')).toBe('new');
});

test('large contents are kept in pieces, each once, and come back exactly', async () => {
  const big = Buffer.alloc(3_000_001, 'abc');
  await using it = await rig({});
  writeFileSync(join(it.ws, 'big'), big);
  linkSync(join(it.ws, 'big'), join(it.ws, 'same'));
  const taken = await it.snapshots.take();
  expect(taken.tree.get('big')?.size).toBe(big.length);
  const { size } = statSync(join(it.dir, 'pack'));
  expect(size).toBeLessThan(100_000);
  expect(big.equals(await it.snapshots.read(taken.tree.get('big')?.hash ?? ''))).toBe(true);
  writeFileSync(join(it.ws, 'big'), 'small');
  await it.snapshots.restore(taken);
  expect(big.equals(readFileSync(join(it.ws, 'big')))).toBe(true);
  expect(big.equals(readFileSync(join(it.ws, 'same')))).toBe(true);
});

test('of a large file to which something was added only the end is stored', async () => {
  await using it = await rig({});
  const file = join(it.ws, 'log');
  writeFileSync(file, randomBytes(5 * 1024 * 1024));
  const first = await it.snapshots.take();
  const { size } = statSync(join(it.dir, 'pack'));
  appendFileSync(file, 'one more line');
  const again = await it.reopen();
  await again.take(await again.load(first.id));
  expect(statSync(join(it.dir, 'pack')).size - size).toBeLessThan(4096);
});

test('a content of any size is read in pieces that overlap, without the holes, and against its hash', async () => {
  await using it = await rig({});
  const piece = 1024 * 1024;
  writeFileSync(join(it.ws, 'big'), '');
  truncateSync(join(it.ws, 'big'), 2 * piece - 3);
  appendFileSync(join(it.ws, 'big'), 'across');
  const hash = (await it.snapshots.take()).tree.get('big')?.hash ?? '';
  const found: boolean[] = [];
  for await (const one of it.snapshots.pieces(hash)) found.push(one.includes('across'));
  expect(found).toEqual([false, true]);
});

test('sockets, pipes and devices are no part of a snapshot', async () => {
  await using it = await rig({ a: 'a' });
  const before = await it.snapshots.take();
  execFileSync('mkfifo', [join(it.ws, 'pipe')]);
  expect((await it.snapshots.take(before)).id).toBe(before.id);
  expect(it.snapshots.strays()).toEqual([{ path: 'pipe', isSocket: false }]);
  rmSync(join(it.ws, 'pipe'));
  await it.snapshots.take(before);
  expect(it.snapshots.strays()).toEqual([]);
});

test('a damaged content is refused, a small one and a piece of a large one', async () => {
  const noise = [300_000, 1_500_000].map((size) => randomBytes(size));
  await using it = await rig({});
  for (const [n, bytes] of noise.entries()) writeFileSync(join(it.ws, n === 0 ? 'small' : 'large'), bytes);
  const { tree } = await it.snapshots.take();
  const [small, large] = ['small', 'large'].map((path) => tree.get(path)?.hash ?? '');
  if (small === undefined || large === undefined) throw new Error('there are two');
  for (const bytes of noise) damage(join(it.dir, 'pack'), bytes.subarray(0, 8), Buffer.alloc(8));
  await expect(it.snapshots.read(small)).rejects.toThrow(DamagedStore);
  await expect(it.snapshots.read(large)).rejects.toThrow(DamagedStore);
});

test('a workspace that is gone, or replaced by a link, counts as an empty one and comes back', async () => {
  await using it = await rig({ a: 'a', 'b/c': 'c' });
  make(it.path, { 'outside/keep': 'k' });
  const before = await it.snapshots.take();
  rmSync(it.ws, { recursive: true });
  expect((await it.snapshots.take(before)).tree.size).toBe(0);
  symlinkSync('outside', it.ws);
  const again = await it.reopen();
  expect((await again.take()).tree.size).toBe(0);
  await again.restore(before);
  expect(readdirSync(it.ws)).toEqual(['a', 'b']);
  expect(readdirSync(join(it.path, 'outside'))).toEqual(['keep']);
  expect(existsSync(join(it.path, 'outside/a'))).toBe(false);
});

test('set-id bits of files are removed by a take; of a hard link only the name in the workspace changes', async () => {
  await using it = await rig({
    setuid: { text: 'u', mode: 0o4755 },
    'd/setgid': { text: 'g', mode: 0o2755 },
  });
  const program = join(it.path, 'program');
  writeFileSync(program, 'p');
  chmodSync(program, 0o6755);
  linkSync(program, join(it.ws, 'linked'));
  chmodSync(join(it.ws, 'd'), 0o2755);
  const { id, tree } = await it.snapshots.take();
  const modes = (path: string) => (statSync(path).mode & 0o7777).toString(8);
  for (const path of ['setuid', 'd/setgid', 'linked']) {
    expect([path, modes(join(it.ws, path))]).toEqual([path, '755']);
    expect(tree.get(path)?.mode.toString(8)).toBe('755');
  }
  expect([modes(program), readFileSync(join(it.ws, 'linked'), 'utf8')]).toEqual(['6755', 'p']);
  expect([modes(join(it.ws, 'd')), tree.get('d')?.mode.toString(8)]).toEqual(['2755', '2755']);
  expect(readdirSync(it.ws).sort()).toEqual(['d', 'linked', 'setuid']);
  // Nothing has changed since.
  expect((await it.snapshots.take()).id).toBe(id);
});

test('a restore removes set-id bits that the snapshot does not have', async () => {
  await using it = await rig({ a: { text: 'a', mode: 0o755 } });
  const before = await it.snapshots.take();
  chmodSync(join(it.ws, 'a'), 0o4755);
  await it.snapshots.restore(before);
  expect((statSync(join(it.ws, 'a')).mode & 0o7777).toString(8)).toBe('755');
});

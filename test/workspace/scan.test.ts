/** What the scanner reads, what it believes, and what it must not believe. */
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashFile } from '../../src/platform/files/bytes.ts';
import { Scanner } from '../../src/workspace/scan.ts';
import { make, tempFolder, type Wanted } from './folders.ts';

/** A workspace, a scanner of it, and the names of the files that its last scan has read. */
function rig(wanted: Wanted) {
  const it = tempFolder();
  const ws = join(it.path, 'ws');
  mkdirSync(ws);
  make(ws, wanted);
  const read: string[] = [];
  const scanOf = (scanner: Scanner, keep = (place: string | Buffer) => hashFile(place)) => {
    read.length = 0;
    return scanner.scan({
      before: new Map(),
      has: () => true,
      keep: (place) => {
        read.push(place.toString().slice(ws.length + 1));
        return keep(place);
      },
    });
  };
  const scanner = new Scanner(ws);
  return {
    ...it,
    ws,
    read,
    scan: (keep?: (place: string | Buffer) => ReturnType<typeof hashFile>) => scanOf(scanner, keep),
    cold: () => scanOf(new Scanner(ws)),
  };
}

/** The file system's clock. */
function now(folder: string): number {
  const probe = join(folder, 'probe');
  writeFileSync(probe, '');
  const { ctimeMs } = statSync(probe);
  rmSync(probe);
  return ctimeMs;
}

/** Comes back when that clock is well past everything that was done until now. */
function settle(folder: string): void {
  for (const began = now(folder); now(folder) < began + 45; );
}

test('a file is read until the clock is past its last change, and not again after that', async () => {
  await using it = rig({ a: 'a', 'd/b': 'b' });
  settle(it.path);
  await it.scan();
  expect([...it.read].sort()).toEqual(['a', 'd/b']);
  const first = await it.scan();
  expect(it.read).toEqual([]);
  // Until the machine is quick enough for the second scan to come within the clock's grain.
  do {
    writeFileSync(join(it.ws, 'a'), 'c');
    await it.scan();
    await it.scan();
  } while (now(it.path) > statSync(join(it.ws, 'a')).ctimeMs + 20);
  expect(it.read).toEqual(['a']);
  settle(it.path);
  await it.scan();
  const last = await it.scan();
  expect(it.read).toEqual([]);
  expect(last).not.toBe(first);
  expect(await it.scan()).toBe(last);
});

test('a file whose folder has become a file before it is read is not there', async () => {
  await using it = rig({ 'd/a': 'a', 'd/b': 'b', e: 'e' });
  const tree = await it.scan((place) => {
    if (place.toString().endsWith('/a') || place.toString().endsWith('/b')) {
      rmSync(join(it.ws, 'd'), { recursive: true, force: true });
      writeFileSync(join(it.ws, 'd'), 'no folder');
    }
    return hashFile(place);
  });
  expect([...tree.keys()].filter((path) => path.startsWith('d/'))).toEqual([]);
  expect(tree.get('e')?.size).toBe(1);
  expect((await it.scan()).get('d')?.kind).toBe('file');
});

test('a file that has grown before it is read is read again, however old it looks', async () => {
  await using it = rig({ a: 'a' });
  settle(it.path);
  const grown = await it.scan((place) => {
    appendFileSync(place, 'nd more');
    return hashFile(place);
  });
  expect(grown.get('a')).toMatchObject({ size: 8 });
  expect(grown.get('a')?.ctimeMs).toBeUndefined();
  await it.scan();
  expect(it.read).toEqual(['a']);
});

test('after a scan that failed everything is looked at again', async () => {
  await using it = rig({ a: 'a', b: 'b' });
  settle(it.path);
  await it.scan();
  writeFileSync(join(it.ws, 'b'), 'c');
  await expect(it.scan(() => Promise.reject(new Error('no room')))).rejects.toThrow('no room');
  await it.scan();
  expect(it.read).toEqual(['a', 'b']);
});

test('names that come, go and change places in folders long at rest are seen', async () => {
  const name = fc.constantFrom('a', 'b', 'd', 'd/a', 'd/e', 'd/e/a', 'f', 'f/a', 'f/e', 'f/e/a', 'x');
  const deed = fc.record({
    path: name,
    to: name,
    do: fc.constantFrom('rm', 'mv', 'file', 'dir', 'link', 'back'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(deed, { maxLength: 4 }), { maxLength: 3 }), async (storms) => {
      await using it = rig({ a: 'a', 'd/a': 'a', 'd/e/a': 'a', 'f/e/a': 'b', 'f/a': 'b', b: { link: 'd' } });
      settle(it.path);
      await it.scan();
      for (const storm of storms) {
        for (const { path, to, do: what } of storm) {
          const place = join(it.ws, path);
          try {
            if (what === 'rm') rmSync(place, { recursive: true });
            else if (what === 'mv') renameSync(place, join(it.ws, to));
            else if (what === 'file') writeFileSync(place, to, { flag: 'wx' });
            else if (what === 'dir') mkdirSync(place);
            else if (what === 'link') symlinkSync(to, place);
            else if (!lstatSync(place).isSymbolicLink()) utimesSync(place, 1000, 1000);
          } catch (error) {
            if (!(error instanceof Error && 'code' in error)) throw error;
          }
        }
        const paths = (tree: Awaited<ReturnType<typeof it.scan>>) =>
          [...tree].map(([path, e]) => [path, e.kind, e.mode, e.hash, e.target]);
        expect(paths(await it.scan())).toEqual(paths(await it.cold()));
      }
    }),
    { numRuns: 15 },
  );
});

test('a workspace that went away and came back is scanned anew', async () => {
  await using it = rig({ 'd/a': 'a' });
  settle(it.path);
  await it.scan();
  renameSync(it.ws, join(it.path, 'aside'));
  expect((await it.scan()).size).toBe(0);
  renameSync(join(it.path, 'aside'), it.ws);
  expect([...(await it.scan()).keys()]).toEqual(['d', 'd/a']);
});

/** The laws of snapshots under anything that stages do: any storm of operations is seen, told and undone. */
import fs, {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { removeTree } from '../../src/platform/files/remove.ts';
import { diff } from '../../src/workspace/diff.ts';
import { putBack } from '../../src/workspace/restore.ts';
import type { Changes } from '../../src/workspace/snapshot.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { isRoot, make, picture, tempFolder } from './folders.ts';

const name = fc.constantFrom('a', 'b', 'a-b', 'd', 'd.x', '.git', 'ü');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const content = fc.constantFrom('', 'one', 'two', 'longer than that');
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0o444, 0o500, 0);
const deed = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), path, content }) },
  fc.record({ do: fc.constant('sneak' as const), path }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), path, to: path }) },
  fc.record({ do: fc.constant('chmod' as const), path, mode }),
  fc.record({ do: fc.constant('link' as const), path, to: fc.oneof(path, fc.constant('../outside')) }),
  fc.record({ do: fc.constant('hardlink' as const), path, to: path }),
  fc.record({ do: fc.constant('mkdir' as const), path }),
  fc.record({ do: fc.constant('empty' as const), path }),
  fc.record({ do: fc.constant('replace' as const), path, by: fc.constantFrom('file', 'link', 'folder') }),
);
type Deed = typeof deed extends fc.Arbitrary<infer D> ? D : never;

/** What cannot be read is refused, and is no matter of these laws. */
const leastOf = (place: string): number => (isRoot ? 0 : lstatSync(place).isDirectory() ? 0o500 : 0o400);

/** Does it as a stage would; what the system refuses is not done. Never writes through a link to the outside. */
function perform(ws: string, d: Deed): void {
  const place = join(ws, d.path);
  try {
    for (let p = dirname(place); p.length > ws.length; p = dirname(p)) {
      if (lstatSync(p, { throwIfNoEntry: false })?.isSymbolicLink()) return;
    }
    const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    if (d.do === 'write') {
      mkdirSync(dirname(place), { recursive: true });
      if (isLink) return;
      writeFileSync(place, d.content);
      // In whole seconds, so that a time can be set back exactly.
      utimesSync(place, 1000, 1000);
    } else if (d.do === 'sneak') {
      // Same size, and the time set back: only the change time tells.
      const { atime, mtime } = lstatSync(place);
      if (isLink) return;
      writeFileSync(
        place,
        readFileSync(place).map((byte) => byte ^ 1),
      );
      utimesSync(place, atime, mtime);
    } else if (d.do === 'remove') rmSync(place, { recursive: true });
    else if (d.do === 'rename') renameSync(place, join(ws, d.to));
    else if (d.do === 'chmod' && !isLink) chmodSync(place, d.mode | leastOf(place));
    else if (d.do === 'link') symlinkSync(d.to, place);
    else if (d.do === 'hardlink') linkSync(place, join(ws, d.to));
    else if (d.do === 'mkdir') mkdirSync(place, { recursive: true });
    else if (d.do === 'empty' && !isLink) truncateSync(place);
    else if (d.do === 'replace') {
      rmSync(place, { recursive: true });
      if (d.by === 'file') writeFileSync(place, 'replaced');
      else if (d.by === 'link') symlinkSync('../outside', place);
      else make(place, { 'in/side': 'x' });
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

/** The difference of two pictures, told the naive way. */
function told(before: readonly string[], after: readonly string[]): Changes {
  type Kind = 'folder' | 'item';
  const read = (lines: readonly string[]) =>
    new Map(
      lines.map((line): [string, { kind: Kind; line: string }] => [
        Buffer.from(line.split(' ')[0] ?? '', 'latin1').toString(),
        { kind: line.split(' ')[1] === 'folder' ? 'folder' : 'item', line },
      ]),
    );
  const [was, is] = [read(before), read(after)];
  const lists = (kind: Kind) => ({
    created: [...is].filter(([p, e]) => e.kind === kind && was.get(p)?.kind !== kind).map(([p]) => p),
    modified: [...is]
      .filter(([p, e]) => e.kind === kind && was.get(p)?.kind === kind && was.get(p)?.line !== e.line)
      .map(([p]) => p),
    deleted: [...was].filter(([p, e]) => e.kind === kind && is.get(p)?.kind !== kind).map(([p]) => p),
  });
  const sorted = (all: ReturnType<typeof lists>) => ({
    created: all.created.sort(),
    modified: all.modified.sort(),
    deleted: all.deleted.sort(),
  });
  return { ...sorted(lists('item')), folders: sorted(lists('folder')) };
}

const storm = fc.array(deed, { maxLength: 12 });

test('whatever happens to a workspace is reported exactly, and undone exactly, warm and cold', async () => {
  await fc.assert(
    fc.asyncProperty(storm, storm, storm, fc.boolean(), async (first, second, third, cold) => {
      await using it = tempFolder();
      const ws = join(it.path, 'ws');
      make(it.path, { ws: {}, 'outside/precious': 'p' });
      const open = () => openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });
      let snapshots = await open();
      for (const d of first) perform(ws, d);
      const looked = [picture(ws)];
      const taken = [await snapshots.take()];
      for (const deeds of [second, third]) {
        for (const d of deeds) perform(ws, d);
        const before = taken.at(-1);
        if (before === undefined) throw new Error('nothing taken');
        const after = await snapshots.take(before);
        expect(diff(before, after)).toEqual(told(looked.at(-1) ?? [], picture(ws)));
        expect(after.id).toBe((await snapshots.take()).id);
        looked.push(picture(ws));
        taken.push(after);
      }
      for (const n of [0, 2, 1]) {
        if (cold) snapshots = await open();
        const to = taken[n];
        if (to === undefined) throw new Error('nothing taken');
        await snapshots.restore(cold ? await snapshots.load(to.id) : to);
        expect(picture(ws)).toEqual(looked[n]);
        expect((await snapshots.take(to)).id).toBe(to.id);
      }
      expect(readFileSync(join(it.path, 'outside/precious'), 'utf8')).toBe('p');
    }),
    { numRuns: 40 },
  );
});

test('a violation is put back and nothing else: what differs afterwards is allowed', async () => {
  const allowedFrom = fc.constantFrom('a', 'd', 'a-b');
  await fc.assert(
    fc.asyncProperty(storm, storm, allowedFrom, async (first, second, scope) => {
      await using it = tempFolder();
      const ws = join(it.path, 'ws');
      mkdirSync(ws);
      const snapshots = await openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });
      for (const d of first) perform(ws, d);
      const before = await snapshots.take();
      for (const d of second) perform(ws, d);
      const after = await snapshots.take(before);
      const allowed = (p: string): boolean => p.startsWith(`${scope}/`);
      const changes = diff(before, after);
      const all = [...changes.created, ...changes.modified, ...changes.deleted];
      const offending = all.filter((p) => !allowed(p));
      await putBack(snapshots, before, offending, allowed);
      const left = diff(before, await snapshots.take(after));
      expect([...left.created, ...left.modified, ...left.deleted].filter((p) => !allowed(p))).toEqual([]);
      // An allowed change may only be lost where the scope's own folder is itself put back as something else.
      if (!offending.includes(scope)) {
        for (const p of all.filter(allowed)) {
          expect([...left.created, ...left.modified, ...left.deleted]).toContain(p);
        }
      }
    }),
    { numRuns: 40 },
  );
});

/** From the `after`-th change of the file system on, every change fails: as if the process were gone. */
async function cutOff(after: number, act: () => Promise<void>): Promise<boolean> {
  const names = [
    'unlinkSync',
    'rmdirSync',
    'mkdirSync',
    'renameSync',
    'chmodSync',
    'symlinkSync',
    'rmSync',
  ] as const;
  const real = names.map((one) => [one, fs[one]] as const);
  let count = 0;
  for (const [one, call] of real) {
    const cut = (...args: unknown[]): unknown => {
      if (count++ >= after) throw new Error('cut off');
      return Reflect.apply(call, fs, args);
    };
    Object.assign(fs, { [one]: cut });
  }
  syncBuiltinESMExports();
  try {
    await act();
    return false;
  } catch (error) {
    expect(String(error)).toContain('cut off');
    return true;
  } finally {
    for (const [one, call] of real) Object.assign(fs, { [one]: call });
    syncBuiltinESMExports();
  }
}

test('a restore that is cut off anywhere is finished by another', async () => {
  await using it = tempFolder();
  const ws = join(it.path, 'ws');
  make(ws, { a: 'a', 'd/x': 'x', 'd/e/y': 'y', 'd/e': { mode: 0o500 }, l: { link: 'd' }, f: 'f', m: 'm' });
  const open = () => openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });
  const to = await (await open()).take();
  const was = picture(ws);
  let cuts = 0;
  for (let cut = true, k = 0; cut; k++) {
    await removeTree(join(ws, 'd'));
    for (const name of ['a', 'f']) rmSync(join(ws, name));
    make(ws, { d: 'now a file', 'f/now/a': 'folder', 'n/new': 'n', 'n/p': { mode: 0o100 } });
    chmodSync(join(ws, 'm'), 0o600);
    const { id } = to;
    const snapshots = await open();
    const target = await snapshots.load(id);
    cut = await cutOff(k, () => snapshots.restore(target));
    if (cut) cuts += 1;
    const again = await open();
    await again.restore(await again.load(id));
    expect(picture(ws)).toEqual(was);
  }
  expect(cuts).toBeGreaterThan(10);
});

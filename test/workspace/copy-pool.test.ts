/** The copy by several threads equals a copy by one. */
import { createHash } from 'node:crypto';
import fs, {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyTree } from '../../src/workspace/copy.ts';
import type { CopyFacts, CopyWorkerPlan } from '../../src/workspace/copy-pool.ts';
import type { Copied } from '../../src/workspace/snapshot.ts';
import { asHeldByModes, make, picture, tempFolder } from './folders.ts';

const alone: CopyWorkerPlan = { workers: 0, from: 0, batch: 1 };
const crew: CopyWorkerPlan = { workers: 2, from: 0, batch: 3 };

/** Files `f000`, `f001`, … in a folder, each with its own name in it. */
function many(folder: string, count: number): string[] {
  mkdirSync(folder, { recursive: true });
  const names = Array.from({ length: count }, (_, n) => `f${String(n).padStart(4, '0')}`);
  for (const name of names) writeFileSync(join(folder, name), name);
  return names;
}

/** A copy, and the reports about its files, by path. */
async function told(from: string, to: string, plan: CopyWorkerPlan) {
  const files = new Map<string, { hash: string; facts: CopyFacts }>();
  const answer: Copied = await copyTree(
    from,
    to,
    { exclude: [] },
    (path, bytes, facts, hash) => {
      const found = createHash('sha256').update(bytes).digest('hex');
      if (hash !== undefined && hash !== found) throw new Error(`another hash was reported for ${path}`);
      if (files.has(path)) throw new Error(`${path} was reported twice`);
      files.set(path, { hash: found, facts });
    },
    plan,
  );
  return { answer, files };
}

const name = fc.constantFrom('a', 'b', 'a-b', 'd.x', 'ü', '🙂', 'line\n', '.#x', '\xff', '\xfe\xc3');
const path = fc.array(name, { minLength: 1, maxLength: 4 });
const file = fc.record({
  path,
  size: fc.oneof(
    { weight: 5, arbitrary: fc.nat(3000) },
    fc.constantFrom(0, 1024 * 1024 - 1, 1024 * 1024, 1024 * 1024 + 1),
  ),
  fill: fc.nat(3),
  mode: fc.constantFrom(0o644, 0o600, 0o755, 0o444, 0o4755, 0o1666, 0o2700),
  mtime: fc.constantFrom(1, 1_000_000_000.125, 1_700_000_000.789),
  links: fc.boolean(),
});

/** The names in which every character stands for a byte are written so. */
const place = (root: string, parts: readonly string[]): Buffer =>
  Buffer.concat([
    Buffer.from(root),
    ...parts.map((part) => Buffer.from(`/${part}`, /^[\xfe\xff\xc3]+$/.test(part) ? 'latin1' : 'utf8')),
  ]);

test('any tree is copied exactly, and by several threads as by one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(file, { minLength: 1, maxLength: 40 }), async (files) => {
      await using it = tempFolder();
      const work = join(it.path, 'work');
      mkdirSync(work);
      for (const { path: parts, size, fill, mode, mtime, links } of files) {
        try {
          mkdirSync(place(work, parts.slice(0, -1)), { recursive: true });
          const at = place(work, parts);
          writeFileSync(at, Buffer.alloc(size, fill), { flag: 'wx' });
          chmodSync(at, mode);
          fs.utimesSync(at, mtime, mtime);
          if (links) fs.linkSync(at, place(work, [...parts.slice(0, -1), 'second']));
        } catch (error) {
          // A file where a folder should be, or a name that is taken.
          if (!(error instanceof Error && 'code' in error)) throw error;
        }
      }
      const one = await told(work, join(it.path, 'one'), alone);
      const several = await told(work, join(it.path, 'several'), crew);
      expect(picture(join(it.path, 'several'))).toEqual(
        picture(work).map((line) =>
          line.replace(' file 4755', ' file 755').replace(' file 2700', ' file 700'),
        ),
      );
      expect(several.answer).toEqual(one.answer);
      expect([...several.files.keys()].sort()).toEqual([...one.files.keys()].sort());
      for (const [told, { hash, facts }] of several.files) {
        expect(hash).toBe(one.files.get(told)?.hash);
        if (/[\uDC80-\uDCFF]/u.test(told)) continue;
        const { mtimeMs, ctimeMs, ino, mode } = lstatSync(join(it.path, 'several', told));
        // For a file that this thread has copied the whole stat is reported.
        expect(facts).toMatchObject({ mtimeMs, ctimeMs, ino });
        expect(facts.mode & 0o7777).toBe(mode & 0o7777);
        expect(mtimeMs).toBe(lstatSync(join(it.path, 'one', told)).mtimeMs);
      }
    }),
    { numRuns: 12 },
  );
});

test('unreadable files are named as they are by one thread', async () => {
  await using it = tempFolder();
  const work = join(it.path, 'work');
  const names = many(join(work, 'in'), 60);
  for (const name of names.slice(20, 35)) chmodSync(join(work, 'in', name), 0);
  make(work, { 'in/f0022-closed/x': 'x', 'in/f0022-closed': { mode: 0 } });
  const messages: string[] = [];
  await asHeldByModes(it.path, async () => {
    for (const [n, plan] of [alone, crew].entries())
      await copyTree(work, join(it.path, `copy${n}`), { exclude: [] }, undefined, plan).catch(
        (error: Error) => messages.push(error.message),
      );
  });
  expect(messages).toHaveLength(2);
  expect(messages[1]).toBe(messages[0]);
  expect(messages[0]).toMatch(/"in\/f0022".*\n.*the folder "in\/f0022-closed".*\n.*"in\/f0023"/);
  expect(messages[0]).toMatch(/and 6 more$/);
});

test('files that change while they wait for a thread are copied as they are then', async () => {
  await using it = tempFolder();
  const work = join(it.path, 'work');
  many(work, 40);
  let asked = 0;
  const goOn = () => {
    asked += 1;
    // Those before have been found and wait.
    if (asked !== 35) return;
    rmSync(join(work, 'f0031'));
    appendFileSync(join(work, 'f0032'), ' and more');
    writeFileSync(join(work, 'f0033'), '');
    writeFileSync(join(work, 'f0030'), Buffer.alloc(3 * 1024 * 1024, 'x'));
  };
  const plan = { ...crew, batch: 1000 };
  await copyTree(work, join(it.path, 'copy'), { exclude: [], goOn }, undefined, plan);
  expect(picture(join(it.path, 'copy'))).toEqual(picture(work));
  expect(readFileSync(join(it.path, 'copy/f0032'), 'utf8')).toBe('f0032 and more');
  expect(readdirSync(join(it.path, 'copy'))).toHaveLength(39);
});

test('a copy that is ended in the middle writes nothing from then on', async () => {
  await using it = tempFolder();
  const work = join(it.path, 'work');
  many(work, 600);
  let left = 400;
  const goOn = () => {
    left -= 1;
    if (left === 0) throw new Error('enough');
  };
  const copying = copyTree(work, join(it.path, 'copy'), { exclude: [], goOn }, undefined, crew);
  await expect(copying).rejects.toThrow('enough');
  const before = picture(join(it.path, 'copy'));
  // As long as a whole copy takes.
  await copyTree(work, join(it.path, 'other'), { exclude: [] }, undefined, crew);
  expect(picture(join(it.path, 'copy'))).toEqual(before);
  expect(before.length).toBeLessThan(600);
});

// Each is a whole program, which runs in a thread that knows nothing of this file.
const failing: readonly (readonly [string, (require: NodeJS.Require) => void])[] = [
  [
    'does not come up',
    () => {
      throw new Error('not today');
    },
  ],
  [
    'dies in the middle of a file',
    (require) => {
      const { openSync, writeSync }: typeof import('node:fs') = require('node:fs');
      const { workerData } = require('node:worker_threads');
      workerData.port.on('message', (order: { files: { path: string }[] }) => {
        for (const { path } of order.files.slice(0, 2))
          writeSync(openSync(`${workerData.to}/${path}`, 'wx'), 'half a f');
        process.exit(1);
      });
    },
  ],
];

test.for(failing)('a thread that %s costs nothing but time', async ([, program]) => {
  await using it = tempFolder();
  const work = join(it.path, 'work');
  many(work, 200);
  const { answer, files } = await told(work, join(it.path, 'copy'), { ...crew, program });
  expect(picture(join(it.path, 'copy'))).toEqual(picture(work));
  expect({ answer: answer.files, told: files.size }).toEqual({ answer: 200, told: 200 });
  expect(statSync(join(it.path, 'copy/f0000')).mtimeMs).toBeCloseTo(statSync(join(work, 'f0000')).mtimeMs, 2);
});

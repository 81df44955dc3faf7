import { execFileSync, spawnSync } from 'node:child_process';
import fs, {
  chmodSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyTree } from '../../src/workspace/copy.ts';
import type { Copied } from '../../src/workspace/snapshot.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { asHeldByModes, make, picture, tempFolder, type Wanted } from './folders.ts';

/** A folder `work` with the wanted files, copied to `copy`. */
async function copied(wanted: Wanted, exclude: readonly string[] = []) {
  const it = tempFolder();
  const work = join(it.path, 'work');
  const copy = join(it.path, 'copy');
  mkdirSync(work);
  make(work, wanted);
  const answer = await copyTree(work, copy, { exclude: exclude.map((path) => join(it.path, path)) });
  return { ...it, work, copy, answer };
}

test('files, modes, links and empty folders are copied as they are, whatever the umask', async () => {
  const umask = process.umask(0o077);
  try {
    await using it = await copied({
      'a.txt': { text: 'a', mode: 0o666 },
      'run.sh': { text: '#!/bin/sh', mode: 0o755 },
      secret: { text: 's', mode: 0o400 },
      setuid: { text: 'u', mode: 0o4755 },
      empty: '',
      'folder/none': {},
      open: { mode: 0o777 },
      'sticky/x': 'x',
      sticky: { mode: 0o1777 },
      'closed/in/file': 'in',
      'closed/in': { mode: 0o500 },
      closed: { mode: 0o555 },
      link: { link: 'a.txt' },
      'link-to-folder': { link: 'folder/none' },
      dangling: { link: 'not/there' },
      'grün 🙂\n': 'name',
    });
    // The bits by which a file runs as its owner or group are left out.
    const wanted = picture(it.work).map((line) => line.replace('setuid file 4755', 'setuid file 755'));
    expect(picture(it.copy)).toEqual(wanted);
    expect(it.answer).toEqual({ files: 11, skipped: [], outsideLinks: [] } satisfies Copied);
  } finally {
    process.umask(umask);
  }
});

test('modification times are kept, of files, folders and links', async () => {
  await using it = tempFolder();
  make(it.path, { 'work/folder/file': 'x', 'work/link': { link: 'folder' }, 'work/old': '' });
  utimesSync(join(it.path, 'work/old'), 1000, 0.5);
  utimesSync(join(it.path, 'work/folder/file'), 1000, 2000.5);
  utimesSync(join(it.path, 'work/folder'), 1000, 3000);
  await copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] });
  expect(statSync(join(it.path, 'copy/old')).mtimeMs).toBe(500);
  expect(statSync(join(it.path, 'copy/folder/file')).mtimeMs).toBe(2_000_500);
  expect(statSync(join(it.path, 'copy/folder')).mtimeMs).toBe(3_000_000);
  expect(lstatSync(join(it.path, 'copy/link')).mtimeMs).toBeCloseTo(
    lstatSync(join(it.path, 'work/link')).mtimeMs,
    2,
  );
});

test('names and targets in bytes that are no UTF-8 are copied', async () => {
  await using it = tempFolder();
  const work = join(it.path, 'work');
  mkdirSync(work);
  const odd = Buffer.concat([Buffer.from(`${work}/`), Buffer.from([0x66, 0xff, 0xc3])]);
  mkdirSync(odd);
  writeFileSync(Buffer.concat([odd, Buffer.from('/'), Buffer.from([0xfe])]), 'deep');
  writeFileSync(Buffer.concat([odd, Buffer.from('2')]), 'top');
  symlinkSync(Buffer.from([0x66, 0xff, 0xc3]), join(work, 'link'));
  await copyTree(work, join(it.path, 'copy'), { exclude: [] });
  expect(picture(join(it.path, 'copy'))).toEqual(picture(work));
  expect(picture(work)).toHaveLength(4);
});

test('hard links become separate files', async () => {
  await using it = tempFolder();
  make(it.path, { 'work/a': 'same' });
  linkSync(join(it.path, 'work/a'), join(it.path, 'work/b'));
  await copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] });
  writeFileSync(join(it.path, 'copy/a'), 'other');
  expect(readFileSync(join(it.path, 'copy/b'), 'utf8')).toBe('same');
  expect(readFileSync(join(it.path, 'work/a'), 'utf8')).toBe('same');
});

test('a link that leads out of the tree is kept as a link and reported', async () => {
  await using it = await copied({
    'in/file': 'x',
    'in/fine': { link: '../in/file' },
    absolute: { link: '/etc/hostname' },
    'absolute-nowhere': { link: '/nowhere/at/all' },
    climbing: { link: '../outside' },
    'in/climbing-deep': { link: '../../gone' },
    'out-and-in': { link: '../work/in/file' },
    'through-another': { link: 'top/etc' },
    top: { link: '/' },
    dangling: { link: 'in/none' },
    loop: { link: 'loop' },
  });
  expect(it.answer.outsideLinks).toEqual([
    ...'absolute absolute-nowhere climbing in/climbing-deep out-and-in through-another'.split(' '),
    ...'top'.split(' '),
  ]);
  expect(picture(it.copy)).toEqual(picture(it.work));
});

test('sockets and pipes are skipped and reported', async () => {
  await using it = tempFolder();
  make(it.path, { 'work/a': 'a', 'work/folder': {} });
  execFileSync('mkfifo', [join(it.path, 'work/folder/pipe')]);
  const server = createServer();
  await new Promise<void>((done) => server.listen(join(it.path, 'work/sock'), done));
  const answer = await copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] });
  await new Promise((done) => server.close(done));
  expect(answer.skipped).toEqual([
    { path: 'folder/pipe', why: 'a pipe' },
    { path: 'sock', why: 'a socket' },
  ]);
  expect(readdirSync(join(it.path, 'copy')).sort()).toEqual(['a', 'folder']);
});

test('anything called .git is left out at any depth, and so are the runs in .factory, but nothing else of it', async () => {
  await using it = await copied({
    '.git/config': 'x',
    'sub/.git': 'gitdir: ../.git/modules/sub',
    'linked/.git': { link: '../.git' },
    '.gitignore': 'x',
    '.github/w.yml': 'x',
    'x.git/HEAD': 'x',
    '.factory/runs/1/workspace/a': 'x',
    '.factory/.gitignore': '*',
    '.factory/in/spec.md': 'x',
    'sub/.factory/runs/note': 'x',
  });
  expect(picture(it.copy).map((line) => line.split(' ')[0])).toEqual([
    ...'.factory .factory/.gitignore .factory/in .factory/in/spec.md .github'.split(' '),
    ...'.github/w.yml .gitignore linked sub sub/.factory sub/.factory/runs'.split(' '),
    ...'sub/.factory/runs/note x.git x.git/HEAD'.split(' '),
  ]);
});

test.for([
  ['work/runs', 'work/runs/1/copy'],
  ['work/deep/runs', 'work/deep/runs/1/copy'],
  ['link/runs', 'link/runs/1/copy'],
  ['work/linked-runs', 'work/linked-runs/1/copy'],
  ['work/./deep/../runs', 'work/runs/1/copy'],
])('the runs directory %s is left out', async ([runs, to]) => {
  await using it = tempFolder();
  make(it.path, {
    'work/a': 'a',
    'work/deep/b': 'b',
    'work/runs/old': 'x',
    'work/deep/runs/old': 'x',
    link: { link: 'work' },
    'elsewhere/old': 'x',
    'work/linked-runs': { link: '../elsewhere' },
  });
  const place = `${it.path}/${runs}`;
  await copyTree(join(it.path, 'link'), join(it.path, to ?? ''), { exclude: [place] });
  const names = picture(join(it.path, to ?? '')).map((line) => line.split(' ')[0]);
  const all = ['a', 'deep', 'deep/b', 'deep/runs', 'deep/runs/old', 'linked-runs', 'runs', 'runs/old'];
  const out = (runs ?? '').replace('./deep/../', '').replace(/^(work|link)\//, '');
  expect(names).toEqual(all.filter((name) => name !== out && !name.startsWith(`${out}/`)));
});

test('what .factoryignore names is left out, itself is copied', async () => {
  await using it = await copied({
    '.factoryignore': '# big\nnode_modules/\n*.bin\n!keep.bin\n/data\n',
    'node_modules/x/index.js': 'x',
    'sub/node_modules/y': 'y',
    'sub/data': 'd',
    data: 'd',
    'a.bin': 'a',
    'sub/keep.bin': 'k',
    '.env': 'e',
  });
  expect(picture(it.copy).map((line) => line.split(' ')[0])).toEqual([
    '.env',
    '.factoryignore',
    'sub',
    'sub/data',
    'sub/keep.bin',
  ]);
});

test('a .factoryignore that is a folder names nothing', async () => {
  await using it = await copied({ '.factoryignore/x': 'x', a: 'a' });
  expect(picture(it.copy)).toEqual(picture(it.work));
});

test.each<[string, (at: string) => void]>([
  ['a symbolic link to itself', (at) => symlinkSync('.factoryignore', at)],
  ['a pipe', (at) => void execFileSync('mkfifo', [at])],
])('a .factoryignore that is %s keeps everything from being copied', async (_, put) => {
  await using it = tempFolder();
  make(it.path, { 'work/a': 'a' });
  put(join(it.path, 'work/.factoryignore'));
  await expect(copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] })).rejects.toThrow(
    /^cannot read "\.factoryignore": it is (?:no file|a symbolic link in a loop)$/,
  );
});

test('a workdir that is a link to a folder is followed', async () => {
  await using it = tempFolder();
  make(it.path, { 'work/a': 'a', link: { link: 'work' } });
  await copyTree(join(it.path, 'link'), join(it.path, 'copy'), { exclude: [] });
  expect(picture(join(it.path, 'copy'))).toEqual(picture(join(it.path, 'work')));
});

test('every file that cannot be read is named, and nothing is skipped silently', async () => {
  await using it = tempFolder();
  make(it.path, {
    'work/a': 'a',
    'work/no/one': { text: '1', mode: 0 },
    'work/two': { text: '2', mode: 0o222 },
  });
  const copying = asHeldByModes(it.path, () =>
    copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] }),
  );
  await expect(copying).rejects.toThrow(/"no\/one": permission denied.*\n.*"two": permission denied/);
});

test('folders that cannot be listed are named with the files that cannot be read', async () => {
  await using it = tempFolder();
  make(it.path, {
    'work/no/one': '1',
    'work/no': { mode: 0 },
    'work/list/x': 'x',
    'work/list': { mode: 0o400 },
    'work/two': { text: '2', mode: 0 },
  });
  const copying = asHeldByModes(it.path, () =>
    copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] }),
  );
  await expect(copying).rejects.toThrow(/"list\/x": perm.*\n.*the folder "no": perm.*\n.*"two": perm/);
});

test('a link that vanishes while the tree is read was not there', async () => {
  await using it = tempFolder();
  const work = join(it.path, 'work');
  make(work, { a: 'a', '.#a': { link: 'user@host.1' } });
  const goOn = () => rmSync(join(work, '.#a'), { force: true });
  const { files } = await copyTree(work, join(it.path, 'copy'), { exclude: [], goOn });
  expect({ files, there: readdirSync(join(it.path, 'copy')) }).toEqual({ files: 1, there: ['a'] });
});

test('a copy, and a take, can be ended in the middle of a large file', async () => {
  await using it = tempFolder();
  make(it.path, { 'work/large': '', snaps: {} });
  truncateSync(join(it.path, 'work/large'), 64 * 1024 * 1024);
  let asked = 0;
  const goOn = () => {
    if (++asked === 4) throw new Error('enough');
  };
  const copying = copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [], goOn });
  await expect(copying).rejects.toThrow(/^enough$/);
  expect(readdirSync(join(it.path, 'copy'))).toEqual([]);

  asked = 0;
  const snaps = join(it.path, 'snaps');
  const snapshots = await openSnapshots({ workspace: join(it.path, 'work'), dir: snaps });
  await expect(snapshots.take(undefined, goOn)).rejects.toThrow(/^enough$/);
  expect(readdirSync(snaps)).toEqual([]);
  expect((await snapshots.take()).tree.get('large')?.size).toBe(64 * 1024 * 1024);
});

test('a read-only tree is copied by a user whom modes hold, and the top stays writable', async () => {
  await using it = tempFolder();
  make(it.path, {
    'work/d/e/f': { text: 'f', mode: 0o444 },
    'work/d/e': { mode: 0o555 },
    'work/d': { mode: 0o555 },
  });
  make(it.path, { work: { mode: 0o555 } });
  await asHeldByModes(it.path, () => copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] }));
  expect(picture(join(it.path, 'copy'))).toEqual(picture(join(it.path, 'work')));
  expect(statSync(join(it.path, 'copy')).mode & 0o7777).toBe(0o755);
});

test('where the file system shares blocks, a large file that its owner may not write is copied too', async () => {
  await using it = tempFolder();
  make(it.path, { 'work/big': { text: 'x'.repeat(1_100_000), mode: 0o444 } });
  // As it does there: a copy has its original's mode from the beginning.
  const { copyFile } = fs.promises;
  const mode = constants.COPYFILE_EXCL;
  fs.promises.copyFile = (from, to) => copyFile(from, to, mode);
  syncBuiltinESMExports();
  try {
    await asHeldByModes(it.path, () =>
      copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] }),
    );
  } finally {
    fs.promises.copyFile = copyFile;
    syncBuiltinESMExports();
  }
  expect(picture(join(it.path, 'copy'))).toEqual(picture(join(it.path, 'work')));
});

test('a target that holds something is refused before anything is written', async () => {
  await using it = tempFolder();
  make(it.path, { 'work/a': 'a', 'copy/b': 'b' });
  await expect(copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] })).rejects.toThrow(
    'is not empty',
  );
  expect(existsSync(join(it.path, 'copy/a'))).toBe(false);
});

test.for([
  ['gone', 'cannot copy the folder'],
  ['file', 'it is not a folder'],
])('a workdir that is %s is refused', async ([from, words]) => {
  await using it = tempFolder();
  make(it.path, { file: 'x' });
  await expect(copyTree(join(it.path, from ?? ''), join(it.path, 'copy'), { exclude: [] })).rejects.toThrow(
    words,
  );
});

test('a deep tree is copied', async () => {
  await using it = tempFolder();
  const deep = 'd/'.repeat(400);
  make(it.path, { [`work/${deep}file`]: 'x' });
  const answer = await copyTree(join(it.path, 'work'), join(it.path, 'copy'), { exclude: [] });
  expect(answer.files).toBe(1);
  expect(readFileSync(join(it.path, 'copy', deep, 'file'), 'utf8')).toBe('x');
});

test('a tree too deep for the place of its copy is refused with the reason', async () => {
  await using it = tempFolder();
  const deep = `${'d'.repeat(249)}/`.repeat(Math.floor((4090 - it.path.length) / 250));
  const rest = 'd'.repeat(4090 - it.path.length - 'work/'.length - deep.length);
  make(it.path, { [`work/${deep}${rest}`]: 'x' });
  const copying = copyTree(join(it.path, 'work'), join(it.path, 'a-place-with-a-longer-name'), {
    exclude: [],
  });
  await expect(copying).rejects.toThrow('longer than the system allows');
});

test.for([
  [0o751, 0o751],
  [0o055, 0o755],
] as const)(
  'a top of mode %o is copied as one of mode %o: its owner must be able to write',
  async ([is, becomes]) => {
    await using it = tempFolder();
    const [from, to] = [join(it.path, 'from'), join(it.path, 'to')];
    make(it.path, { 'from/a': 'a', from: { mode: is } });
    if (process.geteuid?.() !== 0 && (is & 0o500) !== 0o500) return;
    await copyTree(from, to, { exclude: [] });
    expect(statSync(to).mode & 0o7777).toBe(becomes);
  },
);

test('runs that show in the workdir under another name are left out', async (context) => {
  await using it = tempFolder();
  make(it.path, { 'work/a': 'a', 'work/shown': {}, 'runs/r1/big': 'big' });
  const [work, runs, copy] = ['work', 'runs', 'copy'].map((name) => join(it.path, name)) as [
    string,
    string,
    string,
  ];
  if (spawnSync('mount', ['--bind', runs, join(work, 'shown')]).status !== 0)
    return context.skip('nothing may be mounted here');
  try {
    await copyTree(work, copy, { exclude: [runs] });
  } finally {
    spawnSync('umount', [join(work, 'shown')]);
  }
  expect(readdirSync(copy)).toEqual(['a']);
});

const fileName = fc.constantFrom('a', 'b', 'a-b', 'd.x', 'ü', '🙂', 'line\n', '.#x', '\xff', '\xfe\xc3');
const pathParts = fc.array(fileName, { minLength: 1, maxLength: 4 });
const anyFile = fc.record({
  path: pathParts,
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
const placeOf = (root: string, parts: readonly string[]): Buffer =>
  Buffer.concat([
    Buffer.from(root),
    ...parts.map((part) => Buffer.from(`/${part}`, /^[\xfe\xff\xc3]+$/.test(part) ? 'latin1' : 'utf8')),
  ]);

test('any tree is copied exactly, and each file reported once, as it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyFile, { minLength: 1, maxLength: 40 }), async (files) => {
      await using it = tempFolder();
      const work = join(it.path, 'work');
      const copy = join(it.path, 'copy');
      mkdirSync(work);
      for (const { path: parts, size, fill, mode, mtime, links } of files) {
        try {
          mkdirSync(placeOf(work, parts.slice(0, -1)), { recursive: true });
          const at = placeOf(work, parts);
          writeFileSync(at, Buffer.alloc(size, fill), { flag: 'wx' });
          chmodSync(at, mode);
          utimesSync(at, mtime, mtime);
          if (links) linkSync(at, placeOf(work, [...parts.slice(0, -1), 'second']));
        } catch (error) {
          // A file where a folder should be, or a name that is taken.
          if (!(error instanceof Error && 'code' in error)) throw error;
        }
      }
      const reported = new Map<string, { readonly bytes: Buffer; readonly stat: Stats }>();
      await copyTree(work, copy, { exclude: [] }, (path, bytes, stat) => {
        expect(reported.has(path)).toBe(false);
        reported.set(path, { bytes: Buffer.from(bytes), stat });
      });
      expect(picture(copy)).toEqual(
        picture(work).map((line) =>
          line.replace(' file 4755', ' file 755').replace(' file 2700', ' file 700'),
        ),
      );
      for (const [path, { bytes, stat }] of reported) {
        if (/[\uDC80-\uDCFF]/u.test(path)) continue;
        const { mtimeMs, ctimeMs, ino, mode } = lstatSync(join(copy, path));
        expect(stat).toMatchObject({ mtimeMs, ctimeMs, ino, mode });
        expect(bytes.equals(readFileSync(join(copy, path)))).toBe(true);
      }
    }),
    { numRuns: 12 },
  );
});

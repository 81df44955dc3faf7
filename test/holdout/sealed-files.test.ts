import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readForSealing } from '../../src/holdout/seal.ts';
import { placeSealed, takeOutSealed } from '../../src/holdout/sealed-files.ts';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { asHeldByModes, make, picture, tempFolder, type Wanted } from '../workspace/folders.ts';

const judge: Wanted = {
  'scripts/other.sh': 'echo other',
  'scripts/scenarios': { mode: 0o750 },
  'scripts/scenarios/a.sh': { text: 'echo a', mode: 0o751 },
  'scripts/scenarios/empty': '',
  'scripts/scenarios/deep/folder': { mode: 0o500 },
  'scripts/scenarios/link': { link: 'a.sh' },
  'scripts/scenarios/out': { link: '/etc/passwd' },
};
const paths = ['scripts/scenarios'];
const everything = { as: 'scripts/scenarios', leaveOut: () => false, most: 1000 };
const never = () => false;
const caches = (path: string) => path.includes('__pycache__');

/** A workspace without its holdout, and the holdout. */
async function scene() {
  const temp = tempFolder();
  const ws = join(temp.path, 'ws');
  mkdirSync(ws);
  make(ws, judge);
  writeFileSync(Buffer.from(`${ws}/scripts/scenarios/\xff`, 'latin1'), 'a name that is not UTF-8');
  const files = readForSealing(ws, 'scripts/scenarios', everything);
  const whole = picture(ws);
  takeOutSealed(ws, paths, files, undefined, () => true);
  return {
    temp,
    ws,
    files,
    whole,
    bare: picture(ws),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

describe('sealed files', () => {
  it('come and go with content, modes, links and folders, and their neighbours stay', async () => {
    await using it = await scene();
    expect(it.bare.map((line) => line.split(' ')[0])).toEqual(['scripts', 'scripts/other.sh']);
    for (let n = 0; n < 2; n++) {
      const placed = placeSealed(it.ws, paths, it.files);
      expect(picture(it.ws)).toEqual(it.whole);
      expect(takeOutSealed(it.ws, paths, it.files, placed, never)).toEqual({
        broken: [],
        blocked: [],
        linked: false,
        touched: [],
      });
      expect(picture(it.ws)).toEqual(it.bare);
    }
  });

  it('come and go where modes hold us, through folders that nobody may write', async () => {
    await using it = await scene();
    await asHeldByModes(it.temp.path, async () => {
      chmodSync(join(it.ws, 'scripts'), 0o500);
      const bare = picture(it.ws);
      const placed = placeSealed(it.ws, paths, it.files);
      expect(picture(it.ws).filter((line) => !line.startsWith('scripts '))).toEqual(
        it.whole.filter((line) => !line.startsWith('scripts ')),
      );
      chmodSync(join(it.ws, 'scripts/scenarios/deep'), 0);
      chmodSync(join(it.ws, 'scripts/scenarios'), 0);
      const taken = takeOutSealed(it.ws, paths, it.files, placed, never);
      expect(taken.broken).toEqual(['scripts/scenarios', 'scripts/scenarios/deep']);
      expect(picture(it.ws)).toEqual(bare);
    });
  });

  const at = (ws: string, path: string) => join(ws, 'scripts/scenarios', path);
  it.for<[string, (ws: string) => void, readonly string[]]>([
    ['changed', (ws) => writeFileSync(at(ws, 'a.sh'), 'echo b'), ['a.sh']],
    ['given another mode', (ws) => chmodSync(at(ws, 'a.sh'), 0o700), ['a.sh']],
    ['removed', (ws) => rmSync(at(ws, 'empty')), ['empty']],
    [
      'replaced by a folder',
      (ws) => {
        rmSync(at(ws, 'a.sh'));
        mkdirSync(at(ws, 'a.sh'));
        writeFileSync(at(ws, 'a.sh/new'), '');
      },
      ['a.sh', 'a.sh/new'],
    ],
    [
      'led elsewhere',
      (ws) => {
        rmSync(at(ws, 'link'));
        symlinkSync('empty', at(ws, 'link'));
      },
      ['link'],
    ],
    ['joined by a new file', (ws) => writeFileSync(at(ws, 'new'), ''), ['new']],
    ['joined by an empty folder', (ws) => mkdirSync(at(ws, 'new/er'), { recursive: true }), ['new/er']],
    ['joined by caches alone', (ws) => make(ws, { 'scripts/scenarios/__pycache__/a.pyc': 'x' }), []],
    ['given the mode that they have', (ws) => chmodSync(at(ws, 'a.sh'), 0o751), []],
    ['read', (ws) => void readFileSync(at(ws, 'a.sh')), []],
    [
      'changed and put back',
      (ws) => {
        writeFileSync(at(ws, 'a.sh'), 'echo b');
        writeFileSync(at(ws, 'a.sh'), 'echo a');
        utimesSync(at(ws, 'a.sh'), 1, 1);
      },
      ['a.sh'],
    ],
    [
      'replaced by a copy of the same bytes and times',
      (ws) => {
        execFileSync('cp', ['-p', at(ws, 'a.sh'), join(ws, 'copy')]);
        renameSync(join(ws, 'copy'), at(ws, 'a.sh'));
      },
      ['a.sh'],
    ],
  ])('that were %s are reported, and are the old ones the next time', async ([, act, broken]) => {
    await using it = await scene();
    const placed = placeSealed(it.ws, paths, it.files);
    act(it.ws);
    const taken = takeOutSealed(it.ws, paths, it.files, placed, caches);
    expect(taken.broken).toEqual(broken.map((path) => `scripts/scenarios/${path}`));
    expect(picture(it.ws)).toEqual(it.bare);
    placeSealed(it.ws, paths, it.files);
    expect(picture(it.ws)).toEqual(it.whole);
  });

  it('that were written and have content and times back are distinguished from untouched ones', async () => {
    await using it = await scene();
    const placed = placeSealed(it.ws, paths, it.files);
    const is = statSync(at(it.ws, 'a.sh'), { bigint: true });
    const file = openSync(at(it.ws, 'a.sh'), 'r+');
    writeSync(file, 'echo b', 0);
    writeSync(file, 'echo a', 0);
    closeSync(file);
    execFileSync('touch', [
      '-d',
      `@${is.mtimeNs / 1000000000n}.${String(is.mtimeNs % 1000000000n).padStart(9, '0')}`,
      at(it.ws, 'a.sh'),
    ]);
    expect(takeOutSealed(it.ws, paths, it.files, placed, never)).toMatchObject({
      broken: [],
      touched: ['scripts/scenarios/a.sh'],
    });
  });

  it('that are caches and came with the holdout may be removed', async () => {
    await using it = await scene();
    const cache = { path: 'scripts/scenarios/old__pycache__', kind: 'file', mode: 0o644 } as const;
    const files = [...it.files, { ...cache, content: Buffer.from('x') }];
    const placed = placeSealed(it.ws, paths, files);
    rmSync(at(it.ws, 'old__pycache__'));
    expect(takeOutSealed(it.ws, paths, files, placed, caches).broken).toEqual([]);
  });

  it('that are large and were changed with their times put back are reported', async () => {
    await using it = await scene();
    const large = { path: 'scripts/scenarios/large', kind: 'file', mode: 0o644 } as const;
    const files = [...it.files, { ...large, content: Buffer.alloc(1_100_000, 'x') }];
    const placed = placeSealed(it.ws, paths, files);
    execFileSync('cp', ['-p', at(it.ws, 'large'), join(it.temp.path, 'times')]);
    const file = openSync(at(it.ws, 'large'), 'r+');
    writeSync(file, 'y', 1_000_000);
    closeSync(file);
    execFileSync('touch', ['-r', join(it.temp.path, 'times'), at(it.ws, 'large')]);
    expect(takeOutSealed(it.ws, paths, files, placed, never).broken).toEqual(['scripts/scenarios/large']);
  });

  it('of a new owner of the run are not taken out by a superseded one', async () => {
    await using it = await scene();
    const placed = placeSealed(it.ws, paths, it.files);
    const open = fence(it.ws, () => {
      if (picture(it.ws).length < it.whole.length - 1) throw new Superseded();
    });
    expect(() => takeOutSealed(it.ws, paths, it.files, placed, never)).toThrow(Superseded);
    open();
    expect(picture(it.ws)).toHaveLength(it.whole.length - 2);
  });

  it('that are caches may be recreated', async () => {
    await using it = await scene();
    const path = 'scripts/scenarios/__pycache__/a.pyc';
    const content = Buffer.from('old');
    const more = [
      ...it.files,
      { path: 'scripts/scenarios/__pycache__', kind: 'dir', mode: 0o755, content: Buffer.alloc(0) },
      { path, kind: 'file', mode: 0o644, content },
    ] as const;
    const placed = placeSealed(it.ws, paths, more);
    writeFileSync(join(it.ws, path), 'new');
    expect(takeOutSealed(it.ws, paths, more, placed, caches).broken).toEqual([]);
    expect(takeOutSealed(it.ws, paths, more, placeSealed(it.ws, paths, more), never).broken).toEqual([]);
  });

  it('with a second name are reported', async () => {
    await using it = await scene();
    const placed = placeSealed(it.ws, paths, it.files);
    linkSync(at(it.ws, 'a.sh'), join(it.ws, 'mine'));
    expect(takeOutSealed(it.ws, paths, it.files, placed, never)).toMatchObject({
      broken: ['scripts/scenarios/a.sh'],
      linked: true,
    });
  });

  it('are never written or removed through a link in place of a folder above them', async () => {
    await using it = await scene();
    const outside = join(it.temp.path, 'outside');
    make(outside, { 'scenarios/theirs': 'theirs' });
    const before = picture(outside);
    const placed = placeSealed(it.ws, paths, it.files);
    renameSync(join(it.ws, 'scripts'), join(it.ws, 'away'));
    symlinkSync(outside, join(it.ws, 'scripts'));
    const taken = takeOutSealed(it.ws, paths, it.files, placed, never);
    expect(taken.blocked).toEqual(['scripts']);
    expect(taken.broken).toHaveLength(it.files.length);
    expect(picture(outside)).toEqual(before);
    placeSealed(it.ws, paths, it.files);
    expect(picture(outside)).toEqual(before);
    expect(readFileSync(at(it.ws, 'a.sh'), 'utf8')).toBe('echo a');
  });

  it('take the folders with them that were made for them, but not what a stage has put there', async () => {
    await using it = await scene();
    rmSync(join(it.ws, 'scripts'), { recursive: true });
    takeOutSealed(it.ws, paths, it.files, placeSealed(it.ws, paths, it.files), never);
    expect(picture(it.ws)).toEqual([]);
    const placed = placeSealed(it.ws, paths, it.files);
    writeFileSync(join(it.ws, 'scripts/report'), 'r');
    takeOutSealed(it.ws, paths, it.files, placed, never);
    expect(picture(it.ws).map((line) => line.split(' ')[0])).toEqual(['scripts', 'scripts/report']);
  });

  it('are all missed where the workspace is gone, or is a link to another place', async () => {
    await using it = await scene();
    const placed = placeSealed(it.ws, paths, it.files);
    renameSync(it.ws, join(it.temp.path, 'moved'));
    symlinkSync(join(it.temp.path, 'moved'), it.ws);
    expect(takeOutSealed(it.ws, paths, it.files, placed, never).broken).toHaveLength(it.files.length);
    expect(picture(join(it.temp.path, 'moved'))).toEqual(it.whole);
  });
});

describe('what is to be sealed', () => {
  it('may be one file, and is nothing where nothing is', async () => {
    await using it = await scene();
    expect(
      readForSealing(it.ws, 'scripts/other.sh', { ...everything, as: 'x' }).map(({ path, kind }) => [
        path,
        kind,
      ]),
    ).toEqual([['x', 'file']]);
    expect(readForSealing(it.ws, 'no/such', everything)).toEqual([]);
  });

  it('is without what is left out, and may be as large as is allowed', async () => {
    await using temp = tempFolder();
    make(temp.path, { 'judge/a': 'x'.repeat(1000), 'judge/link': { link: 'a' }, 'judge/out/b': 'b' });
    const read = (leaveOut: (path: string, isFolder: boolean) => boolean) =>
      readForSealing(temp.path, 'judge', { ...everything, as: 'judge', leaveOut }).map(({ path }) => path);
    expect(read((path, isFolder) => isFolder && path === 'judge/out')).toEqual([
      'judge',
      'judge/a',
      'judge/link',
    ]);
    expect(read((path, isFolder) => isFolder && path === 'judge')).toEqual([]);
  });

  it.for<[string, (ws: string) => void, RegExp]>([
    ['is a link', (ws) => symlinkSync('src', join(ws, 'judge')), /"judge" cannot be sealed: it is a link/],
    [
      'lies behind a link',
      (ws) => {
        make(ws, { 'src/judge/a': 'a' });
        symlinkSync('src', join(ws, 'door'));
      },
      /"door\/judge" cannot be sealed: "door" is a link/,
    ],
    ['is too large', (ws) => make(ws, { 'judge/a': 'x'.repeat(1001) }), /larger than 1000 bytes/],
  ])('is refused where it %s', async ([, act, why]) => {
    await using temp = tempFolder();
    act(temp.path);
    const path = why.source.includes('door') ? 'door/judge' : 'judge';
    expect(() => readForSealing(temp.path, path, { ...everything, as: path })).toThrow(why);
  });
});

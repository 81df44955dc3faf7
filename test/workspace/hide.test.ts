import fs, {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rename } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { DamagedStore } from '../../src/platform/files/workspace-error.ts';
import { bringBack, hide, type OutOfSight } from '../../src/workspace/hide.ts';
import { asHeldByModes, make, picture, tempFolder, type Wanted } from './folders.ts';

function rig(wanted: Wanted) {
  const it = tempFolder();
  const ws = join(it.path, 'ws');
  make(it.path, { ws: {}, outside: {} });
  make(ws, wanted);
  const place = { folder: join(it.path, '.hidden'), list: join(it.path, '.hidden.json') };
  return {
    ...it,
    ws,
    place,
    was: picture(ws),
    hide: (what: OutOfSight) => hide(ws, place, what),
    back: () => bringBack(ws, place),
    /** Files and links in sight. */
    seen: () => picture(ws).flatMap((line) => (/ folder \d+$/.test(line) ? [] : [line.split(' ')[0]])),
  };
}

const tree: Wanted = {
  'README.md': 'r',
  'agent/main.txt': 'm',
  'examples/other/secret.md': 'x',
  'examples/specs/spec.md': 's',
  'scripts/other.sh': { text: 'echo', mode: 0o755 },
  'scripts/scenarios/user.sh': { text: 'echo holdout', mode: 0o750 },
  'scripts/scenarios': { mode: 0o550 },
  link: { link: 'README.md' },
};

const rows: readonly (readonly [what: string, hides: OutOfSight, hidden: RegExp])[] = [
  ['a folder', { hidden: ['scripts/scenarios/'] }, /^scripts\/scenarios/],
  ['a path that is not there, and one below a file', { hidden: ['nope/x', 'README.md/x'] }, /^$/],
  ['a path and one below it', { hidden: ['examples/specs/spec.md', './examples//'] }, /^examples/],
  [
    'all but a few',
    { hidden: [], only: ['agent', 'examples/specs/', 'scripts/other.sh'] },
    /^(?!agent|examples\/specs|scripts\/other)/,
  ],
  [
    'all but a few, of which one is hidden too',
    { hidden: ['scripts/scenarios'], only: ['scripts'] },
    /^(?!scripts\/other)/,
  ],
  ['a link, and what it leads to', { hidden: ['link'] }, /^(?:link|README\.md)$/],
];

test.for(rows)('hidden and brought back: %s', async ([, what, hidden]) => {
  await using it = rig(tree);
  const all = it.seen();
  const inode = statSync(join(it.ws, 'scripts/scenarios/user.sh')).ino;
  const time = statSync(join(it.ws, 'scripts/scenarios/user.sh'), { bigint: true }).mtimeNs;
  await it.hide(what);
  expect(it.seen()).toEqual(all.filter((path) => !hidden.test(path ?? '')));
  expect(await it.back()).toEqual([]);
  expect(picture(it.ws)).toEqual(it.was);
  expect(statSync(join(it.ws, 'scripts/scenarios/user.sh')).ino).toBe(inode);
  expect(statSync(join(it.ws, 'scripts/scenarios/user.sh'), { bigint: true }).mtimeNs).toBe(time);
  expect(existsSync(it.place.folder) || existsSync(it.place.list)).toBe(false);
});

test('names in any bytes are hidden and brought back', async () => {
  await using it = rig({ 'agent/x': 'x' });
  writeFileSync(Buffer.from(`${it.ws}/caf\xe9`, 'latin1'), 'coffee');
  const was = readdirSync(it.ws, 'buffer').map((name) => name.toString('latin1'));
  await it.hide({ hidden: [], only: ['agent'] });
  expect(readdirSync(it.ws)).toEqual(['agent']);
  await it.back();
  expect(readdirSync(it.ws, 'buffer').map((name) => name.toString('latin1'))).toEqual(was);
});

describe('what an agent made where files are hidden', () => {
  const deeds: readonly (readonly [string, (ws: string) => void, readonly string[]])[] = [
    [
      'the file anew',
      (ws) => make(ws, { 'scripts/scenarios/user.sh': 'forged' }),
      ['scripts/scenarios/user.sh'],
    ],
    [
      'another file in the hidden folder',
      (ws) => make(ws, { 'scripts/scenarios/new/n.sh': 'n' }),
      ['scripts/scenarios/new/n.sh'],
    ],
    ["a file in the folder's place", (ws) => make(ws, { 'scripts/scenarios': 'f' }), ['scripts/scenarios']],
    [
      "a link in the folder's place",
      (ws) => symlinkSync('../../outside', join(ws, 'scripts/scenarios')),
      ['scripts/scenarios'],
    ],
    ['the folder above gone', (ws) => rmSync(join(ws, 'scripts'), { recursive: true }), []],
    [
      'a link in place of the folder above',
      (ws) => {
        rmSync(join(ws, 'scripts'), { recursive: true });
        symlinkSync('../outside', join(ws, 'scripts'));
      },
      ['scripts'],
    ],
    [
      'a locked folder',
      (ws) => {
        make(ws, { 'scripts/scenarios/in/x': 'x' });
        chmodSync(join(ws, 'scripts/scenarios/in'), 0);
      },
      ['scripts/scenarios/in/x'],
    ],
    ['the whole workspace gone', (ws) => rmSync(ws, { recursive: true }), []],
    [
      'a link in place of the workspace',
      (ws) => {
        rmSync(ws, { recursive: true });
        symlinkSync('outside', ws);
      },
      [],
    ],
    ['the empty folder', (ws) => mkdirSync(join(ws, 'scripts/scenarios')), []],
  ];
  test.for(deeds)(
    '%s: the original wins, and every file that had to go is named',
    async ([, deed, named]) => {
      await using it = rig({ 'scripts/scenarios/user.sh': { text: 'real', mode: 0o755 }, 'README.md': 'r' });
      await it.hide({ hidden: ['scripts/scenarios', 'README.md'] });
      deed(it.ws);
      expect(await it.back()).toEqual(named);
      expect(picture(it.ws)).toEqual(it.was);
      expect(readdirSync(join(it.path, 'outside'))).toEqual([]);
    },
  );
});

test('a crash after any number of moves, away or back, loses nothing', async () => {
  const paths = ['README.md', 'agent', 'scripts/scenarios'];
  for (let away = 0; away <= paths.length; away++) {
    for (let back = 0; back <= away; back++) {
      await using it = rig(tree);
      await it.hide({ hidden: paths });
      chmodSync(it.place.folder, 0o700);
      // As a crash leaves it: what comes later than `away` was not moved yet, what comes before `back` is back.
      for (const [n, path] of paths.entries())
        if (n >= away || n < back) await rename(join(it.place.folder, String(n)), join(it.ws, path));
      expect(await it.back()).toEqual([]);
      expect(picture(it.ws)).toEqual(it.was);
      expect(await it.back()).toEqual([]);
    }
  }
});

test('what cannot be moved is an error that names it, and everything is where it was', async () => {
  await using it = rig({ ...tree, out: { link: '../outside' } });
  writeFileSync(join(it.path, 'outside/x'), 'x');
  await expect(it.hide({ hidden: ['README.md', 'out/x'] })).rejects.toThrow(
    'cannot hide "out/x": it leads out of the workspace by a link',
  );
  await expect(it.hide({ hidden: ['.'] })).rejects.toThrow('cannot hide the whole workspace');
  expect(picture(it.ws)).toEqual(it.was);
  expect(existsSync(it.place.list)).toBe(false);
});

test('where the disk fails amid it, what was moved is back', async () => {
  await using it = rig(tree);
  const { renameSync } = fs;
  fs.renameSync = (from, to) => {
    if (String(to) === join(it.place.folder, '1'))
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    renameSync(from, to);
  };
  syncBuiltinESMExports();
  try {
    await expect(it.hide({ hidden: ['README.md', 'agent', 'scripts/scenarios'] })).rejects.toThrow(
      'cannot hide "agent"',
    );
  } finally {
    fs.renameSync = renameSync;
    syncBuiltinESMExports();
  }
  expect(picture(it.ws)).toEqual(it.was);
  expect(existsSync(it.place.list)).toBe(false);
});

test('what was hidden when the engine was killed is not lost to what the next one hides', async () => {
  await using it = rig(tree);
  await it.hide({ hidden: ['README.md', 'agent'] });
  expect(await it.hide({ hidden: ['scripts/scenarios'] })).toEqual(['scripts/scenarios']);
  expect(it.seen()).toContain('README.md');
  expect(await it.back()).toEqual([]);
  expect(picture(it.ws)).toEqual(it.was);
});

test('a link to the workspace itself is hidden, not the workspace', async () => {
  await using it = rig({ ...tree, self: { link: '.' } });
  expect(await it.hide({ hidden: ['self'] })).toEqual(['self']);
  expect(it.seen()).toContain('README.md');
  await it.back();
  expect(picture(it.ws)).toEqual(it.was);
});

test('the folder that something is hidden from has its mode meanwhile', async () => {
  await using it = rig(tree);
  await it.hide({ hidden: ['scripts/scenarios/user.sh'] });
  expect(statSync(join(it.ws, 'scripts/scenarios')).mode & 0o777).toBe(0o550);
  await it.back();
  expect(picture(it.ws)).toEqual(it.was);
});

test('a user whom modes hold hides, brings back, and finds the door closed meanwhile', async () => {
  await using it = rig(tree);
  await asHeldByModes(it.path, async () => {
    const was = picture(it.ws);
    await it.hide({ hidden: ['scripts/scenarios/'], only: ['agent'] });
    expect(it.seen()).toEqual(['agent/main.txt']);
    expect(() => readdirSync(it.place.folder)).toThrow(/EACCES/);
    make(it.ws, { 'scripts/scenarios/user.sh': 'forged' });
    expect(await it.back()).toEqual(['scripts/scenarios/user.sh']);
    expect(picture(it.ws)).toEqual(was);
  });
});

// An engine that is stopped while it brings things back, and followed by one that hides them again.
test('a process that is superseded meanwhile does nothing more', async () => {
  let looks = 0;
  for (let whole = false; !whole; looks++) {
    await using it = rig(tree);
    await it.hide({ hidden: ['scripts/scenarios/', 'examples/other'] });
    let left = looks;
    let then: readonly string[] | undefined;
    const open = fence(it.path, () => {
      left -= 1;
      if (left >= 0) return;
      then ??= picture(it.path);
      throw new Superseded('taken');
    });
    const refused = await it.back().catch((error: unknown) => error);
    open();
    whole = then === undefined;
    if (whole) expect(picture(it.ws)).toEqual(it.was);
    else {
      expect(refused).toBeInstanceOf(Superseded);
      expect(picture(it.path)).toEqual(then);
    }
  }
  expect(looks).toBeGreaterThan(5);
});

test('a damaged list is reported with its path, and nothing is moved', async () => {
  await using it = rig(tree);
  await it.hide({ hidden: ['scripts/scenarios/'] });
  const { list } = it.place;
  const seen = it.seen();
  for (const text of ['', '{"schema_version":1,"paths":[', '{"schema_version":2,"paths":[],"folders":[]}']) {
    writeFileSync(list, text);
    const error = await it.back().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(DamagedStore);
    expect(String(error)).toContain(list);
    expect(it.seen()).toEqual(seen);
  }
});

test.for([
  ['climbs', '../outside/x', []],
  ['is absolute', '/outside/x', []],
  ['lies behind a folder that it does not name', 'way/x', []],
  ['is the workspace itself', '', []],
] as const)('a list with a path that %s moves nothing out of the workspace', async ([, path, folders]) => {
  await using it = rig({ ...tree, way: { link: '../outside' } });
  make(it.path, { 'outside/x': 'precious', '.hidden/0': 'moved' });
  const list = { schema_version: 1, paths: [{ path, mode: null }], folders };
  writeFileSync(it.place.list, JSON.stringify(list));
  const was = picture(it.path);
  const error = await it.back().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(DamagedStore);
  expect(picture(it.path)).toEqual(was);
});

/** A landing cut at any place is finished by whoever comes next, and what somebody did by hand meanwhile is kept. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  beginLanding,
  cutLanding,
  endLanding,
  type Landing,
  mendLanding,
} from '../../src/builder/landing.ts';
import { realClock } from '../../src/system/clock.ts';
import { bareEnv, type Files, folder, git, put, repository, tree } from './support.ts';

const before: Files = { 'a.txt': 'old a\n', 'keep.txt': 'k\n', 'gone/g.txt': 'g\n', '.gitignore': '*.log\n' };
const after: Files = {
  'a.txt': 'new a, and longer\n',
  'keep.txt': 'k\n',
  'n/new.txt': 'new\n',
  '.gitignore': '*.log\n',
};

/** `main` at `before`; `mine` goes to a commit with `after`: a new branch, or with `forward` the one in use. */
const templates = folder();
const repo = join(templates.path, 'repo');
mkdirSync(repo);
put(repo, before);
const base = repository(repo);
rmSync(join(repo, 'gone'), { recursive: true });
put(repo, after);
symlinkSync('a.txt', join(repo, 'link'));
git(repo, 'add', '-A');
git(repo, 'commit', '-q', '-m', 'landed');
const head = git(repo, 'rev-parse', 'HEAD');
git(repo, 'reset', '-q', '--hard', base);
put(repo, { 'x.log': 'ignored\n' });
const onMine = join(templates.path, 'mine');
cpSync(repo, onMine, { recursive: true, verbatimSymlinks: true });
git(onMine, 'switch', '-q', '-c', 'mine');
afterAll(() => templates[Symbol.dispose]());

function landing(root: string, forward: boolean) {
  const at = join(root, 'repo');
  cpSync(forward ? onMine : repo, at, { recursive: true, verbatimSymlinks: true });
  const from = { branch: forward ? 'mine' : 'main', commit: base };
  const it: Landing = {
    ...{ version: 1, run_id: 'R', run_dir: join(root, 'run'), digest: 'd', repo: at, branch: 'mine' },
    ...{ base, head, existed: forward, from },
    ...{ marker: 'FACTORY_RUN_MARKER=test-landing', began_at: '2020-01-01T00:00:00.000Z' },
  };
  const mend = () =>
    mendLanding(it, join(at, '.git'), { env: bareEnv(root), clock: { ...realClock, sleep: async () => {} } });
  return { ...it, mend };
}
const lock = (repo: string, name: string) => writeFileSync(join(repo, '.git', name), '');
const point = ({ repo, head }: Landing) => git(repo, 'update-ref', 'refs/heads/mine', head);
const half = ({ repo }: Landing) => {
  lock(repo, 'index.lock');
  writeFileSync(join(repo, 'a.txt'), 'new a, and');
  rmSync(join(repo, 'gone'), { recursive: true });
};
const switched = ({ repo, head }: Landing) => {
  git(repo, 'update-index', '-q', '--refresh');
  git(repo, 'read-tree', '-m', '-u', 'HEAD', head);
};

test.for<[string, boolean, (it: Landing) => void]>([
  ['once the branch is made', false, point],
  [
    'once the branch is made, with its lock left',
    false,
    (it) => {
      point(it);
      lock(it.repo, 'refs/heads/mine.lock');
    },
  ],
  [
    'once the branch is made, with the lock of a table of refs left',
    false,
    (it) => {
      point(it);
      mkdirSync(join(it.repo, '.git/reftable'));
      lock(it.repo, 'reftable/tables.list.lock');
    },
  ],
  [
    'at the first file',
    false,
    (it) => {
      point(it);
      lock(it.repo, 'index.lock');
      unlinkSync(join(it.repo, 'a.txt'));
    },
  ],
  [
    'amid the files',
    false,
    (it) => {
      point(it);
      half(it);
    },
  ],
  [
    'before HEAD is switched',
    false,
    (it) => {
      point(it);
      switched(it);
      lock(it.repo, 'HEAD.lock');
    },
  ],
  ['amid the files of the branch in use', true, half],
  ['before the branch in use moves', true, switched],
  [
    'when all is done',
    true,
    (it) => {
      git(it.repo, 'merge', '-q', '--ff-only', it.head);
      for (const name of ['ORIG_HEAD.lock', 'packed-refs.lock', 'config.lock']) lock(it.repo, name);
    },
  ],
])('a landing cut %s is finished: the branch, HEAD, the index and the files', async ([, forward, cut]) => {
  using at = folder();
  const it = landing(at.path, forward);
  cut(it);
  expect(await it.mend()).toBe('landed');
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
  expect(git(it.repo, 'branch', '--show-current')).toBe('mine');
  expect(git(it.repo, 'rev-parse', 'HEAD')).toBe(it.head);
  expect(tree(it.repo)).toEqual({ ...after, link: '-> a.txt', 'x.log': 'ignored\n' });
  expect(existsSync(join(it.repo, 'gone'))).toBe(false);
  const locks = readdirSync(join(it.repo, '.git'), { recursive: true }).filter((name) =>
    /\.lock$/.test(String(name)),
  );
  expect(locks).toEqual([]);
  expect(await it.mend()).toBe('landed');
});

test.for<[string, boolean, (it: Landing) => void, string]>([
  ['cut before anything moved', false, ({ repo }) => lock(repo, 'index.lock'), 'before'],
  ['cut before the branch in use moved', true, () => {}, 'before'],
  [
    'whose commits are gone',
    false,
    ({ repo }) => rmSync(join(repo, '.git/objects', head.slice(0, 2), head.slice(2)), { force: true }),
    'before',
  ],
  [
    'whose branch was moved elsewhere',
    true,
    ({ repo }) => git(repo, 'commit', '-q', '--allow-empty', '-m', 'x'),
    'left',
  ],
  [
    'after which HEAD was switched',
    false,
    (it) => {
      point(it);
      git(it.repo, 'switch', '-q', '-c', 'third');
    },
    'left',
  ],
  [
    'after which somebody committed where it began',
    false,
    (it) => {
      point(it);
      put(it.repo, { 'keep.txt': 'mine' });
      git(it.repo, 'commit', '-q', '-a', '-m', 'x');
    },
    'before',
  ],
  [
    'amid which somebody committed where it began',
    false,
    (it) => {
      point(it);
      git(it.repo, 'commit', '-q', '--allow-empty', '-m', 'x');
      put(it.repo, { 'a.txt': 'new a, and' });
    },
    'left',
  ],
  [
    'into a tree with changes',
    false,
    (it) => {
      point(it);
      put(it.repo, { 'keep.txt': 'mine' });
    },
    'left',
  ],
  [
    'into a tree with a change where it would write',
    false,
    (it) => {
      point(it);
      put(it.repo, { 'a.txt': 'mine' });
    },
    'left',
  ],
  ['of a repository that is gone', true, ({ repo }) => rmSync(repo, { recursive: true }), 'left'],
])('a landing %s is not gone on with', async ([, forward, cut, word]) => {
  using at = folder();
  const it = landing(at.path, forward);
  cut(it);
  const seen = () =>
    existsSync(it.repo)
      ? [tree(it.repo), git(it.repo, 'for-each-ref'), git(it.repo, 'status', '--porcelain')]
      : [];
  const was = seen();
  expect(await it.mend()).toBe(word);
  expect(seen()).toEqual(was);
});

test.for([
  { where: 'before the branch moved', forward: true, moves: false, back: base },
  { where: 'when the branch in use had moved', forward: true, moves: true, back: head },
  { where: 'when another branch had moved', forward: false, moves: true, back: base },
])(
  'a file that was changed by hand amid a landing cut $where is named, and nothing is touched',
  async ({ forward, moves, back }) => {
    using at = folder();
    const it = landing(at.path, forward);
    if (moves) point(it);
    half(it);
    put(it.repo, { 'n/new.txt': 'by hand\n' });
    const was = tree(it.repo);
    expect(await it.mend()).toEqual({
      problem: expect.stringMatching(
        /the run R was cut while it switched .* to "mine", and n\/new\.txt changed since/,
      ),
      fix: expect.stringContaining(`git reset --hard ${back}`),
    });
    expect(tree(it.repo)).toEqual(was);
  },
);

test('a link that was set by hand amid a cut landing is named, and nothing is touched', async () => {
  using at = folder();
  const it = landing(at.path, true);
  half(it);
  symlinkSync('keep.txt', join(it.repo, 'link'));
  const was = tree(it.repo);
  expect(await it.mend()).toMatchObject({ problem: expect.stringContaining('and link changed since') });
  expect(tree(it.repo)).toEqual(was);
});

test('a part of a file with the line ends of its checkout is a part of the landing', async () => {
  using at = folder();
  const it = landing(at.path, true);
  git(it.repo, 'config', 'core.autocrlf', 'true');
  half(it);
  put(it.repo, { 'n/new.txt': 'new\r' });
  expect(await it.mend()).toBe('landed');
  expect(readFileSync(join(it.repo, 'n/new.txt'), 'utf8')).toBe('new\r\n');
});

test('a landing that was cut before the commits came holds up nobody who has changes by then', async () => {
  using at = folder();
  const { repo, ...it } = landing(at.path, false);
  put(repo, { 'a.txt': 'by hand\n' });
  const was = tree(repo);
  const doors = { env: bareEnv(at.path), clock: realClock };
  const cut = { ...it, repo, head: '1'.repeat(40) };
  expect(await mendLanding(cut, join(repo, '.git'), doors)).toBe('before');
  expect(tree(repo)).toEqual(was);
});

test('a change elsewhere is kept where the branch in use is moved', async () => {
  using at = folder();
  const it = landing(at.path, true);
  half(it);
  put(it.repo, { 'keep.txt': 'changed by hand\n' });
  expect(await it.mend()).toBe('landed');
  expect(git(it.repo, 'status', '--porcelain')).toBe(' M keep.txt');
});

test('a landing is on record from its begin to its end', async () => {
  using at = folder();
  const { mend: _, ...it } = landing(at.path, false);
  const gitDir = join(it.repo, '.git');
  expect(await cutLanding(gitDir)).toBeUndefined();
  await beginLanding(gitDir, it);
  expect(await cutLanding(gitDir)).toEqual(it);
  await endLanding(gitDir);
  expect(await cutLanding(gitDir)).toBeUndefined();
});

test('a lock that another git has taken meanwhile is not taken away', async () => {
  using root = folder();
  const it = landing(root.path, false);
  const path = join(it.repo, '.git/index.lock');
  point(it);
  lock(it.repo, 'index.lock');
  const sleep = async () => {
    writeFileSync(`${path}.new`, 'of another');
    renameSync(`${path}.new`, path);
  };
  const doors = { env: bareEnv(root.path), clock: { ...realClock, sleep } };
  await mendLanding(it, join(it.repo, '.git'), doors).catch(() => undefined);
  expect(readFileSync(path, 'utf8')).toBe('of another');
});

test('a lock that was there before the landing began is not taken away', async () => {
  using root = folder();
  const { mend: _, ...it } = landing(root.path, false);
  lock(it.repo, 'index.lock');
  const began_at = new Date(Date.now() + 60_000).toISOString();
  const doors = { env: bareEnv(root.path), clock: { ...realClock, sleep: async () => {} } };
  await mendLanding({ ...it, began_at }, join(it.repo, '.git'), doors).catch(() => undefined);
  expect(existsSync(join(it.repo, '.git/index.lock'))).toBe(true);
});

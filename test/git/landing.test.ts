/** A landing that was interrupted anywhere is completed, and changes made by hand since then are kept. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  beginLanding,
  endLanding,
  type Landing,
  recoverLanding,
  unfinishedLanding,
} from '../../src/git/landing.ts';
import { bareEnv, type Files, folder, git, put, repository, tree } from '../builder/support.ts';

const before: Files = { 'a.txt': 'old a\n', 'keep.txt': 'k\n', 'gone/g.txt': 'g\n', '.gitignore': '*.log\n' };
const after: Files = {
  'a.txt': 'new a, and longer\n',
  'keep.txt': 'k\n',
  'n/new.txt': 'new\n',
  '.gitignore': '*.log\n',
};

/** `main` at `before`; `mine` goes to a commit with `after`: a new branch, or in `onMine` the one that is checked out. */
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

function landing(root: string, isCurrent: boolean) {
  const at = join(root, 'repo');
  cpSync(isCurrent ? onMine : repo, at, { recursive: true, verbatimSymlinks: true });
  const it: Landing = {
    ...{ version: 1, run_id: 'R', run_dir: join(root, 'run'), digest: 'd', repo: at, branch: 'mine' },
    ...{ base, head, from: { branch: isCurrent ? 'mine' : 'main', commit: base, clean: true } },
    began_at: '2020-01-01T00:00:00.000Z',
  };
  const recover = (more: Partial<Landing> = {}) =>
    recoverLanding({ ...it, ...more }, join(at, '.git'), bareEnv(root));
  return { ...it, recover };
}
const lock = (repo: string, name: string) => put(repo, { [`.git/${name}`]: '' });
const point = ({ repo, head }: Landing) => git(repo, 'update-ref', 'refs/heads/mine', head);
const half = ({ repo }: Landing) => {
  lock(repo, 'index.lock');
  put(repo, { 'a.txt': 'new a, and' });
  rmSync(join(repo, 'gone'), { recursive: true });
};
type Step = (it: Landing) => unknown;
const all =
  (...steps: readonly Step[]) =>
  (it: Landing): void =>
    steps.forEach((step) => void step(it));
const switched = ({ repo, head }: Landing) => {
  git(repo, 'update-index', '-q', '--refresh');
  git(repo, 'read-tree', '-m', '-u', 'HEAD', head);
};

test.for<[string, boolean, (it: Landing) => void]>([
  [
    'at the first file',
    false,
    all(
      point,
      ({ repo }) => unlinkSync(join(repo, 'a.txt')),
      ({ repo }) => lock(repo, 'index.lock'),
    ),
  ],
  ['amid the files', false, all(point, half)],
  ['before HEAD is switched', false, all(point, switched, ({ repo }) => lock(repo, 'HEAD.lock'))],
  [
    'when HEAD is switched by a recovery that was killed too',
    false,
    all(point, half, ({ repo }) => git(repo, 'symbolic-ref', 'HEAD', 'refs/heads/mine')),
  ],
  ['amid the files of the current branch', true, half],
  ['before the current branch moves', true, switched],
])('a landing interrupted %s is completed: branch, HEAD, index and files', async ([, isCurrent, cut]) => {
  using at = folder();
  const it = landing(at.path, isCurrent);
  cut(it);
  expect(await it.recover()).toBeUndefined();
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
  expect(git(it.repo, 'branch', '--show-current')).toBe('mine');
  expect(git(it.repo, 'rev-parse', 'HEAD')).toBe(it.head);
  expect(tree(it.repo)).toEqual({ ...after, link: '-> a.txt', 'x.log': 'ignored\n' });
  expect(existsSync(join(it.repo, 'gone'))).toBe(false);
  const names = readdirSync(join(it.repo, '.git'), { recursive: true }).map(String);
  expect(names.filter((name) => name.endsWith('.lock'))).toEqual([]);
  expect(await it.recover()).toBeUndefined();
});

test.for<[string, boolean, (it: Landing) => void, Partial<Landing>?]>([
  ['before anything moved', false, () => {}],
  ['when only the branch had moved', false, point],
  ['before the commits came', false, ({ repo }) => put(repo, { 'a.txt': 'mine' }), { head: '1'.repeat(40) }],
  [
    'before another commit on the branch',
    true,
    ({ repo }) => git(repo, 'commit', '-q', '--allow-empty', '-m', 'x'),
  ],
  ['before another switch', false, all(point, ({ repo }) => git(repo, 'switch', '-q', '-c', 'third'), half)],
  [
    'before another commit where it began',
    false,
    all(
      point,
      ({ repo }) => git(repo, 'commit', '-q', '--allow-empty', '-m', 'x'),
      ({ repo }) => put(repo, { 'a.txt': 'new a, and' }),
    ),
  ],
  [
    'in a tree with changes, which is not switched',
    false,
    all(point, ({ repo }) => put(repo, { 'a.txt': 'mine' })),
    { from: { branch: 'main', commit: base, clean: false } },
  ],
])('nothing is touched where the landing was interrupted %s', async ([, isCurrent, cut, more]) => {
  using at = folder();
  const it = landing(at.path, isCurrent);
  cut(it);
  rmSync(join(it.repo, '.git/index.lock'), { force: true });
  const seen = () => [tree(it.repo), git(it.repo, 'for-each-ref'), git(it.repo, 'status', '--porcelain')];
  const was = seen();
  expect(await it.recover(more)).toBeUndefined();
  expect(seen()).toEqual(was);
});

test('a repository that is gone has nothing to recover', async () => {
  using at = folder();
  const it = landing(at.path, true);
  rmSync(it.repo, { recursive: true });
  expect(await it.recover()).toBeUndefined();
});

test.for<[string, boolean, (it: Landing) => void, string]>([
  ['a new file of the move', true, ({ repo }) => put(repo, { 'n/new.txt': 'by hand\n' }), 'n/new.txt'],
  ['another tracked file', true, ({ repo }) => put(repo, { 'keep.txt': 'by hand\n' }), 'keep.txt'],
  ['an untracked file', false, ({ repo }) => put(repo, { 'other.txt': 'by hand\n' }), 'other.txt'],
  ['a symbolic link', false, ({ repo }) => symlinkSync('keep.txt', join(repo, 'link')), 'link'],
  ['a directory', false, ({ repo }) => put(repo, { 'n/new.txt/x': 'by hand\n' }), 'n/new.txt'],
])(
  '%s changed by hand amid an interrupted landing is named, and nothing is touched',
  async ([, isCurrent, change, name]) => {
    using at = folder();
    const it = landing(at.path, isCurrent);
    if (!isCurrent) point(it);
    half(it);
    change(it);
    const was = tree(it.repo);
    expect(await it.recover()).toEqual({
      problem: expect.stringMatching(
        new RegExp(`run R was interrupted while it switched .* to "mine".*${name}`),
      ),
      fix: expect.stringContaining('git stash -u'),
    });
    expect(tree(it.repo)).toEqual(was);
  },
);

test('an incomplete file with the line ends of its checkout is part of the landing', async () => {
  using at = folder();
  const it = landing(at.path, true);
  git(it.repo, 'config', 'core.autocrlf', 'true');
  half(it);
  put(it.repo, { 'n/new.txt': 'new\r' });
  expect(await it.recover()).toBeUndefined();
  expect(tree(it.repo)['n/new.txt']).toBe('new\r\n');
});

test('a lock file from before the landing is not removed', async () => {
  using at = folder();
  const it = landing(at.path, false);
  lock(it.repo, 'index.lock');
  utimesSync(join(it.repo, '.git/index.lock'), 1, 1);
  expect(await it.recover()).toBeUndefined();
  expect(existsSync(join(it.repo, '.git/index.lock'))).toBe(true);
});

test('the record of a landing is there from its beginning to its end', async () => {
  using at = folder();
  const { recover: _, version: __, from, ...it } = landing(at.path, false);
  const gitDir = join(it.repo, '.git');
  expect(await unfinishedLanding(gitDir)).toBeUndefined();
  await beginLanding(gitDir, it, bareEnv(at.path));
  expect(await unfinishedLanding(gitDir)).toEqual({ version: 1, ...it, from });
  await endLanding(gitDir);
  expect(await unfinishedLanding(gitDir)).toBeUndefined();
});

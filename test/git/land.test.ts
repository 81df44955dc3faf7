/** A run's commits onto a branch of a real repository, in which something has changed since the run began. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { land } from '../../src/git/landing.ts';
import { beginRun, commitPaths, folder, git, put, repository, tree, when } from '../builder/support.ts';

/** Lands a commit of `a.txt` on the branch `work`, after `meanwhile`; the repository stands on main. */
async function landed(
  root: string,
  meanwhile: (repo: string) => void,
  more: {
    readonly existed?: boolean;
    readonly changed?: boolean;
    readonly log?: boolean;
    readonly branch?: string;
  } = {},
) {
  const repo = join(root, 'src');
  put(root, { 'src/a.txt': 'a\n' });
  const base = repository(repo);
  const { existed = true, changed = true, log = false, branch = 'work' } = more;
  if (existed) git(repo, 'branch', branch);
  const begun = await beginRun({ root, workdir: repo });
  const { history: historyDir, workspace } = begun.run;
  const author = { name: 'Ada', email: 'ada@example.test' };
  put(workspace, { 'a.txt': changed ? 'new\n' : 'a\n', ...(log ? { 'b.log': 'new\n' } : {}) });
  const made = await commitPaths({
    historyDir,
    workspace,
    env: begun.env,
    parent: begun.first,
    order: { id: 'WO-01', title: 'x' },
    digest: 'd'.repeat(64),
    runId: 'R',
    author,
    date: when,
    touched: ['a.txt', ...(log ? ['b.log'] : [])],
  });
  if ('problem' in made) throw new Error(made.problem);
  const head = made.commit ?? base;
  meanwhile(repo);
  const options = { historyDir, repo, branch, existed, base, head, startingBranch: 'main', author };
  const told = await land({ ...options, env: begun.env });
  const tip = () => git(repo, 'for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`);
  return { told, repo, base, head, tip: tip(), on: git(repo, 'branch', '--show-current') };
}

test.for([true, false])(
  'in an unchanged repository the branch moves and the tree is switched (existed before: %s)',
  async (existed) => {
    using it = folder();
    const { told, repo, head, tip, on } = await landed(it.path, () => {}, { existed });
    expect(told).toEqual({ switched: true, notes: [] });
    expect([tip, on]).toEqual([head, 'work']);
    expect(tree(repo)).toEqual({ 'a.txt': 'new\n' });
  },
);

test.for([true, false])(
  'a deleted branch is not created again, whether the run has commits or not (%s)',
  async (changed) => {
    using it = folder();
    const gone = (repo: string): void => void git(repo, 'branch', '-D', 'work');
    const { told, tip, on } = await landed(it.path, gone, { changed });
    expect(told).toMatchObject({ problem: 'the branch "work", with which the run began, does not exist' });
    expect([tip, on]).toEqual(['', 'main']);
  },
);

test.for([
  [
    'with an uncommitted change',
    (repo: string): void => writeFileSync(join(repo, 'a.txt'), 'mine\n'),
    'not clean',
    'mine\n',
  ],
  [
    'with an untracked file',
    (repo: string): void => writeFileSync(join(repo, 'b.txt'), 'b\n'),
    'not clean',
    'a\n',
  ],
  [
    'on another branch',
    (repo: string): void => void git(repo, 'switch', '-q', '-c', 'other'),
    '"main" is no longer checked out',
    'a\n',
  ],
] as const)('a working tree %s stays unchanged, with a note', async ([, meanwhile, why, text]) => {
  using it = folder();
  const { told, repo, head, tip, on } = await landed(it.path, meanwhile);
  expect(told).toMatchObject({ switched: false, notes: [expect.stringContaining(why)] });
  expect(tip).toBe(head);
  expect(on).not.toBe('work');
  expect(tree(repo)['a.txt']).toBe(text);
});

test.for([
  ['merge.ff', 'false'],
  ['merge.verifySignatures', 'true'],
] as const)('the setting %s=%s of the user for merges does not apply', async ([key, value]) => {
  using it = folder();
  const { told, tip, head } = await landed(it.path, (repo) => {
    git(repo, 'switch', '-q', 'work');
    git(repo, 'config', key, value);
  });
  expect(told).toEqual({ switched: true, notes: [] });
  expect(tip).toBe(head);
});

test('a branch that someone else has created is not moved', async () => {
  using it = folder();
  const made = (repo: string): void => void git(repo, 'branch', 'work');
  const { told, tip, base, on } = await landed(it.path, made, { existed: false });
  expect(told).toMatchObject({ problem: expect.stringContaining('it did not exist when the run began') });
  expect([tip, on]).toEqual([base, 'main']);
});

test('a locked branch is not moved and not switched to', async () => {
  using it = folder();
  const { told, tip, base, on } = await landed(it.path, (repo) =>
    writeFileSync(join(repo, '.git/refs/heads/work.lock'), ''),
  );
  expect(told).toMatchObject({ problem: expect.stringMatching(/"work" could not be moved.*work\.lock/s) });
  expect([tip, on]).toEqual([base, 'main']);
});

test('a branch with other new commits is not moved', async () => {
  using it = folder();
  const { told, tip, head } = await landed(it.path, (repo) => {
    git(repo, 'fetch', '-q', join(it.path, 'runs/RUN1/history.git'), 'refs/factory/head');
    git(repo, 'switch', '-q', 'work');
    git(repo, 'commit', '-q', '--allow-empty', '-m', 'mine');
    git(repo, 'switch', '-q', 'main');
  });
  expect(told).toMatchObject({ problem: expect.stringContaining('has moved to') });
  expect(tip).not.toBe(head);
});

test('a branch that has the commits already is switched to', async () => {
  using it = folder();
  const { told, on } = await landed(it.path, (repo) =>
    git(repo, 'fetch', '-q', join(it.path, 'runs/RUN1/history.git'), 'refs/factory/head:work'),
  );
  expect(told).toEqual({ switched: true, notes: [] });
  expect(on).toBe('work');
});

test('a repository without the commit with which the run began gets no branch', async () => {
  using it = folder();
  const { told, tip, on } = await landed(
    it.path,
    (repo) => {
      rmSync(join(repo, '.git'), { recursive: true });
      writeFileSync(join(repo, 'b.txt'), 'b\n');
      repository(repo);
    },
    { existed: false },
  );
  expect(told).toMatchObject({
    problem: expect.stringContaining('no longer has the commit'),
    fix: expect.stringContaining('--to DIR'),
  });
  expect([tip, on]).toEqual(['', 'main']);
});

test('a branch that another working tree has checked out is not moved', async () => {
  using it = folder();
  const { told, tip, base } = await landed(it.path, (repo) =>
    git(repo, 'worktree', 'add', '-q', join(it.path, 'other'), 'work'),
  );
  expect(told).toMatchObject({ problem: expect.stringContaining('is checked out in a working tree') });
  expect(tip).toBe(base);
});

const onWork = (repo: string): void => void git(repo, 'switch', '-q', 'work');

test.for([
  ['the branch in use', onWork, 'problem'],
  ['another branch', () => {}, 'notes'],
] as const)('a file that git ignores is not lost where %s moves', async ([, first, told]) => {
  using it = folder();
  const was = await landed(
    it.path,
    (repo) => {
      first(repo);
      writeFileSync(join(repo, '.git/info/exclude'), '*.log\n');
      writeFileSync(join(repo, 'b.log'), 'mine\n');
    },
    { log: true },
  );
  expect(was.told).toHaveProperty(told);
  expect(was.told).not.toMatchObject({ switched: true });
  expect(tree(was.repo)).toEqual({ 'a.txt': 'a\n', 'b.log': 'mine\n' });
});

test('uncommitted changes are not stashed, whatever the settings', async () => {
  using it = folder();
  const { told, repo, tip, base } = await landed(it.path, (at) => {
    onWork(at);
    git(at, 'config', 'merge.autoStash', 'true');
    writeFileSync(join(at, 'a.txt'), 'mine\n');
  });
  expect(told).toHaveProperty('problem');
  expect(tree(repo)).toEqual({ 'a.txt': 'mine\n' });
  expect(git(repo, 'stash', 'list')).toBe('');
  expect(tip).toBe(base);
});

test.for(['work', 'a=b'])('merge options of the branch %s do not apply', async (branch) => {
  using it = folder();
  const squashes = (repo: string): void => {
    git(repo, 'switch', '-q', branch);
    git(repo, 'config', `branch.${branch}.mergeOptions`, '--squash');
  };
  const { told, tip, head } = await landed(it.path, squashes, { branch });
  expect(told).toEqual({ switched: true, notes: [] });
  expect(tip).toBe(head);
});

test.for([
  ['the branch in use', onWork, 'refs/heads/work.lock'],
  ['another branch', () => {}, 'HEAD.lock'],
] as const)(
  'a move of %s that fails after files have changed is reported as such',
  async ([, first, lock]) => {
    using it = folder();
    const moving = landed(it.path, (repo) => {
      first(repo);
      writeFileSync(join(repo, '.git', lock), '');
    });
    await expect(moving).rejects.toMatchObject({ unanswered: true });
    expect(tree(join(it.path, 'src'))).toEqual({ 'a.txt': 'new\n' });
  },
);

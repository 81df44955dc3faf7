/** A run's commits onto a branch of a real repository, in which somebody has done something meanwhile. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { land } from '../../src/builder/land.ts';
import { beginRun, commitPaths, folder, git, put, repository, tree, when } from './support.ts';

/** Lands a commit of `a.txt` on the branch `work`, after `meanwhile`; the repository stands on main. */
async function landed(
  root: string,
  meanwhile: (repo: string) => void,
  more: { readonly existed?: boolean; readonly changed?: boolean } = {},
) {
  const repo = join(root, 'src');
  put(root, { 'src/a.txt': 'a\n' });
  const base = repository(repo);
  const { existed = true, changed = true } = more;
  if (existed) git(repo, 'branch', 'work');
  const begun = await beginRun({ root, workdir: repo });
  const { history: historyDir, workspace } = begun.run;
  const author = { name: 'Ada', email: 'ada@example.test' };
  put(workspace, { 'a.txt': changed ? 'new\n' : 'a\n' });
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
    touched: ['a.txt'],
  });
  if ('problem' in made) throw new Error(made.problem);
  const head = made.commit ?? base;
  meanwhile(repo);
  const options = { historyDir, repo, branch: 'work', existed, base, head, startingBranch: 'main', author };
  const told = await land({ ...options, marker: 'FACTORY_TEST=1', env: begun.env });
  const tip = () => git(repo, 'for-each-ref', '--format=%(objectname)', 'refs/heads/work');
  return { told, repo, base, head, tip: tip(), on: git(repo, 'branch', '--show-current') };
}

test.for([true, false])(
  'nothing was done: the branch moves, and the tree is switched (there before: %s)',
  async (existed) => {
    using it = folder();
    const { told, repo, head, tip, on } = await landed(it.path, () => {}, { existed });
    expect(told).toEqual({ switched: true, notes: [] });
    expect([tip, on]).toEqual([head, 'work']);
    expect(tree(repo)).toEqual({ 'a.txt': 'new\n' });
  },
);

test.for([true, false])(
  'a branch that is gone is not made again, whether there is anything to land or not (%s)',
  async (changed) => {
    using it = folder();
    const gone = (repo: string): void => void git(repo, 'branch', '-D', 'work');
    const { told, tip, on } = await landed(it.path, gone, { changed });
    expect(told).toMatchObject({ problem: 'the branch "work" is gone, which the run began with' });
    expect([tip, on]).toEqual(['', 'main']);
  },
);

test.for([
  [
    'with a change that nobody has committed',
    (repo: string): void => writeFileSync(join(repo, 'a.txt'), 'mine\n'),
    'not clean',
    'mine\n',
  ],
  [
    'with a file that is new',
    (repo: string): void => writeFileSync(join(repo, 'b.txt'), 'b\n'),
    'not clean',
    'a\n',
  ],
  [
    'on another branch',
    (repo: string): void => void git(repo, 'switch', '-q', '-c', 'other'),
    'no longer on "main"',
    'a\n',
  ],
] as const)('a working tree %s stays as it is, and a note says so', async ([, meanwhile, why, text]) => {
  using it = folder();
  const { told, repo, head, tip, on } = await landed(it.path, meanwhile);
  expect(told).toMatchObject({ switched: false, notes: [expect.stringContaining(why)] });
  expect(tip).toBe(head);
  expect(on).not.toBe('work');
  expect(tree(repo)['a.txt']).toBe(text);
});

test('a branch on which somebody went on is left alone', async () => {
  using it = folder();
  const { told, tip, head } = await landed(it.path, (repo) => {
    git(repo, 'switch', '-q', 'work');
    git(repo, 'commit', '-q', '--allow-empty', '-m', 'mine');
    git(repo, 'switch', '-q', 'main');
  });
  expect(told).toMatchObject({ problem: expect.stringContaining('has moved meanwhile') });
  expect(tip).not.toBe(head);
});

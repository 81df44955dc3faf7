/** Why a branch did not move, by git's own words about real repositories. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { notMoved } from '../../src/builder/deliver.ts';
import { GitError, sourceGit } from '../../src/system/git.ts';
import { bareEnv, folder, git, repository } from './support.ts';

/** What git says when `branch` shall be at HEAD, and is thought to be at `old`. */
async function said(root: string, branch: string, old: 'none' | 'HEAD', prepare?: (refs: string) => void) {
  const source = join(root, 'src');
  repository(source);
  git(source, 'commit', '-q', '--allow-empty', '-m', 'second');
  git(source, 'branch', 'behind', 'HEAD~1');
  prepare?.(join(source, '.git/refs/heads'));
  const head = git(source, 'rev-parse', 'HEAD');
  const from = old === 'HEAD' ? head : '0'.repeat(head.length);
  const args = ['update-ref', '--no-deref', `refs/heads/${branch}`, head, from];
  const ended = await sourceGit(source, bareEnv(root)).run(args);
  if (ended.ok) throw new Error('it has moved');
  return ended.why;
}

test.for([
  ['behind', 'none'],
  ['behind', 'HEAD'],
  ['gone', 'HEAD'],
] as const)('of "%s", thought to be at %s, that somebody has moved it', async ([branch, old]) => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const problem = notMoved(branch, await said(it.path, branch, old), 'another');
  expect(problem).toMatchObject({
    problem: expect.stringContaining('was moved by somebody'),
    fix: 'another',
  });
});

test('of one that another git holds, which file is in the way', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const why = await said(it.path, 'behind', 'HEAD', (refs) => writeFileSync(join(refs, 'behind.lock'), ''));
  const lock = join('src/.git/refs/heads/behind.lock');
  expect(notMoved('behind', why, 'another')).toMatchObject({ problem: expect.stringContaining(lock) });
});

// As git 2.45 and newer say it where refs are kept in tables.
test('of one whose table of refs another git holds, that it is locked', () => {
  const why = "fatal: update_ref failed for ref 'refs/heads/behind': cannot lock references";
  const problem = notMoved('behind', why, 'another');
  expect(problem.problem).toMatch(
    /"behind" is locked: .* left reftable\/tables\.list\.lock in the git folder$/,
  );
});

test.for(['', 'no commit\n'])(
  'of one that a power cut has torn (%j), never that somebody moved it',
  async (torn) => {
    using it = folder({ 'src/a.txt': 'a\n' });
    const why = await said(it.path, 'behind', 'none', (refs) => writeFileSync(join(refs, 'behind'), torn));
    const problem = () => notMoved('behind', why, 'another');
    expect(problem).toThrow(GitError);
    expect(problem).toThrow(/the branch "behind" cannot be written: .*broken/);
  },
);

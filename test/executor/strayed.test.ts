/** What is built is run in the proof, where the run's history lies within its reach: a commit that it puts there is nobody's. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git, put, repository } from '../builder/support.ts';
import { home } from '../support/cli.ts';
import { answer, order } from './support.ts';

/** Moves the run's refs to a commit beside its own, in the words of a test of the product's. */
const strays = (history: string) => `test -n "$FACTORY_PROOF" || exit 0
export GIT_DIR='${history}' GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=e
made=$(git commit-tree -p refs/factory/base -m 'WO-01: Step 1' "refs/factory/base^{tree}")
git update-ref refs/factory/head $made
git update-ref refs/heads/factory $made
`;

test('a history that a check has moved is neither landed nor delivered', async () => {
  await using it = await home({
    'order.json': JSON.stringify(order(1)),
    'script.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { propose: [answer('f1.txt', '1\n')] },
    }),
  });
  const repo = join(it.path, 'repo');
  const history = join(it.path, 'runs/o/history.git');
  put(repo, { 'scripts/verify.sh': strays(history) });
  repository(repo);
  const ran = await it.factory([
    ...['order', 'run', '--repo', 'repo', '--work-order', 'order.json', '--branch', 'mine', '--run-id', 'o'],
    ...['--agent', 'scripted', '--script', 'script.json', '--runsdir', 'runs', '--no-push', '--json'],
  ]);
  expect(ran.code, ran.stderr).toBe(1);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    verdict: 'FAIL',
    commit: null,
    reason: expect.stringContaining('or a check of it, has moved it'),
  });
  expect(git(repo, 'branch', '--list', 'mine')).toBe('');
  const delivered = await it.factory(['deliver', 'o', '--runsdir', 'runs', '--to', 'out']);
  expect(delivered.code).toBe(1);
  expect(delivered.stderr).toContain('has moved it');
  expect(existsSync(join(it.path, 'out'))).toBe(false);
});

/** Work on a repository, after a landing that a kill has interrupted. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { plainHost } from '../../../src/app/embedded.ts';
import { withRepositoryLock } from '../../../src/app/orders/lock.ts';
import { beginLanding } from '../../../src/git/landing.ts';
import { realSpawn } from '../../../src/platform/process/spawn.ts';
import { bareEnv, folder, git, repository } from '../../builder/support.ts';

test('a landing whose run is gone is given up with a warning, and the work goes ahead', async () => {
  using it = folder({ 'repo/a.txt': 'a\n' });
  const repo = join(it.path, 'repo');
  const base = repository(repo);
  git(repo, 'commit', '-q', '--allow-empty', '-m', 'landed');
  const env = bareEnv(it.path);
  mkdirSync(join(repo, '.git/factory'));
  const places = {
    run_dir: join(it.path, 'run'),
    repo,
    branch: 'main',
    base,
    head: git(repo, 'rev-parse', 'HEAD'),
  };
  const began_at = new Date().toISOString();
  await beginLanding(join(repo, '.git'), { run_id: 'R', digest: 'd', began_at, ...places }, env);
  const logged: unknown[] = [];
  const log = (...words: unknown[]) => void logged.push(words);
  const doors = { ...plainHost({ cwd: it.path, env }), spawn: realSpawn, log };
  expect(await withRepositoryLock(repo, doors, async (interrupted) => ['done', interrupted])).toEqual([
    'done',
    undefined,
  ]);
  expect(logged).toEqual([['warn', expect.stringContaining('cannot be resumed'), { run: 'R' }]]);
  expect(existsSync(join(repo, '.git/factory/landing.json'))).toBe(false);
});

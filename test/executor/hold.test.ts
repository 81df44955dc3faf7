/** Who works on a repository next hears what became of a landing that was cut there. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { beginLanding, type Landing } from '../../src/builder/landing.ts';
import { holding } from '../../src/executor/hold.ts';
import { realClock } from '../../src/system/clock.ts';
import { bareEnv, folder, git, repository } from '../builder/support.ts';

test('one that somebody has gone on from by hand is let be, and that is told', async () => {
  using it = folder({ 'repo/a.txt': 'a\n' });
  const repo = join(it.path, 'repo');
  const base = repository(repo);
  git(repo, 'commit', '-q', '--allow-empty', '-m', 'landed');
  const head = git(repo, 'rev-parse', 'HEAD');
  git(repo, 'commit', '-q', '--allow-empty', '-m', 'mine');
  const landing: Landing = {
    ...{ version: 1, run_id: 'R', run_dir: join(it.path, 'run'), digest: 'd', repo, branch: 'main' },
    ...{ base, head, existed: true, from: { branch: 'main', commit: base } },
    ...{ marker: 'FACTORY_RUN_MARKER=test-hold', began_at: '2020-01-01T00:00:00.000Z' },
  };
  await beginLanding(join(repo, '.git'), landing);
  const told: unknown[] = [];
  const doors = {
    env: bareEnv(it.path),
    clock: realClock,
    log: (...words: unknown[]) => void told.push(words),
  };
  expect(await holding(repo, doors, async (cut) => ['done', cut])).toEqual(['done', undefined]);
  expect(told).toEqual([['warn', expect.stringContaining('is left unfinished'), { run: 'R' }]]);
  expect(existsSync(join(repo, '.git/factory/landing.json'))).toBe(false);
  told.length = 0;
  await holding(repo, doors, async () => 'done');
  expect(told).toEqual([]);
});

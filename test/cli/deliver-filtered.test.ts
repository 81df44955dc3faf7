/** A delivery of files that a filter of the user's git would have converted. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, git } from '../builder/support.ts';
import { run } from './delivered-run.ts';

test('a file that a filter would have converted is a warning, by the attributes of its commit, and not pushed', async () => {
  using it = folder();
  const writes = { '.gitattributes': '*.txt filter=turn\n', 'f1.txt': '1\n', 'sub/run.sh': 's\n' };
  const r = await run(it.path, { writes });
  const remote = join(it.path, 'remote.git');
  git(it.path, 'init', '-q', '--bare', remote);
  git(r.source, 'remote', 'add', 'origin', remote);
  git(r.source, 'config', 'filter.turn.clean', 'rev');
  const stands = () => [
    git(r.source, 'status', '--porcelain=v2', '--branch', '--ignored'),
    readFileSync(join(r.source, '.git/index'), 'latin1'),
  ];
  const before = stands();
  expect(await r.asked({ branch: 'work', push: true })).toBe(1);
  expect(r.said()).toContain('the commit has these files as they were written: f1.txt (turn)\n');
  expect(r.said()).toMatch(/delivered, but not pushed: a filter of your git .*[\s\S]*push -u origin work/);
  expect(git(r.source, 'rev-parse', 'work')).toBe(r.head);
  expect(git(remote, 'branch')).toBe('');
  expect(stands()).toEqual(before);
});

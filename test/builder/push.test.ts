import { join } from 'node:path';
import { expect, test } from 'vitest';
import { push } from '../../src/builder/push.ts';
import { fence, Superseded } from '../../src/system/fence.ts';
import { realSpawn } from '../../src/system/processes.ts';
import { bareEnv, folder, git, repository } from './support.ts';

test('whoever has lost the repository to another run pushes nothing', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const repo = join(it.path, 'src');
  repository(repo);
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  git(repo, 'remote', 'add', 'origin', join(it.path, 'remote.git'));
  const held = join(repo, '.git/factory');
  const given = { repo, branch: 'main', env: bareEnv(it.path), held };
  const open = fence(held, () => {
    throw new Superseded('another run has it');
  });
  await expect(push(given, realSpawn)).rejects.toThrow(Superseded);
  open();
  expect(git(join(it.path, 'remote.git'), 'branch')).toBe('');
  expect(await push(given, realSpawn)).toMatchObject({ ok: true });
});

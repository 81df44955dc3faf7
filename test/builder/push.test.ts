import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { push } from '../../src/builder/push.ts';
import { fence, Superseded } from '../../src/system/fence.ts';
import { makerWord } from '../../src/system/maker.ts';
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

test('clears what a push that was killed has left among the temporary files, and nothing else', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const [repo, tmp] = [join(it.path, 'src'), join(it.path, 'tmp')];
  repository(repo);
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  git(repo, 'remote', 'add', 'origin', join(it.path, 'remote.git'));
  const { pid } = spawnSync('true');
  const ended = makerWord().replace(/\.\d+\./, `.${pid}.`);
  const left = [`factory-push-${makerWord()}-abcdef`, 'factory-push-mine', `other-${ended}-abcdef`];
  for (const name of [...left, `factory-push-${ended}-abcdef`])
    mkdirSync(join(tmp, name), { recursive: true });
  const env = { ...bareEnv(it.path), TMPDIR: tmp };
  expect(await push({ repo, branch: 'main', env }, realSpawn)).toMatchObject({ ok: true });
  expect(readdirSync(tmp).sort()).toEqual(left.sort());
});

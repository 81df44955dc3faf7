import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { push, pushFailure } from '../../src/git/push.ts';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { realSpawn } from '../../src/platform/process/spawn.ts';
import { bareEnv, folder, git, put, repository } from '../builder/support.ts';

/** The repository in `src` of a folder, with an empty one that is its first remote. */
function withOrigin(root: string): { readonly repo: string; readonly remote: string } {
  const [repo, remote] = [join(root, 'src'), join(root, 'remote.git')];
  repository(repo);
  git(root, 'init', '-q', '--bare', 'remote.git');
  git(repo, 'remote', 'add', 'origin', remote);
  return { repo, remote };
}

test('an owner that has lost the lock of the repository pushes nothing', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const { repo, remote } = withOrigin(it.path);
  const held = join(repo, '.git/factory');
  const given = { repo, branch: 'main', env: bareEnv(it.path), held };
  const open = fence(held, () => {
    throw new Superseded('another run has it');
  });
  await expect(push(given, realSpawn)).rejects.toThrow(Superseded);
  open();
  expect(git(remote, 'branch')).toBe('');
  expect(await push(given, realSpawn)).toMatchObject({ ok: true });
});

test('a push is of the branch also where a tag has its name, sets its upstream, and runs no hook', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const { repo, remote } = withOrigin(it.path);
  git(repo, 'tag', 'main');
  mkdirSync(join(repo, '.git/hooks'), { recursive: true });
  writeFileSync(join(repo, '.git/hooks/pre-push'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  git(repo, 'config', 'hook.mine.event', 'pre-push');
  git(repo, 'config', 'hook.mine.command', 'exit 1');
  const told = await push({ repo, branch: 'main', env: bareEnv(it.path) }, realSpawn);
  expect(told).toMatchObject({ ok: true, remote: 'origin' });
  expect(git(remote, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  expect(git(repo, 'rev-parse', '--abbrev-ref', 'main@{upstream}')).toBe('origin/main');
});

test('a push is of the branch also where the settings push submodules only', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const { repo, remote } = withOrigin(it.path);
  git(repo, 'config', 'push.recurseSubmodules', 'only');
  expect(await push({ repo, branch: 'main', env: bareEnv(it.path) }, realSpawn)).toMatchObject({ ok: true });
  expect(git(remote, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
});

test('the reason of a failed push is found in the output of git', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const repo = join(it.path, 'src');
  repository(repo);
  const whyOf = async (): Promise<string> => {
    const pushed = await push({ repo, branch: 'main', env: bareEnv(it.path) }, realSpawn);
    expect(pushed.ok).toBe(false);
    return pushFailure(pushed.stderr);
  };
  git(repo, 'remote', 'add', 'origin', join(it.path, 'none.git'));
  expect(await whyOf()).toBe(`fatal: '${join(it.path, 'none.git')}' does not appear to be a git repository`);
  git(it.path, 'init', '-q', '--bare', 'none.git');
  put(it.path, { 'none.git/hooks/pre-receive': '#!/bin/sh\necho no >&2\nexit 1\n' });
  chmodSync(join(it.path, 'none.git/hooks/pre-receive'), 0o755);
  expect(await whyOf()).toBe('[remote rejected] main -> main (pre-receive hook declined)');
  const advice = '\n\nPlease make sure you have the correct access rights\nand the repository exists.\n';
  const far = `git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.${advice}`;
  expect(pushFailure(far)).toBe('git@h: Permission denied (publickey).');
  expect(pushFailure('Counting objects\n[TIMEOUT] after 60 s')).toBe('[TIMEOUT] after 60 s');
});

test('a commit with a file that a filter would have converted is not pushed, by later runs either, until the user has pushed it', async () => {
  using it = folder({ 'src/a.txt': 'a\n', 'src/.gitattributes': '*.txt filter=turn\n' });
  const { repo, remote } = withOrigin(it.path);
  const commit = (path: string, ...message: string[]) => {
    put(repo, { [path]: 'text\n' });
    git(repo, 'add', '.');
    git(repo, 'commit', '-q', ...message.flatMap((text) => ['-m', text]));
  };
  const trailer = 'Factory-Run: R\nWork-Order: WO-01';
  commit('b.txt', 'WO-01: one', trailer);
  commit('c.sh', 'WO-02: two', trailer);
  git(repo, 'config', 'filter.turn.clean', 'cat');
  const given = { repo, branch: 'main', env: bareEnv(it.path) };
  const stderr = 'a filter of your git would have converted b.txt (turn)';
  expect(await push(given, realSpawn)).toEqual({ ok: false, remote: 'origin', stdout: '', stderr });
  expect(git(remote, 'branch')).toBe('');
  git(repo, 'push', '-q', 'origin', 'main');
  commit('d.sh', 'WO-03: three', trailer);
  expect(await push(given, realSpawn)).toMatchObject({ ok: true });
});

test.for([' log ', ' check-attr '])(
  'where "git%s" fails, it is unknown what a filter would have converted, and nothing is pushed',
  async (asked) => {
    using it = folder({ 'src/a.txt': 'a\n', 'src/.gitattributes': '*.txt filter=turn\n' });
    const { repo, remote } = withOrigin(it.path);
    put(repo, { 'b.txt': 'b\n' });
    git(repo, 'add', '.');
    git(repo, 'commit', '-q', '-m', 'WO-01: one', '-m', 'Factory-Run: R');
    const env = bareEnv(it.path);
    const deaf = `#!/bin/sh\ncase "$*" in *"$ASKED"*) echo 'fatal: no room' >&2; exit 128;; esac\nPATH='${env.PATH}' exec git "$@"\n`;
    put(it.path, { 'bin/git': deaf.replace('$ASKED', asked) });
    chmodSync(join(it.path, 'bin/git'), 0o755);
    const given = { repo, branch: 'main', env: { ...env, PATH: `${join(it.path, 'bin')}:${env.PATH}` } };
    const told = await push(given, realSpawn);
    expect(told).toMatchObject({
      ok: false,
      stderr: expect.stringContaining('git cannot say whether a filter'),
    });
    expect(told.stderr).toContain('no room');
    expect(git(remote, 'branch')).toBe('');
    expect(await push({ ...given, env }, realSpawn)).toMatchObject({ ok: true });
  },
);

test('links, submodules and changed modes are pushed: no filter converts them', async () => {
  using it = folder({ 'src/a.txt': 'a\n', 'src/.gitattributes': '* filter=turn\n' });
  const { repo } = withOrigin(it.path);
  git(repo, 'config', 'filter.turn.clean', 'cat');
  const commit = (message: string) => git(repo, 'commit', '-q', '-m', message, '-m', 'Factory-Run: R');
  symlinkSync('a.txt', join(repo, 'link'));
  git(repo, 'add', 'link');
  git(repo, 'update-index', '--add', '--cacheinfo', `160000,${git(repo, 'rev-parse', 'HEAD').trim()},other`);
  git(repo, 'update-index', '--chmod=+x', 'a.txt');
  commit('WO-01: one');
  const given = { repo, branch: 'main', env: bareEnv(it.path) };
  expect(await push(given, realSpawn)).toMatchObject({ ok: true });
  put(repo, { 'a.txt': 'other\n' });
  git(repo, 'add', 'a.txt');
  commit('WO-02: two');
  // Messages that are shown in other letters are found all the same.
  git(repo, 'config', 'i18n.logOutputEncoding', 'UTF-16');
  expect(await push(given, realSpawn)).toMatchObject({ ok: false, stderr: expect.stringContaining('a.txt') });
});

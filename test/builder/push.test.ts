import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unconverted } from '../../src/builder/filtered.ts';
import { push, pushTrouble } from '../../src/builder/push.ts';
import { fence, Superseded } from '../../src/system/fence.ts';
import { sourceGit } from '../../src/system/git.ts';
import { makerWord } from '../../src/system/maker.ts';
import { realSpawn } from '../../src/system/processes.ts';
import { noteDisk } from '../support/disk-notes.ts';
import { asHeldByModes } from '../workspace/folders.ts';
import { bareEnv, folder, git, put, repository } from './support.ts';

/** The repository in `src` of a folder, with an empty one that is its first remote. */
function withOrigin(root: string): { readonly repo: string; readonly remote: string } {
  const [repo, remote] = [join(root, 'src'), join(root, 'remote.git')];
  repository(repo);
  git(root, 'init', '-q', '--bare', 'remote.git');
  git(repo, 'remote', 'add', 'origin', remote);
  return { repo, remote };
}

test('whoever has lost the repository to another run pushes nothing', async () => {
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

test('a push is the branch whatever else has its name, follows it, and runs no hook', async () => {
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

test('a push is the branch also for who pushes submodules only', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const { repo, remote } = withOrigin(it.path);
  git(repo, 'config', 'push.recurseSubmodules', 'only');
  expect(await push({ repo, branch: 'main', env: bareEnv(it.path) }, realSpawn)).toMatchObject({ ok: true });
  expect(git(remote, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
});

test('of all that git says of a push that failed, the reason is told', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const repo = join(it.path, 'src');
  repository(repo);
  const whyOf = async (): Promise<string> => {
    const pushed = await push({ repo, branch: 'main', env: bareEnv(it.path) }, realSpawn);
    expect(pushed.ok).toBe(false);
    return pushTrouble(pushed.stderr);
  };
  git(repo, 'remote', 'add', 'origin', join(it.path, 'none.git'));
  expect(await whyOf()).toBe(`fatal: '${join(it.path, 'none.git')}' does not appear to be a git repository`);
  git(it.path, 'init', '-q', '--bare', 'none.git');
  put(it.path, { 'none.git/hooks/pre-receive': '#!/bin/sh\necho no >&2\nexit 1\n' });
  chmodSync(join(it.path, 'none.git/hooks/pre-receive'), 0o755);
  expect(await whyOf()).toBe('[remote rejected] main -> main (pre-receive hook declined)');
  const advice = '\n\nPlease make sure you have the correct access rights\nand the repository exists.\n';
  const far = `git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.${advice}`;
  expect(pushTrouble(far)).toBe('git@h: Permission denied (publickey).');
  expect(pushTrouble('Counting objects\n[TIMEOUT] after 60 s')).toBe('[TIMEOUT] after 60 s');
});

test('clears what a push that was killed has left among the temporary files, and nothing else', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const { repo } = withOrigin(it.path);
  const tmp = join(it.path, 'tmp');
  const { pid } = spawnSync('true');
  const ended = makerWord().replace(/\.\d+\./, `.${pid}.`);
  const left = [`factory-push-${makerWord()}-abcdef`, 'factory-push-mine', `other-${ended}-abcdef`];
  for (const name of [...left, `factory-push-${ended}-abcdef`])
    mkdirSync(join(tmp, name), { recursive: true });
  const env = { ...bareEnv(it.path), TMPDIR: tmp };
  expect(await push({ repo, branch: 'main', env }, realSpawn)).toMatchObject({ ok: true });
  expect(readdirSync(tmp).sort()).toEqual(left.sort());
});

test('a remote that is a folder of this machine flushes what it takes before it says so', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const [repo, remote] = [join(it.path, 'src'), join(it.path, 'remote.git')];
  repository(repo);
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  git(repo, 'remote', 'add', 'origin', remote);
  const hook = join(remote, 'hooks/pre-receive');
  mkdirSync(join(remote, 'hooks'), { recursive: true });
  writeFileSync(hook, '#!/bin/sh\ngit config core.fsync\n', { mode: 0o755 });
  for (const [branch, url] of [
    ['one', remote],
    ['two', '../remote.git'],
    ['three', `file://${remote}`],
    ['four', `file://${remote.replace('remote', '%72emot%65')}`],
    ['five', `file://localhost${remote}`],
  ] as const) {
    git(repo, 'branch', branch);
    git(repo, 'remote', 'set-url', 'origin', url);
    const { ok, stderr } = await push({ repo, branch, env: bareEnv(it.path) }, realSpawn);
    expect({ branch, ok, stderr }).toMatchObject({
      ok: true,
      stderr: expect.stringContaining('objects,reference'),
    });
  }
});

test('a remote with another end than folders of this machine is asked as git asks it, and its folder is flushed', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const [repo, near, far] = [join(it.path, 'src'), join(it.path, 'near.git'), join(it.path, 'far.git')];
  repository(repo);
  for (const one of [near, far]) git(it.path, 'init', '-q', '--bare', one);
  git(repo, 'remote', 'add', 'origin', near);
  for (const url of [near, `ssh://host${far}`])
    git(repo, 'remote', 'set-url', '--add', '--push', 'origin', url);
  // As hosts do that take pushes only.
  const ssh = join(it.path, 'ssh');
  const lines = ['#!/bin/sh', 'for last; do :; done'];
  lines.push('case "$last" in git-receive-pack\\ *) exec sh -c "$last" ;; esac', 'exit 1', '');
  writeFileSync(ssh, lines.join('\n'), { mode: 0o755 });
  using disk = noteDisk();
  const loaded = await import('../../src/builder/push.ts');
  const env = { ...bareEnv(it.path), GIT_SSH: ssh };
  expect(await loaded.push({ repo, branch: 'main', env }, realSpawn)).toMatchObject({ ok: true });
  for (const one of [near, far]) expect(git(one, 'branch')).toContain('main');
  expect(disk.told).toContain(`flushed ${join(near, 'refs/heads')}`);
});

test('what the user has set to take his pushes takes ours too', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const [repo, remote, own] = [join(it.path, 'src'), join(it.path, 'remote.git'), join(it.path, 'own')];
  repository(repo);
  git(it.path, 'init', '-q', '--bare', remote);
  git(repo, 'remote', 'add', 'origin', remote);
  writeFileSync(own, '#!/bin/sh\necho my own >&2\nexec git receive-pack "$@"\n', { mode: 0o755 });
  git(repo, 'config', 'remote.origin.receivepack', own);
  const pushed = await push({ repo, branch: 'main', env: bareEnv(it.path) }, realSpawn);
  expect(pushed).toMatchObject({ ok: true, stderr: expect.stringContaining('my own') });
});

test('the names that a folder of this machine has made of a push are on the disk before it is told', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const [repo, remote] = [join(it.path, 'src'), join(it.path, 'remote.git')];
  repository(repo);
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  git(repo, 'remote', 'add', 'origin', '../remote.git');
  using disk = noteDisk();
  const loaded = await import('../../src/builder/push.ts');
  const env = bareEnv(it.path);
  expect(await loaded.push({ repo, branch: 'main', env }, realSpawn)).toMatchObject({ ok: true });
  const [objects = ''] = readdirSync(join(remote, 'objects')).filter((name) => name.length === 2);
  for (const place of ['refs/heads', 'refs/heads/main', 'objects', `objects/${objects}`])
    expect(disk.told).toContain(`flushed ${join(remote, place)}`);
});

test('a branch whose name cannot be flushed at the other end does not count as pushed', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const [repo, remote] = [join(it.path, 'src'), join(it.path, 'remote.git')];
  repository(repo);
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  git(repo, 'remote', 'add', 'origin', remote);
  using _ = noteDisk(join(remote, 'refs/heads'));
  const loaded = await import('../../src/builder/push.ts');
  const pushed = await loaded.push({ repo, branch: 'main', env: bareEnv(it.path) }, realSpawn);
  expect(pushed).toMatchObject({ ok: false, remote: 'origin' });
  expect(pushed.stderr).toContain(
    `${remote} has the branch, which cannot be flushed there: the disk reports`,
  );
});

test('what a run has committed past a filter of the user is not pushed by a later run either, until he has pushed it himself', async () => {
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

test.for([' log ', ' read-tree ', ' check-attr ', ' filter.turn.'])(
  'where git does not answer to "%s", nobody knows what a filter would have converted, and nothing is pushed',
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
      stderr: expect.stringContaining('git does not tell whether a filter'),
    });
    expect(told.stderr).toContain('no room');
    expect(git(remote, 'branch')).toBe('');
    expect(await push({ ...given, env }, realSpawn)).toMatchObject({ ok: true });
  },
);

test('links, submodules and new modes are pushed past a filter, which would have left them alone', async () => {
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

test('where there is no room for the question what a filter would have converted, what was made stands all the same', async () => {
  using it = folder({ 'src/a.txt': 'a\n', 'src/.gitattributes': '*.txt filter=turn\n', 'tmp/x': '' });
  const repo = join(it.path, 'src');
  repository(repo);
  git(repo, 'config', 'filter.turn.clean', 'cat');
  const base = git(repo, 'rev-parse', 'HEAD').trim();
  put(repo, { 'b.txt': 'b\n' });
  git(repo, 'add', '.');
  git(repo, 'commit', '-q', '-m', 'one');
  const env = { ...bareEnv(it.path), TMPDIR: join(it.path, 'tmp') };
  const told = () => unconverted(sourceGit(repo, env), { base, head: 'HEAD' }, env);
  await asHeldByModes(it.path, async () => {
    expect((await told()).join()).toContain('b.txt (turn)');
    chmodSync(env.TMPDIR, 0o500);
    expect(await told()).toEqual([]);
    chmodSync(env.TMPDIR, 0o700);
  });
});

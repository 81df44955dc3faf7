import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import {
  GitError,
  headCommit,
  isGitsOwn,
  makeRepository,
  ownGit,
  sourceGit,
  withoutGit,
} from '../../src/platform/git.ts';
import { bareEnv, folder, git, put, repository } from '../builder/support.ts';

test("git variables do not pass, but those that say where the user's settings are", () => {
  const env = { GIT_DIR: '/x', GIT_CONFIG_GLOBAL: '/g', PATH: '/bin', HOME: undefined };
  expect(withoutGit(env)).toEqual({ PATH: '/bin' });
  expect(withoutGit(env, new Set(['GIT_CONFIG_GLOBAL']))).toEqual({ GIT_CONFIG_GLOBAL: '/g', PATH: '/bin' });
});

test('a failure is an answer with what git said, or an error where the caller cannot continue', async () => {
  using it = folder();
  const repo = sourceGit(it.path, { ...bareEnv(it.path), GIT_CEILING_DIRECTORIES: it.path });
  expect(await repo.run(['rev-parse', 'HEAD'])).toMatchObject({
    ok: false,
    missing: false,
    why: expect.stringContaining('git'),
  });
  await expect(repo.text(['rev-parse', 'HEAD'])).rejects.toThrow(GitError);
  expect(await sourceGit(it.path, { PATH: it.path }).run(['version'])).toMatchObject({
    ok: false,
    missing: true,
  });
});

test.for(['HEAD', 'config', 'packed-refs', 'info/exclude'])(
  'a pipe in place of %s is reported and not waited for',
  async (name) => {
    using it = folder({ 'a.txt': 'a\n', 'below/b.txt': 'b\n' });
    repository(it.path);
    const place = join(it.path, '.git', name);
    rmSync(place, { force: true });
    execFileSync('mkfifo', [place]);
    for (const from of [it.path, join(it.path, 'below')])
      expect(await sourceGit(from, bareEnv(it.path)).run(['rev-parse', '--show-toplevel'])).toEqual({
        ok: false,
        missing: false,
        why: `${place} is a pipe, on which git would wait forever: restore git's file`,
      });
    expect(await headCommit(it.path, bareEnv(it.path))).toBeNull();
    const own = ownGit({
      cwd: it.path,
      gitDir: join(it.path, '.git'),
      settingsFile: join(it.path, 'settings'),
      env: bareEnv(it.path),
    });
    await expect(own.text(['rev-parse', 'HEAD'])).rejects.toThrow('is a pipe');
  },
);

test("nothing that a repository's settings name is run", async () => {
  using it = folder({ 'a.txt': 'a\n' });
  repository(it.path);
  const ran = join(it.path, 'ran');
  put(it.path, { 'hook.sh': `#!/bin/sh\ntouch ${ran}\n` });
  git(it.path, 'config', 'core.fsmonitor', `sh ${join(it.path, 'hook.sh')}`);
  put(it.path, { '.git/hooks/reference-transaction': `#!/bin/sh\ntouch ${ran}\n` });
  git(it.path, 'config', 'core.hooksPath', join(it.path, '.git/hooks'));
  for (const event of ['reference-transaction', 'post-index-change']) {
    git(it.path, 'config', `hook.on-${event}.event`, event);
    git(it.path, 'config', `hook.on-${event}.command`, `touch ${ran}`);
  }
  const repo = sourceGit(it.path, bareEnv(it.path));
  // Older versions of git, without hooks in settings, get the same.
  expect(await repo.text(['config', '--get-all', 'hook.reference-transaction.enabled'])).toBe('false');
  await repo.text(['status', '--porcelain']);
  await repo.text(['update-ref', 'refs/heads/x', 'HEAD']);
  await repo.text(['read-tree', 'HEAD']);
  put(it.path, { 'ran-marker': '' });
  expect((await repo.list(['ls-files', '-z', '--others'])).includes('ran')).toBe(false);
});

test("our own repositories follow nobody's settings", async () => {
  using it = folder({ settings: '[safe]\n\tdirectory = *\n', 'a.txt': 'a' });
  const env = { ...bareEnv(it.path), GIT_CONFIG_GLOBAL: join(it.path, 'users') };
  put(it.path, { users: '[user]\n\tname = U\n' });
  const repo = ownGit({ cwd: it.path, settingsFile: join(it.path, 'settings'), env });
  expect(await repo.run(['config', '--get', 'user.name'])).toMatchObject({ ok: false });
});

test('a repository that is made is what it always was, whatever a git makes by itself', async () => {
  const other =
    'GIT_DEFAULT_HASH=${GIT_DEFAULT_HASH-sha256} GIT_DEFAULT_REF_FORMAT=${GIT_DEFAULT_REF_FORMAT-reftable}';
  const path = process.env['PATH'] ?? '';
  using it = folder({ 'bin/git': `#!/bin/sh\nexec env PATH='${path}' ${other} git "$@"\n` });
  chmodSync(join(it.path, 'bin/git'), 0o755);
  const env = { ...bareEnv(it.path), PATH: `${join(it.path, 'bin')}:${path}` };
  for (const [name, sha256] of [
    ['sha1', false],
    ['sha256', true],
  ] as const) {
    const [at, settingsFile] = [join(it.path, name), join(it.path, 'settings')];
    await makeRepository(at, { settingsFile, bare: true, branch: 'b', sha256, env });
    expect(await ownGit({ cwd: at, settingsFile, env }).text(['rev-parse', '--show-object-format'])).toBe(
      name,
    );
    expect(readFileSync(join(at, 'HEAD'), 'utf8')).toBe('ref: refs/heads/b\n');
  }
});

test('a bare repository is known as one, also where git is to take it by its folder only', async () => {
  using it = folder({ users: '[safe]\n\tbareRepository = explicit\n' });
  git(it.path, 'init', '-q', '--bare', 'bare');
  const env = { ...bareEnv(it.path), GIT_CONFIG_GLOBAL: join(it.path, 'users') };
  expect(await isGitsOwn(join(it.path, 'bare'), env)).toBe(true);
});

test('a git that the system will not start is an error, and never taken for an answer', async () => {
  using it = folder();
  const tooLong = 'x'.repeat(4 * 1024 * 1024);
  const started = sourceGit(it.path, bareEnv(it.path)).run(['rev-parse', tooLong]);
  await expect(started).rejects.toMatchObject({ name: 'Error', missing: false, unanswered: true });
  await expect(started).rejects.toThrow(/^git cannot be started: /);
});

test('a git that is ended by a signal has answered nothing', async () => {
  using it = folder({ 'bin/git': '#!/bin/sh\nkill -9 $$\n' });
  chmodSync(join(it.path, 'bin/git'), 0o755);
  const repo = sourceGit(it.path, { PATH: `${join(it.path, 'bin')}:/usr/bin:/bin` });
  const asked = repo.run(['rev-parse', '--verify', '--quiet', 'refs/heads/x']);
  await expect(asked).rejects.toThrow('git rev-parse was ended by SIGKILL before it had answered');
  await expect(asked).rejects.toMatchObject({ unanswered: true });
  await expect(headCommit(it.path, bareEnv(it.path))).resolves.toBe(null);
});

test("a run's repository is left alone once the run is another's", async () => {
  using it = folder({ settings: '', 'a.txt': 'a\n' });
  repository(it.path);
  const gitDir = join(it.path, '.git');
  const ours = ownGit({
    cwd: it.path,
    gitDir,
    settingsFile: join(it.path, 'settings'),
    env: bareEnv(it.path),
  });
  const open = fence(it.path, () => {
    throw new Superseded('taken');
  });
  await expect(ours.run(['update-ref', 'refs/heads/late', 'HEAD'])).rejects.toThrow(Superseded);
  open();
  expect(await ours.run(['rev-parse', '--verify', '--quiet', 'refs/heads/late'])).toMatchObject({
    ok: false,
  });
});

/** Git obeys the settings of a repository. In a run's history, which another user may have made, it is called only if
 *  there are no settings except those that a run makes. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { historyLayout } from '../../src/core/records/layout.ts';
import { lookAtHistory } from '../../src/git/check-history.ts';
import { moveHead } from '../../src/git/commit.ts';
import { historyGit, treesOf } from '../../src/git/history.ts';
import { makeRepository } from '../../src/platform/git.ts';
import { cleanEnv } from '../support/cli.ts';

const env = cleanEnv();
let top: string;
let history: string;
beforeEach(async () => {
  top = mkdtempSync(join(tmpdir(), 'factory-guard-'));
  history = join(top, 'history.git');
  const settingsFile = historyLayout(history).settings;
  await makeRepository(history, { settingsFile, bare: true, branch: 'factory', env });
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

test('a history as a run makes it, or with harmless settings added, is accepted', async () => {
  appendFileSync(join(history, 'config'), '# mine\n[User]\n\tName = A\n[color]\n\tui\n');
  expect(await historyGit(history, env).text(['rev-parse', '--is-bare-repository'])).toBe('true');
  expect((await lookAtHistory(history, [], env)).ok).toBe(true);
});

test('a history that was reset to no commit is undamaged, and one with a missing object is damaged', async () => {
  const place = { historyDir: history, workspace: top, env };
  await moveHead(place, null);
  expect(await lookAtHistory(history, [], env)).toMatchObject({ ok: true, damage: [] });
  const git = historyGit(history, env, { workTree: top });
  const blob = await git.text(['hash-object', '-w', '--stdin'], { input: 'x' });
  const tree = await git.text(['mktree'], { input: `100644 blob ${blob}\tx\n` });
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
  const commit = await git.text([...who, 'commit-tree', '-m', 'x', tree]);
  await git.text(['update-ref', 'refs/heads/factory', commit]);
  rmSync(join(history, 'objects', blob.slice(0, 2), blob.slice(2)));
  expect(await lookAtHistory(history, [], env)).toMatchObject({
    ok: true,
    damage: [expect.stringContaining('broken link'), expect.stringContaining(blob), `missing blob ${blob}`],
  });
});

const strange: readonly [string, string, string][] = [
  ['a program that fetches missing objects', 'config', '[remote "o"]\n\tuploadpack = touch ran\n'],
  ['a promise of objects elsewhere', 'config', '[extensions]\n\tpartialClone = o\n'],
  ['an included file of settings', 'config', '[include]\n\tpath = other\n'],
  ['a section named like a JavaScript property', 'config', '[constructor]\n\tname = Object\n'],
  ['a setting on the line of its section', 'config', '[core] fsmonitor = touch ran\n'],
  [
    'a section that git reads as part of the previous line',
    'config',
    '[extensions]\n\trefstorage = files\\\n[advice]\n\tpartialclone = ssh://x/y\n[core]\n\teol = lf\\\n[advice]\n\tsshcommand = touch ran\n',
  ],
  [
    'unknown settings in factory.gitconfig',
    'factory.gitconfig',
    '[uploadpack]\n\tpackObjectsHook = touch ran\n',
  ],
  ['settings of a working tree', 'config.worktree', '[gpg]\n\tprogram = touch ran\n'],
  ['another repository', 'commondir', '../elsewhere.git\n'],
  ['objects of another repository', 'objects/info/alternates', '/tmp\n'],
];
test.each(strange)('git is not called in a history with %s', async (_, file, text) => {
  mkdirSync(join(history, 'objects/info'), { recursive: true });
  appendFileSync(join(history, file), text);
  await expect(historyGit(history, env).run(['cat-file', '-e', 'a'.repeat(40)])).rejects.toThrow(file);
  expect(await lookAtHistory(history, [], env)).toMatchObject({ ok: false, foreign: true });
  expect(existsSync(join(history, 'ran'))).toBe(false);
});

test('git is not called in a history with a pipe', async () => {
  execFileSync('mkfifo', [join(history, 'packed-refs')]);
  expect(await lookAtHistory(history, [], env)).toMatchObject({ ok: false, foreign: true });
  expect(await treesOf(history, ['a'.repeat(40)], env)).toEqual([]);
  rmSync(join(history, 'config'));
  mkdirSync(join(history, 'config'));
  writeFileSync(join(history, 'config', 'x'), '');
  await expect(historyGit(history, env).text(['fsck'])).rejects.toThrow('config is a folder');
});

test('git is not called in a history that is a link or a file', async () => {
  renameSync(history, join(top, 'elsewhere.git'));
  symlinkSync('elsewhere.git', history);
  await expect(historyGit(history, env).run(['fsck'])).rejects.toThrow('is not a folder');
  rmSync(history);
  writeFileSync(history, 'gitdir: elsewhere.git\n');
  await expect(historyGit(history, env).run(['fsck'])).rejects.toThrow('is not a folder');
});

test('creating another repository does not rewrite existing settings, which a power failure could lose', async () => {
  const { settings: settingsFile } = historyLayout(history);
  const { ino, mtimeMs } = statSync(settingsFile);
  await makeRepository(join(top, 'other.git'), { settingsFile, bare: true, branch: 'main', env });
  expect(statSync(settingsFile)).toMatchObject({ ino, mtimeMs });
});

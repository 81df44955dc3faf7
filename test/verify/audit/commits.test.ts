import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { auditedCommits } from '../../../src/verify/audit/commits.ts';
import { cleanEnv } from '../../support/cli.ts';

test('git is not called if a history contains other than files and folders: it could block', async () => {
  const run = await mkdtemp(join(tmpdir(), 'factory-commits-'));
  try {
    execFileSync('git', ['init', '-q', '--bare', join(run, 'history.git')], { env: cleanEnv({ HOME: run }) });
    execFileSync('mkfifo', [join(run, 'history.git/refs/heads/pipe')]);
    await expect(auditedCommits(run, cleanEnv()).next()).rejects.toThrow('neither a file nor a folder');
  } finally {
    await rm(run, { recursive: true });
  }
});

test('commits after the base are listed, oldest first, with their changes', async () => {
  const run = await mkdtemp(join(tmpdir(), 'factory-commits-'));
  const work = join(run, 'work');
  const env = cleanEnv({ HOME: run, GIT_DIR: join(run, 'history.git'), GIT_WORK_TREE: work });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@b', ...args], {
      cwd: work,
      env,
      encoding: 'utf8',
    });
  const put = async (name: string, text: string | Buffer) => {
    await mkdir(dirname(join(work, name)), { recursive: true });
    await writeFile(join(work, name), text);
  };
  try {
    await put('a', 'first\n');
    git('init', '-q');
    // Git finds a run's history only by environment variables.
    git('config', '--unset', 'core.worktree');
    git('add', '-A');
    git('commit', '-qm', 'base');
    git('update-ref', 'refs/factory/base', 'HEAD');
    await put('a', 'second\n');
    await put('sub/ü b', Buffer.from([0, 1, 2]));
    git('add', '-A');
    git('commit', '-qm', 'one\n\nwhy');
    await rm(join(work, 'a'));
    git('add', '-A');
    git('commit', '-qm', 'two');
    git('update-ref', 'refs/factory/head', 'HEAD');
    const told = [];
    for await (const { message, changes } of auditedCommits(run, cleanEnv()))
      told.push([message.trim(), changes]);
    expect(told).toEqual([
      [
        'A <a@b>\none\n\nwhy',
        [
          { path: 'a', before: Buffer.from('first\n'), after: Buffer.from('second\n') },
          { path: 'sub/ü b', before: undefined, after: Buffer.from([0, 1, 2]) },
        ],
      ],
      ['A <a@b>\ntwo', [{ path: 'a', before: Buffer.from('second\n'), after: undefined }]],
    ]);
  } finally {
    await rm(run, { recursive: true });
  }
});

test('a run without a history has no commits', async () => {
  for await (const commit of auditedCommits('/nowhere', cleanEnv())) expect.unreachable(commit.id);
});

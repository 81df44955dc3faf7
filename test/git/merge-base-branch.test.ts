/** A base that has moved is merged in a repository of our own. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mergeCommit } from '../../src/git/merge-base-branch.ts';
import { hasCommit } from '../../src/git/repository.ts';
import { sourceGit } from '../../src/platform/git.ts';

/** `main` and `ours` have a common first commit; `work` changes the files on a branch. */
function repository() {
  const folder = mkdtempSync(join(tmpdir(), 'factory-merge-test-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=e', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const put = (files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  };
  const commit = (files: Readonly<Record<string, string>>): string => {
    put(files);
    git('add', '--all');
    git('commit', '-qm', 'x');
    return git('rev-parse', 'HEAD');
  };
  git('init', '-q', '-b', 'main');
  const merged = (head: string, other: string) =>
    mergeCommit(
      folder,
      { head, other, message: 'Merge', ref: 'refs/factory/test', date: new Date(1_700_000_000_000) },
      { HOME: folder, PATH: process.env['PATH'] },
    );
  return {
    ...{ folder, git, put, commit, merged },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

test('both changes are in a commit with both parents, and nothing of the user has changed', async () => {
  using it = repository();
  it.commit({ 'a.txt': '1\n2\n3\n4\n5\n', 'b.txt': 'b\n' });
  it.git('switch', '-qc', 'ours');
  const head = it.commit({ 'a.txt': 'one\n2\n3\n4\n5\n' });
  it.git('switch', '-q', 'main');
  const other = it.commit({ 'a.txt': '1\n2\n3\n4\nfive\n' });
  it.put({ 'b.txt': 'unfinished\n' });
  const done = await it.merged(head, other);
  if (!('commit' in done)) throw new Error(JSON.stringify(done));
  expect(it.git('show', `${done.commit}:a.txt`)).toBe('one\n2\n3\n4\nfive');
  expect(it.git('log', '-1', '--format=%P %at', done.commit)).toBe(`${head} ${other} 1700000000`);
  expect(it.git('rev-parse', 'refs/factory/test')).toBe(done.commit);
  expect([it.git('rev-parse', 'main', 'ours'), it.git('status', '--porcelain')]).toEqual([
    `${other}\n${head}`,
    'M b.txt',
  ]);
  const env = { PATH: process.env['PATH'] };
  const git = sourceGit(it.folder, env);
  expect(await hasCommit(git, done.commit, other)).toBe(true);
  expect(await hasCommit(git, head, other)).toBe(false);
});

test('files that git would convert are merged as they are committed', async () => {
  using it = repository();
  /** The very bytes, whatever attributes say. */
  const raw = (name: string, text: string): string => {
    it.put({ [name]: text });
    const blob = it.git('hash-object', '-w', '--no-filters', name);
    it.git('update-index', '--add', '--cacheinfo', `100644,${blob},${name}`);
    it.git('commit', '-qm', name);
    return blob;
  };
  it.commit({ '.gitattributes': '*.txt text\nk.md ident\n' });
  raw('k.md', '$Id$\n');
  raw('crlf.txt', '1\r\n2\r\n3\r\n4\r\n');
  it.git('branch', 'ours');
  const blob = raw('crlf.txt', 'one\r\n2\r\n3\r\n4\r\n');
  const other = it.git('rev-parse', 'HEAD');
  it.git('update-ref', 'refs/heads/main', 'ours');
  it.git('read-tree', 'ours');
  const ours = raw('k.md', '$Id$\nours\n');
  const done = await it.merged(it.git('rev-parse', 'HEAD'), other);
  if (!('commit' in done)) throw new Error(JSON.stringify(done));
  expect(it.git('rev-parse', `${done.commit}:crlf.txt`, `${done.commit}:k.md`)).toBe(`${blob}\n${ours}`);
});

test('a conflict names its files, and no program of the user or of the project is run', async () => {
  using it = repository();
  const ran = join(it.folder, 'ran');
  it.git('config', 'merge.evil.driver', `touch ${ran}`);
  writeFileSync(join(it.folder, '.git/hooks/post-merge'), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 });
  it.commit({ 'a.txt': '1\n', '.gitattributes': '*.txt merge=evil\n' });
  it.git('switch', '-qc', 'ours');
  const head = it.commit({ 'a.txt': 'ours\n' });
  it.git('switch', '-q', 'main');
  const other = it.commit({ 'a.txt': 'theirs\n' });
  expect(await it.merged(head, other)).toEqual({ conflict: expect.stringMatching(/^CONFLICT .*a\.txt$/) });
  expect(() => readFileSync(ran)).toThrow();
  expect(() => it.git('rev-parse', '--verify', '-q', 'refs/factory/test')).toThrow();
  // Without a common commit git refuses, which is no conflict.
  it.git('switch', '-q', '--orphan', 'stranger');
  const stranger = it.commit({ 'z.txt': 'z\n' });
  expect(await it.merged(head, stranger)).toEqual({ failed: expect.stringContaining('unrelated histories') });
});

/** Deliveries out of repositories that are not like most: with SHA-256 names, or with a part of their history. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, git, tree } from '../builder/support.ts';
import { run } from './delivered-run.ts';

const product = { 'a.txt': 'a\n', 'f1.txt': '1\n', 'sub/run.sh': 's\n' };

test('a source that keeps SHA-256 names has them in its branch and in a separate folder', async () => {
  using it = folder();
  const r = await run(it.path, {
    prepare: (source) => {
      rmSync(join(source, '.git'), { recursive: true });
      git(source, 'init', '-q', '--object-format=sha256', '-b', 'main');
      git(source, 'add', '.');
      git(source, 'commit', '-q', '-m', 'first');
    },
  });
  expect(r.head).toMatch(/^[0-9a-f]{64}$/);
  expect(await r.asked(), r.said()).toBe(0);
  expect(git(r.source, 'rev-parse', 'factory/RUN1')).toBe(r.head);
  const to = join(it.path, 'out');
  expect(await r.asked({ to }), r.said()).toBe(0);
  expect(git(to, 'rev-parse', 'HEAD')).toBe(r.head);
  expect(git(to, 'fsck', '--strict')).toBe('');
  expect(git(to, 'log', '--format=%s').split('\n')).toEqual(['WO-02: sub/run.sh', 'WO-01: f1.txt', 'first']);
  expect(tree(to)).toEqual(product);
});

test('a source that is a shallow clone gives what it has, and the delivery says what is not included', async () => {
  using it = folder();
  const r = await run(it.path, {
    prepare: (source) => {
      git(source, 'commit', '-q', '--allow-empty', '-m', 'second');
      renameSync(source, join(it.path, 'whole'));
      git(it.path, 'clone', '-q', '--depth', '1', `file://${join(it.path, 'whole')}`, source);
    },
  });
  expect(existsSync(join(r.source, '.git/shallow'))).toBe(true);
  const to = join(it.path, 'out');
  expect(await r.asked({ to }), r.said()).toBe(0);
  expect(r.said()).toMatch(/commits before [0-9a-f]{12} are not included/);
  expect(git(to, 'rev-parse', '--is-shallow-repository')).toBe('true');
  expect(git(to, 'fsck', '--strict')).toBe('');
  expect(git(to, 'log', '--format=%s').split('\n')).toEqual(['WO-02: sub/run.sh', 'WO-01: f1.txt', 'second']);
  expect(tree(to)).toEqual(product);
  expect(await r.asked(), r.said()).toBe(0);
  expect(git(r.source, 'rev-parse', 'factory/RUN1')).toBe(r.head);
});

/** A delivery of files that a filter of the user's git would have converted. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filterWarning } from '../../src/builder/filtered.ts';
import { sourceGit } from '../../src/system/git.ts';
import { folder, git, put, repository } from '../builder/support.ts';
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

test('links, changed modes and removals are not among them, and of many files the first five are named', async () => {
  const old = { '.gitattributes': '* filter=turn\n', 'gone.txt': '1\n', 'mode.txt': '1\n' };
  using it = folder(old);
  repository(it.path);
  const base = git(it.path, 'rev-parse', 'HEAD');
  const env = { ...process.env, TMPDIR: join(it.path, 'tmp') };
  mkdirSync(env.TMPDIR);
  rmSync(join(it.path, 'gone.txt'));
  chmodSync(join(it.path, 'mode.txt'), 0o755);
  symlinkSync('mode.txt', join(it.path, 'link.txt'));
  git(it.path, 'config', 'core.splitIndex', 'true');
  const told = async () => {
    git(it.path, 'add', '-A');
    git(it.path, 'commit', '-q', '-m', 'next');
    git(it.path, 'config', 'filter.turn.process', 'rev');
    const head = git(it.path, 'rev-parse', 'HEAD');
    // What counts is what the commit says of its files, and not what stands in the working tree.
    put(it.path, { '.gitattributes': '' });
    const before = readdirSync(join(it.path, '.git'));
    const words = await filterWarning(sourceGit(it.path, env), { base, head }, env);
    expect([readdirSync(join(it.path, '.git')), readdirSync(env.TMPDIR)]).toEqual([before, []]);
    git(it.path, 'config', '--unset', 'filter.turn.process');
    put(it.path, { '.gitattributes': old['.gitattributes'] });
    return words;
  };
  expect(await told()).toEqual([]);
  put(
    it.path,
    Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [`${name} [*].txt`, '1\r\n'])),
  );
  expect(await told()).toEqual([
    expect.stringMatching(/: a \[\*\]\.txt \(turn\), b .*, e \[\*\]\.txt \(turn\) and 1 more$/),
  ]);
});

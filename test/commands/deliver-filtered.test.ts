/** A delivery of what the user's own git would have converted at a commit by hand. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unconverted } from '../../src/builder/filtered.ts';
import { sourceGit } from '../../src/system/git.ts';
import { folder, git, put, repository } from '../builder/support.ts';
import { run } from './delivered-run.ts';

test('a branch with a file that a filter of the user would have converted is told so by its own attributes, and not pushed', async () => {
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
  expect(r.said()).toContain('in the commit these files stand as they were written: f1.txt (turn)\n');
  expect(r.said()).toMatch(/delivered, but not pushed: a filter of your git .*[\s\S]*push -u origin work/);
  expect(git(r.source, 'rev-parse', 'work')).toBe(r.head);
  expect(git(remote, 'branch')).toBe('');
  expect(stands()).toEqual(before);
});

test('a branch with line ends that the autocrlf of the user would have converted is told so', async () => {
  using it = folder();
  const files = { 'a.txt': 'a\n', 'had.txt': 'a\r\nb\r\n', '.gitattributes': 'kept.txt -text\n' };
  const crlf = Object.fromEntries(
    [':odd.txt', 'a.txt', 'had.txt', 'kept.txt', 'new.txt'].map((name) => [name, '1\r\n2\r\n']),
  );
  const r = await run(it.path, {
    files,
    writes: { ...crlf, 'both.txt': '1\r\n2\n', 'bin.txt': '\0\r\n', 'lf.txt': 'l\n' },
  });
  git(r.source, 'config', 'core.autocrlf', 'input');
  expect(await r.asked({ branch: 'work' }), r.said()).toBe(0);
  const told = r.said().split('\n');
  expect(told.filter((line) => line.includes('CRLF'))).toEqual([
    expect.stringMatching(
      /not the core\.autocrlf of your git: .* have CRLF: :odd\.txt, a\.txt, both\.txt, new\.txt$/,
    ),
  ]);
});

test('links, changes of mode and removals are none of it, and of many files the first five are named', async () => {
  const old = { '.gitattributes': '* filter=turn\n', 'gone.txt': '1\n', 'mode.txt': '1\n' };
  using it = folder(old);
  repository(it.path);
  const base = git(it.path, 'rev-parse', 'HEAD');
  const env = { ...process.env, TMPDIR: join(it.path, 'tmp') };
  mkdirSync(env.TMPDIR);
  rmSync(join(it.path, 'gone.txt'));
  chmodSync(join(it.path, 'mode.txt'), 0o755);
  symlinkSync('mode.txt', join(it.path, 'link.txt'));
  git(it.path, 'config', 'core.autocrlf', 'false');
  git(it.path, 'config', 'core.splitIndex', 'true');
  const told = async () => {
    git(it.path, 'add', '-A');
    git(it.path, 'commit', '-q', '-m', 'next');
    git(it.path, 'config', 'filter.turn.process', 'rev');
    const head = git(it.path, 'rev-parse', 'HEAD');
    // What counts is what the commit says of its files, and not what stands in the working tree.
    put(it.path, { '.gitattributes': '' });
    const before = readdirSync(join(it.path, '.git'));
    const words = await unconverted(sourceGit(it.path, env), { base, head }, env);
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

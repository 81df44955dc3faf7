import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isDelivered } from '../../src/app/delivered.ts';
import { folder, git, put, repository, tree } from '../builder/support.ts';
import { run } from './delivered-run.ts';

/** All that must not change in a source. */
const stands = (source: string) => [
  git(source, 'status', '--porcelain=v2', '--branch', '--ignored'),
  git(source, 'rev-parse', 'HEAD'),
  readFileSync(join(source, '.git/index')).toString('base64'),
  tree(source),
];

/** One more commit, so that something came before what the run begins with. */
const second = (source: string): void => {
  git(source, 'commit', '-q', '--allow-empty', '-m', 'second');
};

test("delivering to a branch makes it at the run's commits and touches nothing else, also where the source has moved on", async () => {
  using it = folder();
  const r = await run(it.path);
  put(r.source, { 'a.txt': 'later\n' });
  git(r.source, 'commit', '-qam', 'later');
  put(r.source, { 'a.txt': 'dirty\n', 'staged.txt': 's' });
  git(r.source, 'add', 'staged.txt');
  const before = stands(r.source);
  expect(await r.asked()).toBe(0);
  expect(stands(r.source)).toEqual(before);
  expect(git(r.source, 'log', '--format=%s', 'factory/RUN1').split('\n')).toEqual([
    'WO-02: sub/run.sh',
    'WO-01: f1.txt',
    'first',
  ]);
  expect(git(r.source, 'fsck', '--strict')).toBe('');
  expect(existsSync(join(r.source, '.git/shallow'))).toBe(false);
  expect(r.said()).toContain(`git -C ${r.source} switch factory/RUN1`);
  const made = { status: 'completed', commits: [{ commit: r.head }] } as const;
  expect(isDelivered(join(it.path, 'runs/RUN1'), made)).toBe(true);
  expect(isDelivered(join(it.path, 'runs/RUN1'), { ...made, commits: [] })).toBe(null);
  git(r.source, 'stash', '-q');
  git(r.source, 'switch', '-q', 'factory/RUN1');
  expect(tree(r.source)).toEqual({ 'a.txt': 'a\n', 'f1.txt': '1\n', 'sub/run.sh': 's\n' });
});

test.for([
  ['main', 2],
  ['a..b', 2],
  ['-x', 2],
  ['HEAD', 2],
  ['trunk', 2],
  ['trunk/below', 2],
  ['alias', 2],
] as const)('delivering to a branch: called %s is refused', async ([branch, code]) => {
  using it = folder();
  const r = await run(it.path);
  git(r.source, 'branch', 'trunk');
  git(r.source, 'symbolic-ref', 'refs/heads/alias', 'refs/heads/main');
  const refs = git(r.source, 'for-each-ref');
  expect(await r.asked({ branch })).toBe(code);
  expect(r.said()).toContain(branch.split('/')[0]);
  expect(git(r.source, 'for-each-ref')).toBe(refs);
});

test('delivering to a branch that is checked out unborn in a working tree is refused', async () => {
  using it = folder();
  const r = await run(it.path);
  git(r.source, 'symbolic-ref', 'HEAD', 'refs/heads/unborn');
  expect(await r.asked({ branch: 'unborn' })).toBe(2);
  expect(r.said()).toContain('checked out');
});

test('delivering to a branch: brings the first commit of a dirty workdir along', async () => {
  using it = folder();
  const workdir = join(it.path, 'src');
  const r = await run(it.path, { allowDirty: true });
  expect(r.source).toBe(workdir);
  expect(await r.asked({ json: true })).toBe(0);
  expect(JSON.parse(r.said())).toMatchObject({
    run_id: 'RUN1',
    branch: 'factory/RUN1',
    to: null,
    head: r.head,
    commits: [{ subject: 'WO-01: f1.txt' }, { subject: 'WO-02: sub/run.sh' }],
  });
});

test.for([
  ['this commit', '', true],
  ['another one', '0', false],
] as const)(
  'delivering to a branch: warns only of the files that a proof of the delivered commit needed (%s)',
  async ([, not, warns]) => {
    using it = folder();
    const context = (head: string | null) => ({ 'build.head': `${head}${not}`, 'build.needed': ['lib/'] });
    const r = await run(it.path, { context });
    expect(await r.asked()).toBe(0);
    expect(r.said().includes('so they are not delivered: lib/\n')).toBe(warns);
  },
);

test('delivering to a branch of a run that changed nothing has nothing to deliver', async () => {
  using it = folder();
  const r = await run(it.path, { writes: null });
  expect(await r.asked()).toBe(0);
  expect(r.said()).toContain('nothing to deliver');
  expect(git(r.source, 'branch', '--list', 'factory/*')).toBe('');
});

test('delivering to a branch where the source is gone, or has lost the commit it began with, points to --to', async () => {
  using it = folder();
  const r = await run(it.path, { prepare: second });
  git(r.source, 'checkout', '-q', '--orphan', 'fresh');
  git(r.source, 'commit', '-q', '-m', 'other');
  git(r.source, 'branch', '-D', 'main');
  git(r.source, 'reflog', 'expire', '--expire=now', '--all');
  git(r.source, 'gc', '--prune=now', '-q');
  expect(await r.asked()).toBe(2);
  expect(r.said()).toContain('--to DIR');
  expect(await r.asked({ to: 'out' })).toBe(0);
  expect(r.said()).toContain('not included');
  expect(git(join(it.path, 'out'), 'log', '--format=%s').split('\n')).toHaveLength(3);
});

test('a source that is but a folder of another repository by now brings no branch there', async () => {
  using it = folder();
  const prepare = (source: string): void => {
    rmSync(join(source, '.git'), { recursive: true });
    git(source, 'init', '-q');
  };
  const r = await run(it.path, { prepare });
  rmSync(join(r.source, '.git'), { recursive: true });
  repository(it.path);
  expect(await r.asked()).toBe(2);
  expect(r.said()).toContain('is no longer a git repository');
  expect(git(it.path, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
});

test.for([
  ['an empty tree', { files: null }],
  ['a folder that is no repository', { git: false }],
] as const)('delivering to a folder is the way for a run that began with %s', async ([, setup]) => {
  using it = folder();
  const r = await run(it.path, setup);
  expect(await r.asked()).toBe(2);
  expect(r.said()).toContain('--to DIR');
  expect(await r.asked({ to: 'deep/out' })).toBe(0);
  expect(r.said()).toContain('next: cd deep/out');
  const out = join(it.path, 'deep/out');
  expect(git(out, 'status', '--porcelain', '--branch')).toBe('## main');
  expect(tree(out)).toEqual({
    ...('git' in setup ? { 'a.txt': 'a\n' } : {}),
    'f1.txt': '1\n',
    'sub/run.sh': 's\n',
  });
  expect(git(out, 'fsck', '--strict')).toBe('');
  expect(readdirSync(join(it.path, 'deep'))).toEqual(['out']);
});

test('delivering to a folder: brings the whole history of a repository', async () => {
  using it = folder();
  const r = await run(it.path, {
    files: { 'a.txt': 'a\n' },
  });
  mkdirSync(join(it.path, 'out'));
  expect(await r.asked({ to: join(it.path, 'out') })).toBe(0);
  expect(git(join(it.path, 'out'), 'rev-list', '--count', 'HEAD')).toBe('3');
  expect(existsSync(join(it.path, 'out/.git/shallow'))).toBe(false);
  expect(r.said()).toContain(`cd ${join(it.path, 'out')} && git log`);
});

test('delivering to a folder: brings what there is of a source whose past is at a remote out of reach', async () => {
  using it = folder();
  const r = await run(it.path, {
    prepare: (source) => {
      put(source, { 'a.txt': 'b\n' });
      git(source, 'commit', '-qam', 'second');
      git(source, 'config', 'uploadpack.allowFilter', 'true');
      git(it.path, 'clone', '-q', '--filter=blob:none', `file://${source}`, 'partial');
      rmSync(source, { recursive: true });
      renameSync(join(it.path, 'partial'), source);
    },
  });
  const out = join(it.path, 'out');
  expect(await r.asked({ to: out })).toBe(0);
  expect(r.said()).toContain('are not included');
  expect(git(out, 'fsck', '--no-dangling')).toBe('');
  expect(git(out, 'rev-list', '--count', 'HEAD')).toBe('3');
});

test('delivering to a folder keeps others out of an empty folder that its owner has closed', async () => {
  using it = folder();
  const r = await run(it.path);
  const out = join(it.path, 'out');
  mkdirSync(out);
  chmodSync(out, 0o700);
  expect(await r.asked({ to: 'out' }), r.said()).toBe(0);
  expect(statSync(out).mode & 0o7777).toBe(0o700);
  expect(git(out, 'status', '--porcelain')).toBe('');
});

test('a second time, after a kill before the last words say, says that it is there already', async () => {
  using it = folder();
  const r = await run(it.path, { files: null });
  expect(await r.asked({ to: 'out' })).toBe(0);
  put(join(it.path, 'out'), { 'f1.txt': 'mine\n' });
  const before = tree(join(it.path, 'out'));
  expect(await r.asked({ to: 'out' }), r.said()).toBe(0);
  expect(r.said()).toMatch(/delivered already: "main" in .*out[\s\S]*next: cd out/);
  expect(tree(join(it.path, 'out'))).toEqual(before);
  git(join(it.path, 'out'), 'commit', '-q', '--allow-empty', '-m', 'moved on');
  expect(await r.asked({ to: 'out' })).toBe(2);
  expect(r.said()).toContain('is not empty');
});

test('delivering to a folder refuses one that holds something, or is a file, and leaves nothing half-made', async () => {
  using it = folder({ 'full/x': 'x', file: 'f' });
  const r = await run(it.path);
  symlinkSync('full', join(it.path, 'link'));
  const before = readdirSync(it.path).sort();
  for (const to of ['full', 'file', 'link', 'file/below']) expect(await r.asked({ to })).toBe(2);
  expect(r.said()).toContain('file/below exists and is not a directory');
  expect(await r.asked({ to: 'full', branch: 'x' })).toBe(2);
  expect(readdirSync(it.path).sort()).toEqual(before);
  expect(tree(join(it.path, 'full'))).toEqual({ x: 'x' });
});

test('nothing is put into the folder of a run, which would not hold any more', async () => {
  using it = folder();
  const r = await run(it.path);
  cpSync(r.run.root, join(it.path, 'runs/other'), { recursive: true });
  mkdirSync(join(it.path, 'runs/other/contents'), { recursive: true });
  symlinkSync('runs/RUN1', join(it.path, 'way'));
  const before = tree(join(it.path, 'runs'));
  for (const to of ['runs/RUN1', 'runs/RUN1/out', 'runs/RUN1/workspace/a/b', 'way/out']) {
    expect(await r.asked({ to })).toBe(2);
    expect(r.said()).toContain(`${join(it.path, to)} lies in the folder of the run\n  = fix: `);
  }
  expect(await r.asked({ to: 'runs/other/out' })).toBe(2);
  expect(r.said()).toMatch(/out lies in the folder of another run, .*runs\/other\n/);
  expect(tree(join(it.path, 'runs'))).toEqual(before);
  // Neither is one that has but one of the names of a run's files.
  put(it.path, { 'web/manifest.json': '{}', 'tests/contents/x': '' });
  for (const to of ['runs/out', 'web/out', 'tests/out']) expect(await r.asked({ to }), r.said()).toBe(0);
});

test('a stage that runs pipelines itself has what they built in its own workspace', async () => {
  using it = folder();
  const r = await run(it.path);
  const outer = join(it.path, 'runs/outer');
  cpSync(r.run.root, outer, { recursive: true });
  mkdirSync(join(outer, 'contents'), { recursive: true });
  const env = { ...process.env, FACTORY_WORKSPACE: join(outer, 'workspace') };
  expect(await r.asked({ to: join(outer, 'nodes') }, 'RUN1', { env })).toBe(2);
  expect(await r.asked({ to: join(outer, 'workspace/out') }, 'RUN1', { env }), r.said()).toBe(0);
});

test('a run that says that it began with its own folder, or with one that has no place, brings nothing there', async () => {
  using it = folder();
  const r = await run(it.path, { prepare: second });
  const manifest = JSON.parse(readFileSync(r.run.manifest, 'utf8'));
  git(r.run.workspace, 'init', '-q');
  // What git lacks there it would fetch, by a program that the settings name.
  const settings = {
    'extensions.partialClone': 'origin',
    'remote.origin.url': 'ssh://host/x',
    'remote.origin.promisor': 'true',
    'core.sshCommand': `touch ${join(it.path, 'was-run')}; false`,
  };
  for (const [name, value] of Object.entries(settings)) git(r.run.workspace, 'config', name, value);
  for (const original_workdir of [r.run.workspace, 'src']) {
    writeFileSync(r.run.manifest, JSON.stringify({ ...manifest, original_workdir }));
    expect(await r.asked()).toBe(2);
    expect(r.said()).toContain('cannot be used');
    expect(await r.asked({ to: join(it.path, `to-${basename(original_workdir)}`) })).toBe(0);
    expect(r.said()).toContain('are not included');
  }
  expect(git(r.run.workspace, 'branch', '--list')).toBe('');
  expect(existsSync(join(it.path, 'was-run'))).toBe(false);
});

test.for([
  ['failed', /is failed \(because\)/],
  ['interrupted', /is interrupted/],
  ['running', /is not finished/],
] as const)('a run that %s is not delivered', async ([status, says]) => {
  using it = folder();
  const r = await run(it.path, { status });
  expect(await r.asked()).toBe(2);
  expect(r.said()).toMatch(says);
  expect(git(r.source, 'branch', '--list', 'factory/*')).toBe('');
});

test.for([
  ['a journal that is torn', 'journal.jsonl', '{'],
  ['a journal that is a pipe', 'journal.jsonl', 'pipe'],
  ['a manifest that is a pipe', 'manifest.json', 'pipe'],
  ['a beginning of its history that is damaged', 'history.git/factory-start.json', '{}'],
] as const)(
  'a run with %s is refused, the file is named, and nothing is delivered',
  async ([, name, what]) => {
    using it = folder();
    const r = await run(it.path);
    const path = join(it.path, 'runs/RUN1', name);
    rmSync(path, { force: true });
    if (what === 'pipe') execFileSync('mkfifo', [path]);
    else writeFileSync(path, what);
    expect(await r.asked()).toBe(2);
    expect(r.said()).toContain(name);
    expect(git(r.source, 'branch', '--list', 'factory/*')).toBe('');
  },
);

test('the command that a refusal names finds the run where this one did', async () => {
  using it = folder();
  const r = await run(it.path, { git: false });
  const typed = `RUN1 --runsdir ${join(it.path, 'runs')}`;
  expect(await r.asked()).toBe(2);
  expect(r.said()).toContain(`fix: factory deliver ${typed} --to DIR\n`);
  expect(await r.asked({ json: true }, 'RUN1', { called: { program: 'npx factory' } })).toBe(2);
  const told = JSON.parse(r.said().split('\nerror[')[0] ?? '');
  expect(told).toMatchObject({ fix: `npx factory deliver ${typed} --to DIR` });
  // As every other command refuses.
  expect(told).toMatchObject({
    ...{ schema_version: 1, status: 'refused', exit_code: 2 },
    problems: [{ severity: 'error', message: told.error, fix: told.fix }],
  });
  writeFileSync(r.run.journal, '{');
  expect(await r.asked()).toBe(2);
  expect(r.said()).toContain(`factory verify ${typed} checks the run\n`);
});

test('where there is no git, that is said, and nothing of the run or of the branch', async () => {
  using it = folder();
  const r = await run(it.path);
  const env = { ...r.env, PATH: '/nowhere' };
  for (const options of [{}, { branch: 'mine' }, { to: 'out' }]) {
    expect(await r.asked(options, 'RUN1', { env })).toBe(1);
    expect(r.said()).toBe('error[deliver]: git is not installed, or not on PATH\n  = fix: install git\n');
  }
  expect(readdirSync(it.path).sort()).toEqual(['runs', 'src']);
});

test('a source that git cannot look at is still a repository, and the message of git is printed', async () => {
  using it = folder();
  const r = await run(it.path);
  const config = join(r.source, '.git/config');
  const was = readFileSync(config, 'utf8');
  writeFileSync(config, `${was}[torn`);
  expect(await r.asked()).toBe(2);
  expect(r.said()).toMatch(/^error\[deliver\]: git cannot read .*src: .*bad config/);
  writeFileSync(config, was);
  expect(await r.asked()).toBe(0);
});

describe('a branch that is there', () => {
  test('is fast-forwarded with --reuse, pushed with --push, and left alone where it has moved', async () => {
    using it = folder();
    const r = await run(it.path);
    const remote = join(it.path, 'remote.git');
    git(it.path, 'init', '-q', '--bare', remote);
    git(r.source, 'remote', 'add', 'origin', remote);
    git(r.source, 'branch', 'work');
    expect(await r.asked({ branch: 'work' })).toBe(2);
    expect(await r.asked({ branch: 'work', reuse: true, push: true }), r.said()).toBe(0);
    expect(git(r.source, 'rev-parse', 'work')).toBe(r.head);
    expect(git(remote, 'rev-parse', 'work')).toBe(r.head);
    expect(await r.asked({ branch: 'work', reuse: true })).toBe(0);

    git(r.source, 'checkout', '-q', '-b', 'moved');
    git(r.source, 'commit', '-q', '--allow-empty', '-m', 'meanwhile');
    const tip = git(r.source, 'rev-parse', 'moved');
    git(r.source, 'checkout', '-q', 'main');
    expect(await r.asked({ branch: 'moved', reuse: true })).toBe(2);
    expect(r.said()).toMatch(/has commits that the run does not have/);
    expect(git(r.source, 'rev-parse', 'moved')).toBe(tip);
  });

  test('is delivered all the same when the push fails, which is reported with the command to type', async () => {
    using it = folder();
    const r = await run(it.path);
    expect(await r.asked({ branch: 'work', push: true })).toBe(1);
    expect(r.said()).toMatch(/not pushed: .*no remote[\s\S]*push -u/);
    expect(git(r.source, 'rev-parse', 'work')).toBe(r.head);
    expect(await r.asked({ to: 'x', push: true })).toBe(2);
    // The same command again pushes.
    git(it.path, 'init', '-q', '--bare', 'remote.git');
    git(r.source, 'remote', 'add', 'origin', join(it.path, 'remote.git'));
    expect(await r.asked({ branch: 'work', push: true }), r.said()).toBe(0);
    expect(git(join(it.path, 'remote.git'), 'rev-parse', 'work')).toBe(r.head);
  });
});

import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { headRef } from '../../src/core/records/layout.ts';
import { readHistoryStart } from '../../src/git/history.ts';
import { appliedOrders, recordBase, startHistory } from '../../src/git/start-history.ts';
import { bareEnv, beginRun, commitPaths, folder, git, put, repository, when } from '../builder/support.ts';

const begin = (
  root: string,
  workdir: string | undefined,
  more: { allowDirty?: boolean; env?: Record<string, string> } = {},
) =>
  startHistory({
    workdir,
    historyDir: join(root, 'history.git'),
    allowDirty: more.allowDirty === true,
    runId: 'R',
    env: more.env ?? bareEnv(root),
  });

describe('a history', () => {
  test('of a repository begins at its HEAD, one commit deep, and does not change the repository', async () => {
    using it = folder({ 'src/a.txt': 'a\n' });
    const workdir = join(it.path, 'src');
    repository(workdir);
    put(workdir, { 'a.txt': 'b\n' });
    git(workdir, 'commit', '-qam', 'second');
    const head = git(workdir, 'rev-parse', 'HEAD');
    put(workdir, { 'untracked.txt': 'u', '.gitignore': '' });
    const index = git(workdir, 'status', '--porcelain');
    const begun = await beginRun({ root: it.path, workdir });
    expect(begun.started).toMatchObject({
      kind: 'git',
      baseCommit: head,
      author: { name: 'llm-compiler', email: 'llm-compiler@noreply.local' },
    });
    expect(begun.first).toBe(head);
    expect(git(begun.run.history, 'rev-list', '--count', headRef)).toBe('1');
    expect(git(workdir, 'status', '--porcelain')).toBe(index);
    expect((await readHistoryStart(begun.run.history)).left_out).toEqual(['.gitignore', 'untracked.txt']);
  });

  test('of a sparse working tree begins with all of its files', async () => {
    using it = folder({ 'src/a.txt': 'a\n', 'src/far/b.txt': 'b\n' });
    const workdir = join(it.path, 'src');
    repository(workdir);
    git(workdir, 'sparse-checkout', 'set', 'near');
    const begun = await beginRun({ root: it.path, workdir });
    expect(readFileSync(join(begun.run.workspace, 'far/b.txt'), 'utf8')).toBe('b\n');
    expect(existsSync(join(workdir, 'far'))).toBe(false);
    put(workdir, { 'a.txt': 'changed\n' });
    const dirty = await beginRun({ root: join(it.path, 'again'), workdir, allowDirty: true });
    expect(dirty.started.notes.join()).toContain('sparse checkout');
  });

  test('of a repository that git cannot read is refused, and is not treated as a plain folder', async () => {
    using it = folder({ 'src/a.txt': 'a\n', 'home/.gitconfig': '[broken\n' });
    const workdir = join(it.path, 'src');
    const env = { ...bareEnv(it.path), GIT_CONFIG_GLOBAL: join(it.path, 'home/.gitconfig') };
    repository(workdir);
    expect(await begin(it.path, workdir, { env })).toMatchObject({
      problem: { code: 'git-history', message: expect.stringMatching(/cannot look at .*src: .*bad config/) },
    });
    // In a folder without .git, errors of git do not matter.
    put(it.path, { 'plain/a.txt': 'a\n' });
    expect(await begin(it.path, join(it.path, 'plain'), { env })).toMatchObject({ kind: 'folder' });
    // A .git that git does not accept as a repository makes a plain folder.
    rmSync(join(workdir, '.git/HEAD'));
    expect(await begin(it.path, workdir)).toMatchObject({ kind: 'folder' });
  });

  test("is refused in git's own folder, and warns about a folder within a repository", async () => {
    using it = folder({ 'src/part/a.txt': 'a\n', 'worktrees/x.txt': 'x\n' });
    const workdir = join(it.path, 'src');
    repository(workdir);
    put(workdir, { 'new/b.txt': 'b\n' });
    const bare = join(it.path, 'bare.git');
    git(it.path, 'clone', '-q', '--bare', workdir, bare);
    put(it.path, { 'worktrees/.git': 'gitdir: ../bare.git\n' });
    for (const own of [bare, join(workdir, '.git'), join(it.path, 'worktrees')]) {
      expect(await begin(it.path, own)).toMatchObject({
        problem: { code: 'workdir-bare', fix: expect.stringContaining('git clone') },
      });
    }
    expect(await begin(it.path, join(workdir, 'part'))).toMatchObject({
      kind: 'folder',
      notes: [expect.stringContaining(`--workdir ${workdir} builds on the repository`)],
    });
    // A folder that is in no commit of the repository is not part of it.
    expect(await begin(it.path, join(workdir, 'new'))).toMatchObject({ kind: 'folder', notes: [] });
  });

  test.for([
    ['changed', (dir: string) => put(dir, { 'a.txt': 'changed\n' })],
    ['removed', (dir: string) => rmSync(join(dir, 'a.txt'))],
    [
      'staged',
      (dir: string) => {
        put(dir, { 'new.txt': 'n\n' });
        git(dir, 'add', 'new.txt');
      },
    ],
    ['made executable', (dir: string) => chmodSync(join(dir, 'a.txt'), 0o755)],
    [
      'moved and replaced by a link',
      (dir: string) => {
        renameSync(join(dir, 'd'), `${dir}.d`);
        symlinkSync(`${dir}.d`, join(dir, 'd'));
        git(dir, 'add', 'd');
      },
    ],
  ] as const)(
    'is refused if a file was %s; with allowDirty the file is in the first commit',
    async ([, change]) => {
      using it = folder({ 'src/a.txt': 'a\n', 'src/d/b.txt': 'b\n', 'src/keep.txt': 'k\n' });
      const workdir = join(it.path, 'src');
      repository(workdir);
      change(workdir);
      put(workdir, { 'untracked.txt': 'u' });
      expect(await begin(it.path, workdir)).toMatchObject({
        problem: { code: 'workdir-dirty', fix: expect.stringContaining('--allow-dirty') },
      });
      const begun = await beginRun({ root: it.path, workdir, allowDirty: true });
      expect(begun.first).not.toBe(begun.started.baseCommit);
      expect(git(begun.run.history, 'rev-parse', `${begun.first}^`)).toBe(begun.started.baseCommit);
      git(workdir, 'add', '-A', ':!untracked.txt');
      expect(git(begun.run.history, 'rev-parse', `${begun.first}^{tree}`)).toBe(git(workdir, 'write-tree'));
    },
  );

  test('of a folder has its files as the first commit, except ignored ones, with bytes and modes unchanged', async () => {
    using it = folder({
      'src/crlf.txt': 'a\r\n',
      'src/.gitattributes': '* text=auto eol=lf\n*.bin filter=gone\n',
      'src/x.bin': 'b',
      'src/run.sh': 'r',
      'src/.gitignore': 'node_modules/\n',
      'src/node_modules/m/i.js': 'm',
      'src/sp ace/ü "q".txt': 'q',
      'src/new\nline': 'n',
    });
    const workdir = join(it.path, 'src');
    chmodSync(join(workdir, 'run.sh'), 0o755);
    symlinkSync('run.sh', join(workdir, 'link'));
    const begun = await beginRun({ root: it.path, workdir });
    expect(begun.started).toMatchObject({ kind: 'folder', baseCommit: null });
    const listed = git(
      begun.run.history,
      '-c',
      'core.quotePath=false',
      'ls-tree',
      '-r',
      '-z',
      begun.first ?? '',
    );
    expect(
      listed
        .split('\0')
        .filter((line) => line !== '')
        .map((line) => [line.slice(0, 6), line.split('\t')[1]]),
    ).toEqual([
      ['100644', '.gitattributes'],
      ['100644', '.gitignore'],
      ['100644', 'crlf.txt'],
      ['120000', 'link'],
      ['100644', 'new\nline'],
      ['100755', 'run.sh'],
      ['100644', 'sp ace/ü "q".txt'],
      ['100644', 'x.bin'],
    ]);
    expect(git(begun.run.history, 'cat-file', '-s', `${begun.first}:crlf.txt`)).toBe('2');
    expect((await readHistoryStart(begun.run.history)).left_out).toEqual(['node_modules/']);
  });

  test('of an empty tree has no commit', async () => {
    using it = folder();
    const begun = await beginRun({ root: it.path, workdir: undefined });
    expect([begun.started, begun.first]).toMatchObject([{ kind: 'none', baseCommit: null }, null]);
  });

  test('of a repository without a commit begins with its files', async () => {
    using it = folder({ 'src/a.txt': 'a\n' });
    git(join(it.path, 'src'), 'init', '-q');
    const begun = await beginRun({ root: it.path, workdir: join(it.path, 'src') });
    expect(begun.started).toMatchObject({ kind: 'git', baseCommit: null });
    expect(git(begun.run.history, 'ls-tree', '--name-only', begun.first ?? '')).toBe('a.txt');
  });

  test('of an untracked folder inside a repository, or with a .git that git rejects, is that of a plain folder', async () => {
    using it = folder({
      'top/a.txt': 'a\n',
      'top/sub/b.txt': 'b\n',
      'broken/.git': 'nonsense\n',
      'broken/c.txt': 'c\n',
    });
    repository(join(it.path, 'top'));
    for (const dir of ['top/sub', 'broken'])
      expect(await begin(it.path, join(it.path, dir))).toMatchObject({ kind: 'folder', baseCommit: null });
  });

  test.for([
    ['one that keeps SHA-256 names', ['--object-format=sha256']],
    ['one on another branch', ['--initial-branch=trunk']],
  ] as const)('of %s is like any other', async ([, flags]) => {
    using it = folder({ 'src/a.txt': 'a\n' });
    const workdir = join(it.path, 'src');
    git(workdir, 'init', '-q', ...flags);
    const head = repository(workdir);
    expect(await begin(it.path, workdir)).toMatchObject({ kind: 'git', baseCommit: head });
  });

  test("has the author of the repository's settings before the user's, and of the environment before both", async () => {
    using it = folder({
      'src/a.txt': 'a\n',
      home: '[user]\n\tname = Global\n\temail = global@example.test\n',
    });
    const workdir = join(it.path, 'src');
    repository(workdir);
    const env = { ...bareEnv(it.path), GIT_CONFIG_GLOBAL: join(it.path, 'home') };
    const author = async (more: Record<string, string> = {}) => {
      const started = await begin(it.path, workdir, { env: { ...env, ...more } });
      return 'author' in started
        ? `${started.author.name} <${started.author.email}>`
        : started.problem.message;
    };
    expect(await author()).toBe('Global <global@example.test>');
    git(workdir, 'config', 'user.name', 'Local');
    expect(await author()).toBe('Local <global@example.test>');
    expect(await author({ GIT_AUTHOR_NAME: 'Env', GIT_AUTHOR_EMAIL: 'env@example.test' })).toBe(
      'Env <env@example.test>',
    );
  });

  test("ignores the caller's git variables, hooks, signing and line end settings", async () => {
    using it = folder({
      'src/a.txt': 'a\r\n',
      home: '[user]\n\tname = G\n\temail = g@example.test\n[core]\n\tautocrlf = true\n\thooksPath = /nowhere\n[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n[init]\n\tdefaultBranch = odd\n\ttemplateDir = /nowhere\n',
    });
    const workdir = join(it.path, 'src');
    const env = {
      ...bareEnv(it.path),
      GIT_CONFIG_GLOBAL: join(it.path, 'home'),
      GIT_DIR: '/nowhere',
      GIT_INDEX_FILE: '/nowhere/index',
      GIT_WORK_TREE: '/',
    };
    const begun = await beginRun({ root: it.path, workdir, env });
    expect(git(begun.run.history, 'cat-file', '-s', `${begun.first}:a.txt`)).toBe('3');
    expect(git(begun.run.history, 'log', '-1', '--format=%an %G?', begun.first ?? '')).toBe('G N');
  });

  test.runIf(process.getuid?.() === 0)("of another user's repository can be read", async () => {
    using it = folder({ 'src/a.txt': 'a\n' });
    const workdir = join(it.path, 'src');
    const head = repository(workdir);
    const give = (path: string) => chownSync(path, 65534, 65534);
    for (const path of ['', '.git', '.git/HEAD', '.git/config', 'a.txt']) give(join(workdir, path));
    expect(await begin(it.path, workdir)).toMatchObject({ kind: 'git', baseCommit: head });
  });

  test('without git reports that git is missing', async () => {
    using it = folder({ 'src/a.txt': 'a' });
    expect(
      await begin(it.path, join(it.path, 'src'), { env: { PATH: it.path, HOME: it.path } }),
    ).toMatchObject({
      problem: { code: 'git-missing', message: expect.stringContaining('not installed') },
    });
  });

  test('names submodules, whose files no commit can change', async () => {
    using it = folder({ 'lib/l.txt': 'l\n', 'src/a.txt': 'a\n' });
    repository(join(it.path, 'lib'));
    const workdir = join(it.path, 'src');
    repository(workdir);
    git(
      workdir,
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      join(it.path, 'lib'),
      'vendor/lib',
    );
    git(workdir, 'commit', '-qm', 'with lib');
    const begun = await beginRun({ root: it.path, workdir });
    expect(begun.started.notes.join()).toContain('vendor/lib');
    const order = {
      historyDir: begun.run.history,
      workspace: begun.run.workspace,
      env: begun.env,
      parent: begun.first,
      order: { id: 'WO-01', title: 't' },
      digest: 'd',
      runId: 'R',
      author: begun.started.author,
      date: when,
    };
    expect(await commitPaths({ ...order, touched: ['vendor/lib/l.txt'] })).toMatchObject({
      problem: expect.stringContaining('submodule'),
    });
  });
});

describe('a commit', () => {
  const order = { id: 'WO-01', title: 'Say\nhello   world' };
  async function begun(root: string, files = { 'src/a.txt': 'a\n', 'src/.gitignore': '*.log\n' }) {
    put(root, files);
    repository(join(root, 'src'));
    const run = await beginRun({ root, workdir: join(root, 'src') });
    const { history: historyDir, workspace } = run.run;
    const common = {
      historyDir,
      workspace,
      env: run.env,
      parent: run.first,
      order,
      digest: 'd'.repeat(64),
      runId: 'R',
      author: { name: 'Ada', email: 'ada@example.test' },
      date: when,
    };
    return {
      ...run,
      commit: (touched: string[], more: { parent?: string | null } = {}) =>
        commitPaths({ ...common, ...more, touched }),
    };
  }

  test('that is the first leaves no object unflushed', async () => {
    using it = folder();
    const run = await begun(it.path);
    put(run.run.workspace, { 'a.txt': 'first\n' });
    expect(await run.commit(['a.txt'], { parent: null })).toMatchObject({ commit: expect.any(String) });
    // The first commit is compared with the empty tree; "git mktree" would write that without a flush.
    const emptyTree = join(run.run.history, 'objects/4b/825dc642cb6eb9a060e54bf8d69288fbee4904');
    expect(existsSync(emptyTree)).toBe(false);
  });

  test('has exactly the touched files, including ignored ones, and never files of .factory', async () => {
    using it = folder();
    const run = await begun(it.path);
    put(run.run.workspace, {
      'a.txt': 'stray change\n',
      'out.log': 'l\n',
      'stray.txt': 's',
      '.factory/order/state.json': '{}',
      '.Factory/order/state.json': '{}',
    });
    chmodSync(join(run.run.workspace, 'out.log'), 0o755);
    git(
      run.run.workspace,
      '--git-dir',
      run.run.history,
      '--work-tree',
      run.run.workspace,
      'add',
      'stray.txt',
    );
    const made = await run.commit(['out.log', '.factory/order/state.json', '.Factory/order/state.json']);
    expect(made).toMatchObject({ subject: 'WO-01: Say hello world' });
    expect(
      git(run.run.history, 'show', '--format=%an <%ae> %s%n%(trailers:only)', '--raw', '--no-abbrev', headRef)
        .split('\n')
        .filter((l) => l !== ''),
    ).toEqual([
      'Ada <ada@example.test> WO-01: Say hello world',
      'Factory-Run: R',
      'Work-Order: WO-01',
      `Work-Order-Digest: ${'d'.repeat(64)}`,
      expect.stringMatching(/^:000000 100755 .* A\tout\.log$/),
    ]);
    expect(
      git(
        run.run.workspace,
        '--git-dir',
        run.run.history,
        '--work-tree',
        run.run.workspace,
        'status',
        '--porcelain',
      )
        .split('\n')
        .sort(),
    ).toEqual([' M a.txt', '?? .Factory/', '?? stray.txt']);
  });

  test('made twice from one parent is one commit', async () => {
    using it = folder();
    const run = await begun(it.path);
    put(run.run.workspace, { 'a.txt': 'new\n' });
    await run.commit(['a.txt']);
    await run.commit(['a.txt']);
    expect(git(run.run.history, 'rev-list', '--count', headRef)).toBe('2');
  });

  test('does not rewrite an unchanged HEAD, and restores one that a node changed', async () => {
    using it = folder();
    const run = await begun(it.path);
    const file = join(run.run.history, 'HEAD');
    const was = statSync(file).ino;
    put(run.run.workspace, { 'a.txt': 'new\n' });
    await run.commit(['a.txt']);
    expect(statSync(file).ino).toBe(was);
    git(run.run.history, 'symbolic-ref', 'HEAD', 'refs/heads/elsewhere');
    await run.commit(['a.txt']);
    expect(readFileSync(file, 'utf8')).toBe('ref: refs/heads/factory\n');
  });

  test('is not made if nothing changed', async () => {
    using it = folder();
    const run = await begun(it.path);
    expect(await run.commit(['a.txt'])).toMatchObject({ commit: null });
    expect(git(run.run.history, 'rev-parse', headRef)).toBe(run.first);
  });

  test('that was interrupted after it moved the head moves it back if nothing is changed', async () => {
    using it = folder();
    const run = await begun(it.path);
    put(run.run.workspace, { 'a.txt': 'new\n' });
    await run.commit(['a.txt']);
    put(run.run.workspace, { 'a.txt': 'a\n' });
    expect(await run.commit(['a.txt'])).toMatchObject({ commit: null });
    expect(git(run.run.history, 'rev-parse', headRef)).toBe(run.first);
  });

  test('is made although a node left a lock on the index that it sees', async () => {
    using it = folder();
    const run = await begun(it.path);
    put(run.run.workspace, { 'a.txt': 'new\n' });
    writeFileSync(join(run.run.history, 'index.lock'), '');
    expect(await run.commit(['a.txt'])).toMatchObject({ commit: expect.any(String) });
    expect(existsSync(join(run.run.history, 'index.lock'))).toBe(false);
  });

  test('can be the first, replace a folder by a file, and remove deleted files', async () => {
    using it = folder();
    const run = await begun(it.path, {
      'src/a.txt': 'a\n',
      'src/.gitignore': '',
      'src/d/in.txt': 'i\n',
    } as never);
    rmSync(join(run.run.workspace, 'd'), { recursive: true });
    writeFileSync(join(run.run.workspace, 'd'), 'now a file\n');
    rmSync(join(run.run.workspace, 'a.txt'));
    await run.commit(['d', 'a.txt']);
    expect(git(run.run.history, 'ls-tree', '-r', '--name-only', headRef).split('\n')).toEqual([
      '.gitignore',
      'd',
    ]);
    await run.commit(['d'], { parent: null });
    expect(git(run.run.history, 'rev-list', '--count', headRef)).toBe('1');
  });
});

test('an order whose commit was reverted counts as not carried out until the revert is reverted', async () => {
  using it = folder({ 'a.txt': 'a\n' });
  repository(it.path);
  const digest = 'd'.repeat(64);
  put(it.path, { 'a.txt': 'b\n' });
  git(it.path, 'commit', '-qam', `WO-01: Step\n\nFactory-Run: R\nWork-Order-Digest: ${digest}\n`);
  const made = git(it.path, 'rev-parse', 'HEAD');
  const applied = () => appliedOrders(it.path, 'HEAD', bareEnv(it.path));
  expect(await applied()).toEqual({ [digest]: made });
  git(it.path, 'revert', '--no-edit', 'HEAD');
  expect(await applied()).toEqual({});
  git(it.path, 'revert', '--no-edit', 'HEAD');
  expect(await applied()).toEqual({ [digest]: made });
});

test('the base is recorded once the workspace exists, without files of its .factory', async () => {
  using it = folder();
  const begun = await beginRun({
    root: it.path,
    workdir: undefined,
    copy: (workspace) => put(workspace, { '.factory/in/spec.md': '# s\n' }),
  });
  mkdirSync(begun.run.workspace, { recursive: true });
  expect(
    await recordBase({
      historyDir: begun.run.history,
      workspace: begun.run.workspace,
      runId: 'R',
      now: when,
      env: begun.env,
    }),
  ).toEqual({ firstCommit: null });
  expect((await readHistoryStart(begun.run.history)).left_out).toEqual([]);
});

test('git in the workspace does not report .factory, with and without sealed paths', async () => {
  using it = folder();
  const begun = await beginRun({
    root: it.path,
    workdir: undefined,
    copy: (workspace) =>
      put(workspace, { '.factory/in/spec.md': '# s\n', 'door/judge.sh': 'x\n', 'a.txt': 'a\n' }),
  });
  const { history, workspace } = begun.run;
  const told = () =>
    git(workspace, `--git-dir=${history}`, `--work-tree=${workspace}`, 'status', '--porcelain', '-z');
  expect(told()).toBe('?? a.txt\0?? door/\0');
  const base = { historyDir: history, workspace, runId: 'R', now: when, env: begun.env };
  await recordBase({ ...base, sealed: ['door'] });
  expect(told()).toBe('?? a.txt\0');
});

test('git does not report tracked sealed files as deleted, before or after an order', async () => {
  using it = folder({ 'src/do[or/judge.sh': 'x\n', 'src/a.txt': 'a\n' });
  const workdir = join(it.path, 'src');
  repository(workdir);
  const begun = await beginRun({ root: it.path, workdir });
  const { history, workspace } = begun.run;
  const where = { historyDir: history, workspace, runId: 'R', env: begun.env };
  await recordBase({ ...where, now: when, sealed: ['do[or'] });
  rmSync(join(workspace, 'do[or'), { recursive: true });
  const told = () =>
    git(workspace, `--git-dir=${history}`, `--work-tree=${workspace}`, 'status', '--porcelain');
  expect(told()).toBe('');
  put(workspace, { 'a.txt': 'b\n' });
  await commitPaths({
    ...where,
    parent: begun.first,
    touched: ['a.txt'],
    order: { id: 'WO-01', title: 'a' },
    digest: 'd',
    author: begun.started.author,
    date: when,
  });
  expect(told()).toBe('');
  expect(git(history, 'ls-tree', '-r', '--name-only', headRef)).toBe('a.txt\ndo[or/judge.sh');
  put(workspace, { 'do[or/other.sh': 'y\n' });
  expect(told()).toBe('');
});

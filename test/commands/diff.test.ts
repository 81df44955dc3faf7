/** What a stage, or a run, has changed: as a patch that git applies, as names, as JSON. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type DiffOptions, diffCommand } from '../../src/commands/diff.ts';
import { harmless } from '../../src/commands/io.ts';
import { cleanEnv } from '../support/cli.ts';
import { house, treeOf } from '../support/house.ts';

const pipeline = `digraph g {
  start [shape=Mdiamond]
  make [shape=parallelogram, tool_command="sh make.sh"]
  change [shape=parallelogram, tool_command="sh change.sh"]
  idle [shape=parallelogram, tool_command="true"]
  exit [shape=Msquare]
  start -> make -> change -> idle -> exit
}`;
const make = `mkdir -p d/e empty
printf 'a\\nb\\n' > d/e/x
printf 'one\\ntwo\\nthree\\n' > 'we "ird"\\\\ \u00e9'
printf 'lat\\351' > "$(printf 'a\\nb')"
printf '\\000\\002' > bin
printf 'no end' > run
printf 'a\\r\\nb\\r\\n' > crlf
printf '* text=auto eol=lf\\nbin -diff\\n' > .gitattributes
ln -s run link
ln -s d tolink
`;
const change = `printf 'a\\nB\\n' > d/e/x
mv 'we "ird"\\\\ \u00e9' moved
printf 'lat\\352' > "$(printf 'a\\nb')"
printf '\\000\\003' > bin
chmod 755 run
printf 'a\\nb\\n' > crlf
rm link; mkdir link; echo in > link/in
rm tolink; ln -s nowhere tolink
`;

type Asked = DiffOptions & { readonly paths?: string[]; readonly run?: string };
type Door = { readonly env?: Record<string, string>; readonly outIsTerminal?: boolean };

/** `factory diff base` in that folder. */
async function diffIn(cwd: string, options: Asked = {}, door: Door = {}, texts: string[] = []) {
  const pieces: Uint8Array[] = [];
  let err = '';
  const code = await diffCommand(options.run ?? 'base', options.paths ?? [], options, {
    cwd,
    env: cleanEnv({ HOME: cwd, ...door.env }),
    out: (text) => {
      texts.push(text);
      pieces.push(Buffer.from(text));
    },
    bytes: (piece) => void pieces.push(Buffer.from(piece)),
    err: (text) => {
      err += text;
    },
    outIsTerminal: door.outIsTerminal ?? false,
    errIsTerminal: false,
    width: 100,
  });
  const bytes = Buffer.concat(pieces);
  return { code, out: bytes.toString('utf8'), bytes, err };
}

test('on a terminal neither a colour is cut in two, nor do words of others act or hide', async () => {
  await using it = await house({
    'g.dot': pipeline,
    'work/make.sh': `i=0; while [ $i -lt 9000 ]; do echo $i; i=$((i+1)); done > many
      printf 'over\\r\\033[2K\\033[31m\\033[41mhidden  \\n' > hides
      printf '\\r' > zlast`,
    'work/change.sh': 'true',
  });
  const ran = await it.run('g.dot', { workdir: 'work', runId: 'base', quiet: true });
  expect(ran.code, ran.err).toBe(0);
  const pieces: string[] = [];
  await diffIn(it.path, {}, { outIsTerminal: true, env: { TERM: 'xterm' } }, pieces);
  const told = pieces.map(harmless);
  expect(told.length).toBeGreaterThan(3);
  const [hides = '', ...many] = told.join('').split(/(?=\x1b\[1mdiff)/);
  expect(hides).toContain('over\\u000d\\u001b[2K');
  expect(hides).not.toContain('\x1b[41m');
  expect(many[0]).not.toContain('\\u');
  expect(many.at(-1)).toContain('\\u000d');
});

describe('of one run', () => {
  let it: Awaited<ReturnType<typeof house>>;
  let whole: Record<string, string>;
  const run = () => join(it.path, '.factory/runs/base');
  beforeAll(async () => {
    it = await house({ 'g.dot': pipeline, 'work/make.sh': make, 'work/change.sh': change });
    const ran = await it.run('g.dot', { workdir: 'work', runId: 'base', quiet: true });
    expect(ran.code, ran.err).toBe(0);
    whole = treeOf(run());
  });
  afterAll(() => it[Symbol.asyncDispose]());
  afterEach(() => expect(treeOf(run())).toEqual(whole));

  const diff = (options: Asked = {}, io: Door = {}) => diffIn(it.path, options, io);

  test.for(['make', 'change'])('what "%s" has changed is a patch that git applies', async (at) => {
    const patch = await diff({ at });
    expect(patch.code, patch.err).toBe(0);
    const made = await it.checkout('base', `${at}/before`, { at, before: true });
    expect(made.code, made.err).toBe(0);
    const before = join(it.path, at, 'before');
    // Of a workspace that a patch is applied to, git heeds no attributes but those outside of it.
    execFileSync('git', ['-c', 'core.attributesFile=/dev/null', 'apply', '--whitespace=nowarn'], {
      cwd: before,
      input: patch.bytes,
      env: { ...cleanEnv({ HOME: it.path }), GIT_CEILING_DIRECTORIES: it.path },
    });
    if (at === 'make') mkdirSync(join(before, 'empty'));
    await it.checkout('base', `${at}/after`, { at });
    expect(treeOf(before)).toEqual(treeOf(join(it.path, at, 'after')));
    expect(patch.err).toBe(
      at === 'make'
        ? 'not in the patch (folders that came, went or have other permissions): empty; --names lists all\n'
        : '',
    );
  });

  test('names: of one visit, since a visit, of all, and at some paths', async () => {
    expect((await diff({ at: 'change', names: true })).out).toBe(
      [
        'M a\\x0ab',
        'M bin',
        'M crlf',
        'M d/e/x',
        'D link',
        'A link',
        'A link/in',
        'A moved',
        'M run',
        'M tolink',
        'D we "ird"\\\\ \u00e9',
        '',
      ].join('\n'),
    );
    const since = (await diff({ from: 'make', names: true })).out;
    expect(since).toBe((await diff({ at: 'change', names: true })).out);
    expect((await diff({ to: 'make', names: true, paths: ['./d/', 'run'] })).out).toBe(
      'A d\nA d/e\nA d/e/x\nA run\n',
    );
    expect((await diff({ paths: ['d/e/x'] })).out).toContain('\n+B\n');
    expect((await diff({ paths: ['a\\x0ab'], names: true })).out).toBe('A a\\x0ab\n');
    expect((await diff({ paths: ['.'], names: true })).out).toBe((await diff({ names: true })).out);
  });

  test("a snapshot's own name is a moment too, as a stalled stage tells it", async () => {
    const { to } = JSON.parse((await diff({ to: 'make', json: true })).out);
    expect(to.snapshot).toMatch(/^[0-9a-f]{64}$/);
    const since = await diff({ from: to.snapshot });
    expect(since).toEqual(await diff({ from: 'make' }));
    expect((await diff({ from: 'make', to: to.snapshot })).err).toBe(
      `run base, after make@1 to ${to.snapshot.slice(0, 12)}: nothing has changed\n`,
    );
    const none = await diff({ to: '0'.repeat(64) });
    expect(none).toMatchObject({ code: 1, out: '' });
    expect(none.err).toContain(`error[diff]: there is no snapshot ${'0'.repeat(64)} in `);
  });

  test('as JSON each path with what it was and is', async () => {
    const told = JSON.parse(
      (await diff({ at: 'change', json: true, paths: ['run', 'tolink', 'moved'] })).out,
    );
    const { snapshot } = it.json('.factory/runs/base/checkpoint.json');
    expect(told).toMatchObject({
      schema_version: 1,
      run_id: 'base',
      from: { moment: 'before change@1' },
      to: { moment: 'after change@1', snapshot },
    });
    const file = { kind: 'file', size: 6, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect(told.changes).toEqual([
      { path: 'moved', what: 'created', before: null, after: { ...file, size: 14, mode: '0644' } },
      { path: 'run', what: 'modified', before: { ...file, mode: '0644' }, after: { ...file, mode: '0755' } },
      {
        path: 'tolink',
        what: 'modified',
        before: { kind: 'link', mode: '0777', target: 'd' },
        after: { kind: 'link', mode: '0777', target: 'nowhere' },
      },
    ]);
  });

  test('on a terminal it is for people: colours, and no bytes of what is no text', async () => {
    const { out } = await diff({ at: 'change' }, { outIsTerminal: true, env: { TERM: 'xterm' } });
    expect(out).toContain('Binary files a/bin and b/bin differ');
    expect(out).toContain('\x1b[32m+\x1b[0m\x1b[32mB\x1b[0m');
    expect(out).not.toContain('\x1b[m');
  });

  test('nothing that has changed is said, and is no failure', async () => {
    expect(await diff({ at: 'idle' })).toMatchObject({
      code: 0,
      out: '',
      err: 'run base, before idle@1 to after idle@1: nothing has changed\n',
    });
    expect((await diff({ paths: ['make.sh', 'nowhere'] })).err).toBe(
      'run base, as it began to its latest checkpoint: nothing has changed in make.sh, nowhere\n',
    );
    expect(JSON.parse((await diff({ at: 'idle', json: true })).out).changes).toEqual([]);
  });

  test.for<[Asked, string, string]>([
    [{ run: 'other' }, 'no-run', 'there is no run "other"'],
    [{ at: 'nowhere' }, 'no-visit', 'finished are: start, make, change, idle, exit'],
    [{ from: 'make@2' }, 'no-visit', 'has no finished visit 2'],
    [{ to: 'a b' }, 'usage', '--to "a b" names no node'],
    [{ to: 'a b' }, 'usage', 'for example --to check@2'],
    [{ at: 'make', from: 'start' }, 'usage', 'leave --at out, or the other two'],
    [{ paths: ['ok', '../up'] }, 'usage', '"../up" does not lie in the workspace'],
    [{ paths: ['/etc'] }, 'usage', '"/etc" does not lie in the workspace'],
  ])('%o is refused: %s', async ([options, code, says]) => {
    const told = await diff(options);
    expect(told).toMatchObject({ code: 2, out: '' });
    expect(told.err).toContain(`error[${code}]`);
    expect(told.err).toContain(says);
  });

  test('without git the names can be told, and a patch says so', async () => {
    const bare = { env: { PATH: join(it.path, 'no-programs') } };
    const told = await diff({}, bare);
    expect(told).toMatchObject({ code: 1, out: '' });
    expect(told.err).toContain('error[git]: git is not installed, or not on PATH');
    expect(told.err).toContain('--names');
    expect((await diff({ names: true }, bare)).out).toContain('A moved\n');
  });

  test('leaves nothing in the temporary folder, whatever comes of it', async () => {
    const TMPDIR = join(it.path, 'tmp');
    mkdirSync(TMPDIR);
    await diff({}, { env: { TMPDIR } });
    await diff({}, { env: { TMPDIR, PATH: join(it.path, 'no-programs') } });
    expect(treeOf(TMPDIR)).toEqual({});
  });
});

test("the engine's own folder is left out of what a whole run has changed, and told of", async () => {
  await using it = await house({
    'g.dot': pipeline,
    'work/make.sh': 'mkdir -p .factory/order; echo 1 > .factory/order/state; echo made > made\n',
    'work/change.sh': 'echo 2 > .factory/order/state\n',
  });
  const ran = await it.run('g.dot', { workdir: 'work', runId: 'base', quiet: true });
  expect(ran.code, ran.err).toBe(0);
  const all = 'A .factory\nA .factory/order\nA .factory/order/state\nA made\n';
  const left = "left out: 3 paths in .factory, which is the engine's own; name that folder to see them\n";
  const names = async (options: DiffOptions, paths: string[] = []) => {
    const { out, err } = await diffIn(it.path, { ...options, names: true, paths });
    return [out, err];
  };
  expect(await names({})).toEqual(['A made\n', left]);
  expect(await names({}, ['.'])).toEqual([all, '']);
  expect(await names({}, ['.factory'])).toEqual([all.replace('A made\n', ''), '']);
  expect(await names({ at: 'change' })).toEqual(['M .factory/order/state\n', '']);
  expect((await names({ from: 'make' }))[1]).toBe(
    "left out: one path in .factory, which is the engine's own; name that folder to see it\nrun base, after make@1 to its latest checkpoint: nothing has changed\n",
  );
});

test('what no patch can tell is named: large files, permissions, what git takes for its own', async () => {
  await using it = await house({
    'g.dot': pipeline,
    'work/make.sh':
      'mkdir -p sub/.git; echo x > sub/.git/config; head -c 16777217 /dev/zero > big; echo 1 > kept\n',
    'work/change.sh':
      'echo 2 > sub/.git/config; echo 1 >> big; chmod 600 kept; chmod 700 sub; echo t > "$(printf \'l\\351t\')"\n',
  });
  const ran = await it.run('g.dot', { workdir: 'work', runId: 'base', quiet: true });
  expect(ran.code, ran.err).toBe(0);
  const told = await diffIn(it.path, { at: 'change' });
  expect(told.code, told.err).toBe(0);
  expect(told.bytes.toString('latin1').match(/^diff .*$/gm)).toEqual(['diff --git a/l\u00e9t b/l\u00e9t']);
  expect(told.err.trimEnd().split('\n')).toEqual([
    'not in the patch (folders that came, went or have other permissions): sub; --names lists all',
    'not in the patch (other permissions than to be executed): kept; --names lists all',
    'not in the patch (too large to be compared): big; --names lists all',
    'not in the patch (names that git does not take): sub/.git/config; --names lists all',
  ]);
});

test('a patch has no name for which git would refuse all of it', async () => {
  const names = ['git~1', '.GIT. ', 'a\\.git', 'git~2', '.gitignore'];
  await using it = await house({
    'g.dot': pipeline,
    'work/make.sh': `${names.map((name) => `echo 1 > '${name}'`).join('; ')}; mkdir d; ln -s x .gitmodules; mkdir d/.gitmodules; ln -s x d/.gitmodules/l; mkdir 'b '; : > 'b /e'\n`,
    'work/change.sh': '',
  });
  const ran = await it.run('g.dot', { workdir: 'work', runId: 'base', quiet: true });
  expect(ran.code, ran.err).toBe(0);
  const { bytes, err } = await diffIn(it.path);
  mkdirSync(join(it.path, 'to'));
  execFileSync('git', ['apply', '-'], { cwd: join(it.path, 'to'), input: bytes });
  expect(readdirSync(join(it.path, 'to')).sort()).toEqual(['.gitignore', 'git~2']);
  expect(err).toContain('not in the patch (names that git does not take): .GIT. , .gitmodules, ');
});

test.for(['sha1', 'sha256'])(
  'a patch with bytes is taken by the %s repository that the run began with',
  async (format) => {
    await using it = await house({ 'g.dot': pipeline, 'work/make.sh': make, 'work/change.sh': change });
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.test', ...args], {
        cwd: join(it.path, 'work'),
        env: cleanEnv({ HOME: it.path }),
      });
    git('init', '-q', `--object-format=${format}`);
    git('add', '-A');
    git('commit', '-q', '-m', 'first');
    const ran = await it.run('g.dot', { workdir: 'work', runId: 'base', quiet: true });
    expect(ran.code, ran.err).toBe(0);
    const patch = await diffIn(it.path, { paths: ['bin'] });
    writeFileSync(join(it.path, 'bin.patch'), patch.bytes);
    git('apply', '../bin.patch');
    expect(readFileSync(join(it.path, 'work/bin'))).toEqual(Buffer.from([0, 3]));
  },
);

/** `factory diff`: the changes of a node or a run, as a patch that git applies, as names, as JSON. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { cleanEnv } from '../support/cli.ts';
import { house, treeOf } from '../support/house.ts';
import { call, type Flags } from '../support/verb.ts';

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

type Asked = Flags & { readonly paths?: string[]; readonly run?: string };
type Door = { readonly env?: Record<string, string>; readonly outIsTerminal?: boolean };

/** `factory diff base` in that folder. */
async function diffIn(cwd: string, options: Asked = {}, door: Door = {}, texts: string[] = []) {
  const pieces: Uint8Array[] = [];
  let err = '';
  const { run = 'base', paths = [], ...flags } = options;
  const { code } = await call(['diff', run, ...paths], flags, {
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

test.for(['make', 'change'])('the changes of node "%s" are a patch that git applies', async (at) => {
  const patch = await diff({ at });
  expect(patch.code, patch.err).toBe(0);
  const made = await it.checkout('base', `${at}/before`, { at, before: true });
  expect(made.code, made.err).toBe(0);
  const before = join(it.path, at, 'before');
  // git reads attributes from outside of the workspace only.
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

test('names: of one execution, since an execution, of all, and at some paths', async () => {
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

test('the name of a snapshot, which a stalled node reports, is a moment too', async () => {
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

test('as JSON each path comes with its kind, size, hash and mode before and after', async () => {
  const told = JSON.parse((await diff({ at: 'change', json: true, paths: ['run', 'tolink', 'moved'] })).out);
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

test('on a terminal it has colours, and no bytes of binary files', async () => {
  const { out } = await diff({ at: 'change' }, { outIsTerminal: true, env: { TERM: 'xterm' } });
  expect(out).toContain('Binary files a/bin and b/bin differ');
  expect(out).toContain('\x1b[32m+\x1b[0m\x1b[32mB\x1b[0m');
  expect(out).not.toContain('\x1b[m');
});

test('no changes are reported as such, and are no failure', async () => {
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

test('without git, names are printed and a patch is refused', async () => {
  const bare = { env: { PATH: join(it.path, 'no-programs') } };
  const told = await diff({}, bare);
  expect(told).toMatchObject({ code: 1, out: '' });
  expect(told.err).toContain('error[git]: git is not installed, or not on PATH');
  expect(told.err).toContain('--names');
  expect((await diff({ names: true }, bare)).out).toContain('A moved\n');
});

test("the engine's own folder is left out of the changes of a whole run, with a message", async () => {
  await using it = await house({
    'g.dot': pipeline,
    'work/make.sh': 'mkdir -p .factory/order; echo 1 > .factory/order/state; echo made > made\n',
    'work/change.sh': 'echo 2 > .factory/order/state\n',
  });
  const ran = await it.run('g.dot', { workdir: 'work', runId: 'base', quiet: true });
  expect(ran.code, ran.err).toBe(0);
  const all = 'A .factory\nA .factory/order\nA .factory/order/state\nA made\n';
  const left = "left out: 3 paths in .factory, which is the engine's own; name that folder to see them\n";
  const names = async (options: Flags, paths: string[] = []) => {
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

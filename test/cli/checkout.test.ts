import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { house, treeOf } from '../support/house.ts';

const pipeline = `digraph g {
  vars="fail=no"
  start [shape=Mdiamond]
  make [shape=parallelogram, tool_command="mkdir -p bin empty; echo 1 > bin/run; chmod 750 bin/run; ln -s bin/run link; ln -s nowhere lost"]
  change [shape=parallelogram, tool_command="echo 2 >> bin/run; rm link; touch odd\\ name"]
  guarded [shape=parallelogram, allowed_write_paths="ok.txt", tool_command="echo ok > ok.txt; echo bad > bad.txt"]
  last [shape=parallelogram, tool_command="[ \${var.fail} = no ]"]
  exit [shape=Msquare]
  start -> make -> change -> guarded
  guarded -> change [condition="outcome=fail && bad=never"]
  guarded -> last [condition="outcome=fail"]
  last -> exit [condition="outcome=success"]
}`;
const runs = '.factory/runs';

let it: Awaited<ReturnType<typeof house>>;
let tree: Record<string, string>;
beforeAll(async () => {
  it = await house({ 'g.dot': pipeline, 'work/here.txt': 'here\n', 'full/x': 'x', file: '' });
  const ran = await it.run('g.dot', { workdir: 'work', runId: 'base', quiet: true });
  expect(ran.code, ran.err).toBe(0);
  tree = treeOf(join(it.path, runs, 'base'));
});
afterAll(() => it[Symbol.asyncDispose]());
afterEach(() => expect(treeOf(join(it.path, runs, 'base'))).toEqual(tree));

test('without a moment the workspace of the latest checkpoint is checked out, byte for byte', async () => {
  const told = await it.checkout('base', 'out/of/it', { json: true });
  expect(told.code, told.err).toBe(0);
  expect(treeOf(join(it.path, 'out/of/it'))).toEqual(treeOf(join(it.path, runs, 'base/workspace')));
  const { snapshot } = it.json(`${runs}/base/checkpoint.json`);
  expect(JSON.parse(told.out)).toEqual({
    schema_version: 1,
    run_id: 'base',
    node: 'exit',
    visit: 1,
    before: false,
    snapshot,
    dir: join(it.path, 'out/of/it'),
    files: 4,
    folders: 2,
    links: 1,
  });
});

test.for([
  ['start', false, ['here.txt'], 'after start@1: 1 file in'],
  ['make@1', true, ['here.txt'], 'before make@1: 1 file in'],
  [
    'make',
    false,
    ['bin', 'bin/run', 'empty', 'here.txt', 'link', 'lost'],
    'after make@1: 2 files, 2 links in',
  ],
  // Files that the node wrote outside its scope were restored.
  [
    'guarded',
    false,
    ['bin', 'bin/run', 'empty', 'here.txt', 'lost', 'odd name', 'ok.txt'],
    'after guarded@1: 4 files, 1 link in',
  ],
] as const)(
  'at %s (before: %s) the workspace of that moment is checked out',
  async ([at, before, paths, words]) => {
    const dir = `at-${at}-${before}`;
    mkdirSync(join(it.path, dir));
    const told = await it.checkout('base', dir, { at, before });
    expect(told.code, told.err).toBe(0);
    expect(told.out).toBe(`run base ${words} ${join(it.path, dir)}\n`);
    const found = treeOf(join(it.path, dir));
    expect(Object.keys(found).sort()).toEqual(paths);
    if (at === 'make')
      expect(found).toMatchObject({ link: '-> bin/run', lost: '-> nowhere', 'bin/run': /^750 / });
  },
);

test('an impossible checkout is refused with the reason, and nothing changes', async () => {
  symlinkSync('work', join(it.path, 'linked'));
  mkdirSync(join(it.path, 'hollow'));
  symlinkSync('hollow', join(it.path, 'to-hollow'));
  symlinkSync(join(runs, 'base'), join(it.path, 'way'));
  const all = treeOf(it.path);
  for (const [dir, options, words] of [
    ['full', {}, /full is not empty/],
    ['file', {}, /file is not a folder/],
    ['file/below', {}, /cannot be reached|not a folder/],
    ['', {}, /its name is empty/],
    ['to-hollow', {}, /is a link, and nothing is written through links/],
    [`${runs}/base`, {}, /lies in the folder of the run/],
    [`${runs}/base/workspace`, {}, /lies in the folder of the run/],
    [`${runs}/base/new`, {}, /lies in the folder of the run/],
    ['way/new', {}, /lies in the folder of the run/],
    ['new', { at: 'mke' }, /did you mean "make"\?/],
    ['new', { at: 'make@2' }, /no finished visit 2: its last one is 1/],
    ['new', { at: 'make@two' }, /--at "make@two": a visit is a whole number/],
    ['new', { before: true }, /--before needs --at/],
  ] as const) {
    const told = await it.checkout('base', dir, options);
    expect(told.err).toMatch(words);
    expect(told).toMatchObject({ code: 2, out: '' });
  }
  const none = await it.checkout('none', 'new', { json: true });
  expect(JSON.parse(none.out)).toMatchObject({ status: 'refused', exit_code: 2 });
  expect(treeOf(it.path)).toEqual(all);
});

test('a folder inside another run is refused', async () => {
  await it.run('g.dot', { workdir: 'work', runId: 'other', quiet: true });
  const told = await it.checkout('base', `${runs}/other/new`);
  expect(told).toMatchObject({
    code: 2,
    err: expect.stringContaining('lies in the folder of another run'),
  });
  expect(readdirSync(join(it.path, runs, 'other'))).not.toContain('new');
});

test('a failed run, and one interrupted before its first node, can be checked out', async () => {
  await using it = await house({ 'g.dot': pipeline });
  const failed = { workdir: '.', var: ['fail=yes'], quiet: true };
  expect((await it.run('g.dot', { ...failed, runId: 'failed' })).code).toBe(1);
  expect((await it.checkout('failed', 'a')).out).toMatch(/^run failed after last@1: \d+ files, 1 link in/);
  const cut = await it.run('g.dot', { workdir: '.', runId: 'cut' }, (line) =>
    line.includes('pipeline starting'),
  );
  expect(cut.code).toBe(130);
  expect((await it.checkout('cut', 'b')).out).toMatch(/^run cut as it began: \d+ files?/);
});

test('a damaged snapshot is reported, and no folder is created', async () => {
  await using it = await house({ 'g.dot': pipeline });
  await it.run('g.dot', { workdir: '.', runId: 'r', quiet: true });
  const pack = join(it.path, runs, 'r/contents/pack');
  writeFileSync(pack, 'x');
  const told = await it.checkout('r', 'out');
  expect(told).toMatchObject({ code: 1, out: '', err: expect.stringContaining('damaged') });
  expect(readdirSync(it.path)).not.toContain('out');
});

/** Measuring a strength: which mutants count, in which order, what is kept of them. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sourceGit } from '../../src/platform/git.ts';
import { openStrengthCache } from '../../src/scenarios/strength/cache.ts';
import { mountChoices } from '../../src/scenarios/strength/product.ts';
import { mutantsIn } from '../../src/scenarios/strength/sources.ts';
import { linesAdded, subjectInGit } from '../../src/scenarios/strength/subject.ts';
import { differenceOf } from '../../src/scenarios/strength/survivors.ts';
import {
  inSampleOrder,
  type MutantOutcome,
  mutantOutcomes,
  type StrengthGoal,
  strengthOf,
  tallyOf,
} from '../../src/scenarios/strength/tally.ts';
import { cleanEnv } from '../support/cli.ts';

const ids = fc.uniqueArray(fc.string(), { maxLength: 40 }).map((all) => all.map((id) => ({ id })));

test('the order of a sample depends on the seed alone, and loses nothing', () => {
  fc.assert(
    fc.property(ids, fc.string(), (mutants, seed) => {
      const order = inSampleOrder(mutants, seed);
      expect(inSampleOrder([...mutants].reverse(), seed)).toEqual(order);
      expect(new Set(order)).toEqual(new Set(mutants));
    }),
  );
  const many = Array.from({ length: 50 }, (_, n) => ({ id: `${n}` }));
  expect(inSampleOrder(many, 'a')).not.toEqual(inSampleOrder(many, 'b'));
});

const outcome = fc.constantFrom<MutantOutcome>(...mutantOutcomes);

test('what comes after a mutant without an outcome does not count', () => {
  const lists = fc.tuple(fc.array(outcome), fc.array(fc.option(outcome, { nil: undefined })));
  fc.assert(
    fc.property(lists, ([first, later]) => {
      const tally = tallyOf([...first, undefined, ...later], {});
      expect(tally).toEqual({ ...tallyOf(first, {}), end: undefined });
      expect(tally.length).toBe(first.length);
    }),
  );
});

const times = (count: number, one: MutantOutcome): MutantOutcome[] =>
  Array.from({ length: count }, () => one);

const none = { words: [], files: 0, scenarios: 0 };

test.for<[string, (MutantOutcome | undefined)[], StrengthGoal, object]>([
  ['all', times(3, 'killed'), {}, { state: 'measured', complete: true, rate: 1, low: null, total: 3 }],
  [
    'a sample of two, although a third is ready',
    ['killed', 'not_built', 'survived', 'killed', undefined],
    { sample: 2 },
    { state: 'measured', killed: 1, survived: 1, not_built: 1, complete: false, rate: 0.5, total: 4 },
  ],
  [
    'timeouts and files that are not reached',
    ['timed_out', 'not_reached'],
    {},
    { killed: 1, timed_out: 1, survived: 1, not_reached: 1, complete: true, rate: 0.5 },
  ],
  [
    'one without a verdict: it is no longer all',
    [...times(30, 'killed'), 'no_verdict'],
    {},
    { complete: false, rate: 1, high: 1, total: 30, no_verdict: 1 },
  ],
  [
    'a bar that is met at the first look',
    [...times(60, 'killed'), ...times(60, 'survived')],
    { required: 0.8 },
    { state: 'met', killed: 60, survived: 0, complete: false, required: 0.8 },
  ],
  [
    'a bar that the first look leaves open and the second decides',
    [...times(50, 'killed'), ...times(10, 'survived'), ...times(60, 'survived'), undefined],
    { required: 0.8 },
    { state: 'missed', killed: 50, survived: 70 },
  ],
  [
    'a bar, and all were judged before the first look',
    [...times(8, 'killed'), ...times(2, 'survived')],
    { required: 0.8 },
    { state: 'met', complete: true, rate: 0.8 },
  ],
  [
    'a bar, and a sample that leaves it open',
    [...times(8, 'killed'), ...times(3, 'survived')],
    { required: 0.8, sample: 10 },
    { state: 'undecided', why: 'the interval contains the required strength' },
  ],
  ['nothing valid', ['not_built'], {}, { state: 'undecided', rate: null, why: 'no mutant could be judged' }],
])('the record of %s', ([_, outcomes, goal, expected]) => {
  const about = { all: outcomes.length, required: goal.required, leftOut: none };
  expect(strengthOf(tallyOf(outcomes, goal), about)).toMatchObject(expected);
});

test.for<[string, MutantOutcome[], StrengthGoal, object]>([
  ['a met bar', times(60, 'killed'), { required: 0.8 }, { state: 'undecided', rate: 1 }],
  ['a missed bar', times(60, 'survived'), { required: 0.8 }, { state: 'missed', why: null }],
  ['no bar', times(60, 'killed'), {}, { state: 'measured', why: null }],
])('files without mutants leave %s', ([_, outcomes, goal, expected]) => {
  const leftOut = { words: ['2 files in Ruby, which cannot be mutated'], files: 2, scenarios: 0 };
  const record = strengthOf(tallyOf(outcomes, goal), { all: 60, required: goal.required, leftOut });
  expect(record).toMatchObject({ files_left_out: 2, left_out: leftOut.words, ...expected });
  if (record.state === 'undecided')
    expect(record.why).toBe('nothing is known of 2 files in Ruby, which cannot be mutated');
});

test('scenarios that were not run do not keep the others from a bar', () => {
  const leftOut = { words: ['a_scenario.sh, which declares requires-env'], files: 0, scenarios: 1 };
  const tally = tallyOf(times(60, 'killed'), { required: 0.8 });
  expect(strengthOf(tally, { all: 60, required: 0.8, leftOut })).toMatchObject({
    ...{ state: 'met', scenarios_left_out: 1 },
  });
});

test('a void number has no rate, whatever was counted', () => {
  const about = { all: 3, required: undefined, leftOut: none, isVoid: true, why: 'the product failed' };
  expect(strengthOf(tallyOf(times(3, 'killed'), {}), about)).toMatchObject({
    state: 'undecided',
    killed: 3,
    ...{ rate: null, low: null, high: null, why: 'the product failed' },
  });
});

test.for<[string, number[]]>([
  ['@@ -3 +3 @@ x\n-a\n+b\n', [3]],
  ['@@ -0,0 +1,2 @@\n+a\n+b\n@@ -9,2 +11,0 @@\n-@@ -1 +1 @@\n', [1, 2]],
  ['', []],
])('the lines that %j adds', ([hunks, lines]) => {
  expect([...linesAdded(hunks)]).toEqual(lines);
});

test.for([
  ['a\nb = 1\nc', 'b = 1', 'b = 2', 'b = 1', 'b = 2'],
  ['one', 'one', '', 'one', ''],
  ['f(\n  a,\n)\nrest', '(\n  a', '()(\n  a', 'f(\n  a,', 'f()(\n  a,'],
] as const)('the difference in %j', ([text, old, replacement, before, after]) => {
  const start = text.indexOf(old);
  expect(differenceOf(text, { start, end: start + old.length, replacement })).toEqual({ before, after });
});

const folder = (): Promise<string> => mkdtemp(join(tmpdir(), 'strength-'));

function write(top: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(top, name)), { recursive: true });
    writeFileSync(join(top, name), text);
  }
}

test('outcomes are kept for their user alone, a line each; a torn line and what was dropped are forgotten', async () => {
  const home = await folder();
  const cache = openStrengthCache({ HOME: home });
  cache.add('k', 'a', 'killed');
  cache.add('k', 'b', 'survived');
  const place = join(home, '.cache', 'factory', 'strength');
  const [file = ''] = readdirSync(place);
  expect(statSync(join(place, file)).mode & 0o777).toBe(0o600);
  appendFileSync(join(place, file), '{"mutant":"c","outc');
  expect([...cache.read('k')]).toEqual([
    ['a', 'killed'],
    ['b', 'survived'],
  ]);
  expect([...cache.read('other')]).toEqual([]);
  cache.drop('k');
  expect([...cache.read('k')]).toEqual([]);
});

test('in git count the tracked files, of them the changed lines, each with the work order that wrote it', async () => {
  const top = await folder();
  const env = cleanEnv({ HOME: top });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], {
      cwd: top,
      env,
      stdio: 'pipe',
    });
  git('init', '-q');
  write(top, { 'a.js': 'one\ntwo\n', 'gone.js': 'x\n', '.gitignore': 'lib/\n', 'lib/x.js': 'x\n' });
  git('add', '-A');
  git('commit', '-qm', 'First');
  write(top, { 'a.js': 'one\n2\nthree\n', 'new file.js': 'n\n', 'lib/kept/y.js': 'y\n' });
  git('rm', '-q', 'gone.js');
  git('add', '-A');
  git('add', '--force', 'lib/kept/y.js');
  git('commit', '-qm', 'WO-02: Count\n\nFactory-Run: r\nWork-Order: WO-02');
  write(top, { 'a.js': 'one\n2\nthree\n4\n', 'loose.js': 'l\n' });
  const isSought = (path: string) => path.endsWith('.js');
  const subject = await subjectInGit(top, sourceGit(top, env), { base: 'HEAD~1', isSought });
  expect(subject.files).toEqual([
    { path: 'a.js', lines: new Set([2, 3, 4]) },
    // Ignored, but committed.
    { path: 'lib/kept/y.js', lines: new Set([1]) },
    { path: 'new file.js', lines: new Set([1]) },
  ]);
  expect(subject.untracked).toEqual(['loose.js']);
  const orders = [1, 2, 4].map((line) => subject.orderOf('a.js', line));
  expect(await Promise.all(orders)).toEqual([null, 'WO-02: Count', null]);
  const all = await subjectInGit(top, sourceGit(top, env), { isSought });
  expect(all.files.map(({ path }) => path)).toEqual(['a.js', 'lib/kept/y.js', 'new file.js']);
});

/** What is left out of files that count. */
async function leftOutOf(
  files: Readonly<Record<string, string | Buffer>>,
  untracked: readonly string[] = [],
) {
  const app = await folder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(app, name)), { recursive: true });
    writeFileSync(join(app, name), text);
  }
  const paths = Object.keys(files).filter((path) => !untracked.includes(path));
  const subject = { app, files: paths.map((path) => ({ path })), ignored: [], untracked };
  const { leftOut, texts, ruledOut } = await mutantsIn({ ...subject, orderOf: async () => null }, [
    join(app, 's'),
  ]);
  return { ...leftOut, mutated: [...texts.keys()], ruledOut: Object.fromEntries(ruledOut) };
}

const js = 'const a = 1;\n';

test.for<[string, Readonly<Record<string, string | Buffer>>, string[]]>([
  [
    'other languages, by language',
    { 'a.rb': 'puts 1', 'b.rb': '', 'x.sql': 'select 1' },
    ['2 files in Ruby, which cannot be mutated', '1 file in SQL, which cannot be mutated'],
  ],
  [
    'an interpreter without a table',
    { 'bin/tool': '#!/usr/bin/env -S perl -w\nprint 1;\n' },
    ['1 file in perl, which cannot be mutated'],
  ],
  [
    'a page with a script of its own',
    { 'index.html': '<script>let a = 1;</script>' },
    ['1 file in HTML with scripts, which cannot be mutated'],
  ],
  ['a large file', { 'a.js': js.repeat(100_000) }, ['1 file of more than 1 MiB']],
  [
    'another encoding',
    { 'a.py': Buffer.from('a = "\xe4"\n', 'latin1') },
    ['1 file in another encoding than UTF-8'],
  ],
  [
    'what cannot be parsed',
    { 'a.js': 'let = = ;\n} } ) (\nfoo bar baz qux\n' },
    ['1 file that cannot be parsed'],
  ],
  [
    'markup, styles, data, settings, binaries',
    {
      'a.md': '#',
      'a.css': 'a {}',
      'a.json': '1',
      'a.yaml': 'a: 1',
      'a.html': '<script src="a.js"></script>',
      'b.html': '<script type="application/json">1</script>',
      'a.png': Buffer.from([0, 255]),
      LICENSE: 'x',
    },
    [],
  ],
  [
    'tests and generated files',
    { 'test/a.rb': 'x', 'b_test.rb': 'x', 'vendor/a.rb': 'x', 'gen/a.rb': '# Code generated; DO NOT EDIT.' },
    [],
  ],
  ['scenarios', { 's/a.rb': 'x' }, []],
])('left out are %s', async ([_, files, words]) => {
  const found = await leftOutOf({ ...files, 'known.js': js });
  expect([found.words, found.mutated]).toEqual([words, ['known.js']]);
  expect(found.count).toBe(words.map((one) => Number.parseInt(one, 10)).reduce((a, b) => a + b, 0));
});

test('source that a rule leaves out is known, each with a text that does nothing and compiles', async () => {
  const found = await leftOutOf({
    'known.js': js,
    'test/a.rb': 'x',
    'conftest.py': 'a = 1\n',
    'gen/a.js': js,
    'marked.py': '# Code generated. DO NOT EDIT.\na = 1\n',
    'a_test.go': '//go:build x\n\n// Package a\npackage a\n\nimport "b"\n',
    'vendor/p/Core.java': 'package p;\n\npublic enum Core { A }\n',
    'types.d.ts': 'export declare const a: number;\n',
    'code.d.ts': 'export const a = 1 + 1;\n',
    'test/data.json': '1',
    'package.json': '{}',
  });
  expect([found.count, found.mutated, found.ruledOut]).toEqual([
    0,
    ['known.js'],
    {
      ...{ 'test/a.rb': '', 'conftest.py': '', 'gen/a.js': '', 'marked.py': '', 'code.d.ts': '' },
      'a_test.go': '//go:build x\n\n// Package a\npackage a\n',
      'vendor/p/Core.java': 'package p;\npublic class Core {}\n',
    },
  ]);
});

test('a file with a few lines that its grammar lacks is mutated', async () => {
  const found = await leftOutOf({ 'a.js': `${js.replace('a', 'b').repeat(30)}let = = ;\n` });
  expect([found.count, found.mutated]).toEqual([0, ['a.js']]);
});

test('source that git does not have is named, and so is another repository in the product', async () => {
  const found = await leftOutOf({ 'a.js': js, 'loose.py': 'a = 1\n', 'notes.txt': 'x', 'sub/x.js': js }, [
    'loose.py',
    'notes.txt',
    'sub/x.js',
  ]);
  expect(found.words).toEqual(['2 files not under git']);
  const app = await folder();
  mkdirSync(join(app, 'module'));
  const subject = { app, files: [{ path: 'module', lines: new Set([1]) }], ignored: [], untracked: [] };
  const { leftOut } = await mutantsIn({ ...subject, orderOf: async () => null }, []);
  expect(leftOut).toMatchObject({ count: 1, words: [expect.stringContaining('a submodule')] });
});

test('large ignored folders are mounted, dependencies first, but none with caches of Python or the scenarios', async () => {
  const top = await folder();
  const many = (place: string) =>
    Object.fromEntries(Array.from({ length: 301 }, (_, n) => [`${place}/${n}.js`, '']));
  write(top, {
    ...{ ...many('node_modules'), ...many('dist'), ...many('held'), ...many('py') },
    ...{ 'py/__pycache__/a.pyc': '', 'small/a.js': '' },
  });
  const names = ['node_modules', 'dist', 'held', 'py', 'small', 'missing'];
  const choices = mountChoices(top, names, [join(top, 'held', 'scenarios')]);
  expect(choices.map((mounts) => mounts.map(({ path }) => path))).toEqual([
    ['node_modules', 'dist'],
    ['node_modules'],
    [],
  ]);
});

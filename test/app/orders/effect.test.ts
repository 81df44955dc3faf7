/** What an order must do, and what it may not do, to pass. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256 } from '../../../src/core/sha256.ts';
import { emptySha, type Files, git, put, repository } from '../../builder/support.ts';
import { home } from '../../support/in-process.ts';
import { order } from './support.ts';

type Write = readonly [path: string, content: string];

const flags = ['--repo', 'repo', '--agent', 'scripted', '--script', 'script.json', '--artifacts-dir', 'art'];
const once = ['--no-push', '--max-attempts', '1'];

/** A repository with `files`, orders in `wos`, and answers that write files as they are then. */
async function place(files: Files, orders: readonly object[], ...answers: readonly (readonly Write[])[]) {
  const it = await home({});
  const repo = join(it.path, 'repo');
  put(repo, files);
  repository(repo);
  for (const [n, one] of orders.entries()) put(it.path, { [`wos/WO-0${n + 1}.json`]: JSON.stringify(one) });
  const now = new Map(Object.entries(files));
  const propose = answers.map((writes) => ({
    json: {
      summary: 's',
      writes: writes.map(([path, content]) => {
        const before = now.get(path);
        now.set(path, content);
        return { path, base_sha256: before === undefined ? emptySha : sha256(before), content };
      }),
    },
  }));
  writeFileSync(
    join(it.path, 'script.json'),
    JSON.stringify({ format: 'factory-script/1', answers: { propose } }),
  );
  return Object.assign(it, {
    repo,
    run: (...more: string[]) =>
      it.factory([
        'order',
        'run',
        ...flags,
        ...once,
        '--work-order',
        'wos/WO-01.json',
        '--branch',
        'work/x',
        ...more,
      ]),
    all: (...more: string[]) =>
      it.factory(['order', 'run-all', ...flags, ...once, '--workdir', 'wos', ...more]),
  });
}

const wrong = 'export const add = (a, b) => a - b;\n';
const right = 'export const add = (a, b) => a + b;\n';
const tests =
  "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport { add } from '../add.mjs';\ntest('adds', () => {\n  assert.equal(add(2, 3), 5);\n});\n";
const project = { 'add.mjs': wrong, 'test/add.test.mjs': tests };
const adds = (more: object = {}) =>
  order(1, {
    postconditions: [{ kind: 'file_exists', path: 'add.mjs' }],
    allowed_files: ['add.mjs', 'test/add.test.mjs', 'scripts/verify.sh'],
    acceptance_commands: ['node --check add.mjs'],
    context_files: ['add.mjs'],
    ...more,
  });
const promise = (...paths: string[]) => ({
  postconditions: paths.map((path) => ({ kind: 'file_exists', path })),
});
const notes = { notes: 'may_change_checks' };
const emptied: Write = ['test/add.test.mjs', "import { test } from 'node:test';\ntest('adds', () => {});\n"];
const script: Write = ['scripts/verify.sh', 'exit 0\n'];

test.for<[title: string, object, readonly Write[], stage: string | null]>([
  ['empties a test', {}, [['add.mjs', `${wrong}\n`], emptied], 'write_scope_violation'],
  ['empties a test that it promises', promise('test/add.test.mjs'), [emptied], null],
  ['empties a test as its notes allow', notes, [emptied], null],
  [
    'adds a test',
    {},
    [
      ['add.mjs', right],
      ['test/add.test.mjs', `${tests}test('more', () => {\n  assert.equal(add(1, 1), 2);\n});\n`],
    ],
    null,
  ],
  [
    'brings a script that verifies nothing',
    promise('scripts/verify.sh'),
    [['add.mjs', `${wrong}\n`], script],
    'verify_failed',
  ],
  [
    'brings a script along with the right product',
    promise('scripts/verify.sh'),
    [['add.mjs', right], script],
    null,
  ],
  ['replaces the verification as its notes allow', notes, [['add.mjs', `${wrong}\n`], script], null],
])('an order that %s passes, or fails at a stage', async ([, more, writes, stage]) => {
  await using it = await place(project, [adds(more)], writes);
  const ran = await it.run('--json');
  expect(JSON.parse(ran.stdout), ran.stderr).toMatchObject({
    verdict: stage === null ? 'PASS' : 'FAIL',
    stage,
  });
});

test('the script that verifies is created in a repository without one, and what verified before runs for later orders', async () => {
  const later = order(2, {
    ...promise('add.mjs'),
    allowed_files: ['add.mjs'],
    acceptance_commands: ['true'],
    context_files: [],
  });
  const first = adds({
    ...promise('scripts/verify.sh'),
    allowed_files: ['scripts/verify.sh'],
    acceptance_commands: ['true'],
  });
  await using it = await place({ 'a.txt': '' }, [first], [script]);
  expect((await it.run()).code).toBe(0);
  await using other = await place(
    { ...project, 'add.mjs': right },
    [first, later],
    [script],
    [['add.mjs', wrong]],
  );
  const plan = { system_overview: [], verify_contract: null, work_orders: [first, later] };
  put(other.path, { 'plan.json': JSON.stringify(plan) });
  const ran = await other.factory([
    'run',
    'build',
    '--workdir',
    'repo',
    '--var',
    'plan=plan.json',
    '--var',
    'attempts=1',
    '--script',
    'script.json',
  ]);
  expect(ran.code).toBe(1);
  expect(ran.stdout).toMatch(/✗ failed: .*verify: verification command failed: node --test/);
});

test('an order whose answer changes no file has the verdict NO_CHANGE, unless its notes allow it or it is committed', async () => {
  const same: Write[] = [['f1.txt', '1\n']];
  const files = { 'f1.txt': '1\n' };
  await using it = await place(files, [order(1)], same, same);
  const ran = await it.run();
  expect(ran.code).toBe(1);
  expect(ran.stdout).toMatch(/Reason: .*may_be_empty[\s\S]*Verdict: NO_CHANGE/);
  expect(git(it.repo, 'branch', '--list', 'work/x')).toBe('');
  const again = await it.run('--json');
  expect(JSON.parse(again.stdout)).toMatchObject({
    verdict: 'NO_CHANGE',
    exit_code: 1,
    commit: null,
    resumable: false,
  });

  await using allowed = await place(files, [order(1, { notes: 'Perhaps nothing.\n- may_be_empty' })], same);
  expect((await allowed.run('--json')).stdout).toContain('"verdict": "PASS"');

  await using twice = await place({ 'a.txt': '' }, [order(1)], same);
  expect((await twice.run()).code).toBe(0);
  writeFileSync(
    join(twice.path, 'script.json'),
    JSON.stringify({
      format: 'factory-script/1',
      answers: {
        propose: [
          {
            json: { summary: 's', writes: [{ path: 'f1.txt', base_sha256: sha256('1\n'), content: '1\n' }] },
          },
        ],
      },
    }),
  );
  const third = await twice.run('--reuse-branch');
  expect(third.code, third.stdout).toBe(0);
  expect(third.stderr).toContain('has carried out this order');
});

test('a batch names an order that changes nothing and goes on', async () => {
  // The first answer is out of the scope of the second order.
  await using it = await place(
    { 'f1.txt': '1\n' },
    [order(1), order(2)],
    [['f1.txt', '1\n']],
    [['f2.txt', '2\n']],
  );
  const ran = await it.all('--max-attempts', '2');
  expect(ran.code, ran.stdout).toBe(0);
  expect(ran.stdout).toMatch(/1 of 2 work order\(s\) passed on factory\/.*; no file changed: WO-01\.json/);
});

test('a batch in which no order changes anything fails', async () => {
  await using it = await place({ 'f1.txt': '1\n' }, [order(1)], [['f1.txt', '1\n']]);
  const ran = await it.all();
  expect(ran.code).toBe(1);
  expect(ran.stdout).toMatch(/^no file changed: WO-01\.json$/m);
});

test('a new file that begins with #! is executable in the commit', async () => {
  await using it = await place(
    { 'f1.txt': '' },
    [order(1, { allowed_files: ['f1.txt', 'run'] })],
    [
      ['f1.txt', '1\n'],
      ['run', '#!/bin/sh\necho 1\n'],
    ],
  );
  const ran = await it.run();
  expect(ran.code, ran.stdout).toBe(0);
  expect(git(it.repo, 'ls-tree', 'work/x')).toMatch(
    /^100644 blob \w+\tf1\.txt$[\s\S]*^100755 blob \w+\trun$/m,
  );
});

test.for<[string, string, object]>([
  ['tsconfig.json', '{ // strict\n  "a": 1,\n}\n', {}],
  ['bad.json', '{"a":1,}\n', { notes: 'unparsed: bad.json' }],
])(
  'a file whose syntax is not checked by apply is not checked by the proof either: %s',
  async ([path, content, more]) => {
    const one = order(1, {
      ...promise(path),
      allowed_files: [path],
      acceptance_commands: [`test -s ${path}`],
      context_files: [],
      ...more,
    });
    await using it = await place({ 'a.txt': '' }, [one], [[path, content]]);
    const ran = await it.run();
    expect(ran.code, ran.stdout).toBe(0);
  },
);

test('the report of an attempt whose files do not parse has their verification', async () => {
  await using it = await place(
    { 'a.txt': '' },
    [order(1, { ...promise('a.json'), allowed_files: ['a.json'] })],
    [['a.json', '{']],
  );
  expect((await it.run('--run-id', 'r')).code).toBe(1);
  const at = (name: string) => it.json(`art/factory/r/attempt_1/${name}`);
  expect(await at('write_result.json')).toMatchObject({ write_ok: true });
  expect(await at('verify_result.json')).toMatchObject([
    { exit_code: 1, stderr_trunc: expect.stringContaining('a.json: not valid JSON') },
  ]);
});

test('the proof repeats what accepted the last order, and names what accepted an earlier one and fails now', async () => {
  const first = order(1, { acceptance_commands: ['grep -q 1 f1.txt'] });
  const second = order(2, {
    ...promise('f1.txt'),
    allowed_files: ['f1.txt'],
    context_files: [],
    acceptance_commands: ['grep -q 2 f1.txt', 'git grep -q 2', 'git log -1 --format=%s'],
  });
  await using it = await place({ 'a.txt': '' }, [], [['f1.txt', '1\n']], [['f1.txt', '2\n']]);
  const plan = { system_overview: [], verify_contract: null, work_orders: [first, second] };
  put(it.path, { 'plan.json': JSON.stringify(plan) });
  const ran = await it.factory([
    'run',
    'build',
    '--workdir',
    'repo',
    '--var',
    'plan=plan.json',
    '--script',
    'script.json',
    '--run-id',
    'r',
  ]);
  expect(ran.stdout, ran.stderr).toMatch(
    /^✓ success in .*, but no scenario judged the product: the run has no holdout$/m,
  );
  expect(ran.stdout).toContain('an acceptance command of WO-01 no longer succeeds: grep -q 1 f1.txt');
  expect(ran.stdout).toMatch(/^ {2}proof +grep -q 2 f1\.txt, git grep -q 2, git log/m);
  expect(ran.stdout).toMatch(/^ {2}audit /m);
});

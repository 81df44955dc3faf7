import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { orderApply as applyStep } from '../../src/builder/steps/apply.ts';
import { orderCommit as commitStep } from '../../src/builder/steps/commit.ts';
import { orderNext as nextStep } from '../../src/builder/steps/next.ts';
import { orderPrompt as promptStep } from '../../src/builder/steps/prompt.ts';
import { orderProof as proofStep } from '../../src/builder/steps/proof.ts';
import { orderRollback as rollbackStep } from '../../src/builder/steps/rollback.ts';
import { conclude } from '../../src/cli/conclude.ts';
import type { StepVerdict } from '../../src/core/contracts/step.ts';
import { headRef } from '../../src/core/records/layout.ts';
import type { CommandIo } from '../../src/platform/command-io.ts';
import {
  beginRun,
  emptySha,
  type Files,
  folder,
  git,
  put,
  repository,
  toolIo,
  tree,
} from '../builder/support.ts';
import { house } from '../support/house.ts';

const concluded =
  <T>(step: (options: T, io: CommandIo) => Promise<StepVerdict>) =>
  async (options: T & { readonly json?: boolean }, io: CommandIo) =>
    conclude(io, options.json, await step(options, io));
const [orderApply, orderCommit, orderNext] = [
  concluded(applyStep),
  concluded(commitStep),
  concluded(nextStep),
];
const [orderProof, orderPrompt, orderRollback] = [
  concluded(proofStep),
  concluded(promptStep),
  concluded(rollbackStep),
];

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const order = (n: number, more: object = {}) => ({
  id: `WO-0${n}`,
  title: `Step ${n}`,
  intent: `Do step ${n}.`,
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: `f${n}.txt` }],
  allowed_files: [`f${n}.txt`],
  forbidden: [],
  acceptance_commands: [`test -f f${n}.txt`],
  context_files: [`f${n}.txt`],
  notes: null,
  ...more,
});
const answer = (path: string, content: string, base = '') =>
  JSON.stringify({ summary: 's', writes: [{ path, base_sha256: sha(base), content }] });

async function build(
  root: string,
  orders: readonly object[],
  files: Files | null = { 'keep.txt': 'k\n' },
  sealed: readonly string[] = [],
) {
  const workdir = files === null ? undefined : join(root, 'src');
  if (workdir !== undefined && files !== null) {
    mkdirSync(workdir);
    put(workdir, files);
    repository(workdir);
  }
  const begun = await beginRun({ root, workdir, sealed });
  for (const [n, one] of orders.entries())
    put(begun.run.workspace, { [`.factory/orders/WO-0${n + 1}.json`]: JSON.stringify(one) });
  const tool = toolIo(begun);
  const { workspace } = begun.run;
  const state = () => JSON.parse(readFileSync(join(workspace, '.factory/state.json'), 'utf8')).order;
  /** next, a fresh attempt, and an answer. */
  const propose = async (text: string) => {
    await orderNext({}, tool.io);
    await tool.snapshot();
    expect(await orderPrompt({}, tool.io)).toBe(0);
    put(workspace, { '.factory/order/proposal.json': text });
    return orderApply({}, tool.io);
  };
  return { ...begun, ...tool, workspace, state, propose };
}

test('a build goes through its orders, commits each and proves the whole', async () => {
  using it = folder();
  const b = await build(it.path, [order(1), order(2, { title: 'Step\ntwo' })]);
  expect(await orderNext({}, b.io)).toBe(0);
  expect(b.output()).toMatchObject({
    outcome: 'success',
    preferred_next_label: 'order',
    context_updates: { 'order.id': 'WO-01', 'order.title': 'Step 1', 'order.index': 1, 'order.count': 2 },
  });
  expect(await b.propose(answer('f1.txt', '1\n'))).toBe(0);
  expect(b.output().context_updates).toMatchObject({
    'order.verify': { files: [], commands: [] },
    'order.promises': { files: ['f1.txt'], commands: [] },
    'order.accept': { files: [], commands: ['test -f f1.txt'] },
    'order.touched': ['f1.txt'],
  });
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(await b.propose(answer('f2.txt', '2\n'))).toBe(0);
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(await orderNext({}, b.io)).toBe(0);
  expect(b.output()).toMatchObject({ preferred_next_label: 'done' });
  expect(await orderProof({}, b.io)).toBe(0);
  expect(b.output()).toMatchObject({
    context_updates: { 'build.proof': ['test -f f2.txt'] },
  });
  expect(git(b.run.history, 'log', '--date=raw', '--format=%s|%cd|%an', headRef).split('\n')).toEqual([
    'WO-02: Step two|1767323045 +0000|llm-compiler',
    'WO-01: Step 1|1767323045 +0000|llm-compiler',
    expect.stringContaining('first'),
  ]);
  expect(b.output().context_updates?.['build.commits']).toMatchObject([
    {
      work_order: 'WO-01',
      subject: 'WO-01: Step 1',
      attempts: 1,
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
    },
    { work_order: 'WO-02', attempts: 1 },
  ]);
});

test('a build from an empty tree makes its first commit from its first order', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)], null);
  await b.propose(answer('f1.txt', '1\n'));
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(await orderProof({}, b.io)).toBe(0);
  expect(git(b.run.history, 'rev-list', '--count', headRef)).toBe('1');
});

test('a build: killed after its commit, and taken up again where it was, has that commit once', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)]);
  await b.propose(answer('f1.txt', '1\n'));
  const before = readFileSync(join(b.workspace, '.factory/state.json'), 'utf8');
  await orderCommit({}, b.io);
  put(b.workspace, { '.factory/state.json': before });
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(git(b.run.history, 'rev-list', '--count', headRef)).toBe('2');
});

test('a build that failed leaves nothing of what its checks did with git to the next attempt', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)]);
  await b.propose(answer('f1.txt', '1\n'));
  const told = () =>
    [['symbolic-ref', 'HEAD'], ['rev-parse', 'refs/heads/factory'], ['ls-files']].map((args) =>
      git(b.run.history, ...args),
    );
  const before = told();
  git(b.run.history, 'symbolic-ref', 'HEAD', 'refs/heads/other');
  git(b.run.history, 'update-ref', '-d', 'refs/heads/factory');
  git(b.run.history, 'read-tree', '--empty');
  expect(await orderRollback({ attempts: 5 }, b.io)).toBe(0);
  expect(told()).toEqual(before);
});

test('a build whose order changes nothing succeeds, reports it and makes no commit', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)], { 'f1.txt': 'same\n' });
  await b.propose(answer('f1.txt', 'same\n', 'same\n'));
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(b.said.join('')).toContain('nothing to commit');
  expect(b.state()).toMatchObject({ head: b.first, done: [{ id: 'WO-01', commit: null }] });
  expect(b.output().context_updates?.['build.commits']).toEqual([]);
});

test('a build over orders that the workdir has commits for has nothing to do', async () => {
  using it = folder();
  using again = folder();
  const one = order(1, { preconditions: [{ kind: 'file_absent', path: 'f1.txt' }] });
  const b = await build(it.path, [one]);
  await b.propose(answer('f1.txt', '1\n'));
  await orderCommit({}, b.io);
  git(join(it.path, 'src'), 'pull', '-q', b.run.history, headRef);
  const second = await beginRun({ root: again.path, workdir: join(it.path, 'src') });
  put(second.run.workspace, {
    '.factory/orders/WO-01.json': JSON.stringify({ ...one, provenance: { planner_run_id: 'other' } }),
  });
  const tool = toolIo(second);
  expect(await orderNext({}, tool.io)).toBe(0);
  expect(tool.output()).toMatchObject({
    preferred_next_label: 'done',
    context_updates: { 'build.commits': [] },
  });
  await orderNext({}, tool.io);
  const { order: state } = JSON.parse(
    readFileSync(join(second.run.workspace, '.factory/state.json'), 'utf8'),
  );
  expect(state.done).toMatchObject([{ id: 'WO-01', attempts: 0 }]);
  expect(await orderProof({}, tool.io)).toBe(0);
  // Another order of the same number is another order.
  rmSync(join(second.run.workspace, '.factory/state.json'));
  put(second.run.workspace, {
    '.factory/orders/WO-01.json': JSON.stringify({ ...one, intent: 'Something else.' }),
  });
  await orderNext({}, tool.io);
  expect(tool.output()).toMatchObject({ preferred_next_label: 'order' });
});

describe('next', () => {
  test.for<[string, Files, object[], string[][] | undefined]>([
    [
      'of orders on several levels',
      {},
      [order(1), order(2), order(3, { context_files: ['f1.txt'] })],
      [['WO-01', 'WO-02'], ['WO-03']],
    ],
    ['of no chain', {}, [order(1), order(2, { context_files: ['f1.txt'] })], undefined],
    ['of no single order', {}, [order(1)], undefined],
    [
      'by how the project is verified',
      { 'a.test.js': '' },
      [order(1, { allowed_files: ['f1.txt', 'b.test.js'] }), order(2), order(3)],
      [['WO-01', 'WO-02', 'WO-03']],
    ],
  ])('records the levels %s, before the first order alone', async ([, files, orders, levels]) => {
    using it = folder();
    const b = await build(it.path, orders, { 'keep.txt': 'k\n', ...files });
    expect(await orderNext({}, b.io)).toBe(0);
    expect(b.output().context_updates?.['plan.levels']).toEqual(levels);
    expect(await orderNext({}, b.io)).toBe(0);
    expect(b.output().context_updates).not.toHaveProperty('plan.levels');
  });

  test('replaces levels that the planner has recorded, where the orders are a chain here', async () => {
    using it = folder();
    const b = await build(it.path, [order(1), order(2, { context_files: ['f1.txt'] })]);
    b.context({ 'plan.levels': [['WO-01', 'WO-02']] });
    expect(await orderNext({}, b.io)).toBe(0);
    expect(b.output().context_updates?.['plan.levels']).toEqual([]);
  });

  test('without any order says where it looked, as a fault of the setup', async () => {
    using it = folder();
    const b = await build(it.path, [], null);
    expect(await orderNext({}, b.io)).toBe(1);
    expect(b.output()).toMatchObject({
      outcome: 'fail',
      failure_class: 'config',
      failure_reason: expect.stringContaining('.factory/orders'),
    });
  });

  test.for([
    [
      'edited',
      (dir: string) =>
        put(dir, {
          '.factory/orders/WO-01.json': JSON.stringify(order(1, { allowed_files: ['f1.txt', 'keep.txt'] })),
        }),
    ],
    ['added', (dir: string) => put(dir, { '.factory/orders/WO-02.json': JSON.stringify(order(2)) })],
  ] as const)('refuses an order that was %s after the build began', async ([, change]) => {
    using it = folder();
    const b = await build(it.path, [order(1)]);
    await orderNext({}, b.io);
    change(b.workspace);
    for (const act of [orderNext, orderPrompt, orderApply]) expect(await act({}, b.io)).toBe(1);
    expect(b.output()).toMatchObject({
      failure_reason: expect.stringContaining('changed since the build began'),
    });
  });

  test('outside a run says how to name one, and takes the one that contains its folder', async () => {
    using it = folder();
    const b = await build(it.path, [order(1)]);
    const { FACTORY_RUN_DIR: _, FACTORY_WORKSPACE: __, FACTORY_OUTPUT: ___, ...env } = b.env;
    expect(await orderNext({}, { ...b.io, env, cwd: it.path })).toBe(1);
    expect(b.said.join('')).toContain('--run');
    expect(await orderNext({}, { ...b.io, env })).toBe(0);
    b.said.length = 0;
    expect(await orderNext({ run: b.run.root, json: true }, { ...b.io, env, cwd: it.path })).toBe(0);
    expect(JSON.parse(b.said.join(''))).toMatchObject({ outcome: 'success', preferred_next_label: 'order' });
  });
});

test('prompt shows what the order is judged by, and takes nothing in a file for a placeholder', async () => {
  using it = folder();
  const b = await build(
    it.path,
    [order(1, { context_files: ['f1.txt', 'keep.txt', 'bin', 'link'], forbidden: ['no {{TITLE}}'] })],
    {
      'keep.txt': 'say {{FAILURE_BRIEF}} and ```\n',
      bin: 'a\0b',
      'scripts/verify.sh': 'exit 0\n',
    },
  );
  symlinkSync('/etc/passwd', join(b.workspace, 'link'));
  await orderNext({}, b.io);
  await b.snapshot();
  await orderPrompt({}, b.io);
  const text = readFileSync(join(b.workspace, '.factory/order/prompt.md'), 'utf8');
  for (const part of [
    'WO-01: Step 1',
    'Do step 1.',
    '- f1.txt',
    '- test -f f1.txt',
    '- f1.txt exists',
    '- bash scripts/verify.sh',
    'no {{TITLE}}',
    'say {{FAILURE_BRIEF}} and ```\n````',
    `exists: no\nsha256: ${emptySha}`,
    sha('a\0b'),
    'binary, 3 bytes',
    sha('say {{FAILURE_BRIEF}} and ```\n'),
  ]) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain('root:');
});

test('prompt never leaves a hash out, however large the files are', async () => {
  using it = folder();
  const big = 'ä'.repeat(120_000);
  const b = await build(it.path, [order(1, { context_files: ['a', 'b', 'c'] })], {
    a: big,
    b: 'b',
    c: 'c\n',
  });
  await orderNext({}, b.io);
  await b.snapshot();
  await orderPrompt({}, b.io);
  const text = readFileSync(join(b.workspace, '.factory/order/prompt.md'), 'utf8');
  for (const content of [big, 'b', 'c\n']) expect(text).toContain(sha(content));
  expect(text).toContain('204800 of 240000 bytes');
  expect(text).not.toContain('\ufffd');
});

test('prompt shows files that may be written before any other takes the room', async () => {
  using it = folder();
  const big = 'a'.repeat(210_000);
  const b = await build(
    it.path,
    [order(1, { allowed_files: ['z.txt'], context_files: ['a.txt', 'z.txt'] })],
    {
      'a.txt': big,
      'z.txt': 'to be changed\n',
    },
  );
  await orderNext({}, b.io);
  await b.snapshot();
  await orderPrompt({}, b.io);
  const text = readFileSync(join(b.workspace, '.factory/order/prompt.md'), 'utf8');
  expect(text).toContain('to be changed\n');
  expect(text).toContain(sha(big));
});

test.for([
  [
    'the command that the project settles',
    { 'a.test.js': '' },
    ['f1.txt'],
    '- node --test\n',
    'the first of these',
  ],
  ['the rule, where the order may decide', { 'a.txt': '' }, ['f.test.js'], 'the first of these', '(none)'],
  [
    'the rule, where another test may be added',
    { 'test_a.py': '' },
    ['package.json'],
    'the first of these',
    '(none)',
  ],
  [
    'the script, whatever the order adds',
    { 'scripts/verify.sh': '' },
    ['f.test.js'],
    '- bash scripts/verify.sh\n',
    'the first of these',
  ],
] as const)('prompt says how the whole is checked: %s', async ([, files, allowed_files, says, never]) => {
  using it = folder();
  const postconditions = allowed_files.map((path) => ({ kind: 'file_exists', path }));
  const b = await build(it.path, [order(1, { allowed_files, postconditions })], files);
  await orderNext({}, b.io);
  await b.snapshot();
  await orderPrompt({}, b.io);
  const text = readFileSync(join(b.workspace, '.factory/order/prompt.md'), 'utf8');
  const judged = text.slice(text.indexOf('## How your work is judged'), text.indexOf('These must then hold'));
  expect(judged).toContain(says);
  expect(judged).not.toContain(never);
});

test('prompt tells why the attempt before failed, and nothing of what it wrote', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)], { 'keep.txt': 'k\n', 'f1.txt': 'old\n' });
  const prompt = () => readFileSync(join(b.workspace, '.factory/order/prompt.md'), 'utf8');
  await b.propose(answer('f1.txt', 'FIRST-TRY\n', 'old\n'));
  b.context({
    'last_failure.node_id': 'accept',
    'last_failure.node_type': 'verification',
    'last_failure.reason': 'a command failed',
    'last_failure.class': 'product',
  });
  const command = { command: 'grep -q x f1.txt', exit_code: 1, stdout: 'SAID', stderr: '' };
  put(b.run.root, { 'accept/verification.results.json': JSON.stringify({ commands: [command] }) });
  await orderRollback({ attempts: 5 }, b.io);
  await b.snapshot();
  await orderPrompt({}, b.io);
  for (const part of ['acceptance_failed', 'grep -q x f1.txt', 'exit code: 1', 'SAID', sha('old\n')])
    expect(prompt()).toContain(part);
  expect(prompt()).not.toContain('FIRST-TRY');
});

test('prompt tells how an answer began that was no proposal, and no more of it', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)]);
  await b.propose(`Sorry, ${'é'.repeat(5000)} TAIL`);
  await orderRollback({ attempts: 5 }, b.io);
  expect(b.state().current.brief.excerpt).toMatch(/began:\nSorry, é{493}$/);
});

test.for([
  ['a precondition that does not hold', { preconditions: [{ kind: 'file_exists', path: 'none.txt' }] }],
  ['a file that must not be there', { preconditions: [{ kind: 'file_absent', path: 'keep.txt' }] }],
  ['a link that leads in a circle', { preconditions: [{ kind: 'file_exists', path: 'circle' }] }],
  ['a context file that is a folder', { context_files: ['keep.txt', 'src'] }],
  ['a context file that is a link to a folder', { context_files: ['link'] }],
] as const)('prompt gives up at once over %s', async ([, more]) => {
  using it = folder();
  const b = await build(it.path, [order(1, more)]);
  symlinkSync('circle', join(b.workspace, 'circle'));
  mkdirSync(join(b.workspace, 'src'));
  symlinkSync('src', join(b.workspace, 'link'));
  await orderNext({}, b.io);
  await b.snapshot();
  expect(await orderPrompt({}, b.io)).toBe(1);
  expect(b.output()).toMatchObject({
    preferred_next_label: 'give_up',
    failure_class: 'product',
    failure_reason: expect.stringMatching(/^preflight: /),
    context_updates: { 'order.stage': 'preflight' },
  });
  expect(existsSync(join(b.workspace, '.factory/order/prompt.md'))).toBe(false);
  expect(await orderRollback({ attempts: 5 }, b.io)).toBe(0);
  expect(b.output()).toMatchObject({ preferred_next_label: 'give_up' });
});

test('prompt does not let an old answer stand for a new one', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)]);
  await b.propose('nonsense');
  await b.snapshot();
  await orderPrompt({}, b.io);
  expect(existsSync(join(b.workspace, '.factory/order/proposal.json'))).toBe(false);
  expect(await orderApply({}, b.io)).toBe(1);
  expect(b.output()).toMatchObject({ failure_reason: expect.stringMatching(/^llm_output_invalid: /) });
});

test('prompt refuses a template with a placeholder that stands for nothing', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)]);
  put(b.workspace, { '.factory/in/p.md': '{{INTENT}} {{ALLOWED_FILES}} {{CONTEXT_FILES}} {{TITEL}}' });
  await orderNext({}, b.io);
  await b.snapshot();
  expect(await orderPrompt({ template: '.factory/in/p.md' }, b.io)).toBe(1);
  expect(b.output()).toMatchObject({
    failure_class: 'config',
    failure_reason: expect.stringContaining('{{TITEL}}'),
  });
  execFileSync('mkfifo', [join(b.workspace, 'pipe')]);
  for (const [template, why] of [
    ['.factory', 'is a folder'],
    ['pipe', 'is no file'],
    ['nowhere', 'there is no template'],
  ] as const) {
    expect(await orderPrompt({ template }, b.io)).toBe(1);
    const failure_reason = expect.stringContaining(why);
    expect(b.output()).toMatchObject({ failure_class: 'config', failure_reason });
  }
});

test.for<[string, (path: string) => void]>([
  ['bytes that are no UTF-8', (path) => writeFileSync(path, Buffer.from('{"summary":"\xff"}', 'latin1'))],
  [
    'bytes that are no UTF-8 in a content',
    (path) => writeFileSync(path, Buffer.from(answer('f1.txt', '\xe9'), 'latin1')),
  ],
  ['more than any answer may have', (path) => writeFileSync(path, 'x'.repeat(10_485_761))],
  [
    'a gigabyte',
    (path) => {
      writeFileSync(path, '');
      truncateSync(path, 2 ** 30);
    },
  ],
  ['a file of 204,801 bytes', (path) => writeFileSync(path, answer('f1.txt', 'x'.repeat(204_801)))],
  ['behind a byte order mark', (path) => writeFileSync(path, `\ufeff${answer('f1.txt', 'x')}`)],
  ['a folder', (path) => mkdirSync(path)],
  ['a link to a device', (path) => symlinkSync('/dev/zero', path)],
  ['a pipe', (path) => void execFileSync('mkfifo', [path])],
  ['nothing at all', () => {}],
])('an answer that is %s is no proposal, and nothing is written', async ([, make]) => {
  using it = folder();
  const b = await build(it.path, [order(1)]);
  await orderNext({}, b.io);
  await b.snapshot();
  await orderPrompt({}, b.io);
  make(join(b.workspace, '.factory/order/proposal.json'));
  expect(await orderApply({}, b.io)).toBe(1);
  expect(b.output()).toMatchObject({
    failure_class: 'agent',
    failure_reason: expect.stringMatching(/^llm_output_invalid: /),
  });
  expect(await orderRollback({ attempts: 2 }, b.io)).toBe(0);
  expect(b.output()).toMatchObject({ preferred_next_label: 'again' });
  expect(tree(b.workspace)).toEqual({ 'keep.txt': 'k\n' });
});

test.for([
  ['llm_output_invalid', 'agent', 'not json'],
  ['write_scope_violation', 'guardrail', answer('keep.txt', 'x', 'k\n')],
  ['stale_context', 'product', answer('f1.txt', 'x', 'stale')],
] as const)(
  'apply fails as %s, class %s, and the next prompt has the reason',
  async ([stage, failureClass, text]) => {
    using it = folder();
    const b = await build(it.path, [order(1)]);
    expect(await b.propose(text)).toBe(1);
    expect(b.output()).toMatchObject({
      outcome: 'fail',
      failure_class: failureClass,
      failure_reason: expect.stringContaining(`${stage}: `),
      context_updates: { 'order.stage': stage },
    });
    expect(await orderCommit({}, b.io)).toBe(1);
    expect(await orderRollback({ attempts: 2 }, b.io)).toBe(0);
    expect(b.output()).toMatchObject({ preferred_next_label: 'again' });
    await b.snapshot();
    await orderPrompt({}, b.io);
    expect(readFileSync(join(b.workspace, '.factory/order/prompt.md'), 'utf8')).toContain(`stage: ${stage}`);
    expect(b.state().current).toMatchObject({ attempt: 2, brief: { stage } });
  },
);

test('rollback undoes all that an attempt did, ignored files too, keeps what was there, and tells head and tail', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)], {
    'keep.txt': 'k\n',
    '.gitignore': 'build/\n*.log\n',
    'gone.txt': 'g\n',
  });
  put(b.workspace, { 'build/old.bin': 'old', '.env': 'e' });
  const before = tree(b.workspace);
  await b.propose(answer('f1.txt', '1\n'));
  put(b.workspace, { 'build/new/x.bin': 'x', 'run.log': 'l', 'keep.txt': 'changed\n' });
  rmSync(join(b.workspace, 'gone.txt'));
  put(b.run.node('accept'), {
    'verification.results.json': JSON.stringify({
      checked_files: [],
      commands: [
        { command: 'true', exit_code: 0, stdout: '', stderr: '' },
        { command: 'npm test', exit_code: 7, stdout: `HEAD\n${'noise\n'.repeat(3000)}TAIL`, stderr: 'why' },
      ],
    }),
  });
  b.context({
    'last_failure.node_id': 'accept',
    'last_failure.node_type': 'verification',
    'last_failure.reason': 'verification command failed: npm test (exit=7)',
    'last_failure.class': 'product',
  });
  expect(await orderRollback({ attempts: 1 }, b.io)).toBe(0);
  expect(tree(b.workspace)).toEqual(before);
  expect(() => statSync(join(b.workspace, 'build/new'))).toThrow();
  expect(b.output()).toMatchObject({
    preferred_next_label: 'give_up',
    context_updates: { 'order.stage': 'acceptance_failed' },
  });
  const { brief } = b.state().current;
  expect(brief).toMatchObject({ command: 'npm test', exit_code: 7 });
  for (const part of ['HEAD', 'TAIL', 'why', 'accept/verification.1.stdout.txt'])
    expect(brief.excerpt).toContain(part);
  expect(brief.excerpt.length).toBeLessThan(9000);
});

test.for([
  ['a check', 'verify', 'verification', 'product', 'verify_failed', 'again'],
  ['a promise', 'promises', 'verification', 'product', 'acceptance_failed', 'again'],
  ['an agent that broke', 'propose', 'codergen', 'agent', 'exception', 'again'],
  ['a model that refused', 'propose', 'codergen', 'config', 'exception', 'give_up'],
  ['a missing program', 'verify_all', 'tool', 'config', 'exception', 'give_up'],
  ['a check that is a tool', 'verify', 'tool', 'product', 'verify_failed', 'again'],
  ['a tool called as what every object has', 'constructor', 'tool', 'agent', 'exception', 'again'],
] as const)(
  'rollback after %s takes the stage from what failed last',
  async ([, node, nodeType, failureClass, stage, label]) => {
    using it = folder();
    const b = await build(it.path, [order(1)]);
    await b.propose(answer('f1.txt', '1\n'));
    // That one did not fail.
    const command = { command: 'true', exit_code: 0, stdout: '', stderr: '' };
    put(b.run.node(node), { 'verification.results.json': JSON.stringify({ commands: [command] }) });
    b.context({
      'last_failure.node_id': node,
      'last_failure.node_type': nodeType,
      'last_failure.reason': 'because',
      'last_failure.class': failureClass,
      ...(nodeType === 'codergen' && failureClass === 'config' ? { 'last_failure.hopeless': true } : {}),
    });
    await orderRollback({ attempts: 3 }, b.io);
    expect(b.output()).toMatchObject({
      preferred_next_label: label,
      context_updates: {
        'order.brief': { stage, command: null, excerpt: expect.stringContaining('because') },
      },
    });
  },
);

test.for([
  [
    'a refused command',
    'guardrail',
    'verification command rejected by guardrail: contains an absolute path (/health): node a.mjs /health',
    'give_up',
    'nothing in the files can change that',
  ],
  [
    'a blank command',
    'product',
    'verification plan is not valid: a command is blank',
    'give_up',
    'nothing in the files can change that',
  ],
  [
    'a missing program',
    'config',
    'verification command cannot start: nope x (nope: not found)',
    'give_up',
    'not installed',
  ],
  ['a folder that is missing', 'config', 'verification.workdir "app" does not exist', 'again', 'exit with 0'],
  [
    'a separate program that is missing',
    'product',
    'verification command cannot start: ./x (./x: not found)',
    'again',
    'exit with 0',
  ],
  ['a write outside a scope', 'guardrail', 'wrote outside its scope: x', 'again', 'exit with 0'],
  ['a timeout', 'timeout', 'timeout: verification command was still running', 'again', 'wait for input'],
] as const)(
  'after %s in a check the next step is one that can help',
  async ([, failureClass, reason, label, reminder]) => {
    using it = folder();
    const b = await build(it.path, [order(1)]);
    await b.propose(answer('f1.txt', '1\n'));
    b.context({
      'last_failure.node_id': 'accept',
      'last_failure.node_type': 'verification',
      'last_failure.reason': reason,
      'last_failure.class': failureClass,
    });
    expect(await orderRollback({ attempts: 5 }, b.io)).toBe(0);
    expect(b.output()).toMatchObject({
      preferred_next_label: label,
      notes: expect.stringContaining(reason),
      context_updates: {
        'order.brief': { stage: 'acceptance_failed', reminder: expect.stringContaining(reminder) },
      },
    });
  },
);

test('a commit holds what was proposed, whatever its checks did to it, and the workspace holds that too', async () => {
  using it = folder();
  const paths = ['a.dat', 'gone.txt', 'd/run.sh', 'd/folder.txt'];
  const one = order(1, {
    allowed_files: paths,
    postconditions: paths.map((path) => ({ kind: 'file_exists', path })),
  });
  const b = await build(it.path, [one], { 'a.dat': 'old\n' });
  chmodSync(join(b.workspace, 'a.dat'), 0o2600);
  const writes = paths.map((path) => ({
    path,
    base_sha256: sha(path === 'a.dat' ? 'old\n' : ''),
    content: `${path}\n`,
  }));
  expect(await b.propose(JSON.stringify({ summary: 's', writes }))).toBe(0);
  const wanted = tree(b.workspace);
  put(b.workspace, { 'a.dat': '["milk"]\n' });
  rmSync(join(b.workspace, 'gone.txt'));
  chmodSync(join(b.workspace, 'd/run.sh'), 0o755);
  rmSync(join(b.workspace, 'd/folder.txt'));
  put(b.workspace, { 'd/folder.txt/in/the/way': 'x' });
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(b.output().context_updates?.['order.drift']).toEqual(
    expect.arrayContaining(['a.dat', 'd/folder.txt', 'd/run.sh', 'gone.txt']),
  );
  expect(tree(b.workspace)).toEqual(wanted);
  expect(statSync(join(b.workspace, 'd/run.sh')).mode & 0o777).toBe(0o644);
  // A set-id bit does not outlive the node that set it.
  expect(statSync(join(b.workspace, 'a.dat')).mode & 0o7777).toBe(0o600);
  for (const path of paths) expect(git(b.run.history, 'show', `${headRef}:${path}`)).toBe(path);
  expect(git(b.run.history, 'ls-tree', '-r', headRef)).not.toContain('100755');
});

test('a file that does not parse is refused before any check runs, unless the notes exempt it', async () => {
  using it = folder();
  const writes = [
    { path: 'a.json', base_sha256: sha(''), content: '{"a": ' },
    { path: 'README.md', base_sha256: sha(''), content: 'x\n' },
  ];
  const answer = JSON.stringify({ summary: 's', writes });
  const wants = { allowed_files: ['a.json', 'README.md'], postconditions: [] };
  const b = await build(it.path, [order(1, wants)], {});
  expect(await b.propose(answer)).not.toBe(0);
  expect(b.output()).toMatchObject({
    failure_class: 'product',
    failure_reason: expect.stringMatching(/^verify_failed: a\.json: not valid JSON/),
  });
  using other = folder();
  const exempt = await build(other.path, [order(1, { ...wants, notes: 'unparsed: a.json' })], {});
  expect(await exempt.propose(answer)).toBe(0);
  expect(exempt.output().notes).toContain('syntax not checked: README.md, a.json');
  // The compile check of a project without tests leaves it out too.
  expect(exempt.output().context_updates?.['order.verify']).toMatchObject({ commands: [] });
});

test('checks see the files as a checkout has them', async () => {
  using it = folder();
  const b = await build(it.path, [order(1, { allowed_files: ['a.txt'], postconditions: [] })], {
    '.gitattributes': '* text=auto eol=crlf\n',
  });
  expect(await b.propose(answer('a.txt', 'one\ntwo\n'))).toBe(0);
  expect(readFileSync(join(b.workspace, 'a.txt'), 'utf8')).toBe('one\r\ntwo\r\n');
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(git(b.run.history, 'show', `${headRef}:a.txt`)).toBe('one\ntwo');
});

test('a check that puts a link in the place of a folder changes nothing of the commit, and is reported', async () => {
  using it = folder();
  const one = order(1, { allowed_files: ['d/f1.txt'], postconditions: [] });
  const b = await build(it.path, [one], { 'keep/a.txt': 'a\n' });
  expect(await b.propose(answer('d/f1.txt', '1\n'))).toBe(0);
  const wanted = tree(b.workspace);
  for (const name of ['d', 'keep']) {
    renameSync(join(b.workspace, name), join(it.path, name));
    symlinkSync(join(it.path, name), join(b.workspace, name));
  }
  expect(await orderCommit({}, b.io), b.said.join('')).toBe(0);
  expect(b.output().context_updates?.['order.drift']).toEqual(['d', 'd/f1.txt', 'keep/a.txt']);
  expect(tree(b.workspace)).toEqual(wanted);
  expect(readFileSync(join(it.path, 'd/f1.txt'), 'utf8')).toBe('1\n');
  expect(git(b.run.history, 'ls-tree', '-r', '--name-only', headRef)).toBe('d/f1.txt\nkeep/a.txt');
});

test('what checks left behind is gone before the next order; what was there before stays, ignored or not', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)], {
    'keep.txt': 'k\n',
    'mode.txt': 'm\n',
    'd/deep.txt': 'd\n',
    '.gitignore': 'cache/\n',
  });
  put(b.workspace, { 'cache/old.bin': 'old', 'notes.txt': 'untracked' });
  await b.propose(answer('f1.txt', '1\n'));
  const wanted = tree(b.workspace);
  put(b.workspace, {
    'keep.txt': 'drift\n',
    'cache/old.bin': 'changed',
    'cache/new.bin': 'c',
    'gen/t.json': '{}',
    'notes.txt': 'changed',
    '.factory/order/log': 'l',
  });
  rmSync(join(b.workspace, 'd'), { recursive: true });
  chmodSync(join(b.workspace, 'mode.txt'), 0o755);
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(tree(b.workspace)).toEqual(wanted);
  expect(statSync(join(b.workspace, 'mode.txt')).mode & 0o777).toBe(0o644);
  expect(existsSync(join(b.workspace, '.factory/order/log'))).toBe(true);
  expect(b.output().context_updates?.['order.drift']).toEqual([
    'd/deep.txt',
    'gen/t.json',
    'keep.txt',
    'mode.txt',
  ]);
  expect(git(b.run.history, 'show', '--format=', '--name-only', headRef)).toBe('f1.txt');
});

test.for(['a commit', 'a rollback'])(
  'what a check has made of the inputs, the plan and the orders is undone by %s',
  async (how) => {
    using it = folder();
    const b = await build(it.path, [order(1), order(2)]);
    const template = 'Beware. {{INTENT}}{{CONTEXT_FILES}}{{ALLOWED_FILES}}\n';
    put(b.workspace, {
      '.factory/in/propose_prompt.md': template,
      '.factory/in/spec.md': 'spec',
      '.factory/plan/plan.json': '{}',
      '.factory/review.md': 'of no attempt',
    });
    await b.propose(answer('f1.txt', '1\n'));
    put(b.workspace, {
      '.factory/in/propose_prompt.md': 'Write into main.txt.',
      '.factory/in/new.md': 'new',
      '.factory/plan/plan.json': '[]',
      '.factory/review.md': 'of this attempt',
      '.factory/log/1.txt': 'new',
    });
    rmSync(join(b.workspace, '.factory/in/spec.md'));
    if (how === 'a commit') {
      expect(await orderCommit({}, b.io)).toBe(0);
      expect(b.output().context_updates?.['order.drift']).toEqual([
        '.factory/in/propose_prompt.md',
        '.factory/in/spec.md',
        '.factory/plan/plan.json',
      ]);
      expect(await orderNext({}, b.io)).toBe(0);
    } else {
      put(b.workspace, { '.factory/orders/WO-02.json': '{}' });
      expect(await orderRollback({ attempts: 2 }, b.io)).toBe(0);
    }
    const inputs = join(b.workspace, '.factory/in');
    expect(readdirSync(inputs).sort()).toEqual(['propose_prompt.md', 'spec.md']);
    expect(readFileSync(join(b.workspace, '.factory/plan/plan.json'), 'utf8')).toBe('{}');
    // What else a pipeline keeps there stays.
    expect(readFileSync(join(b.workspace, '.factory/review.md'), 'utf8')).toBe('of this attempt');
    expect(existsSync(join(b.workspace, '.factory/log/1.txt'))).toBe(true);
    await b.snapshot();
    expect(await orderPrompt({ template: join(inputs, 'propose_prompt.md') }, b.io)).toBe(0);
    expect(readFileSync(join(b.workspace, '.factory/order/prompt.md'), 'utf8')).toContain('Beware.');
  },
);

test('line ends are kept as the attributes of the tree say, in commits, checkouts and the source', async () => {
  using it = folder();
  const crlf = 'let a;\r\nlet b;\r\n';
  const files = {
    '.gitattributes': '*.js text eol=crlf\n*.bin -text\n*.id ident\n',
    'a.js': crlf,
    'keep.js': crlf,
  };
  const paths = ['a.js', 'b.js', 'c.bin', 'd.id'];
  const one = order(1, {
    allowed_files: paths,
    postconditions: paths.map((path) => ({ kind: 'file_exists', path })),
    acceptance_commands: ['true'],
  });
  const b = await build(it.path, [one], {
    ...files,
    'scripts/verify.sh': 'grep -q "x.$" b.js && ! grep -q "x$" b.js\n',
  });
  const write = (path: string, content: string, base = '') => ({ path, base_sha256: sha(base), content });
  const writes = [
    write('a.js', `${crlf}let c;\r\n`, crlf),
    // Line ends as models write them.
    write('b.js', 'x\n'),
    write('c.bin', '1\r\n'),
    write('d.id', '$Id$\n'),
  ];
  expect(await b.propose(JSON.stringify({ summary: 's', writes })), b.said.join('')).toBe(0);
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(b.output().context_updates?.['order.drift']).toEqual([]);
  const raw = (path: string) => git(b.run.history, 'cat-file', '-s', `${headRef}:${path}`);
  expect(paths.map(raw)).toEqual(['21', '2', '3', '5']);
  expect(tree(b.workspace)).toMatchObject({
    'b.js': 'x\r\n',
    'c.bin': '1\r\n',
    'd.id': '$Id$\n',
    'keep.js': crlf,
  });
  await orderNext({}, b.io);
  expect(await orderProof({}, b.io), b.said.join('')).toBe(0);
  const source = join(it.path, 'src');
  git(source, 'fetch', '-q', b.run.history, headRef);
  git(source, 'switch', '-q', '-c', 'delivered', 'FETCH_HEAD');
  expect(git(source, 'status', '--porcelain')).toBe('');
  expect(tree(source)['b.js']).toBe('x\r\n');
});

const proven = async (root: string, files: Files, one: object) => {
  const b = await build(root, [one], files);
  await b.propose(answer('f1.txt', '1\n'));
  await orderCommit({}, b.io);
  return b;
};

test('proof fails, as the product, where only the workspace holds', async () => {
  using it = folder();
  const script = 'echo looking; test -f made.txt || grep -q good f1.txt\n';
  const b = await proven(it.path, { 'scripts/verify.sh': script }, order(1));
  put(b.workspace, { 'made.txt': 'by the run, in no commit', 'f1.txt': 'good' });
  expect(await orderProof({}, b.io)).toBe(1);
  expect(b.output()).toMatchObject({
    failure_class: 'product',
    failure_reason: expect.stringMatching(/bash scripts\/verify.sh failed \(exit=1\)[\s\S]*looking/),
  });
  expect(readFileSync(join(b.env['FACTORY_NODE_DIR'] ?? '', 'proof.0.stdout.txt'), 'utf8')).toBe('looking\n');
});

test('proof takes place outside every repository, without the run in sight, and leaves nothing', async () => {
  using it = folder();
  const script =
    'git rev-parse 2>/dev/null && exit 3\nenv | grep -q FACTORY_RUN_DIR && exit 4\ntest "$FACTORY_RUN_MARKER" = m || exit 5\ntest "$OURS" = o || exit 6\npwd\n';
  const b = await proven(it.path, { 'scripts/verify.sh': script }, order(1));
  const env = {
    ...b.env,
    GIT_DIR: b.run.history,
    TMPDIR: join(it.path, 'src'),
    // By this the engine finds what it leaves behind.
    FACTORY_RUN_MARKER: 'm',
    OURS: 'o',
  };
  expect(await orderProof({}, { ...b.io, env })).toBe(0);
  expect(b.output().context_updates?.['build.proof']).toEqual(['bash scripts/verify.sh', 'test -f f1.txt']);
  const where = readFileSync(join(b.env['FACTORY_NODE_DIR'] ?? '', 'proof.0.stdout.txt'), 'utf8').trim();
  expect(where).not.toContain(it.path);
  expect(existsSync(where)).toBe(false);
});

test('proof names files that the workdir had, no commit holds, and the checks need', async () => {
  using it = folder();
  mkdirSync(join(it.path, 'src'));
  put(join(it.path, 'src'), {
    // The second try has nothing of the first.
    'scripts/verify.sh': 'test -e left && exit 7\n: > left\ntest "$(readlink node_modules/l)" = m/i.js\n',
    '.gitignore': 'node_modules/\n',
  });
  repository(join(it.path, 'src'));
  put(join(it.path, 'src'), { 'node_modules/m/i.js': 'm' });
  symlinkSync('m/i.js', join(it.path, 'src/node_modules/l'));
  const begun = await beginRun({ root: it.path, workdir: join(it.path, 'src') });
  put(begun.run.workspace, { '.factory/orders/WO-01.json': JSON.stringify(order(1)) });
  const tool = toolIo(begun);
  await orderNext({}, tool.io);
  await tool.snapshot();
  await orderPrompt({}, tool.io);
  put(begun.run.workspace, { '.factory/order/proposal.json': answer('f1.txt', '1\n') });
  await orderApply({}, tool.io);
  await orderCommit({}, tool.io);
  await orderNext({}, tool.io);
  expect(await orderProof({}, tool.io)).toBe(0);
  expect(tool.output().context_updates).toMatchObject({ 'build.needed': ['node_modules/'] });
});

test('proof makes its checkout ready with the setup of the project, and borrows nothing', async () => {
  using it = folder();
  const source = join(it.path, 'src');
  put(source, {
    'scripts/verify.sh': 'test -f node_modules/m\n',
    'install.sh': 'mkdir -p node_modules && cp lock node_modules/m\n',
    lock: '1\n',
    '.gitignore': 'node_modules/\n',
  });
  repository(source);
  put(source, { 'node_modules/m': '1\n' });
  const begun = await beginRun({ root: it.path, workdir: source });
  put(begun.run.workspace, { '.factory/orders/WO-01.json': JSON.stringify(order(1)) });
  await using other = await house({
    'p.dot': 'digraph g { start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }',
    'w/factory.json': JSON.stringify({ setup: ['true'] }),
  });
  await other.run('p.dot', { workdir: 'w', runId: 'r1' });
  const manifest = other.json('.factory/runs/r1/manifest.json');
  const setup = (command: string) =>
    put(begun.run.root, {
      'manifest.json': JSON.stringify({ ...manifest, setup: { ...manifest.setup, commands: [command] } }),
    });
  const tool = toolIo(begun);
  await orderNext({}, tool.io);
  await tool.snapshot();
  await orderPrompt({}, tool.io);
  put(begun.run.workspace, { '.factory/order/proposal.json': answer('f1.txt', '1\n') });
  await orderApply({}, tool.io);
  await orderCommit({}, tool.io);
  await orderNext({}, tool.io);
  setup('sh install.sh');
  expect(await orderProof({}, tool.io), tool.said.join('')).toBe(0);
  expect(tool.output().context_updates).toMatchObject({ 'build.needed': [] });
  setup('echo getaddrinfo EAI_AGAIN registry.npmjs.org >&2; exit 1');
  expect(await orderProof({}, tool.io)).not.toBe(0);
  expect(tool.output()).toMatchObject({ failure_class: 'infra' });
  setup('sh no-such.sh');
  expect(await orderProof({}, tool.io)).not.toBe(0);
  expect(tool.output()).toMatchObject({ failure_class: 'product' });
});

test('proof has submodules, and files that a filter made, next to it in its second try, and names them', async () => {
  using it = folder({ 'lib/l.txt': 'lib\n' });
  repository(join(it.path, 'lib'));
  const source = join(it.path, 'src');
  put(source, {
    'scripts/verify.sh': 'grep -q lib vendor/lib/l.txt && grep -q SHOWN big.dat && grep -q stored raw.dat\n',
    '.gitattributes': '*.dat filter=store\n',
    'big.dat': 'stored\n',
    'raw.dat': 'stored\n',
  });
  repository(source);
  git(
    source,
    '-c',
    'protocol.file.allow=always',
    'submodule',
    '--quiet',
    'add',
    join(it.path, 'lib'),
    'vendor/lib',
  );
  git(source, 'commit', '-qm', 'with lib');
  const begun = await beginRun({
    root: it.path,
    workdir: source,
    // As the filter of the user's has checked it out.
    copy: (workspace) => put(workspace, { 'big.dat': 'SHOWN\n' }),
  });
  put(begun.run.workspace, { '.factory/orders/WO-01.json': JSON.stringify(order(1)) });
  const tool = toolIo(begun);
  await orderNext({}, tool.io);
  await tool.snapshot();
  await orderPrompt({}, tool.io);
  put(begun.run.workspace, { '.factory/order/proposal.json': answer('f1.txt', '1\n') });
  await orderApply({}, tool.io);
  expect(await orderCommit({}, tool.io), tool.said.join('')).toBe(0);
  expect(tool.output().context_updates?.['order.drift']).toEqual([]);
  await orderNext({}, tool.io);
  expect(await orderProof({}, tool.io), tool.said.join('')).toBe(0);
  expect(tool.output().context_updates).toMatchObject({ 'build.needed': ['vendor/lib', 'big.dat'] });
});

test('proof shows no scenarios to the checks, although commits of the workdir have them', async () => {
  using it = folder();
  const accept = 'test -f f1.txt && test ! -e secret';
  const checks = { 'check.sh': accept, 'secret/a_scenario.sh': 'exit 0' };
  const b = await build(it.path, [order(1, { acceptance_commands: ['bash check.sh'] })], checks, ['secret']);
  await b.propose(answer('f1.txt', '1\n'));
  expect(await orderCommit({}, b.io)).toBe(0);
  expect(await orderProof({}, b.io)).toBe(0);
  expect(b.output().context_updates).toMatchObject({ 'build.needed': [] });
  expect(git(b.run.history, 'ls-tree', '-r', '--name-only', headRef)).toContain('secret/a_scenario.sh');
});

test('proof fails where a promised file is not in the final commit', async () => {
  using it = folder();
  // What any of them promised, not the last one alone.
  const first = order(1, {
    postconditions: [
      { kind: 'file_exists', path: 'f1.txt' },
      { kind: 'file_exists', path: 'other.txt' },
    ],
    allowed_files: ['f1.txt', 'other.txt'],
  });
  const b = await build(it.path, [first, order(2)]);
  for (const n of [1, 2]) {
    await b.propose(answer(`f${n}.txt`, `${n}\n`));
    expect(await orderCommit({}, b.io)).toBe(0);
  }
  put(b.workspace, { 'other.txt': 'here only' });
  expect(await orderProof({}, b.io)).toBe(1);
  expect(b.output()).toMatchObject({ failure_reason: expect.stringContaining('other.txt') });
});

test.for([
  ['the first', 0, ['bash scripts/verify.sh', 'test -f f2.js']],
  ['the last', 1, ['node --check f1.js', 'node --check f2.js', 'test -f f2.js']],
] as const)('proof runs the check of the whole from the last order: %s is exempt', async ([, which, ran]) => {
  using it = folder();
  const orders = [1, 2].map((n) =>
    order(n, {
      verify_exempt: n - 1 === which,
      postconditions: [{ kind: 'file_exists', path: `f${n}.js` }],
      allowed_files: [`f${n}.js`],
      acceptance_commands: [`test -f f${n}.js`],
      context_files: [`f${n}.js`],
    }),
  );
  const b = await build(it.path, orders, { 'scripts/verify.sh': 'test -f f2.js\n' });
  await orderNext({ allowVerifyExempt: true }, b.io);
  for (const n of [1, 2]) {
    expect(await b.propose(answer(`f${n}.js`, `${n};\n`)), b.said.join('')).toBe(0);
    expect(await orderCommit({}, b.io), b.said.join('')).toBe(0);
  }
  await orderNext({}, b.io);
  expect(await orderProof({}, b.io), b.said.join('')).toBe(0);
  expect(b.output().context_updates?.['build.proof']).toEqual(ran);
});

test('proof before the last order is done is refused', async () => {
  using it = folder();
  const b = await build(it.path, [order(1)]);
  await orderNext({}, b.io);
  expect(await orderProof({}, b.io)).toBe(1);
  expect(b.output()).toMatchObject({
    failure_class: 'config',
    failure_reason: expect.stringContaining('WO-01'),
  });
});

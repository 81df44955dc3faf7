import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { conclude } from '../../src/cli/conclude.ts';
import { maxAnswerCharacters } from '../../src/core/answer-json.ts';
import type { StepVerdict } from '../../src/core/contracts/step.ts';
import { planCheck as checkStep } from '../../src/planner/steps/check.ts';
import { planEmit as emitStep } from '../../src/planner/steps/emit.ts';
import { planPrompt as promptStep } from '../../src/planner/steps/prompt.ts';
import type { CommandIo } from '../../src/platform/command-io.ts';
import { realSpawn } from '../../src/platform/process/spawn.ts';
import { call } from '../support/verb.ts';

let cwd = '';
let outside = '';
let output = '';
let io: CommandIo;
let said: { out: string; err: string };

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'factory-plan-'));
  outside = await mkdtemp(join(tmpdir(), 'factory-plan-node-'));
  output = join(outside, 'output.json');
  said = { out: '', err: '' };
  io = {
    cwd,
    env: { FACTORY_OUTPUT: output, FACTORY_RUN_ID: 'RUN1' },
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    now: () => new Date('2026-01-02T03:04:05Z'),
    spawn: realSpawn,
  };
});
afterEach(async () => {
  await rm(cwd, { recursive: true, force: true });
  await rm(outside, { recursive: true, force: true });
});

const concluded =
  <T>(step: (options: T, io: CommandIo) => Promise<StepVerdict>) =>
  async (options: T & { readonly json?: boolean }, io: CommandIo) =>
    conclude(io, options.json, await step(options, io));
const [planCheck, planEmit, planPrompt] = [concluded(checkStep), concluded(emitStep), concluded(promptStep)];

const put = async (files: Readonly<Record<string, string | Uint8Array>>) => {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), content);
  }
};
const text = (path: string) => readFile(join(cwd, path), 'utf8');
const json = async (path: string) => JSON.parse(await text(path));
const state = async () => (await json('.factory/state.json')).plan;
const told = async () => JSON.parse(await readFile(output, 'utf8'));
const listing = async (path: string) => (await readdir(join(cwd, path)).catch(() => [])).sort();

const order = (id: string, file: string, more = {}) => ({
  id,
  title: `Make ${file}`,
  intent: 'Do one thing.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: file }],
  allowed_files: [file],
  forbidden: [],
  acceptance_commands: ['true'],
  context_files: [file],
  notes: null,
  ...more,
});
const plan = (...orders: unknown[]) =>
  JSON.stringify({ system_overview: ['x'], verify_contract: null, work_orders: orders });
const answer = (content: string | Uint8Array) => put({ '.factory/plan/answer.json': content });
const begin = async () => {
  await put({
    'spec.md': 'Build a thing.\n',
    'template.md': 'Rules.\n{{PRODUCT_SPEC}}\nFiles:\n{{REPO_FILES}}\n',
  });
  expect(await planPrompt({ spec: 'spec.md', template: 'template.md' }, io)).toBe(0);
};

test('no model gets the names of the holdout, and no plan may depend on them', async () => {
  await put({
    'checks/deep/secret_one.sh': '',
    'judge.txt': '',
    'judge.txt.md': '',
    'src/checks/a.js': '',
  });
  io = { ...io, env: { ...io.env, FACTORY_HOLDOUT: 'checks,judge.txt' } };
  await begin();
  const prompt = await text('.factory/plan/prompt.md');
  expect(prompt).toContain('Files:\n- judge.txt.md\n- spec.md\n- src/checks/a.js\n- template.md');
  const needs = { preconditions: [{ kind: 'file_exists', path: 'judge.txt' }] };
  await answer(plan(order('WO-01', 'a', needs)));
  expect(await planCheck({}, io)).toBe(2);
  expect(await json('.factory/plan/attempt-1/findings.json')).toMatchObject([{ code: 'E101' }]);
  expect(await text('.factory/plan/prompt.md')).not.toMatch(/secret_one|- judge\.txt\n/);
});

test('factory plan prompt renders the prompt with the files that are there, but tools’ folders and its own', async () => {
  await put({
    'b/c.txt': '',
    'sub/.git/x': '',
    'node_modules/m/i.js': '',
    'venv/x': '',
    '.factory/in/spec.md': '',
    'env/x': '',
  });
  await symlink('c.txt', join(cwd, 'b/link.txt'));
  await symlink('b', join(cwd, 'folder-link'));
  await begin();
  expect(await text('.factory/plan/prompt.md')).toBe(
    'Rules.\nBuild a thing.\n\nFiles:\n- b/c.txt\n- b/link.txt\n- env/x\n- spec.md\n- template.md\n',
  );
  expect(await state()).toMatchObject({
    schema_version: 1,
    attempt: 0,
    spec: { path: 'spec.md', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    compile_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  expect(await told()).toMatchObject({ outcome: 'success' });
});

test('factory plan prompt takes model and effort for the compile hash from the flags, else from the context', async () => {
  const context = join(outside, 'context.json');
  await writeFile(context, '{"plan.model": "m", "plan.effort": "low"}');
  await begin();
  const plain = (await state()).compile_hash;
  const options = { spec: 'spec.md', template: 'template.md' };
  await planPrompt(options, { ...io, env: { FACTORY_CONTEXT: context } });
  const fromContext = (await state()).compile_hash;
  await planPrompt({ ...options, model: 'm', effort: 'low' }, io);
  expect((await state()).compile_hash).toBe(fromContext);
  expect(plain).not.toBe(fromContext);
});

test.for([
  ['a spec that is not there', 'none.md', 'template.md', /none\.md cannot be read: there is no such path/],
  ['a spec that is a folder', 'folder', 'template.md', /it is a folder/],
  ['an empty spec', 'empty.md', 'template.md', /empty\.md is empty/],
  ['a spec that is not UTF-8', 'latin.md', 'template.md', /not UTF-8/],
  ['a template without the placeholder', 'spec.md', 'spec.md', /no \{\{PRODUCT_SPEC\}\}/],
  ['a template that is not there', 'spec.md', 'none.md', /template none\.md cannot be read/],
] as const)('factory plan prompt refuses %s, and writes nothing', async ([, spec, template, message]) => {
  await put({
    'spec.md': 'x',
    'template.md': '{{PRODUCT_SPEC}}',
    'empty.md': ' \n',
    'latin.md': Uint8Array.of(0xe9),
    'folder/x': '',
  });
  expect(await planPrompt({ spec, template }, io)).toBe(2);
  expect(said.err).toMatch(message);
  expect(await listing('.factory')).toEqual([]);
  expect(await told()).toMatchObject({
    outcome: 'fail',
    failure_class: 'config',
    failure_reason: expect.stringMatching(message),
  });
});

test('factory plan prompt counts the files of another folder if a flag names it, and refuses one that is not there', async () => {
  await put({ 'spec.md': 'x', 't.md': '{{PRODUCT_SPEC}}{{REPO_FILES}}', 'other/only.txt': '' });
  expect(await planPrompt({ spec: 'spec.md', template: 't.md', repo: 'none' }, io)).toBe(2);
  expect(await planPrompt({ spec: 'spec.md', template: 't.md', repo: 'other' }, io)).toBe(0);
  expect(await text('.factory/plan/prompt.md')).toBe('x- only.txt');
  await answer(plan(order('WO-01', 'a', { preconditions: [{ kind: 'file_exists', path: 'only.txt' }] })));
  expect(await planCheck({}, io)).toBe(0);
});

test('factory plan prompt: clears away what an earlier plan left', async () => {
  await begin();
  await answer(plan(order('WO-01', 'a')));
  expect(await planCheck({}, io)).toBe(0);
  await begin();
  expect(await listing('.factory/plan')).toEqual(['original-prompt.md', 'prompt.md', 'spec.md']);
  expect(await planEmit({}, io)).toBe(2);
});

test('a valid plan is written in normal form, and the label is its report', async () => {
  await begin();
  await answer(`\`\`\`json\n${plan(order(' WO-01 ', './a'))}\n\`\`\``);
  expect(await planCheck({ attempts: 5 }, io)).toBe(0);
  expect((await json('.factory/plan/plan.json')).work_orders[0]).toMatchObject({
    id: 'WO-01',
    allowed_files: ['a'],
  });
  expect(await told()).toMatchObject({
    outcome: 'success',
    preferred_next_label: 'valid',
    context_updates: { 'plan.attempt': 1, 'plan.errors': 0, 'plan.orders': 1 },
  });
  expect(await listing('.factory/plan/attempt-1')).toEqual(['answer.json', 'findings.json']);
});

test('factory plan check: findings exit with 2, name codes and orders, and ask for a revision while attempts remain', async () => {
  await begin();
  const bad = plan(
    order('WO-01', 'a', { acceptance_commands: ['node -e "require(\'./gone\')"'] }),
    order('WO-02', 'b', { acceptance_commands: ['x | y'] }),
    order('WO-03', 'c', { allowed_files: ['c', 'd'] }),
  );
  await answer(bad);
  expect(await planCheck({ attempts: '2' }, io)).toBe(2);
  expect(await told()).toMatchObject({
    outcome: 'fail',
    preferred_next_label: 'revise',
    failure_reason: 'the plan has 2 errors: E003 (WO-02), E104 (WO-03)',
    failure_class: 'product',
    context_updates: { 'plan.attempt': 1, 'plan.errors': 2 },
  });
  expect(said.out).toMatch(/error\[E003\] WO-02: acceptance_commands: /);
  expect(said.out).toMatch(/warning\[W203\] WO-01: acceptance_commands: /);
  const prompt = await text('.factory/plan/prompt.md');
  for (const part of ['Build a thing.', '- template.md', '## Acceptance commands', '[E104] WO-03'])
    expect(prompt).toContain(part);
  expect(prompt).not.toContain('Rules.');
  expect(prompt).toContain(bad);
  expect(prompt).not.toContain('same findings');
  expect(await listing('.factory/plan')).not.toContain('plan.json');

  expect(await planCheck({ attempts: 2 }, io)).toBe(2);
  expect(await told()).toMatchObject({
    preferred_next_label: 'give_up',
    context_updates: { 'plan.attempt': 2 },
  });
  expect(await text('.factory/plan/prompt.md')).toBe(prompt);
  expect((await json('.factory/plan/attempt-2/findings.json')).map((f: { code: string }) => f.code)).toEqual([
    'E003',
    'E104',
    'W203',
  ]);
});

test('an answer that is not UTF-8 is a finding, and no plan is made of what could be guessed', async () => {
  await begin();
  const bytes = Buffer.from(plan(order('WO-01', 'a.txt', { title: 'caf?' })));
  bytes[bytes.indexOf('?')] = 0xe9;
  await answer(bytes);
  expect(await planCheck({ attempts: 2 }, io)).toBe(4);
  expect(await json('.factory/plan/attempt-1/findings.json')).toEqual([
    { code: 'E000', wo_id: null, field: null, message: 'JSON parse error: the answer is not UTF-8 text' },
  ]);
  expect(await told()).toMatchObject({ outcome: 'fail', failure_class: 'agent' });
});

test('the same findings twice are pointed out, with the template that was given', async () => {
  await begin();
  await put({ 'revise.md': 'AGAIN:{{SAME_AGAIN}}\n{{FINDINGS}}\n{{ORIGINAL_PROMPT}}' });
  await answer(plan(order('WO-02', 'a')));
  await planCheck({ template: 'revise.md' }, io);
  expect(await text('.factory/plan/prompt.md')).toMatch(/^AGAIN:\n- \[E001\]/);
  await planCheck({ template: 'revise.md' }, io);
  expect(await text('.factory/plan/prompt.md')).toMatch(/^AGAIN:These are the same findings/);
  expect(await text('.factory/plan/prompt.md')).toContain('Build a thing.');
});

test('factory plan check: problems of an earlier answer are not repeated', async () => {
  await begin();
  await answer(
    plan(order('WO-01', 'a', { title: 'FIRST', preconditions: [{ kind: 'file_exists', path: 'x' }] })),
  );
  await planCheck({}, io);
  expect(await text('.factory/plan/prompt.md')).toContain('[E101] WO-01: ');
  await answer(plan(order('WO-01', 'a', { title: 'SECOND', acceptance_commands: ['true | cat'] })));
  await planCheck({}, io);
  const prompt = await text('.factory/plan/prompt.md');
  for (const part of ['[E003] WO-01: ', 'SECOND', 'Build a thing.']) expect(prompt).toContain(part);
  for (const part of ['E101', 'FIRST']) expect(prompt).not.toContain(part);
});

test('a plan that was valid is no longer to be had once an answer is refused', async () => {
  await begin();
  await answer(plan(order('WO-01', 'a')));
  await planCheck({}, io);
  await answer('no');
  expect(await planCheck({}, io)).toBe(4);
  expect(await planEmit({}, io)).toBe(2);
});

test.for([
  ['prose', 'Here is your plan!', /begins with prose/],
  ['half of a JSON', '{"work_orders": [', /stops in the middle/],
  ['nothing', '', /is empty/],
  ['bytes that are no text', Uint8Array.of(0xff, 0xfe), /is not UTF-8 text/],
  ['too much', 'x'.repeat(maxAnswerCharacters + 1), /is larger than/],
  ['very much too much', 'x'.repeat(maxAnswerCharacters * 4 + 1), /is larger than/],
] as const)('factory plan check: %s exits with 4 and says what was wrong', async ([, content, why]) => {
  await begin();
  await answer(content);
  expect(await planCheck({}, io)).toBe(4);
  expect(await told()).toMatchObject({
    outcome: 'fail',
    failure_class: 'agent',
    failure_reason: expect.stringMatching(why),
    preferred_next_label: 'revise',
  });
  expect((await text('.factory/plan/prompt.md')).length).toBeLessThan(1_000_000);
});

test.for([
  ['attempts that are no number', { attempts: 'many' }, /--attempts is "many"/],
  ['no attempts', { attempts: 0 }, /--attempts is 0/],
  ['a template that is not there', { template: 'none.md' }, /none\.md cannot be read/],
  ['a template without findings', { template: 'spec.md' }, /no \{\{FINDINGS\}\}/],
] as const)('factory plan check refuses %s without counting an attempt', async ([, options, message]) => {
  await begin();
  await answer(plan(order('WO-02', 'a')));
  expect(await planCheck(options, io)).toBe(2);
  expect(said.err).toMatch(message);
  expect((await state()).attempt).toBe(0);
});

test('factory plan check refuses to check where there is no answer, or the state cannot be read', async () => {
  expect(await planCheck({}, io)).toBe(2);
  expect(said.err).toContain('.factory/plan/answer.json');
  await answer(plan(order('WO-01', 'a')));
  await put({ '.factory/state.json': '{"plan": {"schema_version": 1}}' });
  expect(await planCheck({}, io)).toBe(2);
  expect(said.err).toContain('begin again with factory plan prompt');
});

test('what only a shell understands is a note, and with strict rules an error', async () => {
  await answer(plan(order('WO-01', 'a', { acceptance_commands: ['node a 2>&1'] })));
  expect(await planCheck({}, io)).toBe(0);
  expect(said.out).toContain('note[E201] WO-01: acceptance_commands: "node a 2>&1" has 2>&1, which only');
  said.out = '';
  expect(await planCheck({ json: true }, io)).toBe(0);
  expect(JSON.parse(said.out)).toMatchObject({ findings: [], notes: [{ code: 'E201', wo_id: 'WO-01' }] });
  expect(await planCheck({ rules: 'strict' }, io)).toBe(2);
  expect(said.out).toContain('error[E201]');
});

test('factory plan check works by hand on an answer alone', async () => {
  await answer(plan(order('WO-01', 'a')));
  expect(await planCheck({ json: true }, { ...io, env: {} })).toBe(0);
  expect(JSON.parse(said.out)).toMatchObject({
    outcome: 'success',
    label: 'valid',
    attempt: 1,
    orders: 1,
    findings: [],
  });
});

const emitted = async (...orders: unknown[]) => {
  await begin();
  await answer(plan(...orders));
  expect(await planCheck({}, io)).toBe(0);
  return planEmit({}, io);
};

test('factory plan emit writes each order with its provenance, and the manifest', async () => {
  expect(await emitted(order('WO-01', 'a', { priority: 'é' }), order('WO-02', 'b'))).toBe(0);
  expect(await listing('.factory/orders')).toEqual(['WO-01.json', 'WO-02.json', 'WORK_ORDERS_MANIFEST.json']);
  const { compile_hash } = await state();
  expect(await json('.factory/orders/WO-01.json')).toMatchObject({
    priority: 'é',
    verify_exempt: false,
    provenance: {
      planner_run_id: 'RUN1',
      compile_hash,
      bootstrap: false,
      manifest_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  });
  expect(await text('.factory/orders/WO-01.json')).toMatch(
    /^\{\n {2}"id": "WO-01",[\s\S]*"priority": "\\u00e9",[\s\S]*\}\n$/,
  );
  expect(said.out).toContain('WO-02  Make b\n');
  expect(await told()).toMatchObject({ outcome: 'success', context_updates: { 'plan.orders': 2 } });
});

test('factory plan emit: orders of an earlier plan are gone afterwards, other files stay', async () => {
  const names = ['WO-07.json', 'FIX-01.json', 'notes.txt'];
  await put(Object.fromEntries(names.map((name) => [`.factory/orders/${name}`, '{}'])));
  await emitted(order('WO-01', 'a'));
  expect(await listing('.factory/orders')).toEqual(['WO-01.json', 'WORK_ORDERS_MANIFEST.json', 'notes.txt']);
});

test.for([
  ['plan/plan.json', 'there is no checked plan (.factory/plan/plan.json)'],
  ['state.json', '.factory/state.json is a folder'],
] as const)('a folder in the place of %s is refused with words', async ([name, words]) => {
  await emitted(order('WO-01', 'a'));
  await rm(join(io.cwd, '.factory', name));
  await put({ [`.factory/${name}/x`]: '' });
  expect(await planEmit({}, io)).toBe(2);
  expect(await told()).toMatchObject({ outcome: 'fail', failure_class: 'config' });
  expect(said.err).toContain(words);
  // A check makes a plan of whatever is in its place.
  if (name === 'plan/plan.json') expect([await planCheck({}, io), await planEmit({}, io)]).toEqual([0, 0]);
});

test('the order that would make a verify script that is there is left out, and the rest renumbered', async () => {
  await put({ 'scripts/verify.sh': 'true' });
  expect(await emitted(order('WO-01', 'scripts/verify.sh'), order('WO-02', 'a'))).toBe(0);
  expect(await listing('.factory/orders')).toEqual(['WO-01.json', 'WORK_ORDERS_MANIFEST.json']);
  expect(await json('.factory/orders/WO-01.json')).toMatchObject({ id: 'WO-01', allowed_files: ['a'] });
  expect(said.out).toContain('left out WO-01');
  expect(await state()).toMatchObject({ skipped: ['WO-01'] });
});

test('factory plan emit refuses a plan that does not fit the workspace any longer, and leaves the orders alone', async () => {
  await emitted(order('WO-01', 'a', { preconditions: [{ kind: 'file_absent', path: 'a' }] }));
  const before = await text('.factory/orders/WO-01.json');
  await put({ a: 'now it is here' });
  expect(await planEmit({}, io)).toBe(2);
  expect(said.err).toContain('error[E101] WO-01: preconditions: a must be absent, but it exists by then\n');
  expect(said.err).toContain('E101 (WO-01)');
  expect(await text('.factory/orders/WO-01.json')).toBe(before);
});

test('factory plan emit says "manual" where no run is', async () => {
  await answer(plan(order('WO-01', 'a')));
  const byHand = { ...io, env: {} };
  await planCheck({}, byHand);
  said.out = '';
  expect(await planEmit({ json: true }, byHand)).toBe(0);
  expect(JSON.parse(said.out)).toMatchObject({
    orders: [{ id: 'WO-01', title: 'Make a', verify_exempt: false }],
  });
  expect((await json('.factory/orders/WO-01.json')).provenance.planner_run_id).toBe('manual');
});

test('the prompts that come along hold what the commands ask for, and an order of them can be followed to the end', async () => {
  const prompts = join(import.meta.dirname, '../../prompts');
  await put({ 'spec.md': 'Build a thing.' });
  const codes: number[] = [];
  const run = async (...argv: string[]) => void codes.push((await call(argv, {}, io)).code);
  await run('plan', 'prompt', '--spec', 'spec.md', '--template', join(prompts, 'plan.md'));
  await answer(plan(order('WO-02', 'a')));
  await run('plan', 'check', '--attempts', '3', '--template', join(prompts, 'revise.md'));
  const revision = await text('.factory/plan/prompt.md');
  await answer(plan(order('WO-01', 'a')));
  await run('plan', 'check', '--attempts', '3', '--template', join(prompts, 'revise.md'));
  await run('plan', 'emit');
  expect(codes).toEqual([0, 2, 0, 0]);
  expect(revision).toContain('Build a thing.');
  expect(revision).toContain('[E001]');
  expect(revision).not.toMatch(/\{\{[A-Z_]+\}\}/);
  expect(revision).toContain('- spec.md');
});

/** `factory plan SPEC`, the built command line: exit codes, records, exports, and resuming. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CompileOptions } from '../../src/cli/plan-request.ts';
import { cleanEnv, cli, type Home, home } from '../support/in-process.ts';
import { startModelServer } from '../support/model-server.ts';
import { call } from '../support/verb.ts';

const order = (id: string, file: string, more: object = {}) => ({
  id,
  title: `Make ${file}`,
  intent: 'Do one thing.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: file }],
  allowed_files: [file],
  forbidden: [],
  acceptance_commands: [`test -f ${file}`],
  context_files: [file],
  notes: null,
  ...more,
});
const planOf = (...work_orders: object[]) => ({
  system_overview: ['small'],
  verify_contract: { command: 'x', requires: [{ kind: 'file_exists', path: 'a.txt' }] },
  work_orders,
});
const good = planOf(order('WO-01', 'a.txt'));
const bad = planOf(order('WO-01', 'a.txt', { acceptance_commands: ['true | cat'] }));
const worse = planOf(order('WO-01', 'a.txt', { preconditions: [{ kind: 'file_exists', path: 'nope.txt' }] }));
const script = (...answers: object[]) =>
  JSON.stringify({
    format: 'factory-script/1',
    answers: { plan: answers.slice(0, 1), revise: answers.slice(1) },
  });

/** All files below a folder, by path. */
async function tree(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = files
    .sort()
    .map(async (path) => [path.slice(folder.length + 1), await readFile(path, 'utf8')]);
  return Object.fromEntries(await Promise.all(texts));
}
const artifacts = (it: Home, id: string) => tree(join(it.path, 'artifacts/planner', id));
const inTree = (files: Record<string, string>, name: string) => JSON.parse(files[name] ?? 'null');

const sha = (text: string) => createHash('sha256').update(text).digest('hex');

type Texts = Awaited<ReturnType<typeof artifacts>>;

function expectFiles(files: Texts, first: string, second: string): void {
  const compile = [
    'compile_summary.json',
    'llm_raw_response_attempt_1.txt',
    'llm_raw_response_attempt_2.txt',
  ];
  expect(Object.keys(files)).toEqual(
    [
      ...[...compile, 'llm_reasoning_attempt_1.txt', 'manifest_normalized.json'].map(
        (name) => `compile/${name}`,
      ),
      'compile/manifest_raw_attempt_1.json',
      'compile/manifest_raw_attempt_2.json',
      'compile/prompt_attempt_1.txt',
      'compile/prompt_attempt_2.txt',
      'compile/validation_errors_attempt_1.json',
      'compile/validation_errors_attempt_2.json',
      'output/WORK_ORDERS_MANIFEST.json',
      'output/WO-01.json',
      'run.json',
    ].sort(),
  );
  expect(files['compile/prompt_attempt_1.txt']).toBe(first);
  expect(files['compile/prompt_attempt_2.txt']).toBe(second);
  expect(files['compile/llm_raw_response_attempt_1.txt']).toBe(JSON.stringify(bad));
  expect(files['compile/llm_reasoning_attempt_1.txt']).toBe('first thoughts');
  expect(inTree(files, 'compile/manifest_raw_attempt_1.json')).toEqual(bad);
  expect(inTree(files, 'compile/validation_errors_attempt_1.json')).toMatchObject([
    { code: 'E003', wo_id: 'WO-01' },
  ]);
  expect(files['compile/validation_errors_attempt_2.json']).toBe('[]\n');
}

function expectRecords(files: Texts, home: string, hash: string): void {
  const run = inTree(files, 'run.json');
  expect(run).toMatchObject({
    run_id: 'R1',
    tool: 'planner',
    success: true,
    compile_hash: hash,
    config: {
      model: 'gpt-5.2-codex',
      reasoning_effort: 'medium',
      max_output_tokens: 64000,
      max_compile_attempts: 3,
    },
    inputs: { spec_path: join(home, 'spec.md'), spec_sha256: sha('SPEC {{REPO_FILES}}\n') },
    outputs: { work_order_count: 1, compile_attempts: 2, bootstrap_skipped: false, validation_errors: [] },
    export: { outdir: join(home, 'out') },
  });
  expect(run.finished_at_utc).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(run.outputs.attempt_records.map((r: { errors: unknown[] }) => r.errors.length)).toEqual([1, 0]);
  const written = inTree(files, 'output/WO-01.json');
  expect(written.provenance).toMatchObject({ planner_run_id: 'R1', compile_hash: hash });
  const normalized = inTree(files, 'compile/manifest_normalized.json');
  expect(normalized.work_orders).toMatchObject([{ id: 'WO-01', verify_exempt: false }]);
  expect(normalized.work_orders[0]).not.toHaveProperty('provenance');
  expect(inTree(files, 'compile/compile_summary.json')).toMatchObject({
    success: true,
    compile_attempts: 2,
    defaults_snapshot: { max_json_payload_bytes: 10485760, max_compile_attempts: 5 },
  });
}

test('a compilation that succeeds after a revision leaves every record, and its orders where they were wanted', async () => {
  await using it = await home({ 'spec.md': 'SPEC {{REPO_FILES}}\n', 'tpl.md': 'RULES\n{{PRODUCT_SPEC}}' });
  await using server = await startModelServer([
    { json: bad, reasoning: ['first', ' thoughts'] },
    { json: good },
  ]);
  const env = { OPENAI_API_KEY: 'sk-testing', OPENAI_BASE_URL: server.url };
  const ran = await it.factory(
    ['plan', 'spec.md', '--template', 'tpl.md', '--outdir', 'out', '--run-id', 'R1', '--max-attempts', '3'],
    { env },
  );
  expect(ran.code, ran.stderr).toBe(0);
  expect(server.requests.map((r) => r.body?.['model'])).toEqual(['gpt-5.2-codex', 'gpt-5.2-codex']);
  const [first, second] = server.requests.map((r) => String(r.body?.['input']));
  expect(first).toBe('RULES\nSPEC {{REPO_FILES}}');
  for (const part of [
    'SPEC {{REPO_FILES}}',
    '## Acceptance commands',
    '[E003] WO-01: ',
    JSON.stringify(bad).slice(0, 80),
  ])
    expect(second).toContain(part);

  const files = await artifacts(it, 'R1');
  expectFiles(files, first ?? '', second ?? '');
  const hash = sha('SPEC {{REPO_FILES}}\n\nRULES\n{{PRODUCT_SPEC}}\ngpt-5.2-codex\nmedium').slice(0, 16);
  expectRecords(files, it.path, hash);
  const out = await tree(join(it.path, 'out'));
  expect(Object.keys(out)).toEqual(['WORK_ORDERS_MANIFEST.json', 'WO-01.json'].sort());
  for (const [name, text] of Object.entries(out)) expect(text).toBe(files[`output/${name}`]);
  expect(ran.stdout).toMatch(
    /Attempt 1\/3 - fail\n +\[E003\] WO-01: .+\n +Attempt 2\/3 - PASS\n +Compile hash: +\w{16}\n/,
  );
  expect(ran.stdout).toMatch(/Run ID: +R1\n +Artifacts: .*R1\n +Work orders: +1\n +Output dir: +.*\/out\n$/);
});

test.for<[string, object[], string[][], RegExp]>([
  [
    'which orders can be asked for together',
    [
      order('WO-01', 'a.txt'),
      order('WO-02', 'b.txt'),
      order('WO-03', 'c.txt', { context_files: ['c.txt', 'b.txt'] }),
    ],
    [['WO-01', 'WO-02'], ['WO-03']],
    / +Levels: +2, the orders of one can be asked for together\n +level 1: WO-01, WO-02\n +level 2: WO-03\n/,
  ],
  [
    'that no two can be',
    [order('WO-01', 'a.txt'), order('WO-02', 'b.txt', { context_files: ['b.txt', 'a.txt'] })],
    [['WO-01'], ['WO-02']],
    / +Levels: +one order each: no two can be asked for together\n/,
  ],
])('a compilation says of its plan %s', async ([, orders, levels, words]) => {
  await using it = await home({ 'spec.md': 'S', 's.json': script({ json: planOf(...orders) }) });
  const args = ['plan', 'spec.md', '--script', 's.json', '--run-id', 'R1'];
  const ran = await it.factory(args);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toMatch(words);
  const json = await it.factory([...args.slice(0, -1), 'R2', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ levels });
});

test('a compilation that is given up exits 2, keeps the findings, and is unchanged by a resume', async () => {
  await using it = await home({ 'spec.md': 'S', 's.json': script({ json: bad }, { json: worse }) });
  const args = ['--script', 's.json', '--max-attempts', '2', '--run-id', 'R1', '--outdir', 'out'];
  const ran = await it.factory(['plan', '--spec', 'spec.md', ...args, '--json']);
  expect(ran.code, ran.stderr).toBe(2);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    success: false,
    exit_code: 2,
    outputs: { work_order_count: 1, compile_attempts: 2, manifest_normalized_sha256: null },
  });
  const files = await artifacts(it, 'R1');
  expect(inTree(files, 'compile/validation_errors.json')).toMatchObject([
    { code: 'E101', field: 'preconditions' },
  ]);
  expect(Object.keys(files).filter((name) => name.startsWith('output/'))).toEqual([]);
  expect(await tree(join(it.path, 'out'))).toEqual({
    'validation_errors.json': files['compile/validation_errors.json'],
  });
  const again = await it.factory(['resume', 'R1']);
  expect(again.code).toBe(2);
  expect(await artifacts(it, 'R1')).toEqual(files);
});

test('a compilation whose last answer is not JSON exits 4, one whose model cannot be asked exits 3; both have a report', async () => {
  await using it = await home({
    'spec.md': 'S',
    'four.json': script({ text: 'oops' }),
    'three.json': script({ fail: { class: 'infra', reason: 'no network' } }),
  });
  const args = ['plan', 'spec.md', '--outdir', 'out', '--max-attempts', '1', '--quiet'];
  const four = await it.factory([...args, '--script', 'four.json', '--run-id', 'R4']);
  expect(four.code, four.stderr).toBe(4);
  const files = await artifacts(it, 'R4');
  expect(Object.keys(files)).not.toContain('compile/validation_errors.json');
  expect(inTree(files, 'compile/validation_errors_attempt_1.json')).toMatchObject([
    { code: 'E000', wo_id: null },
  ]);
  expect(inTree(files, 'run.json')).toMatchObject({ success: false, outputs: { work_order_count: 0 } });

  await using server = await startModelServer([
    { status: 401, body: { error: { code: 'invalid_api_key' } } },
  ]);
  const three = await it.factory([...args, '--run-id', 'R3'], {
    env: { OPENAI_API_KEY: 'sk-testing', OPENAI_BASE_URL: server.url },
  });
  expect(three.code, three.stderr).toBe(3);
  expect(server.requests).toHaveLength(1);
  const keyless = await it.factory([...args, '--run-id', 'R0']);
  expect(keyless.code).toBe(3);
  expect(keyless.stderr).toContain('OPENAI_API_KEY');
  const without = await it.factory([...args, '--run-id', 'R5', '--agent', 'command']);
  expect(without.stderr).toContain('command.run is missing');
  expect(without.code).toBe(3);
  expect(inTree(await artifacts(it, 'R3'), 'run.json')).toMatchObject({ success: false, exit_code: 3 });
  expect(await tree(join(it.path, 'out'))).toEqual({});
});

test('a compilation that is interrupted has a report, prints the command to resume it, and can be resumed', async () => {
  await using it = await home({ 'spec.md': 'S' });
  await using server = await startModelServer([{ hang: true }, { json: good }]);
  const env = { OPENAI_API_KEY: 'sk-testing', OPENAI_BASE_URL: server.url };
  const cut = await it.factory(['plan', 'spec.md', '--run-id', 'R1'], {
    env,
    watch: (line, process) => {
      if (line.includes('node started node=plan')) void server.arrived(1).then(() => process.kill('SIGINT'));
    },
  });
  expect(cut.code, cut.stderr).toBe(130);
  expect(cut.stderr.trimEnd().split('\n').at(-1)).toMatch(/^factory resume R1$/);
  const half = await artifacts(it, 'R1');
  expect(inTree(half, 'run.json')).toMatchObject({
    success: false,
    exit_code: 130,
    outputs: { compile_attempts: 1 },
  });
  const resumed = await it.factory(['resume', 'R1'], { env });
  expect(resumed.code, resumed.stderr).toBe(0);
  const files = await artifacts(it, 'R1');
  expect(inTree(files, 'run.json')).toMatchObject({ success: true, exit_code: 0, failure_reason: null });
  expect(Object.keys(files)).toContain('output/WO-01.json');
});

test('a compilation whose node had just begun at a power cut can be resumed, and interrupted again', async () => {
  await using it = await home({ 'spec.md': 'S', 's.json': script({ json: good }) });
  const env = { ATTRACTION_TEST_STOP_AFTER_NODE: 'brief' };
  const cut = await it.factory(['plan', 'spec.md', '--script', 's.json', '--run-id', 'R1'], { env });
  expect(cut.code, cut.stderr).toBe(1);
  // Its name was flushed with others, what it says was not.
  const node = join(it.path, '.factory/runs/R1/plan');
  await mkdir(node);
  await writeFile(join(node, 'stage.json'), '');
  const own = { PATH: process.env['PATH'], HOME: it.path };
  const go = async (signal: AbortSignal) =>
    (await call(['resume', 'R1'], {}, { cwd: it.path, env: own, signal: () => signal })).code;
  expect(await go(AbortSignal.abort('SIGTERM'))).toBe(130);
  expect(await go(new AbortController().signal)).toBe(0);
});

test('a compilation that is interrupted and resumed leaves the report of one that was not', async () => {
  await using it = await home({
    'repo/scripts/verify.sh': 'exit 0\n',
    'repo/spec.md': 'S',
    'repo/s.json': script(
      { json: bad },
      { json: planOf(order('WO-01', 'scripts/verify.sh'), order('WO-02', 'a.txt')) },
    ),
  });
  const cwd = join(it.path, 'repo');
  const args = ['plan', 'spec.md', '--repo', '.', '--script', 's.json', '--outdir', '../out', '--overwrite'];
  const straight = await it.factory([...args, '--run-id', 'RUN1'], { cwd });
  expect(straight.code, straight.stderr).toBe(0);
  const records = await artifacts({ ...it, path: cwd }, 'RUN1');
  const stop = { ATTRACTION_TEST_STOP_AFTER_NODE: 'revise' };
  const cut = await it.factory([...args, '--run-id', 'RUN2'], { cwd, env: stop });
  expect(cut.code).toBe(1);
  const half = await artifacts({ ...it, path: cwd }, 'RUN2');
  expect(inTree(half, 'run.json')).toMatchObject({ success: false, failure_reason: 'test_stop' });
  expect(Object.keys(half)).toContain('compile/llm_raw_response_attempt_2.txt');
  expect(Object.keys(half)).not.toContain('output/WO-01.json');
  const resumed = await it.factory(['resume', 'RUN2'], { cwd });
  // A resume of a run that has ended changes nothing, and exports nothing again.
  await writeFile(join(it.path, 'out/WO-01.json'), 'mine');
  await rm(join(cwd, '.factory/runs/RUN2/workspace'), { recursive: true });
  const before = await artifacts({ ...it, path: cwd }, 'RUN2');
  const again = await it.factory(['resume', 'RUN2'], { cwd });
  expect(again.code, again.stderr).toBe(0);
  expect(await readFile(join(it.path, 'out/WO-01.json'), 'utf8')).toBe('mine');
  expect(await artifacts({ ...it, path: cwd }, 'RUN2')).toEqual(before);
  // A report that was removed is written again, and nothing is exported again.
  await rm(join(cwd, 'artifacts/planner/RUN1/output'), { recursive: true });
  expect((await it.factory(['resume', 'RUN1'], { cwd })).code).toBe(0);
  expect(await artifacts({ ...it, path: cwd }, 'RUN1')).toEqual(records);
  expect(await readFile(join(it.path, 'out/WO-01.json'), 'utf8')).toBe('mine');
  expect(resumed.code, resumed.stderr).toBe(0);

  const plain = async (id: string) =>
    Object.fromEntries(
      Object.entries(await artifacts({ ...it, path: cwd }, id)).map(([name, text]) => [
        name,
        text
          .replaceAll(id, 'ID')
          .replace(/"(\w+_at_utc|(start|end)_timestamp|duration_seconds)": .*/g, '')
          // The second run finds what the first one wrote into the repository, except the artifacts.
          .replaceAll(/"(manifest\w*_sha256)": "\w+"/g, '"$1"'),
      ]),
    );
  expect(await plain('RUN2')).toEqual(await plain('RUN1'));
  const files = await artifacts({ ...it, path: cwd }, 'RUN2');
  expect(inTree(files, 'run.json').outputs).toMatchObject({
    bootstrap_skipped: true,
    bootstrap_reason: expect.stringContaining('WO-01'),
    work_order_count: 1,
  });
  expect(inTree(files, 'output/WO-01.json')).toMatchObject({ allowed_files: ['a.txt'] });
  expect(files['compile/prompt_attempt_1.txt']).toContain('- scripts/verify.sh');
  expect(files['compile/prompt_attempt_1.txt']).not.toContain('artifacts/planner');
});

test('a folder that is one specification is planned as a build plans it', async () => {
  await using it = await home({
    'specs/001-x/spec.md': 'Make a.txt.\n',
    'specs/001-x/plan.md': 'Use the shell.\n',
    's.json': script({ json: good }),
  });
  const ended = await it.factory(['plan', 'specs/001-x', '--script', 's.json', '--run-id', 'R1']);
  expect(ended.code, ended.stderr).toBe(0);
  const files = await artifacts(it, 'R1');
  expect(files['compile/prompt_attempt_1.txt']).toMatch(/Make a\.txt\.[\s\S]*plan\.md[\s\S]*Use the shell\./);
  const { compile_hash } = inTree(files, 'run.json');
  expect(inTree(files, 'output/WO-01.json').provenance).toMatchObject({ compile_hash });
});

test('a compilation whose report does not fit on the disk names its run so that the command can be typed', async () => {
  await using it = await home({ 'spec.md': 'S', 's.json': script({ json: good }) });
  const args = ['plan', 'spec.md', '--script', 's.json', '--run-id', 'R1', '--runsdir', 'my runs'];
  expect((await it.factory(args)).code).toBe(0);
  await rm(join(it.path, 'artifacts/planner/R1/run.json'));
  const resume = [process.execPath, cli, 'resume', 'R1', '--runsdir', 'my runs'];
  const limited = spawnSync('sh', ['-c', 'ulimit -f 2; exec "$0" "$@"', ...resume], {
    cwd: it.path,
    env: cleanEnv({ HOME: it.path }),
    encoding: 'utf8',
  });
  expect(limited.stderr).toContain(`resume '${it.path}/my runs/R1'`);
  expect(limited.status).toBe(1);
});

const refusals: readonly [string, CompileOptions & { named?: string }, number, RegExp][] = [
  ['no spec', {}, 2, /no spec is named/],
  ['two specs', { named: 'spec.md', spec: 'tpl.md' }, 2, /two specs/],
  ['a spec that is not there', { named: 'nope.md' }, 1, /spec nope\.md cannot be read/],
  ['a spec that is a folder', { named: 'full' }, 1, /it is a folder/],
  ['a spec that is a pipe', { named: 'pipe' }, 1, /the spec pipe is a pipe, .*save it as a file/],
  ['a spec that is no text', { named: 'bytes' }, 2, /not UTF-8/],
  ['a template that is not there', { named: 'spec.md', template: 'nope.md' }, 1, /template nope\.md/],
  [
    'a template without a place for the spec',
    { named: 'spec.md', template: 'spec.md' },
    2,
    /\{\{PRODUCT_SPEC\}\}/,
  ],
  ['orders in the output folder', { named: 'spec.md', outdir: 'full' }, 1, /WO-07\.json.*--overwrite/],
  [
    'an output folder that is a file',
    { named: 'spec.md', outdir: 'bytes', overwrite: true },
    1,
    /output directory .*bytes cannot be written: a file exists where a folder is needed/,
  ],
  [
    'an output folder below a file',
    { named: 'spec.md', outdir: 'bytes/below', overwrite: true },
    1,
    /below cannot be written: a file exists where a folder is needed/,
  ],
  [
    'an output folder below a link that leads nowhere',
    { named: 'spec.md', outdir: 'astray/below' },
    1,
    /below cannot be written: /,
  ],
  ['a repository that is not there', { named: 'spec.md', repo: 'nope' }, 1, /nope does not exist/],
  ['artifacts below a file', { named: 'spec.md', artifactsDir: 'bytes/x' }, 1, /artifacts directory/],
  ['attempts that are no number', { named: 'spec.md', maxAttempts: 'many' }, 2, /--max-attempts many/],
  ['no attempts', { named: 'spec.md', maxAttempts: '0' }, 2, /--max-attempts 0/],
  ['an unknown effort', { named: 'spec.md', effort: 'huge' }, 2, /--effort huge is unknown: .*medium/],
  ['a run id that is none', { named: 'spec.md', runId: '../x' }, 2, /--run-id/],
];
test.for(refusals)(
  'before a model is paid: %s is refused without a report',
  async ([, given, code, words]) => {
    await using it = await home({ 'spec.md': 'S', 'tpl.md': '{{PRODUCT_SPEC}}', 'full/WO-07.json': '{}' });
    await writeFile(join(it.path, 'bytes'), Buffer.from([0xff, 0xfe, 0x41]));
    spawnSync('mkfifo', [join(it.path, 'pipe')]);
    await symlink('nowhere', join(it.path, 'astray'));
    await using server = await startModelServer([]);
    const { named, ...flags } = given;
    const env = { OPENAI_API_KEY: 'sk-testing', OPENAI_BASE_URL: server.url };
    const told = await call(['plan', ...(named === undefined ? [] : [named])], flags, { cwd: it.path, env });
    expect(told.code, told.err).toBe(code);
    expect(told.err).toMatch(words);
    expect(server.requests).toEqual([]);
    expect(await tree(join(it.path, 'artifacts'))).toEqual({});
    expect(await tree(join(it.path, 'full'))).toEqual({ 'WO-07.json': '{}' });
    expect(await tree(join(it.path, '.factory'))).toEqual({});
  },
);

test('before a model is paid: a step of a plan is still a step, whatever flags a compilation has', async () => {
  await using it = await home({ 'spec.md': 'S', 'tpl.md': '{{PRODUCT_SPEC}}' });
  await mkdir(join(it.path, 'work'));
  const cwd = join(it.path, 'work');
  const ran = await it.factory(
    ['plan', 'prompt', '--spec', '../spec.md', '--template', '../tpl.md', '--json'],
    { cwd },
  );
  expect(ran.code, ran.stderr).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({ outcome: 'success' });
  expect(await it.list('.')).toEqual(['spec.md', 'tpl.md', 'work']);
});

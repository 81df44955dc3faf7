/** The conformance runner distinguishes passing and failing cases. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeFileAtomic, writeJson } from '../../src/platform/files/write.ts';

const runner = join(import.meta.dirname, '../../scripts/conformance/run.mjs');
const order = {
  id: 'WO-01',
  title: 'A text',
  intent: 'Write it.',
  preconditions: [],
  postconditions: [],
  allowed_files: ['a.txt'],
  forbidden: [],
  acceptance_commands: ['test -s a.txt'],
  context_files: ['a.txt'],
  notes: null,
};
const write = (path: string) => ({
  summary: 'written',
  writes: [
    {
      path,
      base_sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      content: { $concat: ['te', { $repeat: 'x', count: 1 }, 't\n'] },
    },
  ],
});
const noPlan = { manifest: 'no JSON', repoFiles: [], expect: { accepted: true } };
const refusal = [{ code: 'E000', wo_id: null, field: null }];
const pipeline =
  'digraph d { start [shape=Mdiamond]; end [shape=Msquare]; t [shape=parallelogram, tool_command="echo hi > hi"]; start -> t -> end }';
const orderStep = (expected: object) => ({
  do: 'run',
  workOrder: order,
  flags: ['--branch', 'work/x', '--no-push'],
  se: [{ json: write('a.txt') }],
  expect: expected,
});
const scenario = (expected: object) => ({
  tags: ['core'],
  repo: {
    branch: 'main',
    identity: true,
    commits: [{ message: 'first', files: { 'scripts/verify.sh': 'exit 0\n' } }],
  },
  steps: [orderStep(expected)],
});
const exchange = (exitCode: number) => ({
  tags: [],
  http: [{ drop: true }, { body: { id: 'r', status: 'queued' } }, { status: 404, body: {} }],
  expect: {
    exitCode,
    requests: [{ method: 'POST', path: '/responses', body: { stream: true } }, null, null],
  },
});

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'conformance-test-'));
  const files: Record<string, unknown> = {
    'plans.json': {
      cases: [
        {
          name: 'holds',
          tags: ['core'],
          ...noPlan,
          expect: { accepted: false, errors: refusal, parse_error: true },
        },
        {
          name: 'writes its keys in order',
          tags: ['core'],
          manifest: { system_overview: ['a text'], work_orders: [order] },
          repoFiles: ['scripts/verify.sh'],
          expect: {
            accepted: true,
            key_order: { 'WO-01': [...Object.keys(order), 'verify_exempt', 'provenance'] },
          },
        },
        { name: 'does not hold', tags: ['core'], ...noPlan },
        { name: 'is a quirk', tags: ['quirk'], ...noPlan },
        { name: 'is of no known kind' },
      ],
    },
    'proposals.json': {
      cases: [
        {
          name: 'is written',
          workOrder: order,
          repoTree: { b: 'b' },
          proposal: write('a.txt'),
          expect: { stage: null, filesAfter: { 'a.txt': 'text\n' }, touched: ['a.txt'] },
        },
        {
          name: 'is not written',
          workOrder: order,
          repoTree: {},
          proposal: write('b.txt'),
          expect: { stage: null, filesAfter: { 'b.txt': 'text\n' } },
        },
      ],
    },
    'e2e/passes.json': scenario({
      exitCode: 0,
      calls: { se: 1 },
      branch: 'work/.',
      commits: [{ subject: 'WO-01: .*', files: ['a.txt'] }],
      clean: true,
      files: { 'a.txt': 'text\n' },
      verdict: 'PASS',
      stages: [null],
    }),
    'e2e/fails.json': scenario({ exitCode: 1, headUnchanged: true }),
    'http.json': {
      cases: [
        { name: 'asks twice', ...exchange(3) },
        { name: 'ends otherwise', ...exchange(0) },
      ],
    },
    'pipelines/passes/case.json': { name: 'visits', expect: [{ visited: ['start', 't', 'end'] }] },
    // A process that a signal ended has the negative number of the signal as its exit code.
    'pipelines/killed/case.json': {
      name: 'is killed',
      cmd: ['sh', '-c', 'kill -9 $$'],
      expectExit: 'fail',
      exitCode: -9,
      expect: [{ exit: -9 }],
    },
    'pipelines/fails/case.json': { name: 'writes', expect: [{ file: 'ws:hi', is: 'ho\n' }] },
  };
  for (const [name, content] of Object.entries(files)) await writeJson(join(folder, name), content);
  for (const name of ['passes', 'fails'])
    await writeFileAtomic(join(folder, 'pipelines', name, 'pipeline.dot'), pipeline);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (...words: string[]) =>
  execa(process.execPath, [runner, ...words], { reject: false, stdin: 'ignore' });

test('failing cases are printed with expected and actual values, and quirks and skipped ones are not counted', async () => {
  const { exitCode, stdout } = await run('--vectors', folder);
  expect(stdout.split('\n').filter((line) => line.startsWith('FAIL'))).toEqual([
    'FAIL e2e/fails.json',
    'FAIL http.json: ends otherwise',
    'FAIL pipelines/fails: writes',
    'FAIL plans.json: does not hold',
    'FAIL proposals.json: is not written',
  ]);
  expect(stdout).toContain('- exit code: expected 1, got 0');
  expect(stdout).toContain('- HEAD: expected ');
  expect(stdout).toContain('- ws:hi: expected ho\\n, got hi\\n');
  expect(stdout).toContain('- accepted: expected true, got false');
  expect(stdout).toContain('- changed paths: expected ["repo/b.txt"], got []');
  expect(stdout).toContain('skip plans.json: is of no known kind: its format is not known');
  expect(stdout).toContain('1 quirks are not counted: 1 of them differ');
  expect(stdout.split('\n').at(-1)).toBe('7 passed, 5 failed');
  expect(exitCode).toBe(1);
});

test('without failures the exit code is 0', async () => {
  const { exitCode, stdout } = await run('--vectors', join(folder, 'plans.json'), '--only', 'holds,quirk');
  expect(stdout.split('\n').at(-1)).toBe('1 passed, 0 failed');
  expect(exitCode).toBe(0);
});

test.for([[], ['--vectors', '/nowhere'], ['--nonsense']])(
  '%j is refused with a message about the flags',
  async (words) => {
    const { exitCode, stderr } = await run(...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('usage: npm run conformance');
  },
);

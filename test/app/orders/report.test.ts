/** The report of a work order's run, attempt by attempt. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalHash, type Json, type JsonObject } from '../../../src/core/json.ts';
import { sha256 } from '../../../src/core/sha256.ts';
import { git, put, repository } from '../../builder/support.ts';
import { type Home, home } from '../../support/in-process.ts';
import { answer, order } from './support.ts';

const wanted = order(1, {
  acceptance_commands: ['bash -c "grep -q 1 f1.txt || { echo gräßlich >&2; exec sleep 60; }"'],
  provenance: { planner_run_id: 'plan-7', compile_hash: 'abc' },
});
const folder = 'artifacts/factory/r1';
const branch = 'factory/plan-7/r1';
const stopped = 'gräßlich\n\n[TIMEOUT]';
let it: Home;
let repo: string;
let first: string;
let tree: string;
let summary: JsonObject & { attempts: Json[] };
const at = (name: string) => join(it.path, folder, name);

/** An order whose first answer is no proposal, whose second does not do what is wanted in time, and whose third does. */
beforeAll(async () => {
  it = await home({
    'wo.json': JSON.stringify(wanted),
    'script.json': JSON.stringify({
      format: 'factory-script/1',
      answers: { propose: [{ text: 'Sorry.' }, answer('f1.txt', '2\n'), answer('./f1.txt', '1\n')] },
    }),
  });
  repo = join(it.path, 'repo');
  put(repo, { 'scripts/verify.sh': 'echo whole\n' });
  first = repository(repo);
  git(it.path, 'init', '-q', '--bare', 'remote.git');
  git(repo, 'remote', 'add', 'origin', '../remote.git');
  const ran = await it.factory([
    ...['order', 'run', '--repo', 'repo', '--work-order', 'wo.json', '--run-id', 'r1', '--out', 'out'],
    ...['--agent', 'scripted', '--script', 'script.json', '--timeout-seconds', '4', '--max-attempts', '4'],
  ]);
  expect(ran.code, ran.stderr).toBe(0);
  tree = git(repo, 'rev-parse', `${branch}^{tree}`);
  summary = (await it.json(`${folder}/run_summary.json`)) as typeof summary;
}, 120_000);
afterAll(() => it[Symbol.asyncDispose]());

test('the report has the files of each attempt, and a copy in --out', async () => {
  const files = (top: string) =>
    readdirSync(join(it.path, top), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(it.path, top).length + 1))
      .sort();
  const checked = ['acceptance_0_stderr.txt', 'acceptance_0_stdout.txt', 'acceptance_result.json'];
  const verified = ['verify_0_stderr.txt', 'verify_0_stdout.txt', 'verify_result.json', 'write_result.json'];
  const inAttempt = (n: number, ...names: string[]) => names.map((name) => `attempt_${n}/${name}`);
  expect(files(folder)).toEqual([
    ...inAttempt(1, 'failure_brief.json', 'raw_llm_response.json', 'se_prompt.txt'),
    ...inAttempt(2, ...checked, 'failure_brief.json', 'proposed_writes.json', 'se_prompt.txt', ...verified),
    ...inAttempt(3, ...checked, 'proposed_writes.json', 'se_prompt.txt', ...verified),
    ...['run.json', 'run_summary.json', 'work_order.input.json', 'work_order.json'],
  ]);
  for (const name of files(folder))
    expect(await it.read(join('out/r1', name)), name).toBe(await it.read(join(folder, name)));
});

test('the summary has all attempts with what failed them', () => {
  expect(summary).toMatchObject({
    verdict: 'PASS',
    total_attempts: 3,
    baseline_commit: first,
    baseline_source: 'HEAD',
    working_branch: branch,
    repo_tree_hash_after: tree,
    config: { max_attempts: 4, timeout_seconds: 4, repo_root: repo, out_dir: join(it.path, 'out') },
  });
  const passed = (command: string[], name: string, attempt: number, out: string) => ({
    ...{ command, exit_code: 0, stdout_trunc: out, stderr_trunc: '' },
    stdout_path: at(`attempt_${attempt}/${name}_0_stdout.txt`),
    stderr_path: at(`attempt_${attempt}/${name}_0_stderr.txt`),
    duration_seconds: expect.any(Number),
  });
  const verify = (n: number) => [passed(['bash', 'scripts/verify.sh'], 'verify', n, 'whole\n')];
  const accept = ['bash', '-c', 'grep -q 1 f1.txt || { echo gräßlich >&2; exec sleep 60; }'];
  expect(summary.attempts).toEqual([
    {
      ...{ attempt_index: 1, baseline_commit: first, proposal_path: '', touched_files: [], write_ok: false },
      ...{ verify: [], acceptance: [] },
      failure_brief: expect.objectContaining({ stage: 'llm_output_invalid', command: null, exit_code: null }),
    },
    {
      ...{ attempt_index: 2, baseline_commit: first, proposal_path: at('attempt_2/proposed_writes.json') },
      ...{ touched_files: ['f1.txt'], write_ok: true, verify: verify(2) },
      acceptance: [{ ...passed(accept, 'acceptance', 2, ''), exit_code: -1, stderr_trunc: stopped }],
      failure_brief: expect.objectContaining({
        stage: 'acceptance_failed',
        constraints_reminder: expect.stringContaining('The command timed out.'),
      }),
    },
    {
      ...{ attempt_index: 3, baseline_commit: first, proposal_path: at('attempt_3/proposed_writes.json') },
      ...{ touched_files: ['f1.txt'], write_ok: true, verify: verify(3) },
      acceptance: [passed(accept, 'acceptance', 3, '')],
      failure_brief: null,
    },
  ]);
});

test('an attempt has its prompt, its answer and its results in separate files', async () => {
  const parts = ['verify_result', 'acceptance_result', 'failure_brief', 'write_result'] as const;
  const [verifyResult, acceptance, brief, writes] = await Promise.all(
    parts.map((name) => it.json(`${folder}/attempt_2/${name}.json`)),
  );
  expect(summary.attempts[1]).toMatchObject({ verify: verifyResult, acceptance, failure_brief: brief });
  expect(writes).toEqual({ write_ok: true, touched_files: ['f1.txt'], errors: [] });
  expect(readFileSync(at('attempt_2/acceptance_0_stderr.txt'), 'utf8')).toBe(stopped);
  // Every file but run.json is ASCII with its keys sorted.
  expect(await it.read(`${folder}/attempt_2/acceptance_result.json`)).toContain('gr\\u00e4\\u00dflich');
  expect(await it.json(`${folder}/attempt_1/raw_llm_response.json`)).toEqual({ raw_response: 'Sorry.' });
  expect(await it.json(`${folder}/attempt_3/proposed_writes.json`)).toMatchObject({
    writes: [{ path: 'f1.txt', content: '1\n' }],
  });
  const prompts = [1, 2, 3].map((n) => readFileSync(at(`attempt_${n}/se_prompt.txt`), 'utf8'));
  expect(prompts.map((text) => /^stage: (.*)$/m.exec(text)?.[1])).toEqual([
    undefined,
    'llm_output_invalid',
    'acceptance_failed',
  ]);
});

test('the record of the run has its inputs, its branch and the hash of the summary', async () => {
  const head = git(repo, 'rev-parse', branch);
  expect(await it.json(`${folder}/run.json`)).toMatchObject({
    ...{ run_id: 'r1', verdict: 'PASS', status: 'pass', work_order_id: 'WO-01' },
    finished_at_utc: expect.stringMatching(/^\d{4}-/),
    inputs: {
      work_order_path: join(it.path, 'wo.json'),
      work_order_sha256: sha256(await it.read('wo.json')),
      baseline_commit_requested: first,
      baseline_source: 'HEAD',
    },
    git_workflow: {
      ...{ starting_branch: 'main', working_branch: branch, branch_mode: 'auto' },
      ...{ branch_existed_at_start: false, baseline_commit_effective: first, commit_hashes_created: [head] },
      ...{ push_attempted: true, push_result: { ok: true, remote: 'origin' } },
    },
    outputs: { total_attempts: 3, repo_tree_hash_after: tree, run_summary_sha256: canonicalHash(summary) },
    planner_ref: { planner_run_id: 'plan-7', compile_hash: 'abc', manifest_sha256: null },
  });
  expect(await it.json(`${folder}/work_order.input.json`)).toEqual(wanted);
});

/** `factory trace` and `factory show` with a trace that is huge, damaged or incomplete. */
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { realClock } from '../../src/platform/clock.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { home } from '../support/in-process.ts';

const pipeline =
  'digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]; a [shape=parallelogram, tool_command="true"]; start -> a; a -> exit [condition="outcome=success"] }';

async function ran() {
  const it = await home({ 'p.dot': pipeline });
  const run = await it.factory(['run', 'p.dot', '--run-id', 'r', '-q']);
  expect(run.code, run.stderr).toBe(0);
  return { it, trace: join(it.path, '.factory/runs/r/trace.jsonl') };
}

test('a trace of 64 MiB is shown and printed with a heap of 48 MiB', async () => {
  const { it, trace } = await ran();
  await using _ = it;
  const record = { type: 'NodeInputCaptured', node_id: 'a', sandbox: 'group', context_before: {}, epoch: 1 };
  const line = `${JSON.stringify({ ...record, pad: 'x'.repeat(16_000) })}\n`;
  for (let at = 0; at < 64; at++) appendFileSync(trace, line.repeat(64));
  const env = { NODE_OPTIONS: '--max-old-space-size=48' };
  for (const args of [
    ['show', 'r'],
    ['trace', 'r', '--node', 'exit'],
  ]) {
    const shown = await it.program(args, { env });
    expect(shown.code, shown.stderr).toBe(0);
  }
});

test('trace reports why nothing is printed, and only records are on standard output', async () => {
  const { it, trace } = await ran();
  await using _ = it;
  const told = async (...more: string[]) => {
    const { code, stdout, stderr } = await it.factory(['trace', 'r', ...more]);
    return { code, stdout, stderr };
  };
  const nothing = (stderr: string) => ({ code: 0, stdout: '', stderr: `${stderr}\n` });
  expect(await told('--node', 'b')).toEqual(nothing('the trace has no node "b"; it has: start, a, exit'));
  expect((await told('--type', 'Nope')).stderr).toMatch(/^the trace has no record of type "Nope"; it has: /);
  expect((await told('--node', '')).code).toBe(2);
  expect((await told('--runsdir', '')).stderr).toContain("option '--runsdir <dir>' argument '' is invalid");
  appendFileSync(trace, 'no record\n{"type":"X","epoch":1}\n');
  expect((await told('--type', 'X')).stderr).toBe('1 line of the trace cannot be read\n');
  rmSync(trace);
  expect(await told()).toEqual(nothing(`there is no record in ${trace}`));
});

test('verify refuses a run of a newer version, and does not report it as changed', async () => {
  const { it } = await ran();
  await using _ = it;
  const newer = async (name: string) => {
    const path = join(it.path, '.factory/runs/r', name);
    const text = await it.read(`.factory/runs/r/${name}`);
    writeFileSync(path, text.replace(/"schema_version": *1/, '"schema_version": 2'));
  };
  await newer('manifest.json');
  expect((await it.factory(['verify', 'r'])).code).toBe(1);
  await newer('checkpoint.json');
  const { code, stdout, stderr } = await it.factory(['verify', 'r', '--json']);
  expect({ code, status: JSON.parse(stdout).status }).toEqual({ code: 2, status: 'refused' });
  expect(stderr).toContain('use the newer version of factory');
  // Nor does the list propose a command that would be refused.
  expect((await it.factory(['runs'])).stdout).toMatch(
    /^r +\? unreadable .* use the newer version of factory that made the run[^\n]*\nnext: \S.* verify r$/m,
  );
});

test('verify with an invalid repository refuses, and reports nothing about the run', async () => {
  const { it } = await ran();
  await using _ = it;
  for (const repo of ['gone', 'p.dot', 'p.dot/x', '.factory']) {
    const { code, stdout, stderr } = await it.factory(['verify', 'r', '--repo', repo]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`--repo: ${join(it.path, repo)} is no git repository`);
  }
  const bare = await it.factory(['verify', 'r', '--repo', '.'], { env: { PATH: '/nowhere' } });
  expect(bare).toMatchObject({ code: 2, stdout: '' });
  expect(bare.stderr).toContain('--repo: git is not installed, or not on PATH\n  = fix: install git');
});

test('an ended run whose records were changed since is not shown as unchanged', async () => {
  const { it } = await ran();
  await using _ = it;
  const path = join(it.path, '.factory/runs/r/journal.jsonl');
  writeFileSync(path, (await it.read('.factory/runs/r/journal.jsonl')).replace('success', 'fail'));
  const { code, stdout, stderr } = await it.factory(['resume', 'r']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/records-changed\]: \S*journal\.jsonl was changed: line \d+ does not have the hash/);
});

test('a list of runs in another folder proposes commands that work here, for runs without an owner', async () => {
  await using it = await home({ 'p.dot': pipeline });
  const place = ['--runsdir', 'other runs'];
  const env = { ATTRACTION_TEST_STOP_AFTER_NODE: 'start' };
  await it.factory(['run', 'p.dot', '--run-id', 'r', '-q', ...place], { env });
  expect((await it.factory(['runs', ...place])).stdout).toMatch(
    /^r .* test_stop\nnext: \S.* resume r --runsdir 'other runs'\n$/m,
  );
  const held = await acquireLock(join(it.path, 'other runs/r'), { clock: realClock });
  if (held.kind !== 'acquired') throw new Error(held.why);
  const { runs } = JSON.parse((await it.factory(['runs', '--json', ...place])).stdout);
  expect(runs).toMatchObject([{ status: 'running', needs_attention: false, next: '' }]);
  await held.lock.release();
  rmSync(join(it.path, 'other runs/r/manifest.json'));
  expect((await it.factory(['runs', ...place])).stdout).toMatch(/^r +\? unreadable +\S+ +\? /m);
});

test('runs that need attention are listed with the next command, after a count of all runs', async () => {
  const { it } = await ran();
  await using _ = it;
  const listed = async (...flags: string[]) => (await it.factory(['runs', ...flags])).stdout;
  expect(await listed('--attention')).toBe('1 run: none needs attention, 1 completed\n');
  const env = { ATTRACTION_TEST_STOP_AFTER_NODE: 'start' };
  for (const id of ['s1', 's2']) await it.factory(['run', 'p.dot', '--run-id', id, '-q'], { env });
  const lines = (text: string) =>
    text.split('\n').map((line) => line.replace(/^( *next: ).* (\S+)$/, '$1… $2'));
  const count = '3 runs: 2 need attention (2 failed), 1 completed';
  const [, ...all] = lines(await listed());
  expect(all.map((line) => line.split(' ')[0])).toEqual(['s2', 's1', 'r', '3', 'next:', '']);
  expect(all[3]).toBe(count);
  const [, ...wanting] = lines(await listed('--attention'));
  expect(wanting).toEqual([
    expect.stringMatching(/^s2 /),
    '  next: … s2',
    expect.stringMatching(/^s1 /),
    '  next: … s1',
    count,
    '',
  ]);
  const { runs } = JSON.parse(await listed('--attention', '--json'));
  expect(runs.map(({ run_id }: { readonly run_id: string }) => run_id)).toEqual(['s2', 's1']);
});

test('show prints the next command: none for a completed run, the resume for a stopped one', async () => {
  const { it } = await ran();
  await using _ = it;
  expect((await it.factory(['show', 'r'])).stdout).not.toMatch(/^ {2}(next|at|continues) /m);
  const env = { ATTRACTION_TEST_STOP_AFTER_NODE: 'start' };
  await it.factory(['run', 'p.dot', '--run-id', 'cut'], { env });
  const told = (await it.factory(['show', 'cut'])).stdout;
  expect(told).toMatch(/^ {2}continues with node a\n {2}next {6}\S.* resume cut$/m);
  const { next, next_node } = JSON.parse((await it.factory(['show', 'cut', '--json'])).stdout);
  expect([next, next_node]).toEqual([expect.stringMatching(/ resume cut$/), 'a']);
  const machine = `digraph m { workdir="none"; start; check [type=tool, tool_command="exit 86"]; fix [prompt="fix"]; exit
    start -> check; check -> fix [condition="outcome=fail"]; fix -> check; check -> exit [condition="outcome=success"] }`;
  writeFileSync(join(it.path, 'm.dot'), machine);
  await it.factory(['run', 'm.dot', '--run-id', 'made', '--agent', 'stub']);
  expect((await it.factory(['show', 'made'])).stdout).toMatch(
    /^ {2}next {6}\S.* fork made --at check --before$/m,
  );
});

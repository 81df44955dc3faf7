/** A command that a message proposes works when pasted into a shell, wherever the runs are stored. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli, type Home, home } from '../support/cli.ts';

const runs = "it's my runs";
const pipeline = `digraph p {
  workdir="none"
  start [shape=Mdiamond]
  work [shape=parallelogram, tool_command="test -e ok"]
  exit [shape=Msquare]
  start -> work
  work -> exit [condition="outcome=success"]
}`;

const loop = `digraph l {
  workdir="none"
  start [shape=Mdiamond]
  work [shape=parallelogram, tool_command="echo x >> log; exit 1"]
  exit [shape=Msquare]
  start -> work
  work -> work [condition="outcome=fail"]
  work -> exit [condition="outcome=success"]
}`;

const agents = `digraph a {
  workdir="none"
  start [shape=Mdiamond]
  work [shape=box, prompt="work"]
  exit [shape=Msquare]
  start -> work
  work -> exit [condition="outcome=success"]
}`;

let it: Home;
const at = (run: string, file = '') => join(it.path, runs, run, file);
beforeAll(async () => {
  it = await home({ 'p.dot': pipeline, 'loop.dot': loop });
  const ran = await it.factory(['run', 'p.dot', '--runsdir', runs, '--run-id', 'r', '--quiet']);
  expect(ran.code, ran.stderr).toBe(1);
});
afterAll(() => it[Symbol.asyncDispose]());

/** Runs the command after `before` in a shell. */
function paste(said: string, before: string, change = (words: string) => words) {
  const from = said.indexOf(before);
  expect(from, said).toBeGreaterThanOrEqual(0);
  const words = said.slice(from + before.length).split(/; or|$/m)[0] ?? '';
  return spawnSync('sh', ['-c', change(words)], { cwd: it.path, encoding: 'utf8', env: envOf() });
}
const envOf = () => ({ PATH: process.env['PATH'], HOME: it.path, FACTORY_SANDBOX: 'none' });

const resumed = { status: 1, stderr: expect.stringContaining('node=work') };
test.for([
  ['a run of that name', ['run', 'p.dot', '--run-id', 'r'], 'resume it: '],
  ['a fork of that name', ['fork', 'r', '--at', 'start', '--run-id', 'r'], 'resume it: '],
  ['a resume without a pipeline', ['run', '--resume', '--run-id', 'r'], 'fix: '],
] as const)('%s: the resume that is proposed finds the run', async ([, args, before]) => {
  const ran = await it.factory([...args, '--runsdir', runs]);
  expect(ran.code, ran.stderr).toBe(2);
  expect(paste(ran.stderr, before)).toMatchObject(resumed);
});

test('the command proposed for a fork without a moment needs only the moment', async () => {
  const ran = await it.factory(['fork', `${runs}/r`]);
  const forked = paste(ran.stderr, 'for example: ', (line) => line.replace('NODE@VISIT', 'start'));
  expect(forked).toMatchObject(resumed);
});

test('a run with a changed journal is not resumed', async () => {
  execFileSync('cp', ['-a', at('r'), at('changed')]);
  const file = at('changed', 'journal.jsonl');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"at":"20', '"at":"19'));
  const ran = await it.factory(['resume', 'changed', '--runsdir', runs]);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('records-changed');
  expect(ran.stderr).toContain('put back a copy');
});

test('a run that a limit ended prints how to continue with a higher limit', async () => {
  const ran = await it.factory(['run', 'loop.dot', '--runsdir', runs, '--run-id', 'l', '--max-steps', '3']);
  expect(ran.code, ran.stderr).toBe(1);
  const visits = () => readFileSync(at('l', 'workspace/log'), 'utf8').length / 2;
  expect(visits()).toBe(2);
  paste(ran.stdout, 'next ');
  expect(visits()).toBe(5);
});

test('the proposed flags for an exported record are quoted for a shell', async () => {
  await writeFile(join(it.path, 'a.dot'), agents);
  const ran = await it.factory(['run', 'a.dot', '--agent', 'fake', '--run-id', 'a', '--quiet']);
  expect(ran.code, ran.stderr).toBe(0);
  const { stderr } = await it.factory(['record', 'export', 'a', '-o', "a's record.json"]);
  const again = `'${process.execPath}' '${cli}' run a.dot`;
  expect(paste(stderr, 'use it with', (flags) => `${again} ${flags}`)).toMatchObject({ status: 0 });
});

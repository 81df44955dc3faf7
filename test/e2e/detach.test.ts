/** Runs in the background: started, waited for and stopped from other processes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { isAlive, processFacts, processId } from '../../src/platform/process/table.ts';
import { home } from '../support/cli.ts';

const patient = { timeout: 30_000, interval: 5 };
const pipeline = (command: string) => `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="${command}"]
  exit [shape=Msquare]
  start -> one
  one -> exit [condition="outcome=success"]
  one -> exit [condition="outcome=fail"]
}`;
/** Runs until the file exists. */
const untilFile = pipeline('echo $$ > $FLAG.began; while [ ! -e $FLAG ]; do sleep 0.05; done');

test('a detached run outlives the command that started it, and stops in order from another process', async () => {
  await using it = await home({ 'p.dot': untilFile });
  const env = { FLAG: join(it.path, 'flag') };
  const started = await it.factory(['run', 'p.dot', '--run-id', 'r1', '--detach', '--json'], { env });
  expect(started.code, started.stderr).toBe(0);
  const { pid, log, ...record } = JSON.parse(started.stdout);
  expect(record).toMatchObject({
    status: 'running',
    run_id: 'r1',
    run_dir: join(it.path, '.factory/runs/r1'),
  });
  const owner = processId(pid);
  if (owner === undefined) throw new Error('the run has no process');
  expect(isAlive(owner)).toBe(true);
  if (process.platform === 'linux') expect(processFacts(pid)).toMatchObject({ session: pid, group: pid });
  await vi.waitFor(() => expect(existsSync(`${env.FLAG}.began`)).toBe(true), patient);

  const again = await it.factory(['resume', 'r1', '--detach'], { env });
  expect(again.code).toBe(2);
  expect(again.stderr).toContain('run-locked');

  const stopped = await it.factory(['stop', 'r1']);
  expect(stopped).toMatchObject({ code: 0, stderr: '' });
  expect(stopped.stdout).toMatch(/^run r1: interrupted at one\nnext: .* resume r1\n$/);
  await vi.waitFor(() => expect(isAlive(owner)).toBe(false), patient);
  const text = readFileSync(log, 'utf8');
  expect(text).toContain('pipeline starting');
  expect(text).toContain('"status": "interrupted"');
  expect(await it.records('.factory/runs/r1/acts.jsonl')).toMatchObject([{ what: 'stop', pid }]);

  const idle = await it.factory(['stop', 'r1']);
  expect(idle).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('run r1 is not running: interrupted at one'),
  });

  writeFileSync(env.FLAG, '');
  const resumed = await it.factory(['resume', 'r1', '--detach', '--quiet'], { env });
  expect(resumed).toMatchObject({ code: 0, stdout: 'r1\n' });
  const waited = await it.factory(['wait', 'r1', '--timeout', '1m']);
  expect(waited).toMatchObject({ code: 0, stdout: 'run r1: completed: 3 nodes done\n' });
  const verified = await it.factory(['verify', 'r1']);
  expect(verified.code, verified.stdout).toBe(0);
});

test('what is wrong before a detached run begins is printed with its exit code, and nothing is left behind', async () => {
  await using it = await home({ 'p.dot': pipeline('true') });
  const refused = await it.factory(['run', 'p.dot', '--var', 'x=1', '--detach']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('error[var-undeclared]');
  expect(await it.list('.')).toEqual(['p.dot']);
});

test.for(['/dev/stdin', '/proc/self/fd/0'])(
  'a pipeline at %s is refused in the background, with the fix',
  async (path) => {
    await using it = await home({});
    const refused = await it.factory(['run', path, '--detach']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/standard input\n {2}= fix: save the text to a file/);
  },
);

/** Workers of the queue and their engines, as processes. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type Home, home } from '../support/cli.ts';
import { type KeeperProcess, keeper, queueOf } from '../support/keeper.ts';

const patient = { timeout: 60_000, interval: 10 };
const pipeline = (nodes: string, path: string, attributes = '') => `digraph g {
  workdir="none" ${attributes}
  start [shape=Mdiamond]; exit [shape=Msquare]
  ${nodes}
  start -> ${path} -> exit
}`;
const quick = pipeline('one [shape=parallelogram, tool_command="true"]', 'one');
/** Its node ends as soon as the file $FLAG.RUN exists, and counts its executions in $FLAG.RUN.began. */
const held = pipeline(
  [
    'one [shape=parallelogram, tool_command="echo $PPID >> $FLAG.$FACTORY_RUN_ID.began; while [ ! -e $FLAG.$FACTORY_RUN_ID ]; do sleep 0.02; done"]',
    'two [shape=parallelogram, tool_command="echo x >> $FLAG.$FACTORY_RUN_ID.two"]',
  ].join('\n'),
  'one -> two',
);
const files = { 'quick.dot': quick, 'held.dot': held };
const flagOf = (it: Home) => join(it.path, 'flag');

/** Settles when the first node of the run has begun so many times. */
const began = (it: Home, id: string, times: number) =>
  vi.waitFor(
    async () => expect((await it.read(`flag.${id}.began`)).trim().split('\n')).toHaveLength(times),
    patient,
  );
/** The engine of which the worker says that. */
const engineOf = async (worker: KeeperProcess, form: RegExp) =>
  Number(/pid=(\d+)/.exec(await worker.said(form))?.[1]);

async function verified(it: Home, ...ids: readonly string[]) {
  for (const id of ids) {
    const { code, stdout } = await it.factory(['verify', id]);
    expect(code, stdout).toBe(0);
    expect(await it.json(`.factory/runs/${id}/result.json`)).toMatchObject({ status: 'completed' });
  }
}

test('a worker executes what is due, in order what follows, and holds what needs a person', async () => {
  await using it = await home({
    ...files,
    'pause.dot': pipeline('pause [shape=insulator, duration="1500ms"]', 'pause', 'park_after="1s"'),
    'ask.dot': pipeline(
      'ask [shape=hexagon, label="Well?"]; no [shape=Msquare]; ask -> no [label=No]',
      'ask',
    ),
  });
  const queue = await queueOf(it);
  const after = (id: string) =>
    ({ kind: 'after', text: `after ${id}`, at: new Date(0).toISOString() }) as const;
  await queue.submit('r2', ['quick.dot'], { after: 'r1', reason: after('r1') }, 'held');
  await queue.submit('r1', ['quick.dot']);
  await queue.submit('r3', ['missing.dot']);
  await queue.submit('r4', ['pause.dot']);
  await queue.submit('r5', ['ask.dot']);
  const notices = join(it.path, 'notices');
  const worker = await keeper(it, ['--slots', '2', '--notify', `cat >> ${notices}`]);
  for (const id of ['r1', 'r2', 'r4']) await queue.until(id, 'gone');
  const refused = await queue.until('r3', 'held attention');
  expect(refused?.job.reason?.text).toContain('missing.dot');
  await worker.said(/run sleeps run=r4/);
  await queue.until('r5', 'held question');
  worker.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
  await verified(it, 'r1', 'r2', 'r4');
  const told: { readonly run_id: string; readonly status: string; readonly title: string }[] = (
    await it.read('notices')
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(new Set(told.map(({ run_id, status }) => `${run_id} ${status}`))).toEqual(
    new Set([
      'r1 completed',
      'r2 completed',
      'r3 crashed',
      'r4 paused_wait',
      'r4 completed',
      'r5 paused_answer',
    ]),
  );
  expect(told.find(({ run_id }) => run_id === 'r3')?.title).toBe(refused?.job.title);

  // Answered while no worker runs, by a command that was killed before it moved the job.
  expect(await it.factory(['answer', 'r5', '--choice', 'exit', '--no-resume'])).toMatchObject({ code: 0 });
  const next = await keeper(it);
  await queue.until('r5', 'gone');
  next.kill('SIGINT');
  expect(await next.ended).toMatchObject({ code: 0 });
});

test('a run goes on when its worker is killed, is resumed when its engine is, and drains', async () => {
  await using it = await home(files);
  const env = { FLAG: flagOf(it) };
  const queue = await queueOf(it);
  await queue.submit('r1', ['held.dot']);
  await queue.submit('r2', ['held.dot']);
  const first = await keeper(it, ['--slots', '2'], { env });
  const engine = await engineOf(first, /started a run run=r1/);
  await began(it, 'r1', 1);
  await began(it, 'r2', 1);
  first.kill('SIGKILL');
  await first.ended;

  const second = await keeper(it, ['--slots', '2'], { env });
  await second.said(/watches the engine of a run run=r1/);
  await second.said(/watches the engine of a run run=r2/);
  // It is this worker that sees both end.
  writeFileSync(`${env.FLAG}.r2`, '');
  await queue.until('r2', 'gone');
  process.kill(engine, 'SIGKILL');
  const again = await engineOf(second, /resumed a run run=r1/);
  await began(it, 'r1', 2);
  second.kill('SIGTERM');
  await second.said(/draining/);
  writeFileSync(`${env.FLAG}.r1`, '');
  expect(await second.ended).toMatchObject({ code: 0 });
  // The node was finished, the next one was not begun.
  await queue.until('r1', 'waiting');
  expect(existsSync(`${env.FLAG}.r1.two`)).toBe(false);
  expect(again).not.toBe(engine);

  const third = await keeper(it, [], { env });
  await queue.until('r1', 'gone');
  third.kill('SIGTERM');
  await third.ended;
  await verified(it, 'r1', 'r2');
  for (const id of ['r1', 'r2']) expect(await it.read(`flag.${id}.two`)).toBe('x\n');
});

test('the second crash at one execution holds the job, and a drain that takes too long stops engines at once', async () => {
  await using it = await home(files);
  const env = { FLAG: flagOf(it) };
  const queue = await queueOf(it);
  await queue.submit('r1', ['held.dot']);
  const worker = await keeper(it, ['--drain-timeout', '1s'], { env });
  for (const [at, form] of [/started a run/, /resumed a run/].entries()) {
    const engine = await engineOf(worker, form);
    await began(it, 'r1', at + 1);
    process.kill(engine, 'SIGKILL');
  }
  const job = await queue.until('r1', 'held attention');
  expect(job?.job.reason?.text).toBe('its engine crashed 2 times at one@1 (signal SIGKILL)');
  await queue.move('r1');
  await began(it, 'r1', 3);
  worker.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
  await queue.until('r1', 'waiting');
});

/** Processes that wait for an answer, and what copies of a run keep of it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forkRun, replayRun } from '../../../src/app/run/index.ts';
import type { Finished } from '../../../src/app/types.ts';
import type { Refusal } from '../../../src/core/diagnostic.ts';
import { answerFile } from '../../../src/run/answer-files.ts';
import { findMoment } from '../../../src/run/moment.ts';
import { openRun } from '../../../src/run/open-run.ts';
import { plainFlags } from '../../support/host.ts';
import { gateGraph, gateRun } from './gate-run.ts';

const review = (more = ''): string =>
  gateGraph(`build [shape=parallelogram, tool_command="echo built"]; ask [shape=hexagon, label="Ship?"${more}]
  start -> build -> ask; ask -> done [label=Approve]; ask -> build [label=Revise]`);

test('a run that waits continues with the answer of another process', async () => {
  await using it = await gateRun(review());
  const { clock } = it;
  const sleep = clock.sleep.bind(clock);
  let answered = false;
  clock.sleep = async (ms, signal) => {
    if (ms !== 60_000) return sleep(ms, signal);
    if (!answered) await it.answer({ choice: 'A' });
    answered = true;
    // Nothing but the file ends this wait.
    await new Promise<void>((over) => signal?.addEventListener('abort', () => over(), { once: true }));
  };
  expect(await it.start({ wait: true })).toMatchObject({ code: 0 });
  expect(answered).toBe(true);
  expect(await it.problems()).toEqual([]);
});

test('a run that waits a day takes the default choice at the deadline, and its time does not pass meanwhile', async () => {
  await using it = await gateRun(review(', timeout=1d, default_choice=A'));
  const { code, result } = await it.start({ wait: true, max_wall: 60_000 });
  expect(code).toBe(0);
  expect(result.elapsed_ms).toBeLessThan(60_000);
  expect(it.visits()[2]?.answer).toMatchObject({ from: 'timeout', at: '2026-03-02T00:00:00.000Z' });
});

test('the person at the process is asked again after a wrong answer, and may leave the run suspended', async () => {
  await using it = await gateRun(review());
  const asked: string[] = [];
  const answers = [{ choice: 'x' }, { choice: 'R' }, undefined];
  const ended = await it.start(
    {},
    {
      ask: async ({ id }) => {
        asked.push(id);
        return answers.shift();
      },
    },
  );
  expect(asked).toEqual(['ask@1', 'ask@1', 'ask@2']);
  expect(ended).toMatchObject({ code: 75, result: { question: { id: 'ask@2' } } });
  expect(it.visits()[2]?.answer).toMatchObject({ from: 'terminal', choice: 'build' });
});

const end = (ended: Finished | Refusal): Finished => {
  if ('problems' in ended) throw new Error(ended.problems.map(({ message }) => message).join());
  return ended;
};

async function answeredTwice() {
  const it = await gateRun(review());
  await it.start();
  await it.answer({ choice: 'R' });
  await it.resume();
  await it.answer({ choice: 'A' });
  await it.resume();
  return it;
}

test('a fork keeps the answers of the executions that it keeps, and asks the others again', async () => {
  await using it = await answeredTwice();
  const moment = findMoment(it.history().records, { node: 'ask', visit: 2 }, true);
  if (!moment.ok) throw new Error(moment.why);
  const where = { runsDir: join(it.dir, 'runs'), runId: 'r2' };
  const { result } = end(await forkRun(it.runDir, moment, undefined, where, plainFlags, it.host));
  expect(result.question?.id).toBe('ask@2');
  const fork = join(it.dir, 'runs', 'r2');
  expect(readdirSync(join(fork, 'answers'))).toEqual(['ask@1.json']);
  expect(readFileSync(answerFile(fork, 'ask@1'), 'utf8')).toBe(
    readFileSync(answerFile(it.runDir, 'ask@1'), 'utf8'),
  );
  expect(await it.problems(fork)).toEqual([]);
});

test('a replay answers from the record', async () => {
  await using it = await answeredTwice();
  const where = (runId: string) => ({ runsDir: join(it.dir, 'runs'), runId });
  const same = end(await replayRun(it.runDir, {}, where('r2'), plainFlags, it.host));
  expect(same).toMatchObject({ code: 0, result: { answers: { people: 2 } } });
  const history = openRun(join(it.dir, 'runs', 'r2')).history();
  expect(history.ok && history.checkpoint.steps).toBe(6);
  expect(await it.problems(join(it.dir, 'runs', 'r2'))).toEqual([]);
});

test('a replay diverges where the question is another one', async () => {
  const command = `echo "{\\"context_updates\\":{\\"n\\":\\"$(date +%s%N)\\"}}" > $FACTORY_OUTPUT`;
  await using it = await gateRun(
    gateGraph(`build [shape=parallelogram, tool_command="${command.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"]
      ask [shape=hexagon, label="Ship \${ctx.n}?"]; start -> build -> ask -> done`),
  );
  await it.start();
  await it.answer({ choice: 'done' });
  await it.resume();
  const where = { runsDir: join(it.dir, 'runs'), runId: 'r2' };
  const { code, result } = end(await replayRun(it.runDir, { runTools: true }, where, plainFlags, it.host));
  expect(code).toBe(1);
  expect(result.divergence).toMatchObject({ kind: 'question', node: 'ask', visit: 1 });
});

test.for([
  ['removed', (file: string) => writeFileSync(file, ''), 'unreadable'],
  [
    'changed',
    (file: string) => writeFileSync(file, readFileSync(file, 'utf8').replace('"Ada"', '"Eve"')),
    'changed',
  ],
  ['added', (file: string) => writeFileSync(file.replace('ask@1', 'notes'), '{}'), 'added'],
] as const)('verify reports an answer that was %s', async ([, tamper, what]) => {
  await using it = await answeredTwice();
  tamper(answerFile(it.runDir, 'ask@1'));
  expect((await it.problems()).map((one) => one.code)).toEqual([what]);
});

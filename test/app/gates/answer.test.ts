/** A run that asks a person: it is suspended, answered once, and goes on where the answer leads. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerFile } from '../../../src/run/answer-files.ts';
import { gateGraph, gateRun, refusalOf } from './gate-run.ts';

const review = gateGraph(`build [shape=parallelogram, tool_command="echo built"]
  ask [shape=hexagon, label="Ship $goal?"]; goal="it"
  start -> build -> ask; ask -> done [label="[A] Approve"]; ask -> build [label="[R] Revise"]`);

const hour = 3_600_000;

test('a gate suspends the run with its question, and the answer leads on', async () => {
  await using it = await gateRun(review);
  const asked = await it.start();
  expect(asked).toMatchObject({ code: 75, result: { status: 'paused_answer', exit_node: null } });
  expect(asked.result.question).toMatchObject({
    id: 'ask@1',
    text: 'Ship it?',
    mode: 'choice',
    options: [
      { key: 'A', label: 'Approve', to: 'done' },
      { key: 'R', label: 'Revise', to: 'build' },
    ],
    after: { node: 'build', outcome: 'success', output: 'built' },
    text_to: null,
    deadline: null,
  });
  expect(it.history().checkpoint.question).toEqual(asked.result.question);
  expect(await it.problems()).toEqual([]);

  const { elapsed_ms } = asked.result;
  it.clock.pass(24 * hour);
  const again = await it.resume();
  expect(again.result.question).toEqual(asked.result.question);
  expect(again.result.elapsed_ms).toBe(elapsed_ms);
  expect(it.visits().map(({ node }) => node)).toEqual(['start', 'build']);
  expect(await it.problems()).toEqual([]);

  expect(await it.answer({ choice: 'a' })).toMatchObject({ answer: { choice: 'done', label: 'Approve' } });
  expect(await it.problems()).toEqual([]);
  const ended = await it.resume();
  expect(ended).toMatchObject({ code: 0, result: { status: 'completed', answers: { people: 1 } } });
  expect(ended.result.elapsed_ms).toBe(elapsed_ms);
  expect(it.path()).toBe('start build ask done');
  expect(it.visits()[2]).toMatchObject({
    visit: 1,
    retries: 0,
    outcome: { status: 'success', label: 'Approve', suggested: ['done'] },
    answer: { choice: 'done', label: 'Approve', by: 'Ada', from: 'command' },
  });
  expect(it.context('human.gate.selected')).toBe('A');
  expect(it.context('human_response')).toBe('Approve');
  expect(it.history().checkpoint.question).toBeUndefined();
  expect(await it.problems()).toEqual([]);
  const types = readFileSync(join(it.runDir, 'events.jsonl'), 'utf8').match(/"type":"Interview\w+"/g);
  expect(types).toEqual(['"type":"InterviewStarted"', '"type":"InterviewCompleted"']);
});

test('of several who answer one is first, and nothing is written for a wrong answer', async () => {
  await using it = await gateRun(review);
  await it.start();
  expect(refusalOf(await it.answer({ choice: 'later' }))).toBe('answer-option');
  expect(refusalOf(await it.answer({}))).toBe('answer-option');
  expect(refusalOf(await it.answer({ text: 'words' }))).toBe('answer-text');
  expect(refusalOf(await it.answer({ choice: 'A', question: 'ask@2' }))).toBe('answer-question');
  expect(readdirSync(join(it.runDir, 'answers'))).toEqual([]);
  const all = await Promise.all(
    [...'ARARARAR'].map((choice, at) => it.answer({ choice, by: `person ${at}` })),
  );
  const codes = all.map(refusalOf);
  expect(codes.filter((code) => code === undefined)).toHaveLength(1);
  expect(codes.filter((code) => code === 'answer-taken')).toHaveLength(7);
  expect(readdirSync(join(it.runDir, 'answers'))).toEqual(['ask@1.json']);
  const first = JSON.parse(readFileSync(answerFile(it.runDir, 'ask@1'), 'utf8'));
  const late = await it.answer({ choice: 'A' });
  expect(late).toMatchObject({ code: 1, problems: [{ message: expect.stringContaining(first.by) }] });
  await it.resume();
  expect(it.visits()[2]?.answer).toMatchObject({ by: first.by, at: first.at });
  expect(refusalOf(await it.answer({ choice: 'A', question: 'ask@1' }))).toBe('answer-taken');
});

test('each execution of a gate asks a new question', async () => {
  await using it = await gateRun(review);
  await it.start();
  await it.answer({ choice: 'Revise' });
  expect((await it.resume()).result.question?.id).toBe('ask@2');
  await it.answer({ choice: 'done' });
  expect((await it.resume()).code).toBe(0);
  expect(it.path()).toBe('start build ask build ask done');
  expect(existsSync(answerFile(it.runDir, 'ask@1'))).toBe(true);
  expect(await it.problems()).toEqual([]);
});

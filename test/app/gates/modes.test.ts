/** How a gate can be answered, and what follows when nobody does. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerRun } from '../../../src/app/answer-run.ts';
import { resumeRun } from '../../../src/app/run/index.ts';
import { answerFile } from '../../../src/run/answer-files.ts';
import { pipelineIn, plainFlags } from '../../support/host.ts';
import { gateGraph, gateRun, refusalOf } from './gate-run.ts';

const tools = (...ids: readonly string[]): string =>
  ids.map((id) => `${id} [shape=parallelogram, tool_command="echo ${id}"]`).join('; ');
/** A gate between the start and the exit; its edges lead to tools. */
const gate = (attributes: string, edges: string, ids: readonly string[]): string =>
  gateGraph(
    `ask [shape=hexagon, ${attributes}]; ${tools(...ids)}; start -> ask; ${edges}; ${ids.map((id) => `${id} -> done`).join('; ')}`,
  );
const yesNo = (edges: string) => gate('mode=yes_no', edges, ['yes', 'no']);
const words = gate('mode=freeform, label="What?"', 'ask -> next', ['next']);
const hybrid = gate('label="Fine?"', 'ask -> next [label=Fine]; ask -> other [freeform=true]', [
  'next',
  'other',
]);

test.for([
  [yesNo('ask -> yes [label=Yes]; ask -> no [label=No]'), { choice: 'N' }, 'start ask no done', 'fail'],
  [yesNo('ask -> yes [label=Yes]; ask -> no [label=No]'), { choice: 'Y' }, 'start ask yes done', 'success'],
  [
    yesNo(
      'ask -> yes [label="[Y] Ok", condition="outcome=success"]; ask -> no [label="[N] Redo", condition="outcome=fail"]',
    ),
    { choice: 'redo' },
    'start ask no done',
    'fail',
  ],
  [
    gate(
      '',
      'ask -> yes [label=A, condition="outcome=success"]; ask -> no [label=B, condition="outcome=fail"]',
      ['yes', 'no'],
    ),
    { choice: 'B' },
    'start ask no done',
    'fail',
  ],
  [words, { text: 'more tests' }, 'start ask next done', 'success'],
  [words, { text: '' }, 'start ask next done', 'success'],
  [hybrid, { text: 'rename it' }, 'start ask other done', 'success'],
  [hybrid, { choice: 'Fine' }, 'start ask next done', 'success'],
  [
    gate('', 'ask -> a [label="[A] Same"]; ask -> b [label="[B] same"]', ['a', 'b']),
    { choice: 'B' },
    'start ask b done',
    'success',
  ],
  [
    gate(
      '',
      'ask -> d [label=Ship]; ask -> d [label=Wait]; d [shape=diamond]; d -> a [condition="outcome=ship"]; d -> b [condition="preferred_label=wait"]',
      ['a', 'b'],
    ),
    { choice: 'wait' },
    'start ask d b done',
    'success',
  ],
  // The edge of another option has a condition that is true as well.
  ...(['', 'outcome=success', '!x'] as const).map(
    (condition) =>
      [
        gate(
          '',
          `ask -> a [label=Publish, condition="!x"]; ask -> b [label=Decline, condition="${condition}"]`,
          ['a', 'b'],
        ).replace(', condition=""', ''),
        { choice: 'Decline' },
        'start ask b done',
        'success',
      ] as const,
  ),
  [
    gate('', 'ask -> a [label=Again, condition="!x"]; ask -> a [label="Anew", weight=2]', ['a']),
    { choice: 'Again' },
    'start ask a done',
    'success',
  ],
] as const)('%s answered with %j leads along %s', async ([dot, given, path, outcome]) => {
  await using it = await gateRun(dot);
  await it.start();
  expect(refusalOf(await it.answer(given))).toBeUndefined();
  await it.resume();
  expect(it.path()).toBe(path);
  expect(it.visits()[1]?.outcome.status).toBe(outcome);
  expect(it.context('human_response')).toBe('text' in given ? given.text : it.visits()[1]?.answer?.label);
  expect(await it.problems()).toEqual([]);
});

test('a No that reaches an exit by an unconditional edge fails the run', async () => {
  await using it = await gateRun(
    gateGraph(
      'ask [shape=hexagon, mode=yes_no]; start -> ask; ask -> done [label=Yes]; ask -> end [label=No]; end [shape=Msquare]',
    ),
  );
  await it.start();
  await it.answer({ choice: 'no' });
  expect(await it.resume()).toMatchObject({ code: 1, result: { status: 'failed', failed_node: 'ask' } });
});

test('an option whose condition is false is not asked', async () => {
  await using it = await gateRun(
    gate('', 'ask -> a [label=Ship]; ask -> b [label=Hotfix, condition="context.mode=hot"]', [
      'a',
      'b',
    ]).replace('start -> ask', `start -> set -> ask; set [shape=parallelogram, tool_command="true mode"]`),
  );
  const { result } = await it.start();
  expect(result.question?.options.map(({ label }) => label)).toEqual(['Ship']);
});

const day = 24 * 3_600_000;
const timed = (attributes: string): string =>
  gate(
    `timeout=24h, ${attributes}`,
    'ask -> a [label=Approve]; ask -> b [label=Reject]; ask -> c [condition="failure_class=timeout"]',
    ['a', 'b', 'c'],
  );

test.for([
  ['human.default_choice=Reject', 'b', { choice: 'b', label: 'Reject' }],
  ['', 'c', {}],
  ['human.default_choice=b, timeout_action=fail', 'c', {}],
] as const)(
  'a day without an answer to a gate with "%s" leads to %s, dated at the deadline',
  async ([attributes, to, choice]) => {
    await using it = await gateRun(timed(attributes));
    const asked = await it.start();
    const deadline = '2026-03-02T00:00:00.000Z';
    expect(asked.result).toMatchObject({ wake_at: deadline, question: { deadline } });
    it.clock.pass(day - 1);
    expect((await it.resume()).code).toBe(75);
    it.clock.pass(2);
    expect(refusalOf(await it.answer({ choice: 'A' }))).toBe('answer-late');
    const { result } = await it.resume();
    expect(it.path()).toBe(`start ask ${to} done`);
    expect(it.visits()[1]?.answer).toEqual({
      ...choice,
      by: 'timeout',
      at: deadline,
      from: 'timeout',
      question_sha256: expect.any(String),
    });
    expect(result.answers).toEqual({ people: 0, automatic: 0, timeouts: 1 });
    expect(await it.problems()).toEqual([]);
  },
);

test.for([
  ['timeout=48h', '2026-03-03T00:00:00.000Z', 'fail'],
  ['timeout=24h, timeout_action=fail, default_choice=a', '2026-03-02T00:00:00.000Z', 'fail'],
  ['default_choice=a', null, 'default'],
] as const)(
  'a gate that is edited to "%s" while it waits has the deadline %s',
  async ([more, deadline, action]) => {
    const asks = (attributes: string) =>
      gate(attributes, 'ask -> a [label=A]; ask -> b [label=B]', ['a', 'b']);
    await using it = await gateRun(
      asks(more.includes('default') ? 'timeout=24h, default_choice=a' : 'timeout=24h'),
    );
    await it.start();
    it.clock.pass(day / 2);
    const graph = await pipelineIn(it.dir, asks(more));
    const again = await resumeRun(it.runDir, graph, { ...plainFlags, acceptChanges: true }, it.host);
    expect(again).toMatchObject({
      code: 75,
      result: { question: { deadline, timeout_action: action, asked_at: '2026-03-01T00:00:00.000Z' } },
    });
    expect(it.history().checkpoint.question?.deadline).toBe(deadline);
    expect(await it.problems()).toEqual([]);
  },
);

test('an answer in time counts also where the resume comes after the deadline', async () => {
  await using it = await gateRun(timed('human.default_choice=Reject'));
  await it.start();
  await it.answer({ choice: 'Approve' });
  it.clock.pass(2 * day);
  await it.resume();
  expect(it.path()).toBe('start ask a done');
});

test.for([
  ['first', 2, 'start ask a again done'],
  ['default', 1, 'start ask b'],
  ['answers.json', 2, 'start ask b again done'],
] as const)('--auto-answer %s gives %i answers without a person', async ([auto_answer, automatic, path]) => {
  await using it = await gateRun(
    gateGraph(`ask [shape=hexagon, default_choice=b]; again [shape=hexagon]; ${tools('a', 'b')}
      start -> ask; ask -> a; ask -> b; a -> again; b -> again; again -> done`),
  );
  writeFileSync(
    join(it.dir, 'answers.json'),
    '{"ask": "b", "again@1": {"choice": "done"}, "other": {"text": ""}}',
  );
  const { result } = await it.start({ auto_answer });
  expect(result.answers).toEqual({ people: 0, automatic, timeouts: 0 });
  expect(it.path()).toBe(path);
});

test('an automatic answer that a gate does not have is left to a person', async () => {
  await using it = await gateRun(gate('', 'ask -> a', ['a']));
  writeFileSync(join(it.dir, 'wrong.json'), '{"ask": "nowhere"}');
  expect((await it.start({ auto_answer: 'wrong.json' })).code).toBe(0);
  await using other = await gateRun(gate('', 'ask -> a [label=A]; ask -> b [label=B]', ['a', 'b']));
  writeFileSync(join(other.dir, 'wrong.json'), '{"ask": "nowhere"}');
  expect((await other.start({ auto_answer: 'wrong.json' })).code).toBe(75);
  expect(other.logged.join('\n')).toContain('ask@1 has no option "nowhere"');
});

test('an answer to an earlier text of the question is set aside', async () => {
  await using it = await gateRun(gate('label="Old?"', 'ask -> a', ['a']));
  await it.start();
  await it.answer({ text: 'fine' });
  const file = answerFile(it.runDir, 'ask@1');
  for (const text of ['other', 'fine']) {
    const answer = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...answer, question_sha256: 'f'.repeat(64) }));
    expect((await it.resume()).code).toBe(75);
    if (text === 'other') await it.answer({ text });
  }
  expect(refusalOf(await it.answer({ text: 'again' }))).toBeUndefined();
  expect((await it.resume()).code).toBe(0);
  expect(it.context('human_response')).toBe('again');
  expect(await it.problems()).toEqual([]);
});

test('secrets of the environment are masked in an answer in words', async () => {
  const env = { PATH: process.env['PATH'], API_TOKEN: 'hush-0123456789' };
  await using it = await gateRun(words, { env });
  await it.start();
  await it.answer({ text: 'use hush-0123456789' });
  await it.resume();
  expect(it.visits()[1]?.answer?.text).toBe('use ***');
  expect(it.context('human_response')).toBe('use ***');
  expect(await it.problems()).toEqual([]);
});

test('the name of who answers is one line, without secrets of that process', async () => {
  await using it = await gateRun(words);
  await it.start();
  const host = { clock: it.clock, env: { API_TOKEN: 'hush-0123456789' } };
  await answerRun(it.runDir, { text: 'go', by: 'ada\n hush-0123456789', from: 'command' }, host);
  await it.resume();
  expect(it.context('human.gate.by')).toBe('ada ***');
  expect(await it.problems()).toEqual([]);
});

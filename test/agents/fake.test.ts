import { expect, test } from 'vitest';
import { fakeAgent } from '../../src/agents/fake.ts';
import { keepsTheAgentContract, taskFor, wellFormed } from './contract.ts';

keepsTheAgentContract('fake', () => ({
  agent: fakeAgent(),
  broken: { agent: fakeAgent(), task: { attributes: { 'test.outcome': 'not sure' } } },
  async [Symbol.asyncDispose]() {},
}));

const work = async (attributes: Record<string, string>, call = 1) =>
  wellFormed(await fakeAgent().work(taskFor({ attributes, call }), new AbortController().signal));

test('without test attributes it succeeds, and says that it is the fake', async () => {
  expect(await work({})).toEqual({
    kind: 'finished',
    outcome: 'success',
    label: '',
    suggested: [],
    notes: 'fake backend',
    reason: '',
    updates: {},
    response: 'outcome=success\n',
  });
});

test.for([
  ['success', 'success'],
  ['partial_success', 'partial_success'],
  ['retry', 'retry'],
  ['fail', 'fail'],
  ['succeeded', 'success'],
  ['pass', 'success'],
  ['failed', 'fail'],
  ['failure', 'fail'],
  ['FAIL', 'fail'],
  [' fail ', 'fail'],
  ['', 'success'],
  ['  ', 'success'],
] as const)('test.outcome "%s" is answered as %s', async ([written, outcome]) => {
  expect(await work({ 'test.outcome': written })).toMatchObject({
    kind: 'finished',
    outcome,
    reason: '',
    response: `outcome=${outcome}\n`,
  });
});

test.for(['skipped', 'sucess', 'all done', 'success;', 'rejected', 'ѕuccess'])(
  '"%s" is no outcome, and the report names the attribute and the word',
  async (word) => {
    expect(await work({ 'test.outcome': word })).toMatchObject({
      kind: 'failed',
      class: 'agent',
      reason: expect.stringMatching(new RegExp(`"work".*test\\.outcome says "${word}"`)),
    });
    expect(await work({ 'test.outcome_sequence': `success,${word}` }, 2)).toMatchObject({
      kind: 'failed',
      class: 'agent',
      reason: expect.stringContaining('test.outcome_sequence'),
    });
  },
);

test.for(['has_dod', 'constructor'])(
  'the word "%s" that an edge names is a success with that label',
  async (word) => {
    const attributes = { 'test.outcome': word, 'test.preferred_next_label': 'x' };
    const task = taskFor({ attributes, named: [{ test: '=', literal: word }] });
    expect(wellFormed(await fakeAgent().work(task, new AbortController().signal))).toMatchObject({
      outcome: 'success',
      label: word,
      ownWord: true,
    });
  },
);

test('a sequence goes by the calls of the node over the whole run, and its last entry repeats', async () => {
  const attributes = { 'test.outcome': 'fail', 'test.outcome_sequence': 'retry, fail ,success' };
  const outcomes = await Promise.all([1, 2, 3, 4, 50].map((call) => work(attributes, call)));
  expect(outcomes.map((r) => r.kind === 'finished' && r.outcome)).toEqual([
    'retry',
    'fail',
    'success',
    'success',
    'success',
  ]);
});

test('an empty entry of a sequence is no outcome', async () => {
  const attributes = { 'test.outcome_sequence': 'fail,,success' };
  expect((await work(attributes, 1)).kind).toBe('finished');
  expect(await work(attributes, 2)).toMatchObject({ kind: 'failed', class: 'config' });
});

test('label, suggestions, notes, plan and updates are passed on', async () => {
  expect(
    await work({
      'test.preferred_next_label': 'ahead',
      'test.suggested_next_ids': 'x, y,,',
      'test.notes': 'a note',
      'test.verification_plan_json': '{"files":["a"],"commands":["true"]}',
      'test.context_updates_json': '{"a.b": [1, null]}',
    }),
  ).toMatchObject({
    label: 'ahead',
    suggested: ['x', 'y'],
    notes: 'a note',
    verificationPlan: { files: ['a'], commands: ['true'] },
    updates: { 'a.b': [1, null] },
  });
});

test.for([
  ['test.verification_plan_json', '{not json'],
  ['test.context_updates_json', '{not json'],
  ['test.context_updates_json', '[1]'],
  ['test.context_updates_json', 'null'],
] as const)('%s="%s" is refused by name', async ([key, text]) => {
  expect(await work({ [key]: text })).toMatchObject({
    kind: 'failed',
    class: 'config',
    reason: expect.stringContaining(key),
  });
});

import { describe, expect, test } from 'vitest';
import { outputLimit, parseOutput } from '../../src/nodes/tool.ts';

test('a tool that writes nothing reports nothing', () => {
  expect(parseOutput(undefined)).toEqual({ output: {} });
});

test('all fields of a tool report are read, including synonyms of outcomes', () => {
  const said = {
    outcome: 'succeeded',
    preferred_next_label: 'go',
    suggested_next_ids: ['a'],
    context_updates: { 'build.n': 3, list: [1, { x: null }] },
    notes: 'n',
    failure_reason: 'r',
    failure_class: 'product',
  };
  expect(parseOutput(JSON.stringify(said))).toEqual({ output: { ...said, outcome: 'success' } });
});

test('brackets in a text do not count as nesting', () => {
  const notes = '['.repeat(5000);
  expect(parseOutput(JSON.stringify({ notes }))).toEqual({ output: { notes } });
});

describe('refused', () => {
  test.for([
    ['text that is not JSON', '{"outcome":', 'not JSON'],
    ['an empty file', '', 'not JSON'],
    ['too deep nesting', `{"context_updates":{"a":${'['.repeat(900)}${']'.repeat(900)}}}`, 'levels'],
    ['a value that is not an object', '[1]', 'not valid'],
    ['an outcome given twice', '{"outcome":"fail","outcome":"success"}', '"outcome" twice'],
    ['a key given twice inside', '{"context_updates":{"a":1,"a":2}}', '"a" twice'],
    ['a key given twice in other letters', '{"outcome":"fail","outc\\u006fme":"success"}', '"outcome" twice'],
    ['an outcome of a prototype', '{"__proto__":{"outcome":"fail"}}', '"__proto__"'],
    ['an unknown class', '{"failure_class":"bad luck"}', 'failure_class'],
    ['an unknown key', '{"outcom":"fail"}', 'did you mean "outcome"?'],
    ['a key that is similar to none', '{"preferred_label":"x"}', 'there are outcome, preferred_next_label,'],
    ['a reserved key', '{"context_updates":{"last_failure.reason":"x"}}', 'last_failure.reason'],
    ['the key of the outcome', '{"context_updates":{"outcome":"success"}}', 'outcome'],
    ['more than 1 MiB', JSON.stringify({ notes: 'x'.repeat(outputLimit) }), '1 MiB'],
  ] as const)('%s', ([, text, wanted]) => {
    const parsed = parseOutput(text);
    expect('problem' in parsed && parsed.problem).toContain(wanted);
  });
});

test.for(['rejected', 'not so great', 'ѕuccess', 'sucess'])(
  'the outcome "%s" that no edge names is none, and what else the tool said stays',
  (outcome) => {
    expect(parseOutput(JSON.stringify({ outcome, failure_class: 'product', notes: 'n' }))).toEqual({
      output: {
        failure_class: 'product',
        notes: 'n',
        unknown: expect.stringContaining(`${JSON.stringify(outcome)} is none of success, partial_success`),
      },
    });
  },
);

test('an outcome that an edge names is a success with this label', () => {
  const words = { named: [{ test: '=', literal: 'rejected' }], gate: false } as const;
  expect(parseOutput('{"outcome":"Rejected"}', words)).toEqual({
    output: { outcome: 'success', preferred_next_label: 'rejected', ownWord: true },
  });
});

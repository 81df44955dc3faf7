import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAgentScript } from '../../src/agents/script.ts';

const hash = '0123456789abcdef'.repeat(4);

const found = (text: string): string[] => {
  const read = parseAgentScript('agent.json', text);
  if ('script' in read) return [];
  return read.diagnostics.map(({ code, severity, message, place }) => {
    expect(severity).toBe('error');
    expect(place?.file).toBe('agent.json');
    return `${place?.span.start.line}:${place?.span.start.column} ${code}: ${message}`;
  });
};

test('a script is parsed, and missing fields get their defaults', () => {
  const text = JSON.stringify({
    format: 'factory-script/1',
    inputs: { spec: hash.toUpperCase() },
    note: 'how it was made',
    answers: {
      plan: [{ text: '' }, { json: null }, { file: '../answers/plan.json', usage: { output_tokens: 5 } }],
      build: [{ fail: { class: 'infra', reason: 'no network' } }],
      idle: [],
    },
  });
  expect(parseAgentScript('agent.json', `\ufeff${text}\n`)).toEqual({
    script: {
      format: 'factory-script/1',
      inputs: { spec: hash },
      note: 'how it was made',
      answers: {
        plan: [
          { text: '' },
          { json: null },
          {
            file: '../answers/plan.json',
            usage: { model: 'scripted', input_tokens: null, output_tokens: 5, cost_usd: null },
          },
        ],
        build: [{ fail: { class: 'infra', reason: 'no network' } }],
        idle: [],
      },
    },
  });
  expect(found('{"format":"factory-script/1","answers":{}}')).toEqual([]);
});

test('every problem is reported at its place', () => {
  expect(
    found(`{
  "format": "factory-script/2",
  "inputs": { "spec": "abc" },
  "nots": "",
  "answers": {
    "plan": [
      { "text": "a", "json": {} },
      {},
      { "txt": "a" },
      { "fail": { "class": "cosmic", "reason": "", "why": 1 } },
      { "file": "/etc/passwd" },
      { "text": "a", "usage": { "input_tokens": -1, "cost": 1 } }
    ],
    "no node": [],
    "x": {}
  }
}`),
  ).toMatchInlineSnapshot(`
    [
      "2:3 agent-script: format: Invalid input: expected "factory-script/1"",
      "3:15 agent-script: inputs.spec: must be a SHA-256 in hex",
      "4:3 agent-script-unknown-key: an agent script has the unknown key "nots"",
      "7:7 agent-script: answers.plan, answer 1: must have exactly one of text, json, file, fail, finished, but has text and json",
      "8:7 agent-script: answers.plan, answer 2: must have exactly one of text, json, file, fail, finished, but has none of them",
      "9:7 agent-script: answers.plan, answer 3: must have exactly one of text, json, file, fail, finished, but has none of them",
      "9:9 agent-script-unknown-key: answers.plan, answer 3 has the unknown key "txt"",
      "10:19 agent-script: answers.plan, answer 4, fail.class: Invalid option: expected one of "product"|"scenario"|"infra"|"config"|"guardrail"|"timeout"|"agent"|"stalled"|"cancelled"|"internal"|"budget"",
      "10:38 agent-script: answers.plan, answer 4, fail.reason: Too small: expected string to have >=1 characters",
      "10:52 agent-script-unknown-key: answers.plan, answer 4, fail has the unknown key "why"",
      "11:9 agent-script: answers.plan, answer 5, file: must be a path relative to the script",
      "12:33 agent-script: answers.plan, answer 6, usage.input_tokens: Too small: expected number to be >=0",
      "12:53 agent-script-unknown-key: answers.plan, answer 6, usage has the unknown key "cost"",
      "14:5 agent-script: answers.no node: is not a node id",
      "15:5 agent-script: answers.x: Invalid input: expected array, received object",
    ]
  `);
});

test.for([
  ['', '1:1'],
  ['{', '1:2'],
  ['{"format": "factory-script/1",}', '1:31'],
  ['{"a": 01}', '1:8'],
  ["{'a': 1}", '1:2'],
  ['{"a": "x\ny"}', '1:9'],
  ['{"a": "\\q"}', '1:9'],
  ['{"a": [1 2]}', '1:10'],
  ['{\n  "a": tru\n}', '2:8'],
  ['{} x', '1:4'],
  ['"\u{1f600}" x', '1:5'],
])('the position of a JSON error is reported: %j', ([text = '', place = '']) => {
  const [first, ...more] = found(text);
  expect(more).toEqual([]);
  expect(first).toMatch(new RegExp(`^${place} agent-script-json: not JSON: expected`));
});

test.for(['null', '[]', '"x"', '7', 'true'])('%s is JSON but not a script', (text) => {
  expect(found(text)).toHaveLength(1);
});

test('duplicate answers for a node are an error', () => {
  const text = '{"format":"factory-script/1","answers":{"a":[],\n"a":[{"text":"x"}]}}';
  expect(found(text)).toEqual([
    '2:1 agent-script-duplicate: "a" is given twice; only one of them would count',
  ]);
});

test('too deep nesting is refused', () => {
  expect(found('['.repeat(100_000))[0]).toContain('at most 500 levels');
});

test('the parser accepts exactly JSON', () => {
  const isJson = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const nearly = fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom('', ' ', ',', '"', '\\', '{', '}', '[', ']', ':', '0', '-', 'e', '\n', '\u0001'),
    )
    .map(([text, at, piece]) => {
      const cut = at % (text.length + 1);
      return text.slice(0, cut) + piece + text.slice(cut + (at % 2));
    });
  fc.assert(
    fc.property(fc.oneof(fc.json(), nearly), (text) => {
      expect(found(text).some((f) => f.includes('agent-script-json'))).toBe(!isJson(text));
    }),
    { numRuns: 500 },
  );
});

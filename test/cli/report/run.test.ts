import { expect, test } from 'vitest';
import { harmless } from '../../../src/cli/io.ts';
import { hintOf } from '../../../src/cli/report/hints.ts';
import { recordLine } from '../../../src/cli/report/log.ts';
import { painter, spentWords } from '../../../src/cli/report/run.ts';
import { summary } from '../../../src/cli/report/summary.ts';
import { elapsedWords } from '../../../src/core/amounts.ts';
import { nothingSpent } from '../../../src/core/budget/usage.ts';
import type { RunResult } from '../../../src/core/records/result.ts';

const result: RunResult = {
  schema_version: 1,
  run_id: 'r1',
  status: 'failed',
  exit_code: 1,
  exit_node: 'bad',
  reason: 'bad: check: tool_exit_code_3',
  failed_node: 'check',
  failure_class: 'product',
  failure_output: '',
  agent: 'none',
  stages: 3,
  failed_stages: 1,
  retries: 0,
  elapsed_ms: 1200,
  spent: nothingSpent,
  commits: [],
  proof: null,
  run_dir: '/runs/r1',
  workspace: '/runs/r1/workspace',
  next: 'factory show r1 check',
};

test('a summary shows the last lines that the failed node printed, without control characters', () => {
  const many = Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n');
  const failure_output = `stderr:\n\x1b[31mred\x1b[0m one\x07\nstdout:\n${many}`;
  const text = summary({ ...result, failure_output }, painter(false));
  expect(text).toContain('line 19');
  expect(text).not.toContain('line 9\n');
  expect(text).not.toContain('\x1b');
  expect(text).not.toContain('agent');
  expect(text.split('\n').at(-1)).toBe('  next      factory show r1 check');
});

test.for([
  [{ orders: 9, asked: 4, used: 3, wasted: 1 }, '4 of 9 asked ahead, 1 wasted'],
  [{ orders: 9, asked: 4, used: 4, wasted: 0 }, '4 of 9 asked ahead'],
] as const)('a summary says how many orders were asked ahead: %j', ([ahead, words]) => {
  const rows = (more: Partial<RunResult>) => summary({ ...result, ...more }, painter(false)).split('\n');
  expect(rows({ ahead })).toContain(`  orders    ${words}`);
  const commit = { work_order: 'WO-01', commit: 'a'.repeat(40), subject: 's', attempts: 1 };
  const made = rows({ ahead, commits: [commit] });
  expect(made.indexOf('  commits   1 in 1 attempt') - made.indexOf(`  orders    ${words}`)).toBe(1);
});

test.each(['failed', 'interrupted', 'paused_auth'] as const)(
  'the reason of a run that is %s has no colours, and cannot imitate a row of the summary',
  (status) => {
    const reason = 'it said \x1b[30mno\x1b[3\x1b[0m1m\n  next      rm -r .';
    const text = summary({ ...result, status, reason }, painter(false));
    expect(text).not.toContain('\x1b');
    expect(text).toMatch(/it said no\\u001b\[31m\n {14}next {6}rm -r \./);
    expect(text.match(/^ {2}next/gm)).toHaveLength(1);
  },
);

test('a log field with control characters is quoted', () => {
  expect(recordLine('t', 'INFO', 'm', { notes: '\x1b[30mx', more: 'plain' })).toBe(
    't INFO m notes="\\u001b[30mx" more=plain\n',
  );
});

test.for([
  ['too many requests for https://x (429 slow down)', 3, /wait a little/],
  ['https://x is in trouble (500 oops)', 3, /overloaded or down/],
  ['the quota of the key at https://x is used up (no): check', 3, /billing/],
  ['https://x cannot be reached: connect ECONNREFUSED', 3, /OPENAI_BASE_URL/],
  ['https://x did not answer in its form: <!doctype html><p>Hi', 3, /a web page, not a model API/],
  [
    'https://x answered with something that is no response (in the background, after 3 tries)',
    3,
    /names a model API/,
  ],
  ['the answer from https://x ended before it was whole (after 3 tries)', 3, /names a model API/],
  ['"gpt" refused: I may not talk about a quota', 3, /refused to answer: change the spec/],
  ['plan: https://x answered with something that is no response (after 3 tries)', 3, /usually ends in \/v1/],
  ['plan: https://x does not accept the request for "m": 400 too long', 3, /fix what it names/],
  [
    'exit (could not be asked): plan: "m" refused: 404 is not my number',
    3,
    /refused to answer: change the spec/,
  ],
  [
    'plan: "m" answered nothing: the answer is completed and has no text',
    3,
    /refused to answer: change the spec/,
  ],
  ['plan: the answer of "m" is incomplete: content_filter', 3, /refused to answer: change the spec/],
  ['model "m" was not found at http://x/v1 (404 no)', 3, /name a model of the server/],
  ['the answer is larger than 10 MiB', 4, /ask for less/],
  ['the answer of "m" does not fit into 64000 tokens', 3, /ask for less/],
  ['the answer of "m" does not fit into the tokens that its server gives it', 3, /ask for less/],
  ['the answer is empty', 4, /required form/],
] as const)('the reason "%s" gets a hint', ([reason, exit_code, wanted]) => {
  expect(hintOf({ ...result, reason, exit_code })).toMatch(wanted);
  expect(summary({ ...result, reason, exit_code }, painter(false))).toMatch(wanted);
});

test.for([
  [0, '0.0s'],
  [59_949, '59.9s'],
  [59_950, '1m00s'],
  [61_000, '1m01s'],
  [3_599_499, '59m59s'],
  [3_599_500, '1h00m'],
  [5_400_000, '1h30m'],
] as const)('%d milliseconds are %s', ([ms, words]) => expect(elapsedWords(ms)).toBe(words));

test.for([
  [{ calls: 1, input_tokens: 1 }, '0.00 USD (1 call, 1 token)'],
  [{ calls: 2, input_tokens: 9999, cost_usd: 0.01 }, '0.01 USD (2 calls, 9999 tokens)'],
  [{ calls: 1, output_tokens: 10_499, cost_usd: 0.0012345 }, '0.0012 USD (1 call, 10k tokens)'],
  [{ calls: 1, input_tokens: 999_499 }, '0.00 USD (1 call, 999k tokens)'],
  [{ calls: 1, input_tokens: 999_500 }, '0.00 USD (1 call, 1M tokens)'],
  [{ calls: 1, input_tokens: 1_250_000 }, '0.00 USD (1 call, 1.3M tokens)'],
  [
    { calls: 3, unknown_cost: 2, cut: 1 },
    '0.00 USD (3 calls, 0 tokens), 2 calls of unknown cost, 1 call cut off',
  ],
] as const)('the cost of %j is printed as: %s', ([spent, words]) =>
  expect(spentWords({ ...nothingSpent, ...spent })).toBe(words),
);

test.for([
  [['npm test'], /proof +npm test/],
  [[], /proof +nothing could be run/],
  [null, /^(?![\s\S]*proof)/],
] as const)('the summary shows the commands of the proof: %j', ([proof, shown]) => {
  expect(summary({ ...result, proof: proof && [...proof] }, painter(false))).toMatch(shown);
});

test('a failure that is not from a model has no such hint', () => {
  expect(hintOf({ ...result, reason: 'tool: 429 tests failed' })).toBeUndefined();
});

test('control characters are shown as escapes, except colours and the live line; JSON stays valid', () => {
  expect(harmless('a\tb\r\n\x1b[31mred\x1b[39m')).toBe('a\tb\r\n\x1b[31mred\x1b[39m');
  expect(harmless('\r\x1b[2Kline\r\x1b[2Kover')).toBe('\r\x1b[2Kline\\u000d\\u001b[2Kover');
  expect(harmless('\x1b]0;t\x07\x1b[8m\u202ex')).toBe('\\u001b]0;t\\u0007\\u001b[8m\\u202ex');
  // Letters in the colour of their background would be hidden.
  expect(harmless('\x1b[30m\x1b[40mx\x1b[97m')).toBe('\\u001b[30m\\u001b[40mx\\u001b[97m');
  const value = { a: '\x9b2J\u2066\x7f\r' };
  expect(JSON.parse(harmless(JSON.stringify(value)))).toEqual(value);
});

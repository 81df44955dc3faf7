/** A running run says what it waits for. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { headlineOf } from '../../../src/app/inspect/headline.ts';
import { waitingFor } from '../../../src/app/inspect/waiting.ts';
import { localSeconds } from '../../../src/core/amounts.ts';
import { temp } from '../../platform/temp.ts';

const at = '2026-01-01T10:00:00.000Z';
const later = (ms: number) => new Date(Date.parse(at) + ms);
const call = { type: 'CallRetrying', at, node_id: 'a', attempt: 3, cause: 'rate_limit', delay_ms: 30_000 };

test.for<readonly [string, readonly object[], number, string | undefined]>([
  ['a rate limit', [call], 29_999, `rate limited, attempt 3, next try ${localSeconds(later(30_000))}`],
  ['one that is over', [call], 30_000, undefined],
  ['one after which something happened', [call, { type: 'AgentActed', at }], 1, undefined],
  [
    'an outage between two attempts of a node',
    [
      { type: 'StageStarted', at },
      { ...call, type: 'StageRetrying', cause: 'outage', attempt: 2 },
    ],
    1,
    `provider down, attempt 2, next try ${localSeconds(later(30_000))}`,
  ],
  [
    'a retry that the node asked for',
    [{ ...call, type: 'StageRetrying', cause: undefined }],
    1,
    `waiting for a retry, attempt 3, next try ${localSeconds(later(30_000))}`,
  ],
  ['no events', [], 1, undefined],
])('%s', async ([, events, after, wanted]) => {
  await using it = await temp();
  writeFileSync(it.at('events.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  expect((await waitingFor(it.at('events.jsonl'), later(after)))?.words).toBe(wanted);
});

test('the headline of a running run names the wait in place of what the node does', () => {
  const summary = {
    status: 'running',
    reason: '',
    nextNode: 'a',
    failedNode: '',
    wakeAt: null,
    cut: false,
  } as const;
  const facts = { summary, context: {}, progress: null, commits: 0, steps: 1 };
  expect(headlineOf({ ...facts, waiting: 'rate limited, attempt 3' })).toBe('a · rate limited, attempt 3');
  expect(headlineOf(facts)).toBe('a');
});

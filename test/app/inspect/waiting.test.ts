/** What runs and nodes wait for, from their events, and in words. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { headlineOf } from '../../../src/app/inspect/headline.ts';
import { type Wait, waitOfSuspension } from '../../../src/app/inspect/wait.ts';
import {
  leftOf,
  nextTryAt,
  nextTryIn,
  secondsWords,
  stateOrWait,
  waitLine,
} from '../../../src/app/inspect/wait-words.ts';
import { jointWait, waitsNow } from '../../../src/app/inspect/waiting.ts';
import { localSeconds } from '../../../src/core/amounts.ts';
import { temp } from '../../platform/temp.ts';

const at = '2026-01-01T10:00:00.000Z';
const later = (ms: number) => new Date(Date.parse(at) + ms);
const call = {
  ...{ type: 'CallRetrying', at, node_id: 'a', attempt: 3, of: 5, cause: 'rate_limit' },
  ...{ reason: '429', delay_ms: 30_000 },
};
const rateLimited = {
  ...{ for: 'rate_limit', attempt: 3, of: 5, cause: '429', since: at },
  until: later(30_000).toISOString(),
};

test.for<readonly [string, readonly object[], number, Readonly<Record<string, object>>]>([
  ['a rate limit', [call], 29_999, { a: rateLimited }],
  ['one that is over', [call], 30_000, {}],
  ['one after which the node did something', [call, { type: 'AgentActed', at, node_id: 'a' }], 1, {}],
  [
    'one after which another node did something',
    [call, { type: 'AgentActed', at, node_id: 'b' }],
    1,
    { a: rateLimited },
  ],
  ['one of a process that has ended', [call, { type: 'PipelineStarted', at }], 1, {}],
  [
    'an outage between two attempts of a node, for which there is no limit',
    [
      { type: 'StageStarted', at, node_id: 'a' },
      { ...call, type: 'StageRetrying', cause: 'outage', attempt: 2, of: undefined },
    ],
    1,
    { a: { ...rateLimited, for: 'outage', attempt: 2, of: null } },
  ],
  [
    'a retry that the node asked for, and a node that waits for a time',
    [
      { ...call, type: 'StageRetrying', cause: undefined },
      { type: 'StageWaiting', at, node_id: 'b', until: later(5000).toISOString(), reason: 'a wait of 5.0s' },
    ],
    1,
    {
      a: { ...rateLimited, for: 'retry' },
      b: {
        ...{ for: 'time', attempt: null, of: null, cause: 'a wait of 5.0s', since: at },
        until: later(5000).toISOString(),
      },
    },
  ],
  ['no events', [], 1, {}],
])('%s', async ([, events, after, wanted]) => {
  await using it = await temp();
  writeFileSync(it.at('events.jsonl'), events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  expect(Object.fromEntries(await waitsNow(it.at('events.jsonl'), later(after)))).toEqual(wanted);
});

const wait = (facts: Partial<Wait> = {}): Wait => ({
  ...{ for: 'retry', attempt: 2, of: 3, cause: '', since: at, until: later(41_000).toISOString() },
  ...facts,
});

test('a run waits while each of its branches does, until the first of them can continue', () => {
  const [a, b] = [wait(), wait({ until: later(1000).toISOString() })];
  const waits = new Map([
    ['a', a],
    ['b', b],
  ]);
  expect(jointWait(['a', 'b'], waits)).toBe(b);
  expect(jointWait(['a', 'c'], waits)).toBeNull();
  expect(jointWait([], new Map([['a', a]]))).toBe(a);
  expect(jointWait([], new Map())).toBeNull();
});

test.for<readonly [Partial<Wait>, now: number, line: string]>([
  [{}, 0, 'waiting for a retry, attempt 2 of 3, next try in 41s'],
  [{ cause: 'no tests ran' }, 41_000, 'waiting for a retry, attempt 2 of 3, next try now: no tests ran'],
  [{ for: 'rate_limit', attempt: 7, of: null }, 40_999, 'rate limited, attempt 7, next try in 1s'],
  [{ for: 'rate_limit', attempt: 1 }, 0, 'rate limited, next try in 41s'],
  [{ for: 'outage', until: null, of: null }, 0, 'provider down, attempt 2'],
  [{ for: 'time', attempt: null }, 0, 'waiting for a time, continues in 41s'],
  [{ for: 'slot', attempt: null, until: null }, 0, 'waiting for a slot'],
  [{ for: 'answer', attempt: null }, 0, 'waiting for an answer, deadline in 41s'],
  [{ for: 'quota', of: null }, 0, 'quota used up, attempt 2, continues in 41s'],
])('%j is said as a countdown', ([facts, now, line]) => {
  const one = wait(facts);
  expect(waitLine(one, nextTryIn(one, later(now).getTime(), secondsWords))).toBe(line);
});

test('where nothing counts down, the time of the next try is said', () => {
  expect(nextTryAt(wait())).toBe(`next try at ${localSeconds(later(41_000))}`);
  expect(nextTryAt(wait({ until: null }))).toBe('');
});

test.for<readonly [number, string]>([
  [0, '0s'],
  [1, '1s'],
  [59_000, '59s'],
  [59_001, '1m00s'],
  [3_600_000, '1h00m'],
])('%i ms are left: %s', ([ms, words]) => {
  expect(secondsWords(leftOf(later(ms).toISOString(), later(0).getTime()))).toBe(words);
});

test('a suspended run waits for what its status says; quotas and outages are tried again', () => {
  const parked = { reason: 'usage limit', wake_at: at, since: at, again: 1 };
  expect(waitOfSuspension('paused_quota', parked)).toMatchObject({ for: 'quota', attempt: 3, until: at });
  expect(waitOfSuspension('paused_cap', parked)).toMatchObject({ for: 'cap', attempt: null });
});

test('what runs and waits is shown as waiting; anything else as it is', () => {
  expect(stateOrWait('running', wait())).toBe('waits');
  expect(stateOrWait('running', null)).toBe('running');
  expect(stateOrWait('suspended', wait())).toBe('suspended');
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

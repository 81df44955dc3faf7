import { expect, test } from 'vitest';
import { queueLines } from '../../../src/cli/report/queue.ts';
import { painter } from '../../../src/cli/report/run.ts';
import { madeQueue } from '../../support/queue-report.ts';

const report = madeQueue(new Date(2026, 2, 1, 22, 0).getTime());

test('the queue says what runs, waits, sleeps and is held, why, and what to do', () => {
  expect(queueLines(report, painter(false), { width: undefined, most: 50 })).toMatchInlineSnapshot(`
    [
      "1 running, 2 waiting, 3 sleeping, 4 held; 3 need a person",
      "run                       state                   title           priority  labels  time",
      "01M80009ABCDEFGHJKMNPQRS  needs an answer         note            0                 until 2026-03-02 22:00  waits for an answer: Publish?",
      "01M80008ABCDEFGHJKMNPQRS  needs an answer         release         0                                         Ship it?",
      "01M80002ABCDEFGHJKMNPQRS  needs a person          importer        0                                         crashed twice in verify@2",
      "01M80003ABCDEFGHJKMNPQRS  running                 parser          0         docs    31m00s                  on build-1~4711~88123",
      "01M80040ABCDEFGHJKMNPQRS  waiting                 invoice export  5                 12m00s                  all 2 slots are taken",
      "01M80041ABCDEFGHJKMNPQRS  waiting                 thumbnails      0         gpu     40m00s                  no worker takes the label "gpu"",
      "01M80001ABCDEFGHJKMNPQRS  until 23:00             link checker    0                                         quota until 23:00",
      "01M80042ABCDEFGHJKMNPQRS  until 2026-03-02 02:00  nightly report  0                                         submitted for this time",
      "01M80043ABCDEFGHJKMNPQRS  held                    second part     0                                         in order behind 01M80040ABCDEFGHJKMNPQRS (invoice export)",
      "01M80044ABCDEFGHJKMNPQRS  held                    old layout      0                                         held by ada",
      "worker build-1 (process 4711, 0.1.0); 2 of 2 slots in use; leaves 01M80041ABCDEFGHJKMNPQRS: it has not the holdout key",
      "worker build-2 (process 812, 0.1.0); 0 of 1 slots in use; labels docs; draining",
      "worker build-3 (process 99, 0.1.0); is gone; 1 of 2 slots in use",
      "schedule nightly (0 2 * * *, Europe/Berlin): next at 2026-03-02 01:00; specs/report.md",
      "schedule weekly (0 6 * * 1, UTC): paused; specs/audit.md",
      "hold 0123456789abcdef of openai gpt-5.2 https://api.openai.com/v1 until 23:00: 01M80001ABCDEFGHJKMNPQRS waits",
      "cap: 31.40 USD of 50.00 USD today, 2.10 USD reserved, 16.50 USD left, resets at 2026-03-02 00:00",
      "cap of the label "docs": 1990000 tokens of 2000000 tokens today, 10000 tokens left, resets at 2026-03-02 00:00, holds back 01M80042ABCDEFGHJKMNPQRS",
      "cap of the label "gpu": 0 of 1 runs at once",
      "next: factory answer 01M80009ABCDEFGHJKMNPQRS ask@1",
    ]
  `);
});

test('on a terminal each line fits, and of each state only so many jobs are listed', () => {
  const lines = queueLines(report, painter(false), { width: 80, most: 1 });
  expect(lines.slice(1, -1).filter((line) => [...line].length > 79)).toEqual([]);
  const states = lines.slice(2, 7).map((line) => line.split(/ {2,}/)[1]);
  expect(states).toEqual(['needs an answer', 'running', 'waiting', 'until 23:00', 'held']);
  expect(lines[7]).toBe('… and 5 more: --json lists all');
});

test('an empty queue is empty', () => {
  const none = { running: 0, waiting: 0, later: 0, held: 0, needs_person: 0, needs_person_later: 0 };
  const empty = { ...report, jobs: [], workers: [], schedules: [], holds: [], caps: [], counts: none };
  expect(queueLines(empty, painter(false), { width: 80, most: 5 })).toEqual(['the queue is empty']);
});

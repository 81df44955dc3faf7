import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { QueueSettings } from '../../src/core/settings/queue.ts';
import {
  changeQueueSettings,
  placesOfLabels,
  readQueueSettings,
  settingsReader,
} from '../../src/fleet/settings.ts';
import { temp } from '../platform/temp.ts';

const none: QueueSettings = {
  schema_version: 1,
  changed_at: '2026-01-01T00:00:00Z',
  time_zone: 'UTC',
  labels: {},
};

test('what two processes set at once is both set', async () => {
  await using it = await temp();
  const set = (label: string) =>
    changeQueueSettings(it.dir, (before) => {
      const was = before.kind === 'set' ? before.settings : none;
      return { ...was, labels: { ...was.labels, [label]: { max_running: 1 } } };
    });
  await Promise.all(['a', 'b', 'c', 'd'].map(set));
  const read = readQueueSettings(it.dir);
  expect(read.kind === 'set' && placesOfLabels(read.settings)).toEqual({ a: 1, b: 1, c: 1, d: 1 });
});

test('a reader sees a change, and reads nothing while there is none', async () => {
  await using it = await temp();
  const read = settingsReader(it.dir);
  expect(read()).toEqual({ kind: 'none' });
  await changeQueueSettings(it.dir, () => ({ ...none, max_tokens_day: 5 }));
  const first = read();
  expect(first).toMatchObject({ settings: { max_tokens_day: 5 } });
  expect(read()).toBe(first);
  await changeQueueSettings(it.dir, () => ({ ...none, max_tokens_day: 6 }));
  expect(read()).toMatchObject({ settings: { max_tokens_day: 6 } });
});

test.for<[string, string | object, RegExp]>([
  ['no JSON', '{', /settings\.json has settings that are not valid/],
  ['a cap of zero', { max_tokens_day: 0 }, /max_tokens_day: is zero/],
  ['a number as a text', { max_cost_usd_day: '5' }, /max_cost_usd_day: is not a number greater than 0/],
  ['no such zone', { time_zone: 'Mars' }, /time_zone: is not a time zone/],
  ['an unknown name', { max_cost: 5 }, /max_cost/],
  ['a label of another form', { labels: { 'a b': {} } }, /labels\.a b/],
  ['a zone of a label', { labels: { a: { time_zone: 'UTC' } } }, /labels\.a.*time_zone/],
])('a file with %s is not read, and the reason says what is wrong in it', async ([, content, why]) => {
  await using it = await temp();
  mkdirSync(join(it.dir, 'queue'));
  const text = typeof content === 'string' ? content : JSON.stringify({ ...none, ...content });
  writeFileSync(join(it.dir, 'queue/settings.json'), text);
  const read = readQueueSettings(it.dir);
  expect(read.kind === 'unreadable' && `${read.why}; ${read.fix}`).toMatch(why);
  expect(readFileSync(join(it.dir, 'queue/settings.json'), 'utf8')).toBe(text);
});

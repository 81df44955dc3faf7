import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';

const settings = '.factory/runs/queue/settings.json';

test('queue set keeps a cap, prints what is set, and unset removes it', async () => {
  await using it = await house({});
  expect((await it.verb(['queue', 'set'])).out).toContain('nothing is set');
  await it.verb(['queue', 'set', 'time_zone', 'europe/berlin']);
  await it.verb(['queue', 'set', 'max_cost_usd_day', '50']);
  const all = await it.verb(['queue', 'set', 'max_running', '2'], { label: 'big' });
  expect(all.out).toMatch(
    /time_zone Europe\/Berlin\nmax_cost_usd_day 50: 0 USD spent today, resets at .* 00:00/,
  );
  expect(all.out).toContain('max_running 2 --label big: 0 runs now');
  expect(it.json(settings)).toMatchObject({
    ...{ max_cost_usd_day: 50, time_zone: 'Europe/Berlin', labels: { big: { max_running: 2 } } },
  });
  const { caps } = JSON.parse(
    (await it.verb(['queue', 'unset', 'max_running'], { label: 'big', json: true })).out,
  );
  expect(caps).toMatchObject([{ label: null, measure: 'cost_usd', limit: 50, spent: 0, rest: 50 }]);
  expect(it.json(settings).labels).toEqual({});
});

test.for<[readonly string[], string | undefined, RegExp]>([
  [['max_cost_usd_day', '0'], undefined, /max_cost_usd_day 0 is zero/],
  [['max_cost_usd_day', '-1'], undefined, /max_cost_usd_day -1 is less than 0/],
  [['max_tokens_day', 'many'], undefined, /many is not a whole number/],
  [['time_zone', 'Berlin'], undefined, /Berlin is not a time zone[\s\S]*time_zone Europe\/Berlin/],
  [['time_zone', 'UTC'], 'big', /set for the whole runs folder/],
  [['max_cost_day', '5'], undefined, /no setting max_cost_day[\s\S]*did you mean max_cost_usd_day/],
  [['max_running', '2'], undefined, /is set for a label[\s\S]*--label big/],
  [['max_running', '2'], 'a b', /is not a label/],
  [['max_running'], 'big', /no value for max_running/],
])('queue set %j of label %s is refused before anything is written', async ([words, label, why]) => {
  await using it = await house({});
  const values = words.some((word) => word.startsWith('-')) ? ['--', ...words] : words;
  const told = await it.verb(['queue', 'set', ...values], label === undefined ? {} : { label });
  expect(told.code).toBe(2);
  expect(told.err).toMatch(why);
  expect(existsSync(join(it.path, settings))).toBe(false);
});

test('settings that a person has damaged stay as they are', async () => {
  await using it = await house({});
  mkdirSync(join(it.path, '.factory/runs/queue'), { recursive: true });
  writeFileSync(join(it.path, settings), '{');
  const told = await it.verb(['queue', 'set', 'max_tokens_day', '5']);
  expect([told.code, it.read(settings)]).toEqual([2, '{']);
  expect(told.err).toContain('settings.json has settings that are not valid');
});

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tidy } from '../../src/factory/ended.ts';
import { home } from '../support/cli.ts';

const torn = (name: string): string => `.${name}.0123456789ab.tmp`;

test.each([
  torn('checkpoint.json'),
  `check/${torn('status.json')}`,
  `snapshots/trees/${torn('f0.json')}`,
  `snapshots/large/${torn('content')}`,
  `exchanges/bodies/${torn('f0')}`,
])('what a killed engine was writing goes: %s', async (name) => {
  await using it = await home({ [name]: 'half', 'visits.jsonl': '' });
  await tidy(it.path);
  expect(existsSync(join(it.path, name))).toBe(false);
  expect(existsSync(join(it.path, 'visits.jsonl'))).toBe(true);
});

test.each(['events.jsonl', 'trace.jsonl', 'calls.jsonl', 'exchanges/calls.jsonl'])(
  'a line of %s that it was writing goes, and the whole ones stay',
  async (name) => {
    const whole = '{"seq":1,"epoch":1}\n{"seq":2,"epoch":1}\n';
    await using it = await home({ [name]: `${whole}{"seq":3,"ep` });
    await tidy(it.path);
    expect(await it.read(name)).toBe(whole);
  },
);

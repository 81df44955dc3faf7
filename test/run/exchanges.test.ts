/** Recorded exchanges on disk. */
import fs, {
  appendFileSync,
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Exchange } from '../../src/core/records/exchange.ts';
import { exchangesLayout } from '../../src/core/records/layout.ts';
import { markOf, openExchanges, readBody, readExchanges } from '../../src/run/exchanges.ts';
import { temp } from '../platform/temp.ts';

const exchange = (call: number, more: Partial<Exchange> = {}): Exchange => ({
  schema_version: 1,
  run_id: 'r',
  epoch: 1,
  at: '2026-01-01T00:00:00.000Z',
  node: 'ask',
  visit: call,
  attempt: 1,
  call,
  complete: true,
  agent: { name: 'fake', describe: 'fake' },
  attributes: { shape: 'box' },
  prompt_sha256: '0'.repeat(64),
  prompt: 'Say “it”, \n twice \ud800',
  schema: null,
  items: '',
  items_dropped: 0,
  report: '{"kind":"answered","text":"x"}',
  artifacts: [],
  actions: [],
  hidden: { paths: [], made: [] },
  files: null,
  usage: null,
  elapsed_ms: 1,
  replayed: null,
  ...more,
});

async function written(dir: string, ...exchanges: readonly Exchange[]) {
  const log = openExchanges(dir);
  for (const one of exchanges) await log.append(one);
  log.close();
}

test('what was written is read, also after the log is opened again', async () => {
  await using it = await temp();
  const dir = it.at('exchanges');
  await written(dir, exchange(1));
  await written(dir, exchange(2));
  const read = await readExchanges(dir);
  expect(read.ok && read.exchanges.map(({ exchange: one }) => one)).toEqual([exchange(1), exchange(2)]);
});

test('any changed byte is noticed', async () => {
  await using it = await temp();
  const dir = it.at('exchanges');
  await written(dir, exchange(1), exchange(2));
  const { calls } = exchangesLayout(dir);
  const whole = readFileSync(calls);
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ by;
      writeFileSync(calls, bytes);
      const read = await readExchanges(dir);
      expect(read).toMatchObject({ ok: false, missing: false });
      if (!read.ok) expect(read.why).toContain(`${calls} is damaged: line `);
    }),
    {
      numRuns: 300,
      examples: [
        [whole.length - 1, 1],
        [whole.indexOf(10), 1],
        [whole.length - 2, 1],
        [0, 1],
      ],
    },
  );
});

test('the torn line of a killed process is not read, and cut off by the next writer', async () => {
  await using it = await temp();
  const dir = it.at('exchanges');
  await written(dir, exchange(1));
  const { calls } = exchangesLayout(dir);
  appendFileSync(calls, readFileSync(calls, 'utf8').slice(0, 300));
  const read = await readExchanges(dir);
  expect(read.ok && read.exchanges).toHaveLength(1);
  await written(dir, exchange(2));
  const after = await readExchanges(dir);
  expect(after.ok && after.exchanges.map(({ exchange: one }) => one.call)).toEqual([1, 2]);
});

test('a line that the disk takes only in part is removed', async () => {
  await using it = await temp();
  const dir = it.at('exchanges');
  const log = openExchanges(dir);
  await log.append(exchange(1));
  const real = fs.writeSync;
  let calls = 0;
  fs.writeSync = ((file: number, bytes: Buffer, from: number) => {
    calls += 1;
    if (calls === 1) return real(file, bytes, from, 10);
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  }) as typeof fs.writeSync;
  syncBuiltinESMExports();
  try {
    expect(() => log.append(exchange(2))).toThrow('ENOSPC');
  } finally {
    fs.writeSync = real;
    syncBuiltinESMExports();
  }
  await log.append(exchange(3));
  log.close();
  const read = await readExchanges(dir);
  expect(read.ok && read.exchanges.map(({ exchange: one }) => one.call)).toEqual([1, 3]);
});

test('a long text is kept once under its hash, and checked against it', async () => {
  await using it = await temp();
  const dir = it.at('exchanges');
  const log = openExchanges(dir);
  const text = 'long '.repeat(1000);
  const body = await log.body(text);
  expect(await log.body(text)).toEqual(body);
  expect(await log.body('short')).toBe('short');
  log.close();
  expect(await readBody(dir, body)).toBe(text);
  if (typeof body === 'string') throw new Error('the text is in the line');
  const path = exchangesLayout(dir).body(body.sha256);
  writeFileSync(path, text.replace('long', 'song'));
  await expect(readBody(dir, body)).rejects.toThrow(`${path} does not have its hash`);
});

test('lines of more than half a GiB have a hash as well', async () => {
  await using it = await temp();
  const file = openSync(it.at('calls.jsonl'), 'w');
  for (let n = 1; n <= 6; n++) writeSync(file, '\n', n * 100_000_000);
  ftruncateSync(file, 600_000_010);
  closeSync(file);
  expect(markOf(it.at('calls.jsonl')).records).toBe(6);
});

import { expect, test } from 'vitest';
import { eventsIn, TooLarge } from '../../../src/agents/openai/events.ts';

/** The same lines again and again, as long as somebody reads them. */
async function* endless(lines: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(lines.repeat(Math.ceil(4096 / lines.length)));
  for (let sent = 0; sent < 64 * 1024 * 1024; sent += bytes.length) yield bytes;
}

test.for(['data: {"a":\n', 'data: x\n'])(
  'an event of lines without an end is too large, however short each of them is: %j',
  async (line) => {
    const read = async () => {
      for await (const event of eventsIn(endless(line), () => {}, 100_000)) expect(event).toBeUndefined();
    };
    await expect(read()).rejects.toBeInstanceOf(TooLarge);
  },
);

test('many events in a stream that is longer than any of them may be are told', async () => {
  let told = 0;
  for await (const event of eventsIn(endless('data: {"a":1}\n\n'), () => {}, 100_000)) {
    expect(event).toEqual({ a: 1 });
    told += 1;
    if (told === 50_000) break;
  }
  expect(told).toBe(50_000);
});

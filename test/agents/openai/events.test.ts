import { expect, test } from 'vitest';
import { eventsIn, jsonIn, TooLarge } from '../../../src/agents/openai/events.ts';

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

/** A body in pieces of so many bytes; with `torn` the connection breaks behind it. */
async function* pieces(text: string, size: number, torn?: Error): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  if (torn !== undefined) throw torn;
}

const sizes = [1, 2, 3, 7, 1000];
const torn = new Error('torn');

test.for(sizes)('events in pieces of %i bytes are whole, whatever their line ends', async (size) => {
  const body =
    ': hm\r\n\r\ndata: {"a":"é😀"}\r\n\r\nevent: x\ndata: {"b":\ndata: "ü"}\n\ndata: null\n\ndata: {"c":1}';
  const told: unknown[] = [];
  let heard = 0;
  for await (const event of eventsIn(pieces(body, size), () => (heard += 1), 1000)) told.push(event);
  expect(told).toEqual([{ a: 'é😀' }, { b: 'ü' }, null, { c: 1 }]);
  expect(heard).toBe(Math.ceil(Buffer.byteLength(body) / size));
});

test.for(sizes.flatMap((size) => ['\n', '\r\n', '\r'].map((end) => [size, end] as const)))(
  'a line ends in whichever way its server ends lines: %j',
  async ([size, end]) => {
    const body = [': hm', 'data: {"a":', 'data: "é"}', '', 'data: {"b":2}', '', 'data: [DONE]', ''].join(end);
    const told: unknown[] = [];
    for await (const event of eventsIn(pieces(body, size), () => {}, 1000)) told.push(event);
    expect(told).toEqual([{ a: 'é' }, { b: 2 }]);
  },
);

test('what had come of a stream that breaks is told first, the last event without its end included', async () => {
  const told: unknown[] = [];
  const read = async () => {
    for await (const event of eventsIn(pieces('data: {"a":1}\n\ndata: {"b":2}', 5, torn), () => {}, 1000))
      told.push(event);
  };
  await expect(read()).rejects.toBe(torn);
  expect(told).toEqual([{ a: 1 }, { b: 2 }]);
});

test.for(sizes)(
  'a JSON body in pieces of %i bytes is whole, also where the connection breaks behind it',
  async (size) => {
    const body = '{"a":"é😀"}';
    expect(await jsonIn(pieces(body, size), () => {}, 1000)).toEqual({ a: 'é😀' });
    expect(await jsonIn(pieces(body, size, torn), () => {}, 1000)).toEqual({ a: 'é😀' });
    // Half a body may be JSON as well, and is no answer.
    for (const half of ['{"a":"é', '12', ''])
      await expect(jsonIn(pieces(half, size, torn), () => {}, 1000)).rejects.toBe(torn);
    await expect(jsonIn(pieces(body, size), () => {}, 5)).rejects.toBeInstanceOf(TooLarge);
  },
);

test.for(sizes)('a body in pieces of %i bytes that is one JSON and no events is told whole', async (size) => {
  const told = async (body: string, limit = 1000, broken?: Error) => {
    const events: unknown[] = [];
    const wholes: unknown[] = [];
    const also = { whole: (value: unknown) => void wholes.push(value) };
    for await (const event of eventsIn(pieces(body, size, broken), () => {}, limit, also)) events.push(event);
    return { events, wholes };
  };
  const body = '\r\n {\r\n"a":\r\n"é😀"}';
  expect(await told(body)).toEqual({ events: [], wholes: [{ a: 'é😀' }] });
  expect(await told(body, 1000, torn)).toEqual({ events: [], wholes: [{ a: 'é😀' }] });
  await expect(told('{"a":', 1000, torn)).rejects.toBe(torn);
  // Short lines add up.
  await expect(told(`[${'1,\n'.repeat(40)}1]`, 100)).rejects.toBeInstanceOf(TooLarge);
  expect(await told('{"a":1}\ndata: {"b":2}\n\n{"c":3}')).toEqual({ events: [{ b: 2 }], wholes: [] });
  expect(await told('')).toEqual({ events: [], wholes: [] });
});

test('an answer of very many blank lines is read before the patience of a test ends', async () => {
  const wholes: unknown[] = [];
  const also = { whole: (value: unknown) => void wholes.push(value) };
  for await (const _ of eventsIn(pieces(`[${'\n'.repeat(10_000_000)}1]`, 65_536), () => {}, 2e7, also));
  expect(wholes).toEqual([[1]]);
});

/** The newest messages of a stream: what is kept for clients that are behind. */
import { expect, test } from 'vitest';
import { MessageLog, type MessagePiece } from '../../src/web/message-log.ts';

const always = new AbortController().signal;
const mib = 1024 * 1024;
const piece = (bytes: number): MessagePiece => ({ bytes: Buffer.alloc(bytes), last: 0, row: '' });

test('each client is given the same bytes, at its own pace', async () => {
  const log = new MessageLog();
  const waiting = [log.next(0, always), log.next(0, always)];
  const [first, second] = [piece(1), piece(2)];
  log.add([first]);
  log.add([second]);
  for (const got of await Promise.all(waiting)) expect(got).toBe(first);
  expect(await log.next(1, always)).toBe(second);
});

test.for([
  // What was added last is never dropped before the next is added.
  [[20], [0]],
  [
    [20, 0],
    ['dropped', 1],
  ],
  [
    [4, 4, 4],
    [0, 1, 2],
  ],
  [
    [4, 4, 4, 4],
    ['dropped', 1, 2, 3],
  ],
  [
    [1, 1, 20, 1],
    ['dropped', 'dropped', 'dropped', 3],
  ],
] as const)('of pieces of %j MiB are kept %j', async ([sizes, kept]) => {
  const log = new MessageLog();
  const pieces = sizes.map((size) => piece(size * mib));
  for (const one of pieces) log.add([one]);
  const found = await Promise.all(pieces.map((_, at) => log.next(at, always)));
  expect(found.map((one) => (typeof one === 'string' ? one : pieces.indexOf(one)))).toEqual(kept);
});

test('a client that leaves, and the end, end the wait; an error refuses it', async () => {
  const log = new MessageLog();
  const leaves = new AbortController();
  const left = log.next(0, leaves.signal);
  leaves.abort();
  expect(await left).toBe('ended');
  const waits = log.next(0, always);
  log.close();
  expect(await waits).toBe('ended');
  const other = new MessageLog();
  other.close(new Error('the disk is gone'));
  await expect(other.next(0, always)).rejects.toThrow('the disk is gone');
});

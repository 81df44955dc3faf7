/** Server-sent events. */
import { problem, type Web } from './web.ts';

const heartbeatMs = 15_000;

/** Streams at once; other requests still have room (see `mostConnections`). */
const mostStreams = 500;

/** The streams of one server. */
export type OpenStreams = { count: number };

/** One message. `id` is what a browser sends as `Last-Event-ID` when it connects again. */
export const message = (event: string, data: unknown, id?: number): string =>
  `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

/** Streams what `messages` yields, each one or more whole messages, until it ends, the reader leaves or the server stops.
 *  Nothing is taken from `messages` while the reader does not read. */
export function eventStream(
  messages: (signal: AbortSignal) => AsyncIterable<string | Uint8Array>,
  { every, closing, streams }: Pick<Web, 'every' | 'closing' | 'streams'>,
  request: Request,
): Response {
  // nginx and others would hold events back until a buffer is full.
  const headers = { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' };
  if (request.method === 'HEAD') return new Response(null, { headers });
  if (streams.count >= mostStreams)
    return problem(
      503,
      'busy',
      `the server has ${mostStreams} open streams`,
      'close a page, or ask again later',
      {
        'Retry-After': '10',
      },
    );
  streams.count += 1;
  const left = new AbortController();
  const signal = AbortSignal.any([left.signal, closing, request.signal]);
  const source = messages(signal)[Symbol.asyncIterator]();
  let stopBeating = () => {};
  let isOpen = true;
  const close = (): void => {
    if (isOpen) streams.count -= 1;
    isOpen = false;
    stopBeating();
    left.abort();
  };
  const end = async (): Promise<void> => {
    close();
    await source.return?.();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytesOf('retry: 1000\n\n'));
      stopBeating = every(heartbeatMs, () => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(bytesOf(':\n\n'));
      });
      signal.addEventListener('abort', stopBeating, { once: true });
    },
    async pull(controller) {
      try {
        const next = await source.next();
        if (!next.done && !signal.aborted) return controller.enqueue(bytesOf(next.value));
        await end();
        controller.close();
      } catch (error) {
        close();
        controller.error(error);
      }
    },
    cancel: end,
  });
  return new Response(body, { headers });
}

const bytesOf = (text: string | Uint8Array): Uint8Array =>
  typeof text === 'string' ? Buffer.from(text) : text;

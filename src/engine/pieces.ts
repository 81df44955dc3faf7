/** What a model says piece by piece, over many events of a stream. Pure. */
import type { ExchangeItem } from '../agents/agent.ts';

/** A secret that is spelled out piece by piece stands in no single event: then the pieces of that text are left out. */
export function withoutSplit(
  items: readonly ExchangeItem[],
  mask: (text: string) => string,
): readonly ExchangeItem[] {
  const texts = new Map<string, string[]>();
  for (const item of items) {
    if (item.kind !== 'event') continue;
    withPieces(item.event, (stream, piece) => {
      const pieces = texts.get(stream) ?? [];
      pieces.push(piece);
      texts.set(stream, pieces);
      return piece;
    });
  }
  const telling = new Set<string>();
  for (const [stream, pieces] of texts) {
    const whole = pieces.join('');
    if (mask(whole) !== whole) telling.add(stream);
  }
  if (telling.size === 0) return items;
  return items.map((item) =>
    item.kind === 'event'
      ? {
          kind: 'event',
          event: withPieces(item.event, (stream, piece) => (telling.has(stream) ? '***' : piece)),
        }
      : item,
  );
}

/** The event with each of its pieces as `change` gives it. A piece is the `delta` of an event, or a text in the `delta` of
 *  a choice: content, reasoning, the arguments of a call. `stream` tells the texts apart of which they are pieces. */
function withPieces(event: unknown, change: (stream: string, piece: string) => string): unknown {
  if (!isObject(event)) return event;
  const { type, delta, choices } = event;
  return {
    ...event,
    ...(typeof delta === 'string' ? { delta: change(String(type), delta) } : {}),
    ...(Array.isArray(choices)
      ? {
          choices: choices.map((choice: unknown) =>
            isObject(choice) && isObject(choice['delta'])
              ? { ...choice, delta: changed(choice['delta'], 'delta', change) }
              : choice,
          ),
        }
      : {}),
  };
}

/** The value with all of its texts changed; `path` leads to it. */
function changed(value: unknown, path: string, change: (stream: string, piece: string) => string): unknown {
  if (typeof value === 'string') return change(path, value);
  if (Array.isArray(value)) return value.map((one: unknown) => changed(one, path, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, changed(one, `${path}.${key}`, change)]),
  );
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

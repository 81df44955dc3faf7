/** Masks secrets that a model's stream spreads over several events. Pure. */
import type { ExchangeItem } from '../agents/agent.ts';

/** Replaces all pieces of a text whose whole contains a secret: no single event would show it to the mask. */
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
  const secret = new Set<string>();
  for (const [stream, pieces] of texts) {
    const whole = pieces.join('');
    if (mask(whole) !== whole) secret.add(stream);
  }
  if (secret.size === 0) return items;
  return items.map((item) =>
    item.kind === 'event'
      ? {
          kind: 'event',
          event: withPieces(item.event, (stream, piece) => (secret.has(stream) ? '***' : piece)),
        }
      : item,
  );
}

/** Applies `change` to each piece of an event: its `delta`, or the texts in the `delta` of a choice (content, reasoning, the
 *  arguments of a call). `stream` names the text that a piece belongs to. */
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

/** Applies `change` to all texts of the value at `path`. */
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

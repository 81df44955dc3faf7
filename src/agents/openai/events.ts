/** The events of a streamed answer. The package's own reader is not used: it stops at a line of noise, keeps a whole
 *  event whatever its size, and does not tell that bytes arrive, by which a slow server differs from a dead one. */

/** An answer, or one event of it, is longer than anybody may send. */
export class TooLarge extends Error {}

/** The JSON of each event in a `text/event-stream` body; events that are not JSON are skipped. `heard` is called for
 *  every piece that arrives, `lineLimit` (characters) bounds what is kept in memory. Leaving the loop early closes
 *  the connection. */
export async function* eventsIn(
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
  lineLimit: number,
): AsyncGenerator<unknown> {
  let data: string[] = [];
  let lead: string | undefined;
  const take = (line: string): unknown[] => {
    if (line.startsWith('data:')) {
      const own = line.startsWith('data: ') ? 'data: ' : 'data:';
      if (line.trim() !== 'data:') lead ??= own;
      // A server spells its lines one way; a line of another spelling was put in by somebody else.
      if (own === lead) data.push(line.slice(own.length));
    }
    if (line !== '') return [];
    const lines = data;
    data = [];
    const whole = parsed(lines.join('\n'));
    // Where a line of noise stands next to an event, the lines count one by one.
    return (whole === undefined ? lines.map(parsed) : [whole]).filter((event) => event !== undefined);
  };
  for await (const line of linesIn(body, heard, lineLimit)) yield* take(line);
  // Some servers leave out the blank line that ends the last event.
  yield* take('');
}

/** The whole of a JSON body, or undefined when it is not JSON. */
export async function jsonIn(
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
  limit: number,
): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of body) {
    heard();
    text += decoder.decode(bytes, { stream: true });
    if (text.length > limit) throw new TooLarge();
  }
  return parsed(text);
}

async function* linesIn(
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
  limit: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  for await (const bytes of body) {
    heard();
    const pieces = decoder.decode(bytes, { stream: true }).split('\n');
    const rest = pieces.pop() ?? '';
    for (const piece of pieces) {
      yield `${pending}${piece}`.replace(/\r$/, '');
      pending = '';
    }
    pending += rest;
    if (pending.length > limit) throw new TooLarge();
  }
  if (pending !== '') yield pending.replace(/\r$/, '');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

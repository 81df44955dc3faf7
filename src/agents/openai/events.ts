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
  const take = (line: string): unknown => {
    if (line !== '') {
      if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      return undefined;
    }
    const whole = data.join('\n');
    data = [];
    return whole === '' ? undefined : parsed(whole);
  };
  for await (const line of linesIn(body, heard, lineLimit)) {
    const event = take(line);
    if (event !== undefined) yield event;
  }
  // Some servers leave out the blank line that ends the last event.
  const last = take('');
  if (last !== undefined) yield last;
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

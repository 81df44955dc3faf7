/** The events of a streamed answer. The package's own reader is not used: it stops at a line of noise, keeps a whole
 *  event whatever its size, and does not tell that bytes arrive, by which a slow server differs from a dead one. */
import { mostGivenLevels, parseJson } from '../../model/json.ts';

/** An answer, or one event of it, is longer than anybody may send. */
export class TooLarge extends Error {}

/** The JSON of each event in a `text/event-stream` body, up to the `[DONE]` that some servers put behind the last one;
 *  events that are not JSON are skipped. `heard` is called for every piece that arrives, `lineLimit` (characters) bounds
 *  what is kept in memory; `done` is told of a `[DONE]`, and `whole` of a body that is no events but one JSON: not every
 *  server calls it so. Leaving the loop early closes the connection. Where it breaks, what had come is given first. */
export async function* eventsIn(
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
  lineLimit: number,
  { done, whole }: { readonly done?: () => void; readonly whole?: (value: unknown) => void } = {},
): AsyncGenerator<unknown> {
  const answer = new OneJson(lineLimit);
  let data: string[] = [];
  let size = 0;
  let lead: string | undefined;
  const take = (line: string): unknown[] => {
    if (line.startsWith('data:')) {
      const own = line.startsWith('data: ') ? 'data: ' : 'data:';
      if (line.trim() !== 'data:') lead ??= own;
      // A server spells its lines one way; a line of another spelling was put in by somebody else.
      if (own === lead) {
        data.push(line.slice(own.length));
        // Short lines add up, too, where no blank one ends the event.
        size += line.length;
        if (size > lineLimit) throw new TooLarge();
      }
    }
    if (line !== '' || data.length === 0) return [];
    const lines = data;
    data = [];
    size = 0;
    const event = parsed(lines.join('\n'));
    // Where a line of noise stands next to an event, the lines count one by one.
    return (event === undefined ? lines.map(parsed) : [event]).filter((one) => one !== undefined);
  };
  try {
    arriving: for await (const lines of linesIn(body, heard, lineLimit)) {
      answer.take(lines);
      for (const line of lines) {
        if (/^data: ?\[DONE\]\s*$/.test(line)) {
          done?.();
          break arriving;
        }
        for (const event of take(line)) yield event;
      }
    }
  } catch (error) {
    if (error instanceof TooLarge) throw error;
    yield* take('');
    const value = answer.value();
    if (value === undefined) throw error;
    return whole?.(value);
  }
  // Some servers leave out the blank line that ends the last event.
  yield* take('');
  const value = answer.value();
  if (value !== undefined) whole?.(value);
}

/** The lines of a body that begins as JSON does, which no stream of events has to. */
class OneJson {
  readonly #limit: number;
  /** One text, for lines may be many and short. */
  #text: string | undefined = '';

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(arrived: readonly string[]): void {
    if (this.#text === undefined) return;
    const from = this.#text === '' ? arrived.findIndex((line) => line.trim() !== '') : 0;
    if (from < 0) return;
    const lines = arrived.slice(from);
    const isNone = this.#text === '' && !/^\s*[{[]/.test(lines[0] ?? '');
    if (isNone || lines.some((line) => line.startsWith('data:'))) {
      this.#text = undefined;
      return;
    }
    this.#text += `${lines.join('\n')}\n`;
    if (this.#text.length > this.#limit) throw new TooLarge();
  }

  value(): unknown {
    return this.#text === undefined || this.#text === '' ? undefined : parsed(this.#text);
  }
}

/** The whole of a JSON body, or undefined when it is not JSON. That the connection breaks behind it takes nothing away:
 *  the answer is paid for. */
export async function jsonIn(
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
  limit: number,
): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of body) {
      heard();
      text += decoder.decode(bytes, { stream: true });
      if (text.length > limit) throw new TooLarge();
    }
  } catch (error) {
    const whole = error instanceof TooLarge ? undefined : parsed(text);
    if (typeof whole !== 'object') throw error;
    return whole;
  }
  return parsed(text);
}

/** As many as arrive together: one by one, very short ones would take minutes. */
async function* linesIn(
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
  limit: number,
): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let pending = '';
  let halfEnd = false;
  let broke: { readonly error: unknown } | undefined;
  try {
    for await (const bytes of body) {
      heard();
      const text = decoder.decode(bytes, { stream: true });
      // Of CR LF in two pieces the first one has ended the line.
      const pieces = (halfEnd && text.startsWith('\n') ? text.slice(1) : text).split(/\r\n|\n|\r/);
      if (text !== '') halfEnd = text.endsWith('\r');
      const rest = pieces.pop() ?? '';
      if (pieces.length > 0) {
        pieces[0] = `${pending}${pieces[0]}`;
        pending = '';
        yield pieces;
      }
      pending += rest;
      if (pending.length > limit) throw new TooLarge();
    }
  } catch (error) {
    if (error instanceof TooLarge) throw error;
    broke = { error };
  }
  if (pending !== '') yield [pending];
  if (broke !== undefined) throw broke.error;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text, mostGivenLevels);
  } catch {
    return undefined;
  }
}

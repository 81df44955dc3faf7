/** One streamed request to the Responses API and what came of it. */
import type { AgentTask } from '../agent.ts';
import { bodyFor, bytesOf, clientFor, patient, type Request, readLimit } from './client.ts';
import { type Arrived, type Exchange, endOf, tooLarge } from './ending.ts';
import { eventsIn, TooLarge } from './events.ts';
import { cut, type Trouble, troubleOf, troubleOfFault } from './failure.ts';
import type { Watch } from './watch.ts';
import { type Heard, hear, hearWhole } from './wire.ts';

/** Parts of an answer; one with more is some server's endless loop. */
const mostItems = 1000;

/** Sends the prompt and reads the answer to its end. Never rejects for what the server does; when the watch fires the
 *  connection is closed and the answer is some trouble that nobody reads. */
export async function exchange(
  request: Request,
  watch: Watch,
  onText: AgentTask['onText'],
): Promise<Exchange> {
  const openai = await import('openai');
  const { shown, maxAnswerBytes } = request;
  const ear = watch.listen(request.idleMs);
  let text = '';
  let size = 0;
  let reasoning = '';
  let betweenParagraphs = false;
  let begun = false;
  const items: unknown[] = [];
  const arrived = (): Arrived => ({
    text,
    reasoning: reasoning.trim(),
    ...(begun ? { begun } : {}),
    ...(request.talk === undefined ? {} : { items }),
  });
  const trouble = (it: Trouble): Exchange => {
    request.record?.({ kind: 'trouble', reason: it.report.reason, status: it.status ?? null });
    return { kind: 'trouble', trouble: it, ...arrived() };
  };
  try {
    const sent = { ...bodyFor(request), stream: true as const };
    request.record?.({ kind: 'request', to: `${shown}/responses`, body: sent });
    const response = await clientFor(request, openai)
      .responses.create(sent, { signal: watch.signal, fetchOptions: patient() })
      .asResponse();
    ear.heard();
    const body = bytesOf(response, watch.signal);
    if (body === undefined) return trouble(cut(`${shown} answered without a body`));
    const wholes: unknown[] = [];
    const told = { whole: (value: unknown) => void wholes.push(value) };
    for await (const event of eventsIn(body, ear.heard, readLimit(request), told)) {
      begun = true;
      request.record?.({ kind: 'event', event });
      const end = take(hear(event));
      if (end !== undefined) return end;
    }
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    if (wholes.length > 0 || (isJson && !begun)) {
      request.record?.({ kind: 'response', body: wholes[0] });
      const end = take(hearWhole(wholes[0]));
      return end ?? trouble(cut(`${shown} answered with something that is no response`));
    }
    return trouble(cut(`the stream from ${shown} ended before the answer did`));
  } catch (error) {
    if (error instanceof TooLarge) return tooLarge(arrived(), request);
    return trouble(troubleOf(error, openai, request));
  } finally {
    ear.end();
  }

  /** The end, when this event is it. */
  function take(heard: Heard | undefined): Exchange | undefined {
    switch (heard?.kind) {
      case undefined:
        return undefined;
      case 'fault':
        return trouble(troubleOfFault(heard.fault, request));
      case 'end':
        return endOf(heard.body, heard.raw, arrived(), request);
      case 'item':
        if (items.length < mostItems) items.push(heard.item);
        return undefined;
      case 'paragraph':
        betweenParagraphs = reasoning !== '';
        return undefined;
      case 'reasoning': {
        const piece = betweenParagraphs ? `\n\n${heard.text}` : heard.text;
        betweenParagraphs = false;
        // The end of a train of thought that is longer than any answer may be is not worth the memory.
        if (reasoning.length < maxAnswerBytes) reasoning += piece;
        tell(piece, 'reasoning');
        return undefined;
      }
      case 'text':
        size += Buffer.byteLength(heard.text);
        if (size > maxAnswerBytes) throw new TooLarge();
        text += heard.text;
        tell(heard.text, 'answer');
        return undefined;
    }
  }

  function tell(piece: string, channel: 'answer' | 'reasoning'): void {
    try {
      onText?.(piece, channel);
    } catch {
      // A view that cannot show the text is no reason to lose it.
    }
  }
}

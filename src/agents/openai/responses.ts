/** The Responses API: an answer is streamed; one whose stream is lost or refused is made in the background, where it is
 *  asked for once and then polled. */
import type { OpenAI } from 'openai';
import type { AgentTask } from '../../core/contracts/agent.ts';
import {
  type Arrived,
  bodySchemaAnswer,
  failedResponse,
  type ModelResponse,
  nothingArrived,
  readResponse,
  responsePieces,
  textOr,
} from './answer.ts';
import { faultFailure, finalFailure, lost, type RequestFailure } from './failure.ts';
import { connect, exchange } from './openai-client.ts';
import { type RefusedParts, type Request, responsesBody } from './request.ts';
import { retries, withTries } from './retry.ts';
import type { Watch } from './watch.ts';

export type Call = {
  readonly watch: Watch;
  readonly onText: AgentTask['onText'];
  readonly refused: RefusedParts;
  /** Called with each exchange that another one follows. */
  readonly passed: (exchange: ModelResponse) => void;
};

/** Milliseconds for the head of the answer to one poll, and to a cancellation. */
const pollTimeoutMs = 60_000;
const cancelTimeoutMs = 3_000;

/** Asks until there is an answer or no hope for one. */
export async function askResponses(request: Request, call: Call): Promise<ModelResponse> {
  const { watch, refused, passed } = call;
  const tries = retries(request, watch);
  for (;;) {
    const got = await streamed(request, call);
    if (watch.stopped !== undefined) return got;
    if (got.kind === 'pending') return polled(got, request, watch);
    if (got.kind !== 'trouble') return got;
    const { trouble } = got;
    if ((trouble.lost === true || trouble.refuses?.[0] === 'stream') && !refused.has('background')) {
      if (trouble.lost === true) passed(got);
      const later = await inBackground(request, call);
      if (later.kind !== 'trouble' || !isNoBackground(later.trouble)) return withRest(later, got);
      refused.add('background');
    }
    if (!(await tries.wait(trouble))) return withTries(got, trouble, tries);
    passed(got);
  }
}

/** A refusal of the background, where the stream was accepted or itself refused: nothing is wrong with the prompt. */
const isNoBackground = ({ status }: RequestFailure): boolean => status === 400 || status === 422;

/** What a broken stream had brought is better than nothing. */
const withRest = (later: ModelResponse, broken: ModelResponse): ModelResponse => ({
  ...later,
  text: later.text || broken.text,
  reasoning: later.reasoning || broken.reasoning,
});

async function streamed(request: Request, { watch, onText, refused }: Call): Promise<ModelResponse> {
  const pieces = responsePieces(request.maxAnswerBytes, onText);
  const items: unknown[] = [];
  const arrived = (): Arrived => ({
    ...pieces.arrived(),
    ...(request.talk === undefined ? {} : { items }),
  });
  let gap = '';
  /** The last item that began is a finished message or call. */
  let isWhole = false;
  /** The end of the answer, when the event is it. */
  const take = (event: OpenAI.Responses.ResponseStreamEvent): ModelResponse | undefined => {
    switch (event.type) {
      case 'response.output_text.delta':
        isWhole = false;
        pieces.add(textOr(event.delta), 'answer');
        return undefined;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        pieces.add(`${gap}${textOr(event.delta)}`, 'reasoning');
        gap = '';
        return undefined;
      case 'response.reasoning_summary_part.done':
        gap = '\n\n';
        return undefined;
      case 'response.output_item.added':
        isWhole = false;
        return undefined;
      case 'response.output_item.done':
        items.push(event.item);
        isWhole = isAnswer(event.item);
        return undefined;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed': {
        // The name of the event has the status too.
        const status = event.type.slice('response.'.length);
        const { response } = event;
        const body = bodySchemaAnswer().safeParse({ ...response, status: response?.status || status }).data;
        return body === undefined ? undefined : readResponse(body, response, arrived(), request);
      }
      case 'error':
        return failedResponse(faultFailure({ code: event.code, message: event.message }, request), arrived());
      default:
        return whole(event, request);
    }
  };
  const body = { ...responsesBody(request, refused), stream: true as const };
  const sent = { path: '/responses', body, stream: true };
  const got = await exchange(request, watch, sent, arrived, async (client) => {
    const seen: unknown[] = [];
    for await (const event of await client.responses.create(body, { signal: watch.signal })) {
      request.record?.({ kind: 'event', event });
      if (seen.length < 2) seen.push(event);
      const end = take(event);
      if (end !== undefined) return end;
    }
    // A server that does not stream: its whole answer is the only event, and has no type.
    const [only, more] = seen;
    if (more === undefined && typeof only === 'object' && only !== null && !('type' in only))
      return noResponse(only, request);
    return failedResponse(lost(`the stream from ${request.shown} ended before the answer did`), arrived());
  });
  // An answer that was whole before the connection broke is not asked, and paid, for again.
  const isCut = got.kind === 'trouble' && got.trouble.lost === true;
  if (!isCut || !isWhole || watch.stopped !== undefined) return got;
  return readResponse(
    bodySchemaAnswer().parse({ status: 'completed', output: items }),
    { output: items },
    arrived(),
    request,
  );
}

/** Whether an item of the output is a finished answer, or a call. */
function isAnswer(item: OpenAI.Responses.ResponseOutputItem): boolean {
  if (item.type === 'function_call') return true;
  if (item.type !== 'message' || item.status === 'incomplete') return false;
  return !('phase' in item) || item.phase == null || item.phase === 'final_answer';
}

/** The API's server sent JSON that is no response: another request for the same would bring the same. */
const noResponse = (raw: unknown, { shown }: Request): ModelResponse => ({
  ...failedResponse(
    finalFailure(
      `${shown} answered with something that is no response (a response has "status" and "output")`,
    ),
  ),
  evidence: { what: 'unexpected_status', raw },
});

/** Statuses that a response keeps; any other one means that the server is still at work. */
const final: readonly unknown[] = ['completed', 'incomplete', 'failed', 'cancelled'];

/** A response that came whole, finished or still in the making; undefined for any other value. */
function whole(value: unknown, request: Request, known?: string): ModelResponse | undefined {
  const body = bodySchemaAnswer().safeParse(value).data;
  if (body === undefined) return undefined;
  const id = body.id || known;
  return final.includes(body.status) || id === undefined
    ? readResponse(body, value, nothingArrived, request)
    : { ...nothingArrived, kind: 'pending', id, raw: value };
}

/** Makes one request that is answered by a whole response. */
const response = (
  request: Request,
  watch: Watch,
  sent: { readonly path: string; readonly body?: object; readonly id?: string },
  send: (client: OpenAI) => Promise<unknown>,
): Promise<ModelResponse> =>
  exchange(
    request,
    watch,
    sent,
    () => nothingArrived,
    async (client) => {
      const value = await send(client);
      request.record?.({ kind: 'response', body: value });
      const end = whole(value, request, sent.id);
      if (end !== undefined) return end;
      // The answer to a poll may be another one the next time; it is paid for.
      return sent.id === undefined
        ? noResponse(value, request)
        : failedResponse(lost(`${request.shown} answered with something that is no response`));
    },
  );

/** Hands the prompt in and polls for the answer. */
async function inBackground(request: Request, { watch, refused, passed }: Call): Promise<ModelResponse> {
  const tries = retries(request, watch);
  const body = {
    ...responsesBody(request, refused),
    background: true,
    // The server can only be polled for what it stores.
    ...(request.talk === undefined ? {} : { store: true }),
  };
  for (;;) {
    const opened = await response(request, watch, { path: '/responses', body }, (client) =>
      client.responses.create(body, { signal: watch.signal }),
    );
    if (opened.kind === 'pending') return polled(opened, request, watch);
    if (opened.kind !== 'trouble' || watch.stopped !== undefined) return opened;
    if (!(await tries.wait(opened.trouble)))
      return withTries(opened, opened.trouble, tries, 'in the background');
    passed(opened);
  }
}

/** Polls until the answer is there, its time is up, or the call is stopped; then the server is asked to stop, too. */
async function polled(
  pending: Extract<ModelResponse, { kind: 'pending' }>,
  request: Request,
  watch: Watch,
): Promise<ModelResponse> {
  const { clock, shown, pollMs, pollDeadlineMs } = request;
  const { id } = pending;
  const deadline = clock.monotonic() + pollDeadlineMs;
  const left = () => deadline - clock.monotonic();
  const giveUp = async (got: ModelResponse): Promise<ModelResponse> => {
    await cancelled(id, request);
    return got;
  };
  let { raw } = pending;
  let tries = retries(request, watch, left(), true);
  for (;;) {
    await clock.sleep(pollMs, watch.signal);
    if (watch.stopped !== undefined) return giveUp(failedResponse(lost('stopped')));
    if (left() <= 0) {
      const why = `no answer from ${shown} in the background within ${pollDeadlineMs / 1000} s (${id})`;
      const { report, ...rest } = finalFailure(why);
      const late = failedResponse({ ...rest, report: { ...report, class: 'timeout' } });
      return giveUp({ ...late, evidence: { what: 'poll_timeout', raw } });
    }
    const got = await response(request, watch, { path: `/responses/${id}`, id }, (client) =>
      client.responses.retrieve(id, {}, { signal: watch.signal, timeout: pollTimeoutMs }),
    );
    if (got.kind === 'pending') {
      ({ raw } = got);
      tries = retries(request, watch, left(), true);
      continue;
    }
    // A response that failed is final; only a poll that failed is worth another one.
    if (got.kind !== 'trouble' || got.evidence !== undefined) return got;
    if (watch.stopped !== undefined) continue;
    if (got.trouble.status === 404)
      return failedResponse(
        finalFailure(`${shown} has lost the answer that it began in the background (${id})`),
      );
    if ((await tries.wait(got.trouble)) || watch.stopped !== undefined) continue;
    // Handing the prompt in again would have the server work on both.
    const { status: _ofThePoll, ...trouble } = got.trouble;
    const how = 'polling for the answer in the background';
    return giveUp(withTries(got, { ...trouble, again: false }, tries, how));
  }
}

/** Asks the server to stop, so that the answer costs no more; it may not listen. */
async function cancelled(id: string, request: Request): Promise<void> {
  const client = await connect(request);
  await client.responses.cancel(id, { timeout: cancelTimeoutMs }).catch(() => {});
}

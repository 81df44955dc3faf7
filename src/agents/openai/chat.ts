/** Chat completions, for servers that do not have the Responses API. */
import type { OpenAI } from 'openai';
import {
  type Arrived,
  completed,
  countsSchema,
  failedResponse,
  incomplete,
  type ModelResponse,
  responsePieces,
  textOr,
  usageOf,
} from './answer.ts';
import { finalFailure, lost } from './failure.ts';
import { exchange } from './openai-client.ts';
import { chatBody, type Request } from './request.ts';
import type { Call } from './responses.ts';
import { untilAnswered } from './retry.ts';

/** Asks until there is an answer or no hope for one. */
export const askChat = (request: Request, call: Call): Promise<ModelResponse> =>
  untilAnswered(request, call, () => once(request, call));

async function once(request: Request, { watch, onText, refused }: Call): Promise<ModelResponse> {
  const answer = gathering(request, onText);
  const body = chatBody(request, refused);
  const sent = { path: '/chat/completions', body, stream: true };
  let seen = 0;
  let isForeign = false;
  const got = await exchange(request, watch, sent, answer.arrived, async (client) => {
    for await (const event of await client.chat.completions.create(body, { signal: watch.signal })) {
      request.record?.({ kind: 'event', event });
      seen += 1;
      isForeign = !('choices' in event) && !('type' in event);
      answer.add(event);
    }
    // A server that does not stream: its whole answer is the only event.
    if (seen === 1 && isForeign)
      return failedResponse(
        finalFailure(`${request.shown} answered with something that is no chat completion`),
      );
    const cut = lost(`the answer from ${request.shown} ended before it was whole`);
    return answer.end(watch.stopped !== undefined) ?? failedResponse(cut, answer.arrived());
  });
  // An answer that was whole before the connection broke is not asked, and paid, for again.
  return got.kind === 'trouble' && got.trouble.lost === true ? (answer.end(true) ?? got) : got;
}

type Chunk = OpenAI.ChatCompletionChunk;
/** What some servers add: their models' reasoning, and the whole answer where they do not stream. */
type Delta = Partial<Chunk['choices'][number]['delta']> & {
  reasoning_content?: unknown;
  reasoning?: unknown;
};
type Choice = { finish_reason?: string | null; delta?: Delta; message?: Delta };
type CallPiece = Partial<NonNullable<Delta['tool_calls']>[number]>;

/** Puts the pieces of an answer together. */
function gathering(request: Request, onText: Call['onText']) {
  const pieces = responsePieces(request.maxAnswerBytes, onText);
  const calls: { id: string; name: string; arguments: string }[] = [];
  const latest = new Map<number, (typeof calls)[number]>();
  let refusal = '';
  let usage: Arrived['usage'];
  /** Why the answer ended; undefined while it has not. */
  let finish: string | undefined;
  /** The server names a reason to end while it still speaks: only the end of the stream is one. */
  let isEarly = false;

  const addCall = (piece: CallPiece): void => {
    const index = piece.index ?? 0;
    const known = latest.get(index);
    // Some servers send whole calls and number all of them 0, or none.
    const isNew = known === undefined || (textOr(piece.id) !== '' && piece.id !== known.id);
    const call = isNew ? { id: textOr(piece.id), name: '', arguments: '' } : known;
    if (isNew) calls.push(call);
    latest.set(index, call);
    call.name ||= textOr(piece.function?.name);
    call.arguments += argumentsOf(piece.function?.arguments);
  };
  const addDelta = (delta: Delta): void => {
    pieces.add(textOr(delta.reasoning_content ?? delta.reasoning), 'reasoning');
    const content = contentOf(delta.content);
    pieces.add(content, 'answer');
    refusal += textOr(delta.refusal);
    for (const call of delta.tool_calls ?? []) addCall(call);
    if (finish === undefined || (content === '' && !delta.tool_calls?.length)) return;
    isEarly = true;
    finish = undefined;
  };
  return {
    arrived: pieces.arrived,
    add(chunk: Chunk): void {
      if (chunk.usage != null) usage = chatUsage(chunk, request.model);
      const choice = chunk.choices?.[0] as Choice | undefined;
      if (choice === undefined) return;
      const delta = choice.delta ?? choice.message;
      if (delta != null) addDelta(delta);
      finish = choice.finish_reason || (choice.message == null ? finish : 'stop');
    },
    /** The answer; undefined where it is not whole. `torn`: the connection broke. */
    end(torn: boolean): ModelResponse | undefined {
      if (finish === undefined || (torn && isEarly)) return undefined;
      const arrived = pieces.arrived();
      const numbered = calls.map((call, n) => ({
        ...call,
        id: call.id || `call_${request.talk?.turns.length ?? 0}_${n}`,
      }));
      const all = { ...arrived, ...(usage === undefined ? {} : { usage }), calls: numbered };
      const raw = { finish_reason: finish, content: arrived.text, refusal, calls };
      if (broken.test(finish)) {
        const why = `the answer from ${request.shown} was not finished (finish_reason "${finish.slice(0, 100)}")`;
        return failedResponse(lost(why), all);
      }
      if (tooLong.test(finish))
        return incomplete(all, 'it does not fit into the tokens that its server allows', raw, request);
      return filtered.test(finish)
        ? incomplete(all, finish.slice(0, 100), raw, request)
        : completed(all, refusal, raw, request);
    },
  };
}

/* Reasons to end that are none of a whole answer, in the words of several servers. */
const broken = /error|abort|cancel|insufficient|overload/i;
const tooLong = /^(?:model_)?length$|^max_(?:output_)?tokens$|context/i;
const filtered = /content_?filter|safety|recitation|blocklist|prohibited|sensitive/i;

/** A piece of their text; some servers send them whole, as an object. */
const argumentsOf = (given: unknown): string =>
  typeof given === 'object' && given !== null ? JSON.stringify(given) : textOr(given);

/** A text, or parts of which those of the type `text` count. */
const contentOf = (content: unknown): string =>
  Array.isArray(content)
    ? content.map((part) => (part?.type === 'text' ? textOr(part.text) : '')).join('')
    : textOr(content);

function chatUsage({ usage, model }: Chunk, asked: string): Arrived['usage'] {
  return usageOf(
    textOr(model) || asked,
    countsSchema().parse({
      input: usage?.prompt_tokens,
      output: usage?.completion_tokens,
      cached: usage?.prompt_tokens_details?.cached_tokens,
      reasoning: usage?.completion_tokens_details?.reasoning_tokens,
    }),
  );
}

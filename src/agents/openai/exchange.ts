/** One request to the Responses API and what came of it. */
import type { ClientOptions } from 'openai';
import type { JsonObject } from '../../model/json.ts';
import type { Clock } from '../../system/clock.ts';
import type { AgentTask, Usage } from '../agent.ts';
import { eventsIn, jsonIn, TooLarge } from './events.ts';
import { cut, type Trouble, troubleOf, troubleOfFault } from './failure.ts';
import type { Watch } from './watch.ts';
import { type Body, type Heard, hear, hearWhole, saidIn } from './wire.ts';

export type Request = {
  readonly apiKey: string;
  readonly baseURL: string;
  /** The base URL as it may be shown. */
  readonly shown: string;
  readonly model: string;
  readonly effort: string | undefined;
  /** Tokens. */
  readonly budget: number;
  readonly prompt: string;
  readonly schema: { readonly name: string; readonly schema: JsonObject } | undefined;
  readonly idleMs: number;
  readonly maxAnswerBytes: number;
  readonly clock: Clock;
};

/** How an exchange ended; `text` is what had arrived of the answer. */
export type Exchange = { readonly text: string; readonly usage?: Usage } & (
  | { readonly kind: 'answer' }
  /** The answer did not fit into the budget. */
  | { readonly kind: 'short' }
  /** Refused, empty, too large: asking again would not help. */
  | { readonly kind: 'unusable'; readonly reason: string }
  | { readonly kind: 'trouble'; readonly trouble: Trouble }
);

/** Sends the prompt and reads the answer to its end. Never rejects for what the server does; when the watch fires the
 *  connection is closed and the answer is some trouble that nobody reads. */
export async function exchange(
  request: Request,
  watch: Watch,
  onText: AgentTask['onText'],
): Promise<Exchange> {
  const openai = await import('openai');
  const { clock, model, shown, maxAnswerBytes } = request;
  const facts = { clock, model, shown };
  const client = new openai.OpenAI({
    apiKey: request.apiKey,
    adminAPIKey: null,
    baseURL: request.baseURL,
    // The package's own retries wait as long as the server likes, on the real clock, and no abort ends the wait.
    maxRetries: 0,
    timeout: 2 ** 31 - 1,
    logLevel: 'off',
  });
  const ear = watch.listen(request.idleMs);
  const lineLimit = 3 * maxAnswerBytes + 1024 * 1024;
  let text = '';
  let size = 0;
  const trouble = (it: Trouble): Exchange => ({ kind: 'trouble', trouble: it, text });
  try {
    const response = await client.responses
      .create(bodyFor(request), { signal: watch.signal, fetchOptions: patient() })
      .asResponse();
    ear.heard();
    if (response.body === null) return trouble(cut(`${shown} answered without a body`));
    // Node's stream can be iterated, which the DOM's type does not know.
    const body = response.body as unknown as AsyncIterable<Uint8Array>;
    const ended = (heard: Heard | undefined): Exchange | undefined => {
      switch (heard?.kind) {
        case undefined:
          return undefined;
        case 'fault':
          return trouble(troubleOfFault(heard.fault, facts));
        case 'end':
          return endOf(heard.body, text, request);
        case 'reasoning':
          tell(heard.text, 'reasoning');
          return undefined;
        case 'text':
          size += Buffer.byteLength(heard.text);
          if (size > maxAnswerBytes) throw new TooLarge();
          text += heard.text;
          tell(heard.text, 'answer');
          return undefined;
      }
    };
    if (response.headers.get('content-type')?.includes('json') === true) {
      const whole = ended(hearWhole(await jsonIn(body, ear.heard, lineLimit)));
      return whole ?? trouble(cut(`${shown} answered with something that is no response`));
    }
    for await (const event of eventsIn(body, ear.heard, lineLimit)) {
      const end = ended(hear(event));
      if (end !== undefined) return end;
    }
    return trouble(cut(`the stream from ${shown} ended before the answer did`));
  } catch (error) {
    if (error instanceof TooLarge) return tooLarge(text, maxAnswerBytes);
    return trouble(troubleOf(error, openai, facts));
  } finally {
    ear.end();
  }

  function tell(piece: string, channel: 'answer' | 'reasoning'): void {
    try {
      onText?.(piece, channel);
    } catch {
      // A view that cannot show the text is no reason to lose it.
    }
  }
}

const bodyFor = (request: Request) => ({
  model: request.model,
  input: request.prompt,
  stream: true as const,
  max_output_tokens: request.budget,
  ...(request.effort === undefined
    ? {}
    : // The server knows which efforts its model has, and says so.
      { reasoning: { effort: request.effort as 'medium', summary: 'auto' as const } }),
  ...(request.schema === undefined
    ? {}
    : {
        text: {
          // Strict mode takes only a subset of JSON Schema.
          format: {
            type: 'json_schema' as const,
            name: request.schema.name,
            schema: request.schema.schema,
            strict: false,
          },
        },
      }),
});

function endOf(body: Body, streamed: string, request: Request): Exchange {
  const said = saidIn(body);
  const text = said.text.trim() === '' ? streamed : said.text;
  const usage =
    body.usage == null
      ? {}
      : {
          usage: {
            model: body.model ?? request.model,
            input_tokens: body.usage.input_tokens ?? null,
            output_tokens: body.usage.output_tokens ?? null,
            cost_usd: null,
          },
        };
  const unusable = (reason: string): Exchange => ({ kind: 'unusable', reason, text, ...usage });
  if (Buffer.byteLength(text) > request.maxAnswerBytes)
    return { ...tooLarge(streamed, request.maxAnswerBytes), ...usage };
  switch (body.status) {
    case 'completed':
      if (said.refusal !== '') return unusable(`"${request.model}" refused: ${said.refusal.slice(0, 500)}`);
      if (text.trim() === '') return unusable(`"${request.model}" answered nothing`);
      return { kind: 'answer', text, ...usage };
    case 'incomplete': {
      const why = body.incomplete_details?.reason ?? 'no reason given';
      if (why === 'max_output_tokens') return { kind: 'short', text, ...usage };
      return unusable(`the answer of "${request.model}" is incomplete: ${why}`);
    }
    case 'failed':
      return { kind: 'trouble', trouble: troubleOfFault(body.error, request), text, ...usage };
    default:
      return {
        kind: 'trouble',
        trouble: cut(`${request.shown} ended the answer as "${body.status}"`),
        text,
        ...usage,
      };
  }
}

const tooLarge = (text: string, limit: number): Exchange => ({
  kind: 'unusable',
  reason: `the answer is larger than ${limit / 1024 / 1024} MiB`,
  text,
});

type Dispatch = (options: object, handler: unknown) => boolean;
type FetchOptions = NonNullable<ClientOptions['fetchOptions']>;

/** Node's fetch gives up on a body that is silent for five minutes; a model may think longer, and the watch has its
 *  own idea of silence. Without the global dispatcher (another runtime) fetch keeps its limits. */
function patient(): FetchOptions {
  // Reading any part of fetch loads it, which sets the dispatcher.
  if (typeof Headers !== 'function') return {};
  const known: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'));
  if (typeof known !== 'object' || known === null || !('dispatch' in known)) return {};
  const inner = known as { dispatch: Dispatch };
  const dispatch: Dispatch = (options, handler) =>
    inner.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  // Of a dispatcher's many methods fetch uses this one.
  return { dispatcher: { dispatch } } as object as FetchOptions;
}

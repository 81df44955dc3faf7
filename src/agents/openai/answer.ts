/** What came of a request: an answer, a reason why there is none, or trouble on the way. */
import * as z from 'zod';
import { reportedNumberSchema, type Usage } from '../../core/budget/usage.ts';
import type { AgentTask } from '../../core/contracts/agent.ts';
import { once } from '../../core/once.ts';
import { faultFailure, finalFailure, type RequestFailure, TooLarge } from './failure.ts';
import type { FunctionCall, Request } from './request.ts';

/** What the server sent where no answer could be had, for the node's folder. */
export type ResponseEvidence = {
  readonly what: 'no_text_attempt' | 'incomplete_attempt' | 'unexpected_status' | 'poll_timeout';
  readonly raw: unknown;
};

/** What had arrived when a request ended. */
export type Arrived = {
  readonly text: string;
  readonly reasoning: string;
  readonly usage?: Usage;
  readonly evidence?: ResponseEvidence;
  /** In a tool loop: the output as the server spells it, and the calls in it. */
  readonly items?: readonly unknown[];
  readonly calls?: readonly FunctionCall[];
};

export type ModelResponse = Arrived &
  (
    | { readonly kind: 'answer' }
    /** The answer did not fit into the budget. */
    | { readonly kind: 'short' }
    /** Refused, empty, filtered or too large: asking again would not help. */
    | { readonly kind: 'unusable'; readonly reason: string; readonly model: 'api' | 'output' }
    /** The server works on it in the background, under this id. */
    | { readonly kind: 'pending'; readonly id: string; readonly raw: unknown }
    | { readonly kind: 'trouble'; readonly trouble: RequestFailure }
  );

export const nothingArrived: Arrived = { text: '', reasoning: '' };

export const failedResponse = (
  trouble: RequestFailure,
  arrived: Arrived = nothingArrived,
): ModelResponse => ({
  ...arrived,
  kind: 'trouble',
  trouble,
});

export const responseTooLarge = (arrived: Arrived, request: Request): ModelResponse => ({
  ...arrived,
  kind: 'unusable',
  model: 'output',
  reason: `the answer is larger than ${request.maxAnswerBytes / 1024 / 1024} MiB`,
});

/** The pieces of a streamed answer, shown as they come. */
export interface ResponsePieces {
  add(text: string, channel: 'answer' | 'reasoning'): void;
  arrived(): Arrived;
}

/** Throws `TooLarge` beyond `maxBytes` of text and reasoning. */
export function responsePieces(maxBytes: number, onText: AgentTask['onText']): ResponsePieces {
  const texts = { answer: '', reasoning: '' };
  let size = 0;
  return {
    add(text, channel) {
      if (text === '') return;
      size += Buffer.byteLength(text);
      if (size > maxBytes) throw new TooLarge();
      texts[channel] += text;
      try {
        onText?.(text, channel);
      } catch {
        // A view that cannot show the text is no reason to lose it.
      }
    },
    arrived: () => ({ text: texts.answer, reasoning: texts.reasoning.trim() }),
  };
}

/** A text of the server, where it is one. */
export const textOr = (value: unknown): string => (typeof value === 'string' ? value : '');

const textSchema = once(() => z.string().nullish().catch(undefined));
export const countSchema = once(() => reportedNumberSchema().nullish().catch(undefined));
/** Tokens; an impossible number is none. */
export const countsSchema = once(() =>
  z.object({ input: countSchema(), output: countSchema(), cached: countSchema(), reasoning: countSchema() }),
);
const codeSchema = once(() => z.string().or(z.number().transform(String)).nullish().catch(undefined));

const listSchema = once(() => z.array(z.unknown()).nullish().catch(undefined));
const contentPartSchema = once(() =>
  z.object({ type: z.string(), text: textSchema(), refusal: textSchema() }),
);
const itemSchema = once(() => z.object({ status: textSchema() }));
const messageSchema = once(() =>
  z.object({ type: z.literal('message'), phase: textSchema(), content: listSchema() }),
);
const reasoningSchema = once(() =>
  z.object({ type: z.literal('reasoning'), summary: listSchema(), content: listSchema() }),
);
const callSchema = once(() =>
  z.object({
    type: z.literal('function_call'),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
);

/** The parts of a response of the Responses API that are read: servers differ in the rest, and some leave out the status. */
const readSchema = once(() =>
  z.object({
    id: textSchema(),
    status: textSchema(),
    model: textSchema(),
    output_text: textSchema(),
    output: listSchema(),
    usage: z
      .looseObject({
        input_tokens_details: z.looseObject({}).nullish().catch(undefined),
        output_tokens_details: z.looseObject({}).nullish().catch(undefined),
      })
      .nullish()
      .catch(undefined),
    error: z
      .object({ code: codeSchema(), type: textSchema(), message: textSchema() })
      .nullish()
      .catch(undefined),
    incomplete_details: z.object({ reason: textSchema() }).nullish().catch(undefined),
  }),
);

/** A value that is a response: it has a status, output or an error. */
export const bodySchemaAnswer = once(() =>
  readSchema()
    .refine(({ status, output, output_text, error }) => status || output || output_text || error)
    .transform((body) => ({ ...body, status: body.status || statusOf(body) })),
);
export type ResponseBody = z.infer<ReturnType<typeof bodySchemaAnswer>>;

/** The status of a response that names none: it is whole if it has text or calls, and nothing in it says otherwise. */
function statusOf(body: z.infer<ReturnType<typeof readSchema>>): string {
  if (body.error != null) return 'failed';
  const cut = matching(itemSchema(), body.output).some(
    ({ status }) => status === 'incomplete' || status === 'in_progress',
  );
  const { text, refusal } = textsIn(body);
  const isWhole = `${text}${refusal}`.trim() !== '' || callsIn(body.output ?? []).length > 0;
  return isWhole && !cut && body.incomplete_details == null ? 'completed' : 'incomplete';
}

/** Reads the response that ends a request; `arrived` is what came before it in pieces. */
export function readResponse(
  body: ResponseBody,
  raw: unknown,
  arrived: Arrived,
  request: Request,
): ModelResponse {
  const { model, shown } = request;
  const texts = textsIn(body);
  const output = body.output ?? [];
  const items = output.length > 0 ? output : (arrived.items ?? []);
  const all: Arrived = {
    text: texts.text.trim() === '' ? arrived.text : texts.text,
    reasoning: reasoningIn(body) || arrived.reasoning,
    ...(body.usage == null ? {} : { usage: usageOf(body.model ?? model, countsIn(body.usage)) }),
    ...(request.talk === undefined ? {} : { items, calls: callsIn(items) }),
  };
  const trouble = (it: RequestFailure): ModelResponse => ({
    ...failedResponse(it, all),
    evidence: { what: 'unexpected_status', raw },
  });
  switch (body.status) {
    case 'completed':
      return completed(all, texts.refusal, raw, request);
    case 'incomplete':
      return incomplete(all, body.incomplete_details?.reason || 'no reason given', raw, request);
    case 'failed':
      return trouble(faultFailure(body.error, request));
    case 'cancelled':
      return trouble(finalFailure(`the answer of "${model}" was cancelled at ${shown}`));
    default:
      return trouble(
        finalFailure(`${shown} ended the answer with the status "${body.status}", which is no final one`),
      );
  }
}

/** An answer that the server calls whole. */
export function completed(all: Arrived, refusal: string, raw: unknown, request: Request): ModelResponse {
  if (Buffer.byteLength(all.text) > request.maxAnswerBytes)
    return responseTooLarge({ ...all, text: '' }, request);
  const unusable = (reason: string): ModelResponse => ({
    ...all,
    kind: 'unusable',
    reason: `"${request.model}" ${reason}`,
    model: 'api',
    evidence: { what: 'no_text_attempt', raw },
  });
  if (refusal !== '') return unusable(`refused: ${refusal.slice(0, 500)}`);
  // In a tool loop an answer without text may have calls, or nothing, which the model is asked about.
  if (all.text.trim() === '' && request.talk === undefined)
    return unusable('answered nothing: the answer is completed and has no text');
  return { ...all, kind: 'answer' };
}

/** An answer that the server has cut, with its reason. */
export function incomplete(all: Arrived, why: string, raw: unknown, request: Request): ModelResponse {
  const evidence: ResponseEvidence = { what: 'incomplete_attempt', raw };
  if (why === 'max_output_tokens') return { ...all, kind: 'short', evidence };
  const reason = `the answer of "${request.model}" is incomplete: ${why}`;
  return { ...all, kind: 'unusable', reason, model: 'api', evidence };
}

/** `model`: the one that the server names. */
export function usageOf(
  model: string,
  {
    input,
    output,
    cached,
    written,
    reasoning,
  }: z.infer<ReturnType<typeof countsSchema>> & { readonly written?: number | null | undefined },
): Usage {
  return {
    model,
    input_tokens: input ?? null,
    output_tokens: output ?? null,
    ...(cached == null ? {} : { cached_input_tokens: cached }),
    ...(written == null ? {} : { cache_write_tokens: written }),
    ...(reasoning == null ? {} : { reasoning_tokens: reasoning }),
    cost_usd: null,
  };
}

const countsIn = (usage: NonNullable<ResponseBody['usage']>) =>
  countsSchema().parse({
    input: usage['input_tokens'],
    output: usage['output_tokens'],
    cached: usage.input_tokens_details?.['cached_tokens'],
    reasoning: usage.output_tokens_details?.['reasoning_tokens'],
  });

/** The answer's text and refusals. Where a model also comments its work in messages, only those marked as the final
 *  answer count. */
function textsIn(body: Pick<z.infer<ReturnType<typeof readSchema>>, 'output' | 'output_text'>): {
  readonly text: string;
  readonly refusal: string;
} {
  const messages = matching(messageSchema(), body.output);
  const final = messages.filter(({ phase }) => phase === 'final_answer');
  const parts = (final.length > 0 ? final : messages).flatMap(({ content }) => content);
  const text = textsOf(parts, 'output_text').join('') || (body.output_text ?? '');
  return { text, refusal: textsOf(parts, 'refusal').join('') };
}

/** The summary of the reasoning in paragraphs, or the reasoning itself where a server gives no summary. */
const reasoningIn = (body: ResponseBody): string =>
  matching(reasoningSchema(), body.output)
    .flatMap(({ summary, content }) => {
      const paragraphs = [textsOf(summary, 'summary_text'), textsOf(content, 'reasoning_text')];
      return paragraphs.map((texts) => texts.map((one) => one.trim()).filter((one) => one !== ''));
    })
    .find((paragraphs) => paragraphs.length > 0)
    ?.join('\n\n') ?? '';

/** The texts of the parts of this type. */
const textsOf = (parts: unknown, type: string): string[] =>
  matching(contentPartSchema(), parts).flatMap((part) =>
    part.type === type ? (part.text ?? part.refusal ?? []) : [],
  );

const callsIn = (items: readonly unknown[]): FunctionCall[] =>
  matching(callSchema(), items).map(({ call_id, name, arguments: args }) => ({
    id: call_id,
    name,
    arguments: args,
  }));

/** Those of the items that have the shape. */
function matching<T>(shape: z.ZodType<T>, items: unknown): T[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item) => {
    const read = shape.safeParse(item);
    return read.success ? [read.data] : [];
  });
}

/** How the events of the Messages API become an answer. */
import * as z from 'zod';
import { once } from '../../core/once.ts';
import {
  type Arrived,
  completed,
  countSchema,
  incomplete,
  type ModelResponse,
  type ResponsePieces,
  responsePieces,
  textOr,
  usageOf,
} from './answer.ts';
import { argumentsObject, type Request } from './request.ts';
import type { Call } from './responses.ts';

const tokensSchema = once(() =>
  z
    .object({
      input_tokens: countSchema(),
      cache_creation_input_tokens: countSchema(),
      cache_read_input_tokens: countSchema(),
      output_tokens: countSchema(),
      output_tokens_details: z.object({ thinking_tokens: countSchema() }).nullish().catch(undefined),
    })
    .nullish()
    .catch(undefined),
);
type Tokens = NonNullable<z.infer<ReturnType<typeof tokensSchema>>>;

const blockSchema = once(() => z.looseObject({ type: z.string() }));
type Block = z.infer<ReturnType<typeof blockSchema>>;
const messageSchema = once(() =>
  z.object({
    model: z.string().nullish().catch(undefined),
    usage: tokensSchema(),
    content: z.array(blockSchema()).catch([]),
    stop_reason: z.string().nullish().catch(undefined),
    stop_details: z.object({ explanation: z.string() }).nullish().catch(undefined),
  }),
);

/** The parts of events that are read. One of the type `message` is the whole answer of a server that does not stream. */
const eventSchema = once(() =>
  z.discriminatedUnion('type', [
    messageSchema().extend({ type: z.literal('message') }),
    z.object({ type: z.literal('message_start'), message: messageSchema() }),
    z.object({ type: z.literal('content_block_start'), index: z.number(), content_block: blockSchema() }),
    z.object({
      type: z.literal('content_block_delta'),
      index: z.number(),
      delta: z.looseObject({ type: z.string() }),
    }),
    z.object({
      type: z.literal('message_delta'),
      delta: messageSchema().pick({ stop_reason: true, stop_details: true }),
      usage: tokensSchema(),
    }),
    z.object({ type: z.literal('message_stop') }),
  ]),
);
type Event = z.infer<ReturnType<typeof eventSchema>>;
type Message = z.infer<ReturnType<typeof messageSchema>>;

/** The events of an answer, put together. */
export class MessageAnswer {
  readonly #request: Request;
  readonly #pieces: ResponsePieces;
  readonly #blocks: ReturnType<typeof openBlocks>;
  #model: string;
  #tokens: Tokens | undefined;
  /** Why the answer ended; undefined while it has not. */
  #stop: string | undefined;
  #refusal = '';

  constructor(request: Request, onText: Call['onText']) {
    this.#request = request;
    this.#pieces = responsePieces(request.maxAnswerBytes, onText);
    this.#blocks = openBlocks(this.#pieces);
    this.#model = request.model;
  }

  arrived(): Arrived {
    return this.#pieces.arrived();
  }

  /** Whether the event is one of a message. */
  add(value: unknown): boolean {
    const event = eventSchema().safeParse(value).data;
    if (event !== undefined) this.#take(event);
    return event !== undefined;
  }

  /** The answer; undefined where it is not whole. */
  end(): ModelResponse | undefined {
    const request = this.#request;
    const stop = this.#stop;
    if (stop === undefined) return undefined;
    const blocks = this.#blocks.all();
    const items = blocks.map(({ item }) => item);
    const all: Arrived = {
      ...this.arrived(),
      ...(this.#tokens === undefined ? {} : { usage: usageIn(this.#tokens, this.#model) }),
      ...(request.talk === undefined ? {} : { items, calls: blocks.flatMap(({ calls }) => calls) }),
    };
    const raw = { stop_reason: stop, content: items };
    if (stop === 'refusal') return completed(all, this.#refusal || 'no reason given', raw, request);
    if (stop === 'max_tokens') return incomplete(all, 'max_output_tokens', raw, request);
    if (stop === 'model_context_window_exceeded')
      return incomplete(all, 'it does not fit into the context of the model', raw, request);
    return completed(all, '', raw, request);
  }

  #take(event: Event): void {
    switch (event.type) {
      case 'message':
        for (const [index, block] of event.content.entries()) this.#blocks.begin(index, block);
        this.#begin(event);
        this.#end({ ...event, stop_reason: event.stop_reason ?? 'end_turn' });
        break;
      case 'message_start':
        this.#begin(event.message);
        break;
      case 'content_block_start':
        this.#blocks.begin(event.index, event.content_block);
        break;
      case 'content_block_delta':
        this.#blocks.grow(event.index, event.delta);
        break;
      case 'message_delta':
        this.#count(event.usage);
        this.#end(event.delta);
        break;
      case 'message_stop':
        this.#stop ??= 'end_turn';
        break;
    }
  }

  #begin({ model, usage }: Pick<Message, 'model' | 'usage'>): void {
    this.#model = model ?? this.#model;
    this.#count(usage);
  }

  #end({ stop_reason, stop_details }: Pick<Message, 'stop_reason' | 'stop_details'>): void {
    this.#stop = stop_reason ?? this.#stop;
    this.#refusal = stop_details?.explanation ?? this.#refusal;
  }

  /** Later counts are sums that replace earlier ones. */
  #count(more: Tokens | null | undefined): void {
    if (more == null) return;
    const known = Object.entries(more).filter(([, value]) => value != null);
    this.#tokens = { ...(this.#tokens ?? more), ...Object.fromEntries(known) };
  }
}

/** The blocks of an answer as they grow. */
function openBlocks(pieces: ResponsePieces) {
  const open = new Map<number, Block & { json?: string }>();
  let hasThought = false;
  const show = ({ type, ...block }: Block): void => {
    pieces.add(textOr(block['text']), 'answer');
    pieces.add(textOr(block['thinking']), 'reasoning');
    hasThought ||= type === 'thinking';
  };
  return {
    begin(index: number, block: Block): void {
      open.set(index, { ...block });
      if (block.type === 'thinking' && hasThought) pieces.add('\n\n', 'reasoning');
      show(block);
    },
    grow(index: number, { type: _, ...delta }: Block): void {
      const block = open.get(index);
      if (block === undefined) return;
      for (const key of ['text', 'thinking', 'signature'])
        if (typeof delta[key] === 'string') block[key] = `${textOr(block[key])}${delta[key]}`;
      block.json = `${block.json ?? ''}${textOr(delta['partial_json'])}`;
      show({ type: block.type, ...delta });
    },
    /** Each block as the next request has it, and the call that it is. Blocks without text are left out: they are refused. */
    all: () =>
      [...open.entries()]
        .sort(([a], [b]) => a - b)
        .filter(([, block]) => block.type !== 'text' || textOr(block['text']).trim() !== '')
        .map(([, { json, ...block }]) =>
          block.type === 'tool_use' ? callOf(block, json ?? '') : { item: block, calls: [] },
        ),
  };
}

function callOf(block: Block, json: string) {
  const { id, name, input } = block;
  const args = json === '' ? JSON.stringify(input ?? {}) : json;
  const call = { id: textOr(id), name: textOr(name), arguments: args };
  return {
    item: { type: 'tool_use', id, name, input: argumentsObject(args) },
    calls: [call],
  };
}

/** All input together, as other APIs count it: read from the cache, written to it, and neither. */
function usageIn(tokens: Tokens, model: string): ReturnType<typeof usageOf> {
  const {
    input_tokens: rest,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
  } = tokens;
  return usageOf(model, {
    input: rest == null ? rest : rest + (written ?? 0) + (cached ?? 0),
    output: tokens.output_tokens,
    cached,
    written,
    reasoning: tokens.output_tokens_details?.thinking_tokens,
  });
}

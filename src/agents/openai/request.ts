/** What a model is asked: the settings of a request, the conversation so far, and the bodies that the APIs of OpenAI take. Pure. */
import type { CallWait, ExchangeItem } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import { isObject, type JsonObject, mostGivenLevels, parseJson } from '../../core/json.ts';
import type { ModelServer, ServerAccess } from '../../core/model-server.ts';

/** One prompt for one token budget, and the limits of its exchange. */
export type Request = {
  readonly server: ModelServer;
  readonly access: ServerAccess;
  /** The base URL without user, password and query, for messages. */
  readonly shown: string;
  readonly model: string;
  readonly effort: string | undefined;
  readonly temperature: number | undefined;
  /** Tokens. */
  readonly budget: number;
  /** Whether `budget` is a limit of the run or node: then it is sent to chat completions too. */
  readonly capped?: boolean;
  readonly prompt: string;
  /** The conversation before the prompt. */
  readonly earlier?: readonly Turn[];
  /** The tool loop's conversation since the prompt. */
  readonly talk?: Talk;
  readonly schema: { readonly name: string; readonly schema: JsonObject } | undefined;
  /** Milliseconds without a byte after which the server counts as dead. */
  readonly idleMs: number;
  /** UTF-8 bytes. */
  readonly maxAnswerBytes: number;
  readonly maxRetries: number;
  /** Milliseconds that the waits between retries may take together. */
  readonly maxWaitMs: number;
  /** Milliseconds: a server that asks for a longer wait is reported at once. */
  readonly park_after?: number;
  /** Milliseconds that an outage is waited for; without it, or with 0, there are a few quick tries. */
  readonly outageMs?: number;
  /** Milliseconds before the first retry where the server names no wait; doubled each time. */
  readonly firstRetryMs: number;
  /** Milliseconds between two polls of a background response, and for all of them. */
  readonly pollMs: number;
  readonly pollDeadlineMs: number;
  readonly clock: Clock;
  /** Records requests and what comes back. */
  readonly record?: (item: ExchangeItem) => void;
  /** Called before a wait for the next try. */
  readonly waits?: (wait: CallWait) => void;
};

/** Optional parts of a request. Servers that refuse one are asked again without it. */
export type Part =
  | 'summary'
  | 'sealed'
  | 'stream_options'
  | 'stream'
  | 'background'
  | 'schema'
  | 'effort'
  | 'thinking'
  | 'cache'
  | 'temperature';
/** The parts that a server has refused during this task, or before. */
export type RefusedParts = Set<Part>;

/** A tool as the model sees it. */
export type ToolSpec = {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
};

/** A call that the model made; `arguments` is JSON if the model kept to it. */
export type FunctionCall = { readonly id: string; readonly name: string; readonly arguments: string };

export type Turn =
  /** `items`: the output as the server returned it, where its API has more than texts and calls. */
  | {
      readonly by: 'model';
      readonly text: string;
      readonly items: readonly unknown[];
      readonly calls: readonly FunctionCall[];
    }
  | { readonly by: 'tool'; readonly call: FunctionCall; readonly text: string }
  | { readonly by: 'user'; readonly text: string };

type Talk = {
  readonly instructions: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolSpec[];
};

/** The body for the Responses API, without `stream` and `background`. The server stores nothing in a tool loop: each
 *  request has the whole conversation, with the reasoning in the encrypted form that the server gave it. */
export const responsesBody = (request: Request, refused: RefusedParts) => ({
  model: request.model,
  ...(request.talk === undefined
    ? { input: request.earlier === undefined ? request.prompt : inputOf(request) }
    : talkBody(request, request.talk, refused)),
  max_output_tokens: request.budget,
  ...(request.temperature === undefined || refused.has('temperature')
    ? {}
    : { temperature: request.temperature }),
  ...(request.effort === undefined || refused.has('effort')
    ? {}
    : {
        reasoning: {
          // The server knows which efforts its model has.
          effort: request.effort as 'medium',
          ...(refused.has('summary') ? {} : { summary: 'auto' as const }),
        },
      }),
  ...(request.schema === undefined || refused.has('schema')
    ? {}
    : // Strict mode takes only a subset of JSON Schema.
      { text: { format: { type: 'json_schema' as const, ...request.schema, strict: false } } }),
});

function talkBody(request: Request, { instructions, tools }: Talk, refused: RefusedParts) {
  return {
    instructions,
    input: inputOf(request),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map((tool) => ({ type: 'function' as const, ...tool, strict: false })) }),
    ...(refused.has('sealed') ? {} : { store: false, include: ['reasoning.encrypted_content' as const] }),
  };
}

const inputOf = ({ earlier = [], prompt, talk }: Request) =>
  [...earlier.flatMap(inputItems), message(prompt), ...(talk?.turns ?? []).flatMap(inputItems)] as {
    role: 'user';
    content: string;
  }[];

const message = (content: string) => ({ role: 'user' as const, content });

function inputItems(turn: Turn): unknown[] {
  switch (turn.by) {
    case 'model':
      return turn.items.length > 0 ? turn.items.flatMap(returned) : keptItems(turn);
    case 'tool':
      return [{ type: 'function_call_output', call_id: turn.call.id, output: turn.text }];
    case 'user':
      return [message(turn.text)];
  }
}

/** A turn of an earlier task, of which the run keeps no items. */
const keptItems = ({ text, calls }: Extract<Turn, { by: 'model' }>): unknown[] => [
  ...(text === '' ? [] : [{ role: 'assistant', content: text }]),
  ...calls.map(({ id, name, arguments: args }) => ({
    ...{ type: 'function_call', call_id: id, name },
    arguments: args,
  })),
];

/** An output item as input. A server that stores nothing would search in vain for the id of an item, and for reasoning
 *  of which the item has only the id. */
function returned(item: unknown): unknown[] {
  if (typeof item !== 'object' || item === null) return [];
  const { id: _, ...rest } = item as { id?: unknown; type?: unknown; encrypted_content?: unknown };
  if (rest.type !== 'reasoning') return [rest];
  return typeof rest.encrypted_content === 'string' && rest.encrypted_content !== '' ? [item] : [];
}

/** The body for chat completions. The server decides how long an answer may be, unless the budget is a cap. */
export function chatBody(request: Request, refused: RefusedParts) {
  const { model, prompt, earlier = [], talk, effort, temperature, schema } = request;
  const tools = talk?.tools ?? [];
  const system =
    talk === undefined || talk.instructions === '' ? [] : [{ role: 'system', content: talk.instructions }];
  return {
    model,
    messages: [
      ...system,
      ...earlier.flatMap(messages),
      message(prompt),
      ...(talk?.turns ?? []).flatMap(messages),
    ] as { role: 'user'; content: string }[],
    stream: true as const,
    ...(request.capped === true ? { max_tokens: request.budget } : {}),
    ...(refused.has('stream_options') ? {} : { stream_options: { include_usage: true } }),
    ...(temperature === undefined || refused.has('temperature') ? {} : { temperature }),
    ...(effort === undefined || refused.has('effort') ? {} : { reasoning_effort: effort as 'medium' }),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map((tool) => ({ type: 'function' as const, function: { ...tool } })) }),
    ...(schema === undefined || refused.has('schema')
      ? {}
      : {
          response_format: {
            type: 'json_schema' as const,
            json_schema: { name: schema.name, schema: { ...schema.schema }, strict: false },
          },
        }),
  };
}

function messages(turn: Turn): object[] {
  switch (turn.by) {
    case 'user':
      return [message(turn.text)];
    case 'tool':
      return [{ role: 'tool', tool_call_id: turn.call.id, content: turn.text }];
    case 'model': {
      if (turn.calls.length === 0 && turn.text === '') return [];
      const tool_calls = turn.calls.map(({ id, name, arguments: args }) => ({
        id,
        type: 'function',
        function: { name, arguments: argumentsText(args) },
      }));
      return [{ role: 'assistant', content: turn.text, ...(tool_calls.length === 0 ? {} : { tool_calls }) }];
    }
  }
}

/** The arguments of a call as the object that servers ask for: what is none is wrapped, so that the model sees what it wrote. */
export const argumentsObject = (args: string): JsonObject => parsedArguments(args) ?? { not_json: args };

/** As text: servers parse it to build the model's prompt. */
const argumentsText = (args: string): string =>
  parsedArguments(args) === undefined ? JSON.stringify(argumentsObject(args)) : args;

function parsedArguments(args: string): JsonObject | undefined {
  try {
    const value = parseJson(args, mostGivenLevels);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

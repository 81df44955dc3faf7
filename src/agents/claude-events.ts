/** The JSON lines of `claude -p --output-format stream-json`: what it says, does, spends and answers. */
import * as z from 'zod';
import { reportedNumberSchema } from '../core/budget/usage.ts';
import type { AgentAction } from '../core/contracts/agent.ts';
import type { Json } from '../core/json.ts';
import { once } from '../core/once.ts';
import { jsonLine } from './program/lines.ts';

const blockSchema = once(() =>
  z.looseObject({
    type: z.string(),
    text: z.string().optional(),
    thinking: z.string().optional(),
    id: z.string().optional(),
    name: z.string().optional(),
    input: z.looseObject({}).optional(),
    tool_use_id: z.string().optional(),
    is_error: z.boolean().optional(),
  }),
);
const tokens = once(() => reportedNumberSchema().nullable().optional().catch(undefined));
/** What a message of it reports of its tokens. */
export const claudeNumbersSchema = once(() =>
  z.looseObject({
    input_tokens: tokens(),
    cache_creation_input_tokens: tokens(),
    cache_read_input_tokens: tokens(),
    output_tokens: tokens(),
  }),
);
const ofModelSchema = once(() =>
  z.looseObject({
    inputTokens: tokens(),
    cacheCreationInputTokens: tokens(),
    cacheReadInputTokens: tokens(),
    outputTokens: tokens(),
  }),
);
const lineSchema = once(() =>
  z.looseObject({
    type: z.string(),
    subtype: z.string().optional(),
    model: z.string().optional(),
    session_id: z.string().optional().catch(undefined),
    message: z
      .looseObject({
        id: z.string().optional().catch(undefined),
        content: z.union([z.string(), z.array(blockSchema())]).optional(),
        usage: claudeNumbersSchema().optional().catch(undefined),
      })
      .optional()
      .catch(undefined),
    error: z.unknown().optional(),
    is_error: z.boolean().optional(),
    api_error_status: z.number().nullable().optional(),
    result: z.string().optional(),
    errors: z.array(z.string()).optional().catch(undefined),
    total_cost_usd: reportedNumberSchema().optional().catch(undefined),
    usage: claudeNumbersSchema().optional().catch(undefined),
    modelUsage: z.record(z.string(), ofModelSchema()).optional().catch(undefined),
    structured_output: z.json().optional(),
    permission_denials: z
      .array(
        z.looseObject({ tool_name: z.string(), tool_input: z.looseObject({}).optional().catch(undefined) }),
      )
      .optional()
      .catch(undefined),
    rate_limit_info: z
      .looseObject({ status: z.string().optional(), resetsAt: z.number().optional() })
      .optional()
      .catch(undefined),
  }),
);
type Block = z.infer<ReturnType<typeof blockSchema>>;
type Line = z.infer<ReturnType<typeof lineSchema>>;

export type ClaudeTokens = {
  /** Of all input, what came from the cache included. */
  readonly inputTokens: number | null;
  /** Of these, those that the cache had. */
  readonly cachedTokens: number | null;
  readonly outputTokens: number | null;
};

/** Its last line: how the whole of it went. */
export type ClaudeResult = ClaudeTokens & {
  readonly subtype: string;
  readonly isError: boolean;
  /** HTTP status of the call that failed it. */
  readonly status: number | undefined;
  readonly text: string;
  readonly costUsd: number | null;
  /** Calls of its tools that its permissions did not allow. */
  readonly denied: readonly DeniedCall[];
};

export type DeniedCall = { readonly tool: string; readonly action: AgentAction };

export interface ClaudeEvents {
  /** Takes one line; a line that is no event says nothing. */
  line(text: string): void;
  readonly result: ClaudeResult | undefined;
  /** Whether that line was the last thing that it did. */
  readonly over: boolean;
  /** What its messages have reported so far; each reports an answer at its beginning, so it is the least there was. */
  readonly soFar: ClaudeTokens | undefined;
  /** What it gave as its answer by the schema; undefined when it gave none. */
  readonly answer: Json | undefined;
  readonly model: string | undefined;
  /** Its own word for what a call of the model failed by: `rate_limit`, `authentication_failed`, …; the last one, unless
   *  a later call went through. */
  readonly trouble: string | undefined;
  /** When a limit that was hit is lifted, in milliseconds since 1970. */
  readonly limitedUntilMs: number | undefined;
}

/** The tool by which it answers; no deed. */
const answering = 'StructuredOutput';

type Listeners = {
  readonly onText: (text: string, channel: 'answer' | 'reasoning') => void;
  readonly acted: (action: AgentAction) => void;
  readonly used?: () => void;
  readonly started?: (session: string) => void;
};

/** Calls `onText` with text for the live view, `acted` with what was done, `used` when more usage was reported, `started` with the id
 *  of its session. */
export const claudeEvents = (on: Listeners): ClaudeEvents => new EventReader(on);

class EventReader implements ClaudeEvents {
  readonly #on: Listeners;
  // A message comes in several lines, with the same numbers.
  readonly #messages = new Map<string, ClaudeTokens>();
  readonly #calls = new Map<string, AgentAction>();
  #structured: Json | undefined;
  #offered: Json | undefined;
  result: ClaudeResult | undefined;
  over = false;
  model: string | undefined;
  trouble: string | undefined;
  limitedUntilMs: number | undefined;

  constructor(on: Listeners) {
    this.#on = on;
  }

  get soFar(): ClaudeTokens | undefined {
    return this.#messages.size === 0 ? undefined : [...this.#messages.values()].reduce(both);
  }

  get answer(): Json | undefined {
    return this.#structured ?? this.#offered;
  }

  line(text: string): void {
    const line = jsonLine(text, lineSchema());
    if (line === undefined) return;
    // Work that ran in the background may wake it once more.
    if (line.type === 'assistant' || line.type === 'user') this.over = false;
    switch (line.type) {
      case 'system':
        if (line.subtype !== 'init') return;
        if (line.model !== undefined) this.model = line.model;
        if (line.session_id !== undefined) this.#on.started?.(line.session_id);
        return;
      case 'assistant':
        this.#message(line);
        return;
      case 'user':
        for (const block of blocksOf(line)) this.#settled(block);
        return;
      case 'rate_limit_event': {
        const { status, resetsAt } = line.rate_limit_info ?? {};
        if (status === 'rejected' && resetsAt !== undefined) this.limitedUntilMs = resetsAt * 1000;
        return;
      }
      case 'result':
        this.result = resultOf(line);
        this.over = true;
        for (const { action } of this.result.denied) this.#on.acted(action);
        if (line.structured_output != null) this.#structured = line.structured_output;
        return;
    }
  }

  #message(line: Line): void {
    this.trouble = typeof line.error === 'string' ? line.error : undefined;
    if (line.message?.usage !== undefined) {
      const id = line.message.id ?? `${this.#messages.size}`;
      const before = this.#messages.get(id)?.outputTokens;
      const now = claudeTokensIn(line.message.usage);
      this.#messages.set(id, now);
      if (before !== now.outputTokens) this.#on.used?.();
    }
    for (const block of blocksOf(line)) this.#spoken(block);
  }

  #spoken(block: Block): void {
    if (block.type === 'text') this.#on.onText(`${block.text ?? ''}\n`, 'answer');
    if (block.type === 'thinking') this.#on.onText(`${block.thinking ?? ''}\n`, 'reasoning');
    if (block.type !== 'tool_use') return;
    if (block.name === answering) {
      this.#offered = (block.input ?? {}) as Json; // parsed from JSON
      return;
    }
    const action = claudeActionOf(block.name ?? '', block.input ?? {});
    if (block.id !== undefined) this.#calls.set(block.id, action);
    if (action.action === 'command') this.#on.onText(`$ ${action.detail}\n`, 'reasoning');
  }

  #settled(block: Block): void {
    const id = block.tool_use_id ?? '';
    const action = block.type === 'tool_result' ? this.#calls.get(id) : undefined;
    if (action === undefined) return;
    this.#calls.delete(id);
    this.#on.acted({ ...action, status: block.is_error === true ? 'failed' : 'completed' });
  }
}

const blocksOf = (line: Line): readonly Block[] =>
  Array.isArray(line.message?.content) ? line.message.content : [];

/** The tokens of all input together, those of the cache, and of the output. */
export function claudeTokensIn(
  usage: z.infer<ReturnType<typeof claudeNumbersSchema>> | undefined,
): ClaudeTokens {
  const input = [usage?.input_tokens, usage?.cache_creation_input_tokens, usage?.cache_read_input_tokens];
  return {
    inputTokens: usage?.input_tokens == null ? null : input.reduce<number>((sum, one) => sum + (one ?? 0), 0),
    cachedTokens: usage?.cache_read_input_tokens ?? null,
    outputTokens: usage?.output_tokens ?? null,
  };
}

/** `usage` has only its own turns; the agents that it starts, other models and answers that were cut are only in
 *  `modelUsage`, as they are in the cost. */
function tokensOfAll({ usage, modelUsage = {} }: Line): ClaudeTokens {
  const own = claudeTokensIn(usage);
  const each = Object.values(modelUsage).map((of) =>
    claudeTokensIn({
      input_tokens: of.inputTokens,
      cache_creation_input_tokens: of.cacheCreationInputTokens,
      cache_read_input_tokens: of.cacheReadInputTokens,
      output_tokens: of.outputTokens,
    }),
  );
  const all = each.length === 0 ? own : each.reduce(both);
  const sum = (tokens: ClaudeTokens): number => (tokens.inputTokens ?? 0) + (tokens.outputTokens ?? 0);
  return sum(all) < sum(own) ? own : all;
}

const either = (a: number | null, b: number | null) => (a === null ? b : a + (b ?? 0));
const both = (a: ClaudeTokens, b: ClaudeTokens): ClaudeTokens => ({
  inputTokens: either(a.inputTokens, b.inputTokens),
  cachedTokens: either(a.cachedTokens, b.cachedTokens),
  outputTokens: either(a.outputTokens, b.outputTokens),
});

function resultOf(line: Line): ClaudeResult {
  return {
    subtype: line.subtype ?? '',
    isError: line.is_error === true,
    status: line.api_error_status ?? undefined,
    text: line.result ?? line.errors?.join('; ') ?? '',
    ...tokensOfAll(line),
    costUsd: line.total_cost_usd ?? null,
    denied: (line.permission_denials ?? []).map(({ tool_name: tool, tool_input }) => ({
      tool,
      action: { ...claudeActionOf(tool, tool_input ?? {}), status: 'denied' },
    })),
  };
}

/** A call of one of its tools, in our words. */
export function claudeActionOf(name: string, input: Readonly<Record<string, unknown>>): AgentAction {
  const text = (key: string): string => (typeof input[key] === 'string' ? input[key] : '');
  const identity = `${name} ${JSON.stringify(input)}`;
  const status = 'started';
  switch (name) {
    case 'Bash':
      // It describes each call in words, which may differ.
      return { action: 'command', detail: text('command'), status, identity: `Bash ${text('command')}` };
    case 'Edit':
    case 'MultiEdit':
    case 'Write':
      return { action: 'file_change', detail: text('file_path'), status, identity };
    case 'NotebookEdit':
      return { action: 'file_change', detail: text('notebook_path'), status, identity };
    case 'WebSearch':
      return { action: 'web_search', detail: text('query'), status, identity };
    default: {
      const about = ['file_path', 'path', 'pattern', 'url', 'description']
        .map(text)
        .find((one) => one !== '');
      return {
        action: 'tool_call',
        detail: about === undefined ? name : `${name} ${about}`,
        status,
        identity,
      };
    }
  }
}

/** What claude's own last line means when it says that the work failed. */

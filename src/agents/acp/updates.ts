/** What an agent reports of its turn by the Agent Client Protocol: text, tool calls, what it was refused and what it used. */
import * as z from 'zod';
import { reportedNumberSchema } from '../../core/budget/usage.ts';
import type { AgentAction } from '../../core/contracts/agent.ts';
import { isObject, type JsonObject, mostGivenLevels, parseJson } from '../../core/json.ts';
import { once } from '../../core/once.ts';

const text = once(() => z.string().nullish().catch(undefined));
const contentSchema = once(() => z.looseObject({ type: z.string(), text: text() }));
/** A call of a tool: the first report, a later one, and that of a request for permission. */
export const acpCallSchema = once(() =>
  z.looseObject({
    toolCallId: z.string(),
    title: text(),
    kind: text(),
    status: text(),
    locations: z
      .array(z.looseObject({ path: z.string() }))
      .nullish()
      .catch(undefined),
    content: z
      .array(z.looseObject({ type: z.string(), content: contentSchema().optional().catch(undefined) }))
      .nullish()
      .catch(undefined),
    rawInput: z.looseObject({}).nullish().catch(undefined),
  }),
);
export type AcpCall = z.infer<ReturnType<typeof acpCallSchema>>;

const spendingSchema = once(() =>
  z.looseObject({ cost: z.looseObject({ amount: reportedNumberSchema(), currency: z.string() }).nullish() }),
);
const chunkSchema = once(() => z.looseObject({ content: contentSchema() }));

const updateSchema = once(() =>
  z.looseObject({
    method: z.literal('session/update'),
    params: z.looseObject({
      sessionId: z.string(),
      update: z.looseObject({ sessionUpdate: z.string() }),
    }),
  }),
);

/** The message of a line; undefined where it is no JSON object. */
export function messageIn(line: string): JsonObject | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value = parseJson(line, mostGivenLevels);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What an update reports. */
export type AcpUpdate =
  | { readonly kind: 'text' | 'thought'; readonly text: string }
  | { readonly kind: 'call'; readonly call: AcpCall }
  | { readonly kind: 'cost'; readonly usd: number };

/** The update in a message; undefined for any other message. An update that says nothing to us has no `update`. */
export function updateIn(
  message: unknown,
): { readonly session: string; readonly update?: AcpUpdate } | undefined {
  const read = updateSchema().safeParse(message);
  if (!read.success) return undefined;
  const { sessionId: session, update } = read.data.params;
  switch (update.sessionUpdate) {
    case 'agent_message_chunk':
    case 'agent_thought_chunk': {
      const chunk = chunkSchema().safeParse(update).data?.content.text ?? '';
      const kind = update.sessionUpdate === 'agent_message_chunk' ? 'text' : 'thought';
      return chunk === '' ? { session } : { session, update: { kind, text: chunk } };
    }
    case 'tool_call':
    case 'tool_call_update': {
      const call = acpCallSchema().safeParse(update).data;
      return call === undefined ? { session } : { session, update: { kind: 'call', call } };
    }
    case 'usage_update': {
      const cost = spendingSchema().safeParse(update).data?.cost;
      return cost?.currency === 'USD' ? { session, update: { kind: 'cost', usd: cost.amount } } : { session };
    }
    default:
      return { session };
  }
}

/** Characters of the longest answer. */
export const longestAcpAnswer = 10 * 1024 * 1024;

export interface AcpUpdates {
  take(update: AcpUpdate): void;
  /** A request for permission to make this call was refused. */
  refused(call: AcpCall): void;
  /** Reports the calls that it has left without a result. */
  close(): void;
  /** What it said last: after its last call of a tool, or else before. */
  readonly answer: string;
  /** It said more than the longest answer. */
  readonly isFlood: boolean;
  /** What it was refused, in words. */
  readonly denied: readonly string[];
  /** Whether it said nothing after the last refusal. */
  readonly isSilenced: boolean;
  readonly costUsd: number | undefined;
}

export type AcpListeners = {
  readonly onText: (text: string, channel: 'answer' | 'reasoning') => void;
  readonly acted: (action: AgentAction) => void;
  readonly used: () => void;
};

export function acpUpdates(on: AcpListeners): AcpUpdates {
  const calls = new Map<string, AcpCall>();
  const settled = new Set<string>();
  const denied: string[] = [];
  let pieces: string[] = [];
  let before = '';
  let length = 0;
  let isSilenced = false;
  let costUsd: number | undefined;
  const written = () => pieces.join('');
  const settle = (call: AcpCall, status: string) => {
    settled.add(call.toolCallId);
    calls.delete(call.toolCallId);
    on.acted({ ...acpActionOf(call), status });
  };
  const takeCall = (call: AcpCall) => {
    if (settled.has(call.toolCallId)) return;
    const whole = mergedCall(calls.get(call.toolCallId), call);
    // Some agents report a call first where they ask for permission, or when it is over.
    if (!calls.has(call.toolCallId)) {
      if (written().trim() !== '') before = written();
      pieces = [];
    }
    calls.set(call.toolCallId, whole);
    if (whole.status === 'completed' || whole.status === 'failed') settle(whole, whole.status);
  };
  return {
    take(update) {
      switch (update.kind) {
        case 'text':
          length += update.text.length;
          if (length > longestAcpAnswer) return;
          pieces.push(update.text);
          if (update.text.trim() !== '') isSilenced = false;
          on.onText(update.text, 'answer');
          return;
        case 'thought':
          on.onText(update.text, 'reasoning');
          return;
        case 'call':
          takeCall(update.call);
          return;
        case 'cost':
          costUsd = update.usd;
          on.used();
      }
    },
    refused(call) {
      const whole = mergedCall(calls.get(call.toolCallId), call);
      const { action, detail } = acpActionOf(whole);
      denied.push(action === 'command' ? `$ ${detail}` : detail);
      isSilenced = true;
      settle(whole, 'denied');
    },
    close() {
      for (const call of [...calls.values()]) settle(call, 'started');
    },
    get answer() {
      return written().trim() === '' ? before : written();
    },
    get isFlood() {
      return length > longestAcpAnswer;
    },
    denied,
    get isSilenced() {
      return isSilenced;
    },
    get costUsd() {
      return costUsd;
    },
  };
}

/** A later report has only what has changed. */
export const mergedCall = (known: AcpCall | undefined, now: AcpCall): AcpCall => ({
  ...known,
  ...Object.fromEntries(Object.entries(now).filter(([, value]) => value != null)),
  toolCallId: now.toolCallId,
});

/** A call of one of its tools, in our words. */
export function acpActionOf(call: AcpCall): Omit<AgentAction, 'status'> {
  const { kind, title, locations, rawInput = {} } = call;
  const given = (...keys: readonly string[]): string | undefined =>
    keys.map((key) => rawInput?.[key]).find((value) => typeof value === 'string' && value !== '') as
      | string
      | undefined;
  const name = title?.trim() || kind || 'a tool';
  const identity = `${kind ?? ''} ${JSON.stringify(rawInput ?? title ?? '')}`;
  switch (kind) {
    case 'execute': {
      const command = rawInput?.['command'];
      const words = Array.isArray(command) ? command.join(' ') : undefined;
      return { action: 'command', detail: words ?? given('command', 'cmd') ?? name, identity };
    }
    case 'edit':
    case 'delete':
    case 'move': {
      const places = [...new Set((locations ?? []).map(({ path }) => path))].join(', ');
      const detail = places || given('file_path', 'filePath', 'path') || name;
      return { action: 'file_change', detail, identity };
    }
    case 'fetch':
      return { action: 'web_search', detail: given('query', 'url') ?? name, identity };
    default:
      return { action: 'tool_call', detail: name, identity };
  }
}

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
/** What codex-acp adds: its thread broke. It says why as if it were an answer, and ends the turn as if it had one. */
const threadSchema = once(() =>
  z.looseObject({
    _meta: z.looseObject({ codex: z.looseObject({ threadStatus: z.looseObject({ type: z.string() }) }) }),
  }),
);

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
  | { readonly kind: 'cost'; readonly usd: number }
  | { readonly kind: 'state'; readonly isBroken: boolean };

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
    case 'session_info_update': {
      const status = threadSchema().safeParse(update).data?._meta.codex.threadStatus.type;
      if (status === undefined) return { session };
      // After an error its thread rests; only a new turn says that it works again.
      if (status !== 'systemError' && status !== 'active') return { session };
      return { session, update: { kind: 'state', isBroken: status === 'systemError' } };
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
  /** Whether it reported that it broke: what it said then is why. */
  readonly isBroken: boolean;
  readonly costUsd: number | undefined;
}

export type AcpListeners = {
  readonly onText: (text: string, channel: 'answer' | 'reasoning') => void;
  readonly acted: (action: AgentAction) => void;
  readonly used: () => void;
};

export const acpUpdates = (on: AcpListeners): AcpUpdates => new Updates(on);

class Updates implements AcpUpdates {
  readonly #on: AcpListeners;
  readonly #calls = new Map<string, AcpCall>();
  readonly #settled = new Set<string>();
  #pieces: string[] = [];
  #before = '';
  #length = 0;
  readonly denied: string[] = [];
  isSilenced = false;
  isBroken = false;
  costUsd: number | undefined;

  constructor(on: AcpListeners) {
    this.#on = on;
  }

  take(update: AcpUpdate): void {
    switch (update.kind) {
      case 'text':
        this.#takeText(update.text);
        return;
      case 'thought':
        this.#on.onText(update.text, 'reasoning');
        return;
      case 'call':
        this.#takeCall(update.call);
        return;
      case 'cost':
        this.costUsd = update.usd;
        this.#on.used();
        return;
      case 'state':
        this.isBroken = update.isBroken;
        if (this.isBroken) this.#forget();
    }
  }

  #takeText(text: string): void {
    this.#length += text.length;
    if (this.isFlood) return;
    this.#pieces.push(text);
    if (text.trim() !== '') this.isSilenced = false;
    this.#on.onText(text, 'answer');
  }

  #takeCall(call: AcpCall): void {
    if (this.#settled.has(call.toolCallId)) return;
    const known = this.#calls.get(call.toolCallId);
    const whole = mergedCall(known, call);
    // Some agents report a call first where they ask for permission, or when it is over.
    if (known === undefined) {
      if (this.#written.trim() !== '') this.#before = this.#written;
      this.#pieces = [];
    }
    this.#calls.set(call.toolCallId, whole);
    if (whole.status === 'completed' || whole.status === 'failed') this.#settle(whole, whole.status);
  }

  refused(call: AcpCall): void {
    const whole = mergedCall(this.#calls.get(call.toolCallId), call);
    const { action, detail } = acpActionOf(whole);
    this.denied.push(action === 'command' ? `$ ${detail}` : detail);
    this.isSilenced = true;
    // What was said before is no answer: it did not know of the refusal.
    this.#forget();
    this.#settle(whole, 'denied');
  }

  #forget(): void {
    this.#pieces = [];
    this.#before = '';
  }

  #settle(call: AcpCall, status: string): void {
    this.#settled.add(call.toolCallId);
    this.#calls.delete(call.toolCallId);
    this.#on.acted({ ...acpActionOf(call), status });
  }

  close(): void {
    for (const call of [...this.#calls.values()]) this.#settle(call, 'started');
  }

  get #written(): string {
    return this.#pieces.join('');
  }

  get answer(): string {
    return this.#written.trim() === '' ? this.#before : this.#written;
  }

  get isFlood(): boolean {
    return this.#length > longestAcpAnswer;
  }
}

/** A later report has only what has changed; in a request for permission the kind may be just any other. */
export const mergedCall = (known: AcpCall | undefined, now: AcpCall): AcpCall => ({
  ...known,
  ...Object.fromEntries(Object.entries(now).filter(([, value]) => value != null)),
  kind: (now.kind === 'other' ? known?.kind : undefined) ?? now.kind ?? known?.kind,
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

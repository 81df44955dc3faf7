/** The JSON lines of `codex exec --json`: what it says, does and spends. */
import * as z from 'zod';
import { reportedNumberSchema } from '../core/budget/usage.ts';
import type { AgentAction } from '../core/contracts/agent.ts';
import { once } from '../core/once.ts';
import type { FailureClass, Park, ParkKind } from '../core/outcome.ts';
import { classOfStatus, parkOf, waitNamed } from './program/failure.ts';
import { jsonLine } from './program/lines.ts';

const itemSchema = once(() =>
  z.looseObject({
    type: z.string(),
    text: z.string().optional(),
    command: z.string().optional(),
    changes: z.array(z.looseObject({ path: z.string(), kind: z.unknown().optional() })).optional(),
    server: z.string().optional(),
    tool: z.string().optional(),
    arguments: z.unknown().optional(),
    query: z.string().optional(),
    exit_code: z.number().nullable().optional(),
    status: z.string().optional(),
  }),
);
/** What a turn of it reports of its tokens. */
export const codexUsageSchema = once(() =>
  z.looseObject({
    input_tokens: reportedNumberSchema(),
    output_tokens: reportedNumberSchema(),
    cached_input_tokens: reportedNumberSchema().optional().catch(undefined),
    reasoning_output_tokens: reportedNumberSchema().optional().catch(undefined),
  }),
);
const countSchema = once(() =>
  z.looseObject({
    payload: z.looseObject({ info: z.looseObject({ total_token_usage: codexUsageSchema() }) }),
  }),
);
type CodexUsage = z.infer<ReturnType<typeof codexUsageSchema>>;

const eventSchema = once(() =>
  z.looseObject({
    type: z.string(),
    thread_id: z.string().optional().catch(undefined),
    item: itemSchema().optional(),
    usage: codexUsageSchema().optional().catch(undefined),
    message: z.string().optional(),
    error: z.looseObject({ message: z.string().optional() }).nullable().optional(),
  }),
);

export interface CodexEvents {
  /** Takes one line; a line that is no event says nothing. */
  line(text: string): void;
  /** The message of the turn that failed last, unless a later one succeeded. */
  readonly failure: string | undefined;
  /** Where the latest turn stands; undefined before the first. */
  readonly turn: 'open' | 'over' | undefined;
  /** The last error that it reported, final or not. */
  readonly lastError: string | undefined;
  readonly tokens:
    | {
        readonly input: number;
        readonly output: number;
        readonly cached: number | undefined;
        readonly reasoning: number | undefined;
      }
    | undefined;
}

/** Calls `onText` with text for the live view, `acted` with what was done, `used` when more usage was reported, `started` with the id
 *  of its session. */
export function codexEvents(on: {
  readonly onText: (text: string, channel: 'answer' | 'reasoning') => void;
  readonly acted: (action: AgentAction) => void;
  readonly used?: () => void;
  readonly started?: (session: string) => void;
  /** What a session that it continues had used. */
  readonly spent?: CodexUsage | undefined;
}): CodexEvents {
  let failure: string | undefined;
  let lastError: string | undefined;
  let tokens: CodexEvents['tokens'];
  let turn: CodexEvents['turn'];
  return {
    line(text) {
      const event = jsonLine(text, eventSchema());
      if (event === undefined) return;
      switch (event.type) {
        case 'thread.started':
          if (event.thread_id !== undefined) on.started?.(event.thread_id);
          return;
        case 'turn.started':
          turn = 'open';
          return;
        case 'turn.completed':
          turn = 'over';
          failure = undefined;
          // Of a server that does not report usage codex reports none at all.
          if (event.usage !== undefined && event.usage.input_tokens + event.usage.output_tokens > 0) {
            // Those of a session that it continues are counted with its first turn.
            const used = without(event.usage, tokens === undefined ? on.spent : undefined);
            tokens = {
              input: (tokens?.input ?? 0) + used.input_tokens,
              output: (tokens?.output ?? 0) + used.output_tokens,
              cached: also(tokens?.cached, used.cached_input_tokens),
              reasoning: also(tokens?.reasoning, used.reasoning_output_tokens),
            };
            on.used?.();
          }
          return;
        case 'turn.failed':
          turn = 'over';
          failure = event.error?.message ?? lastError ?? 'the turn failed';
          return;
        case 'error':
          lastError = event.message ?? event.error?.message;
          return;
        case 'item.started':
          if (event.item?.type === 'command_execution')
            on.onText(`$ ${event.item.command ?? ''}\n`, 'reasoning');
          return;
        case 'item.completed': {
          lastError = undefined;
          const { item } = event;
          if (item === undefined) return;
          if (item.type === 'agent_message') on.onText(`${item.text ?? ''}\n`, 'answer');
          if (item.type === 'reasoning') on.onText(`${item.text ?? ''}\n`, 'reasoning');
          const action = actionOf(item);
          if (action !== undefined) on.acted(action);
          return;
        }
      }
    },
    get failure() {
      return failure;
    },
    get turn() {
      return turn;
    },
    get lastError() {
      return lastError;
    },
    get tokens() {
      return tokens;
    },
  };
}

/** What a session has used, by its text. */
export function codexUsageIn(session: string): CodexUsage | undefined {
  const last = session.lastIndexOf('"total_token_usage":');
  if (last < 0) return undefined;
  const [line = ''] = session.slice(session.lastIndexOf('\n', last) + 1).split('\n', 1);
  return jsonLine(line, countSchema())?.payload.info.total_token_usage;
}

function without(usage: CodexUsage, spent: CodexUsage | undefined): CodexUsage {
  if (spent === undefined) return usage;
  const rest = (a: number, b: number | undefined) => Math.max(0, a - (b ?? 0));
  const { cached_input_tokens: cached, reasoning_output_tokens: reasoning } = usage;
  return {
    input_tokens: rest(usage.input_tokens, spent.input_tokens),
    output_tokens: rest(usage.output_tokens, spent.output_tokens),
    ...(cached === undefined ? {} : { cached_input_tokens: rest(cached, spent.cached_input_tokens) }),
    ...(reasoning === undefined
      ? {}
      : { reasoning_output_tokens: rest(reasoning, spent.reasoning_output_tokens) }),
  };
}

const also = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : a + (b ?? 0);

function actionOf(item: z.infer<ReturnType<typeof itemSchema>>): AgentAction | undefined {
  const status = item.status ?? 'completed';
  switch (item.type) {
    case 'command_execution': {
      const code = item.exit_code == null || item.exit_code === 0 ? '' : ` (exit ${item.exit_code})`;
      return { action: 'command', detail: item.command ?? '', status: `${status}${code}` };
    }
    case 'file_change':
      return {
        action: 'file_change',
        detail: (item.changes ?? []).map((one) => one.path).join(', '),
        status,
      };
    case 'mcp_tool_call':
      return {
        action: 'tool_call',
        detail: `${item.server ?? ''}/${item.tool ?? ''}`,
        status,
        identity: `${item.server ?? ''}/${item.tool ?? ''} ${JSON.stringify(item.arguments ?? null)}`,
      };
    case 'web_search':
      return { action: 'web_search', detail: item.query ?? '', status };
    default:
      return undefined;
  }
}

/** What codex's own failure events mean: whose failure it is, and how long to wait. */
export type CodexEnding = {
  readonly class: FailureClass;
  readonly retryAfterMs?: number;
  /** The key that it needs is not here. */
  readonly missing?: true;
  readonly park?: Park;
};

/** The messages are the program's own sentences; each is known from its beginning, since a server's text may follow. */
const known: readonly (readonly [RegExp, FailureClass, (ParkKind | 'missing')?])[] = [
  [
    /^(?:Quota exceeded|Your workspace is out of credits|You(?:(?:'|’)ve)? hit your spend cap)/i,
    'config',
    'billing',
  ],
  [/^To use Codex with your ChatGPT plan, upgrade/i, 'config', 'billing'],
  [/^Missing environment variable/i, 'config', 'missing'],
  [
    /^(?:Your )?(?:access token|refresh token|login|session)\b.*\b(?:expired|revoked|invalid|could not)/i,
    'config',
    'auth',
  ],
  [/^You(?:'|’)ve hit your usage limit/i, 'infra', 'quota'],
  [/^rate limit exceeded/i, 'infra', 'quota'],
  [/^We(?:'|’)re currently experiencing high demand/i, 'infra', 'outage'],
  [/^Selected model is at capacity/i, 'infra', 'outage'],
  [
    /^(?:Reconnecting|Connection failed|stream disconnected|stream error|error sending request|timeout waiting)/i,
    'infra',
    'outage',
  ],
];

/** Whose failure the message of a `turn.failed` or `error` event is. */
export function codexFailure(message: string, now: Date): CodexEnding {
  const wait = waitNamed(message, now);
  const trouble = (failureClass: FailureClass, park?: Park): CodexEnding => ({
    class: failureClass,
    ...(failureClass === 'infra' && wait !== undefined ? { retryAfterMs: wait } : {}),
    ...(park === undefined ? {} : { park }),
  });
  const status = /^(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b/.exec(message)?.[1];
  if (status !== undefined) return trouble(classOfStatus(Number(status)), parkOf(Number(status), wait));
  const found = known.find(([pattern]) => pattern.test(message));
  const waitsFor = found?.[2];
  if (waitsFor === undefined || waitsFor === 'missing')
    return { ...trouble(found?.[1] ?? 'agent'), ...(waitsFor === undefined ? {} : { missing: true }) };
  // A usage limit lasts; a rate limit that does not say for how long may be over soon.
  const unsaid = waitsFor === 'quota' && wait === undefined && !/usage limit/i.test(message);
  return trouble(found?.[1] ?? 'agent', { kind: waitsFor, ...(unsaid ? { unsaid } : {}) });
}

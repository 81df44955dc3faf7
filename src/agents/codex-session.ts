/** The JSON lines of `codex exec --json` as lines of a session. Pure. */
import * as z from 'zod';
import type { Json } from '../core/json.ts';
import { once } from '../core/once.ts';
import type { SessionLine } from '../core/records/session.ts';
import { codexUsageSchema } from './codex-events.ts';
import { jsonLine } from './program/lines.ts';

const texts = once(() =>
  z
    .array(z.looseObject({ text: z.string().optional() }))
    .optional()
    .catch(undefined),
);
const stepSchema = once(() =>
  z.looseObject({
    type: z.string(),
    item: z
      .looseObject({
        id: z.string().optional(),
        type: z.string(),
        text: z.string().optional(),
        message: z.string().optional(),
        command: z.string().optional(),
        aggregated_output: z.string().optional().catch(undefined),
        exit_code: z.number().nullish().catch(undefined),
        status: z.string().optional(),
        changes: z
          .array(z.looseObject({ path: z.string(), kind: z.unknown() }))
          .optional()
          .catch(undefined),
        server: z.string().optional(),
        tool: z.string().optional(),
        arguments: z.json().optional(),
        result: z.looseObject({ content: texts() }).nullish().catch(undefined),
        error: z.looseObject({ message: z.string().optional() }).nullish().catch(undefined),
        query: z.string().optional(),
        items: z
          .array(z.looseObject({ text: z.string(), completed: z.boolean().optional() }))
          .optional()
          .catch(undefined),
      })
      .optional()
      .catch(undefined),
    usage: codexUsageSchema().optional().catch(undefined),
    message: z.string().optional(),
    error: z.looseObject({ message: z.string().optional() }).nullish().catch(undefined),
  }),
);
type Item = NonNullable<z.infer<ReturnType<typeof stepSchema>>['item']>;

/** Answers each line with those of the session. One codex turn has many calls; it reports usage at its end. */
export function codexSession(): (line: string) => readonly SessionLine[] {
  const open = new Set<string>();
  return (line) => {
    const event = jsonLine(line, stepSchema());
    if (event === undefined) return [];
    const { item } = event;
    switch (event.type) {
      case 'turn.started':
        return [{ type: 'turn' }];
      case 'turn.completed': {
        const { usage } = event;
        if (usage === undefined) return [];
        const { reasoning_output_tokens: reasoning_tokens, ...tokens } = usage;
        return [{ type: 'usage', ...tokens, reasoning_tokens }];
      }
      case 'turn.failed':
      case 'error':
        return note(event.error?.message ?? event.message ?? 'the turn failed');
      case 'item.started':
        if (item === undefined || !isCall(item)) return [];
        open.add(item.id ?? '');
        return [callOf(item)];
      case 'item.completed':
        return item === undefined ? [] : completed(item, open);
      default:
        return [];
    }
  };
}

const note = (text: string): readonly SessionLine[] => [{ type: 'note', text }];

function completed(item: Item, open: Set<string>): readonly SessionLine[] {
  switch (item.type) {
    case 'agent_message':
      return [{ type: 'text', text: item.text ?? '' }];
    case 'reasoning':
      return [{ type: 'reasoning', text: item.text ?? '' }];
    case 'error':
      return note(item.message ?? item.text ?? '');
    case 'todo_list':
      return note(
        (item.items ?? [])
          .map(({ text, completed = false }) => `[${completed ? 'x' : ' '}] ${text}`)
          .join('\n'),
      );
    default:
      if (!isCall(item)) return [];
      return [...(open.delete(item.id ?? '') ? [] : [callOf(item)]), resultOf(item)];
  }
}

const isCall = ({ type }: Item): boolean =>
  ['command_execution', 'file_change', 'mcp_tool_call', 'web_search'].includes(type);

const idOf = ({ id }: Item) => (id === undefined ? {} : { id });

function callOf(item: Item): SessionLine {
  const call = (name: string, detail: string, given?: Json): SessionLine => ({
    ...{ type: 'call', ...idOf(item), name, detail },
    ...(given === undefined ? {} : { arguments: given }),
  });
  switch (item.type) {
    case 'command_execution':
      return call('command', item.command ?? '');
    case 'file_change':
      return call('file change', (item.changes ?? []).map(({ path }) => path).join(', '));
    case 'web_search':
      return call('web search', item.query ?? '');
    default:
      return call(`${item.server ?? ''}/${item.tool ?? ''}`, '', item.arguments as Json | undefined);
  }
}

function resultOf(item: Item): SessionLine {
  const { exit_code: code, aggregated_output: printed = '', changes = [], result, error } = item;
  const failed = item.status === 'failed' || item.status === 'declined' || (code ?? 0) !== 0;
  const exit = code != null && code !== 0 ? `exit ${code}` : '';
  const resultTexts = (result?.content ?? []).map(({ text = '' }) => text);
  const changed = changes.map(({ path, kind }) => `${typeof kind === 'string' ? kind : 'change'} ${path}`);
  const parts = [printed.trimEnd(), ...changed, ...resultTexts, error?.message ?? '', exit];
  const output = parts.filter((part) => part !== '').join('\n');
  return { type: 'result', ...idOf(item), ok: !failed, output };
}

/** The body of a request of the Messages API, Anthropic's own. Pure. */
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import type { JsonObject } from '../../core/json.ts';
import { argumentsObject, type RefusedParts, type Request, type ToolSpec, type Turn } from './request.ts';

type Block = { readonly type: string; readonly [key: string]: unknown };
type Message = { readonly role: 'user' | 'assistant'; readonly content: readonly Block[] };

/** The body with `stream`. A conversation is cached up to its end: the next request of it reads that, and pays a tenth. One prompt
 *  that nothing follows is not: writing to the cache costs more than not using it. */
export function messagesBody(request: Request, refused: RefusedParts) {
  const { model, prompt, earlier = [], talk, temperature } = request;
  const cached = (talk !== undefined || request.earlier !== undefined) && !refused.has('cache');
  const all = merged([
    ...earlier.map(messageOf),
    { role: 'user', content: [text(prompt)] },
    ...(talk?.turns ?? []).map(messageOf),
  ]);
  const instructions = talk?.instructions ?? '';
  return {
    model,
    max_tokens: request.budget,
    stream: true as const,
    ...(instructions === '' ? {} : { system: [cached ? marked(text(instructions)) : text(instructions)] }),
    messages: cached ? withMarks(all) : all,
    ...(temperature === undefined || refused.has('temperature') ? {} : { temperature }),
    ...toolsIn(request),
    ...thought(request, refused),
  };
}

const text = (words: string): Block => ({ type: 'text', text: words });

const marked = (block: Block): Block => ({ ...block, cache_control: { type: 'ephemeral' } });

/** Marks the end of the conversation, and what was its end one request ago: the cache is searched only some blocks back. */
function withMarks(messages: readonly Message[]): readonly Message[] {
  const ends = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : [])).slice(-2);
  return messages.map((message, index) =>
    ends.includes(index)
      ? {
          ...message,
          content: message.content.map((block, n, { length }) => (n === length - 1 ? marked(block) : block)),
        }
      : message,
  );
}

/** The API refuses tool calls in a conversation without tools: one that continues without any names those that were called. */
function toolsIn({ talk, earlier = [] }: Request) {
  const offered = talk?.tools ?? [];
  if (offered.length > 0) return { tools: offered.map(toolOf) };
  const called = earlier.flatMap((turn) => (turn.by === 'model' ? turn.calls.map(({ name }) => name) : []));
  if (called.length === 0) return {};
  const parameters = { type: 'object' };
  const tools = [...new Set(called)].map((name) =>
    toolOf({ name, description: 'not to be called', parameters }),
  );
  return { tools, tool_choice: { type: 'none' as const } };
}

const toolOf = ({ name, description, parameters }: ToolSpec) => ({
  name,
  description,
  input_schema: parameters,
});

/** How much the model may think, and the form of its answer. */
function thought({ effort, schema }: Request, refused: RefusedParts) {
  const format =
    schema === undefined || refused.has('schema')
      ? {}
      : { format: { type: 'json_schema', schema: schemaWithWords(schema.schema) } };
  const known = effort === 'minimal' ? 'low' : effort;
  const level = known === undefined || known === 'none' || refused.has('effort') ? {} : { effort: known };
  const config = { ...format, ...level };
  const thinking =
    effort === undefined || refused.has('thinking')
      ? {}
      : { thinking: effort === 'none' ? { type: 'disabled' } : { type: 'adaptive', display: 'summarized' } };
  return { ...(Object.keys(config).length === 0 ? {} : { output_config: config }), ...thinking };
}

/** A schema as the API takes it: with the rules that it does not know in words. */
function schemaWithWords(schema: JsonObject): JsonObject {
  try {
    return transformJSONSchema(schema) as JsonObject;
  } catch {
    // One that cannot be rewritten is the server's to refuse.
    return schema;
  }
}

function messageOf(turn: Turn): Message {
  switch (turn.by) {
    case 'user':
      return { role: 'user', content: [text(turn.text)] };
    case 'tool':
      return {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: turn.call.id, content: turn.text }],
      };
    case 'model':
      return {
        role: 'assistant',
        content: turn.items.length > 0 ? (turn.items as Block[]) : keptBlocks(turn),
      };
  }
}

/** A turn of an earlier task, of which the run keeps no blocks. */
const keptBlocks = ({ text: words, calls }: Extract<Turn, { by: 'model' }>): Block[] => [
  ...(words.trim() === '' ? [] : [text(words)]),
  ...calls.map(({ id, name, arguments: args }) => ({
    type: 'tool_use',
    id,
    name,
    input: argumentsObject(args),
  })),
];

/** Neighbours of one role as one message: all results of a turn belong into one. Empty ones are left out. */
function merged(messages: readonly Message[]): readonly Message[] {
  const all: Message[] = [];
  for (const message of messages) {
    const last = all.at(-1);
    if (message.content.length === 0) continue;
    if (last?.role === message.role)
      all[all.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else all.push(message);
  }
  return all;
}

/** What is said in a tool loop, and how either API spells it. Pure. */
import * as z from 'zod';
import type { JsonObject } from '../../model/json.ts';

/** A tool as the model is told of it. */
export type ToolWords = {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
};

/** A call as the model made it; `arguments` is JSON if the model kept to it. */
export type FunctionCall = { readonly id: string; readonly name: string; readonly arguments: string };

export type Turn =
  /** `items` is what the model said as the server spelled it. */
  | {
      readonly by: 'model';
      readonly text: string;
      readonly items: readonly unknown[];
      readonly calls: readonly FunctionCall[];
    }
  | { readonly by: 'tool'; readonly call: FunctionCall; readonly text: string }
  | { readonly by: 'us'; readonly text: string };

export type Talk = {
  readonly instructions: string;
  /** Since the prompt. */
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolWords[];
  /** Nothing is asked for that only some servers have. */
  readonly plain: boolean;
};

/** The tools as the Responses API takes them. Strict mode would take only a subset of JSON Schema. */
export const toolsOf = (tools: readonly ToolWords[]): object[] =>
  tools.map((tool) => ({ type: 'function', ...tool, strict: false }));

/** The whole input of a request to the Responses API. */
export const inputOf = (prompt: string, talk: Talk): unknown[] => [
  message(prompt),
  ...talk.turns.flatMap(itemsOf),
];

/** What one turn adds to it. */
export function itemsOf(turn: Turn): unknown[] {
  switch (turn.by) {
    case 'model':
      return sentBack(turn.items);
    case 'tool':
      return [{ type: 'function_call_output', call_id: turn.call.id, output: turn.text }];
    case 'us':
      return [message(turn.text)];
  }
}

const message = (text: string) => ({ role: 'user', content: text });

const Reasoning = z.looseObject({
  type: z.literal('reasoning'),
  encrypted_content: z.string().min(1).nullish().catch(undefined),
  content: z.array(z.unknown()).nullish().catch(undefined),
  summary: z.array(z.unknown()).nullish().catch(undefined),
});

/** Items go back as they came. Thoughts that carry nothing but their name, though, a server that was told to keep nothing
 *  would look for in vain, and with them for what came of them: then no names are named. */
function sentBack(items: readonly unknown[]): unknown[] {
  const empty = items.flatMap((item) => {
    const read = Reasoning.safeParse(item);
    if (!read.success) return [];
    const { encrypted_content, content } = read.data;
    return encrypted_content != null || (content?.length ?? 0) > 0 ? [] : [item];
  });
  if (empty.length === 0) return [...items];
  return items.flatMap((item) => {
    const summary = empty.includes(item) ? Reasoning.parse(item).summary : undefined;
    if (empty.includes(item) && (summary?.length ?? 0) === 0) return [];
    const read = Named.safeParse(item);
    if (!read.success) return [item];
    const { id: _, ...nameless } = read.data;
    return [nameless];
  });
}

const Named = z.looseObject({ id: z.string() });

const Call = z.object({
  type: z.literal('function_call'),
  id: z.string().nullish().catch(undefined),
  call_id: z.string().nullish().catch(undefined),
  name: z.string(),
  arguments: z.string().or(z.looseObject({})).nullish().catch(undefined),
});

/** The function calls among the items of an answer. */
export function callsIn(items: readonly unknown[]): FunctionCall[] {
  return items.flatMap((item) => {
    const read = Call.safeParse(item);
    if (!read.success) return [];
    const { id, call_id, name, arguments: args } = read.data;
    return [{ id: call_id ?? id ?? name, name, arguments: argumentsText(args) }];
  });
}

/** Some servers send the object itself, and nothing where there are no arguments. */
export const argumentsText = (said: string | object | null | undefined): string =>
  typeof said === 'string' ? said : JSON.stringify(said ?? {});

/** The messages of a request to the chat completions API. */
export function messagesOf(prompt: string, talk: Talk): object[] {
  const system = talk.instructions === '' ? [] : [{ role: 'system', content: talk.instructions }];
  return [...system, message(prompt), ...talk.turns.flatMap(messagesOfTurn)];
}

/** What one turn adds to them. */
export function messagesOfTurn(turn: Turn): object[] {
  switch (turn.by) {
    case 'us':
      return [message(turn.text)];
    case 'tool':
      return [{ role: 'tool', tool_call_id: turn.call.id, content: turn.text }];
    case 'model': {
      if (turn.calls.length === 0 && turn.text === '') return [];
      const tool_calls = turn.calls.map(({ id, name, arguments: args }) => ({
        id,
        type: 'function',
        function: { name, arguments: asObject(args) },
      }));
      return [{ role: 'assistant', content: turn.text, ...(tool_calls.length === 0 ? {} : { tool_calls }) }];
    }
  }
}

/** Servers take the arguments apart to put them into the model's own words, and refuse what is no object. */
function asObject(args: string): string {
  try {
    const value: unknown = JSON.parse(args);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return args;
  } catch {
    // The model is told what it wrote.
  }
  return JSON.stringify({ not_json: args });
}

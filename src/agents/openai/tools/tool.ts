/** A tool of the model: its description for the model, and what it does with the arguments. */
import * as z from 'zod';
import type { AgentAction, AgentTask } from '../../../core/contracts/agent.ts';
import type { Clock } from '../../../core/contracts/clock.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { ToolScope } from '../../../core/policy/tool-paths.ts';

/** What the tools of one task share. */
export type ToolContext = {
  readonly task: AgentTask;
  /** The workspace's real path. */
  readonly root: string;
  readonly scope: ToolScope;
  readonly clock: Clock;
  /** Milliseconds that one program may take. */
  readonly runMs: number;
  /** Fires when the task is over. */
  readonly signal: AbortSignal;
  /** Number of this call in the task, for the names of its artifacts. */
  readonly call: number;
};

/** What the model gets. `ok` is false where the call did nothing. */
export type ToolResult = { readonly ok: boolean; readonly text: string };

export const did = (text: string): ToolResult => ({ ok: true, text });
export const refusedCall = (text: string): ToolResult => ({ ok: false, text: `error: ${text}` });

export type ToolAction = Pick<AgentAction, 'action' | 'detail'>;

export type Tool = {
  readonly name: string;
  readonly description: string;
  /** JSON schema of its arguments. */
  readonly parameters: JsonObject;
  /** Reads the arguments; a problem is for the model. */
  prepare(args: unknown): PreparedCall | { readonly problem: string };
};

type PreparedCall = {
  /** For `events.jsonl`. */
  readonly action: ToolAction;
  /** Never rejects for what is in the workspace. */
  run(context: ToolContext): Promise<ToolResult>;
};

/** Declares a tool, its arguments typed by their schema. */
export function defineTool<S extends z.ZodObject>(declared: {
  readonly name: string;
  readonly description: string;
  readonly args: S;
  readonly action: (args: z.infer<S>) => ToolAction;
  readonly run: (args: z.infer<S>, context: ToolContext) => Promise<ToolResult>;
}): Tool {
  const { name, description, args, action, run } = declared;
  const { $schema: _, ...parameters } = z.toJSONSchema(args, { io: 'input' });
  return {
    name,
    description,
    // A JSON schema is JSON; its type cannot say so.
    parameters: parameters as JsonObject,
    prepare(typed) {
      const read = args.safeParse(typed);
      if (!read.success) return { problem: z.prettifyError(read.error).replace(/\s*\n\s*/g, ' ') };
      return { action: action(read.data), run: (context) => run(read.data, context) };
    },
  };
}

/** Characters of the longest result of a tool. */
const longestResult = 48_000;

/** The text, or its head and tail with a line between them that says what was left out. `most` is in characters. */
export function bounded(text: string, most = longestResult): string {
  if (text.length <= most) return text;
  const tail = Math.floor(most / 4);
  const head = wellFormed(text.slice(0, most - tail));
  const end = wellFormed(text.slice(-tail));
  const left = text.slice(head.length, -tail);
  return `${head}\n[… ${left.length} characters (${left.split('\n').length - 1} line ends) left out …]\n${end}`;
}

/** The text with half characters, which a cut may leave, replaced: servers refuse them. */
export const wellFormed = (text: string): string => Buffer.from(text).toString();

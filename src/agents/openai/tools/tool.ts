/** What a tool of the model is: its words for the model, and what it does with them. */
import * as z from 'zod';
import type { JsonObject } from '../../../model/json.ts';
import type { ToolScope } from '../../../policy/tool-paths.ts';
import type { Clock } from '../../../system/clock.ts';
import type { AgentAction, AgentTask } from '../../agent.ts';

/** What the tools of one task share. */
export type Desk = {
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

/** What the model is told. `ok` is false where the call was in vain; `changed` where it made the workspace another. */
export type ToolResult = {
  readonly ok: boolean;
  readonly text: string;
  readonly changed?: boolean;
};

export const did = (text: string, changed = false): ToolResult => ({ ok: true, text, changed });
export const refused = (text: string): ToolResult => ({ ok: false, text: `error: ${text}` });

export type Tool = {
  readonly name: string;
  readonly description: string;
  /** JSON schema of its arguments. */
  readonly parameters: JsonObject;
  /** Reads the arguments; a problem is told to the model. */
  prepare(args: unknown): Prepared | { readonly problem: string };
};

export type Prepared = {
  /** How the call stands in the journal. */
  readonly action: Omit<AgentAction, 'status'>;
  /** Never rejects for what is in the workspace. */
  run(desk: Desk): Promise<ToolResult>;
};

/** Declares a tool, its arguments typed by their schema. */
export function tool<S extends z.ZodObject>(declared: {
  readonly name: string;
  readonly description: string;
  readonly args: S;
  readonly action: (args: z.infer<S>) => Omit<AgentAction, 'status'>;
  readonly run: (args: z.infer<S>, desk: Desk) => Promise<ToolResult>;
}): Tool {
  const { name, description, args, action, run } = declared;
  const { $schema: _, ...parameters } = z.toJSONSchema(args, { io: 'input' });
  return {
    name,
    description,
    // A JSON schema is JSON; its type cannot say so.
    parameters: parameters as JsonObject,
    prepare(said) {
      const read = args.safeParse(said);
      if (!read.success) return { problem: z.prettifyError(read.error).replace(/\s*\n\s*/g, ' ') };
      return { action: action(read.data), run: (desk) => run(read.data, desk) };
    },
  };
}

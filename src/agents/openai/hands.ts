/** Carries out the calls of a model, and tells it what is wrong with those that cannot be. */
import { asciiJson, sortedKeys } from '../../model/canonical.ts';
import { mostGivenLevels, parseJson } from '../../model/json.ts';
import { nearest } from '../../model/nearest.ts';
import { footprint } from './footprint.ts';
import type { Call } from './repeats.ts';
import type { FunctionCall } from './talk.ts';
import { bounded } from './tools/bounded.ts';
import { type Desk, refused, type Tool, type ToolResult } from './tools/tool.ts';
import { asJson } from './transcript.ts';

export interface Hands {
  /** Does what a call asks for. Rejects only where the task's own doors do. */
  carryOut(call: FunctionCall): Promise<ToolResult>;
  /** The call and its result as repetitions are told by. */
  remembered(call: FunctionCall, result: ToolResult): Promise<Call>;
}

/** `tools` are those that the model was offered; `others` names what else it may call. */
export function hands(tools: readonly Tool[], others: readonly string[], desk: Omit<Desk, 'call'>): Hands {
  const names = [...tools.map(({ name }) => name), ...others];
  const ran = new Set<string>();
  let number = 0;
  let changes = 0;
  return {
    async carryOut(call) {
      number += 1;
      const tool = tools.find(({ name }) => name === call.name);
      if (tool === undefined) {
        const near = nearest(call.name, names);
        const hint = near === undefined ? `there are ${names.join(', ')}` : `did you mean "${near}"?`;
        return refused(`there is no tool "${call.name.slice(0, 100)}": ${hint}`);
      }
      const args = read(call.arguments);
      if ('problem' in args) return refused(args.problem);
      const prepared = tool.prepare(args.value);
      if ('problem' in prepared)
        return refused(`the arguments of ${tool.name} do not fit: ${prepared.problem}`);
      const result = await prepared.run({ ...desk, call: number });
      if (result.changed === true) changes += 1;
      desk.task.acted({ ...prepared.action, status: result.ok ? 'completed' : 'failed' });
      return { ...result, text: bounded(result.text) };
    },
    async remembered({ name, arguments: text }, result) {
      const call = { name, args: asciiJson(sortedKeys(asJson(text))), result: result.text };
      const key = JSON.stringify(call);
      // What a program changes shows in the files only; it is worth a look once it was run before.
      const state = name === 'run' && ran.has(key) ? await footprint(desk.root) : '';
      ran.add(key);
      return { ...call, state: `${changes} ${state}` };
    },
  };
}

function read(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: parseJson(text.trim() === '' ? '{}' : text, mostGivenLevels) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      problem: `the arguments are no JSON (${why.slice(0, 200)}): call the tool again with a whole JSON object`,
    };
  }
}

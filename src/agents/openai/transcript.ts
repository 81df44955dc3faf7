/** The record of a tool loop, `openai.transcript.jsonl`: what was sent, answered, called and told, in order. */
import { type Json, mostGivenLevels, parseJson } from '../../model/json.ts';
import type { Clock } from '../../system/clock.ts';
import type { AgentTask } from '../agent.ts';

const transcriptName = 'openai.transcript.jsonl';

export interface Transcript {
  /** Adds a record. `type` says which; times are added. */
  add(record: { readonly type: string; readonly [key: string]: unknown }): void;
  /** Writes what there is. */
  save(): Promise<void>;
}

/** Every save writes all of it anew: the programs of the node can reach its folder, and a record that they changed or
 *  made a link of would be a record of nothing. */
export function transcript(task: AgentTask, clock: Clock, mask: (text: string) => string): Transcript {
  const lines: string[] = [];
  const began = clock.monotonic();
  return {
    add({ type, ...rest }) {
      const at = clock.now().toISOString();
      const record = { seq: lines.length + 1, type, at, elapsed_ms: elapsed(clock, began), ...rest };
      lines.push(mask(JSON.stringify(record)));
    },
    save: () => task.keep(transcriptName, lines.map((line) => `${line}\n`).join('')),
  };
}

const elapsed = (clock: Clock, began: number): number => Math.round(clock.monotonic() - began);

/** The arguments of a call as JSON, as far as they are any that can be gone through. */
export function asJson(text: string): Json {
  try {
    // What is parsed is JSON; its type cannot say so.
    return parseJson(text, mostGivenLevels) as Json;
  } catch {
    return text;
  }
}

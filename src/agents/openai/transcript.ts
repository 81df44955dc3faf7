/** The record of a tool loop, `openai.transcript.jsonl`: what was asked, answered and called, in order. */
import type { AgentTask } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import { type Json, mostGivenLevels, parseJson } from '../../core/json.ts';

const transcriptName = 'openai.transcript.jsonl';

export interface Transcript {
  /** Adds a record. `type` says which; the time is added. */
  add(record: { readonly type: string; readonly [key: string]: unknown }): void;
  /** Writes what there is. */
  save(): Promise<void>;
}

/** Every save writes all of it anew: the programs of the node can reach its folder, and a record that they changed or
 *  made a link of would be a record of nothing. */
export function transcript(task: AgentTask, clock: Clock, mask: (text: string) => string): Transcript {
  const lines: string[] = [];
  return {
    add({ type, ...rest }) {
      lines.push(mask(JSON.stringify({ type, at: clock.now().toISOString(), ...rest })));
    },
    save: () => task.keep(transcriptName, lines.map((line) => `${line}\n`).join('')),
  };
}

/** The arguments of a call as JSON; the text where it is not valid. */
export function asJson(text: string): Json {
  try {
    // What is parsed is JSON; its type cannot say so.
    return parseJson(text, mostGivenLevels) as Json;
  } catch {
    return text;
  }
}

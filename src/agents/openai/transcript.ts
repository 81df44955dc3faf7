/** The record of a tool loop, `openai.transcript.jsonl`: what was asked, answered and called, in order. Until it is saved, the session
 *  that people see grows with each record. */
import type { AgentTask } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import { loopSession } from './session.ts';

export const transcriptName = 'openai.transcript.jsonl';

export interface Transcript {
  /** Adds a record. `type` says which; the time is added. */
  add(record: { readonly type: string; readonly [key: string]: unknown }): void;
  /** The model is asked for this turn. */
  asks(turn: number): void;
  /** Writes it, at the end of the work. */
  save(): Promise<void>;
}

/** It is written at once, at the end: the programs of the node can reach its folder, and a record that they changed or made a link
 *  of would be a record of nothing. */
export function transcript(task: AgentTask, clock: Clock, mask: (text: string) => string): Transcript {
  const lines: string[] = [];
  const steps = loopSession();
  return {
    add({ type, ...rest }) {
      const line = mask(JSON.stringify({ type, at: clock.now().toISOString(), ...rest }));
      lines.push(line);
      for (const step of steps(line)) task.session?.(step);
    },
    asks: (turn) => task.session?.({ type: 'turn', turn, at: clock.now().toISOString() }),
    save: () => task.keep(transcriptName, lines.map((line) => `${line}\n`).join('')),
  };
}

/** What a command writes of its session while it works: lines in the file that `FACTORY_SESSION_FILE` names. */
import type { AgentTask } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { jsonIn } from '../core/json.ts';
import { type SessionLine, sessionLineSchema } from '../core/records/session.ts';
import { lineReader } from './program/lines.ts';
import { startLine } from './program/session.ts';

export const commandSessionName = 'command.session.jsonl';

/** Characters of the lines that are kept; later ones are left out. */
const mostKept = 32 * 1024 * 1024;

export interface CommandSession {
  /** Takes what was added to the file; a line may come in pieces. */
  push(text: string): void;
  /** Keeps the lines, each with its time, once the program has ended. */
  keep(): Promise<void>;
}

export function commandSession(task: AgentTask, model: string | undefined, clock: Clock): CommandSession {
  const now = () => clock.now().toISOString();
  const start = startLine('command', model, now());
  const kept: string[] = [];
  let length = 0;
  let wrong: { readonly line: number; readonly why: string } | undefined;
  let count = 0;
  task.session?.(start);
  const reader = lineReader((text) => {
    count += 1;
    if (text.trim() === '') return;
    const read = sessionLineIn(text);
    if ('problem' in read) {
      wrong ??= { line: count, why: read.problem };
      return;
    }
    const line = { ...read.line, at: read.line.at ?? now() };
    const json = JSON.stringify(line);
    length += json.length;
    if (length > mostKept) return;
    kept.push(json);
    task.session?.(line);
  });
  return {
    push: reader.push,
    async keep() {
      reader.end();
      if (wrong !== undefined)
        task.log('warn', `the session file of the command has a line that is left out: ${wrong.why}`, {
          file: commandSessionName,
          line: wrong.line,
        });
      if (kept.length === 0) return;
      await task.keep(
        commandSessionName,
        [JSON.stringify(start), ...kept].map((line) => `${line}\n`).join(''),
      );
    },
  };
}

function sessionLineIn(text: string): { readonly line: SessionLine } | { readonly problem: string } {
  const value = jsonIn(text);
  if (value === undefined) return { problem: 'it is no JSON object' };
  const read = sessionLineSchema().safeParse(value);
  if (read.success) return { line: read.data };
  const [issue] = read.error.issues;
  return { problem: `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'is no step of a session'}` };
}

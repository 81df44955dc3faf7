/** The session of an agent program: its steps as they come, and the times at which the lines of its output came. */
import type { AgentTask } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import { type LineTime, lineTimeSchema, type SessionLine } from '../../core/records/session.ts';
import { jsonLine } from './lines.ts';

/** Artifact with the times of the lines of `NAME.stdout.log`. */
export const timesName = (program: string): string => `${program}.times.jsonl`;

export interface ProgramSession {
  begin(model: string | undefined): void;
  /** Takes the next line of standard output. */
  line(text: string): void;
  /** Writes the times, once the program has ended. */
  keep(): Promise<void>;
}

/** `steps` reads the session's lines from a line of output. The output itself is kept as it is: only the times are new. */
export function programSession(
  name: string,
  task: AgentTask,
  clock: Clock,
  steps: (line: string) => readonly SessionLine[],
): ProgramSession {
  const times: LineTime[] = [];
  let count = 0;
  const now = () => clock.now().toISOString();
  return {
    begin(model) {
      times.push({ line: 0, at: now() });
      task.session?.(startLine(name, model, now()));
    },
    line(text) {
      count += 1;
      const lines = steps(text);
      if (lines.length === 0) return;
      const at = now();
      times.push({ line: count, at });
      for (const line of lines) task.session?.({ ...line, at });
    },
    keep: () => task.keep(timesName(name), times.map((time) => `${JSON.stringify(time)}\n`).join('')),
  };
}

export const startLine = (agent: string, model: string | undefined, at: string | undefined): SessionLine => ({
  ...{ type: 'start', ...(at === undefined ? {} : { at }), agent },
  ...(model === undefined ? {} : { model }),
});

/** A note in a log from which the middle was left out: the lines after it have other numbers. */
const isGap = (line: string): boolean => /^\[… \d+ bytes/.test(line);

/** The lines of a session from those of a kept output and of its times; without times where none were kept. */
export function* recordedSession(
  output: Iterable<string>,
  times: Iterable<string>,
  { agent, model }: { readonly agent: string; readonly model: string | undefined },
  steps: (line: string) => readonly SessionLine[],
): Generator<SessionLine> {
  const cameAt = new Map<number, string>();
  for (const line of times) {
    const time = jsonLine(line, lineTimeSchema());
    if (time !== undefined) cameAt.set(time.line, time.at);
  }
  yield startLine(agent, model, cameAt.get(0));
  let count = 0;
  let isCut = false;
  for (const line of output) {
    count += 1;
    isCut ||= isGap(line);
    const at = isCut ? undefined : cameAt.get(count);
    for (const one of steps(line)) yield at === undefined ? one : { ...one, at };
  }
}

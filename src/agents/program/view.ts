/** What is made of a program's output while it arrives: events or text for the live view, and lines for the log. */
import type { AgentReport, AgentTask } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import { head } from '../../platform/files/read.ts';
import { lineReader } from './lines.ts';

export type ProgramView = {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** The last line on standard error that is not blank; where that says nothing, the last on standard output that is no
   *  event. */
  readonly lastWords: () => string;
  end(): void;
};

/** `name` is the program in the log, where `FACTORY_LOG_<NAME>_STREAM=true` puts every line of its output. With
 *  `events`, which gets the lines of standard output, the output itself is not shown. */
export function programView(
  name: string,
  task: AgentTask,
  env: Readonly<Record<string, string | undefined>>,
  events?: (line: string) => void,
): ProgramView {
  const streamed = /^(?:1|t|true)$/i.test(env[`FACTORY_LOG_${name.toUpperCase()}_STREAM`]?.trim() ?? '');
  const show = shower(task);
  const last = { stdout: '', stderr: '' };
  const lineOf = (stream: 'stdout' | 'stderr') => (line: string) => {
    if (stream === 'stdout') events?.(line);
    const isEvent = stream === 'stdout' && events !== undefined && line.startsWith('{');
    if (line.trim() !== '' && !isEvent) last[stream] = head(line.trim(), 300);
    if (!streamed) return;
    for (const part of line.split('\r'))
      if (part.trim() !== '') task.log('info', `${name} stream`, { stream, text: part });
  };
  const out = lineReader(lineOf('stdout'));
  const err = lineReader(lineOf('stderr'));
  return {
    stdout(text) {
      if (events === undefined) show(text, 'answer');
      out.push(text);
    },
    stderr(text) {
      if (events === undefined) show(text, 'reasoning');
      err.push(text);
    },
    lastWords: () => (last.stderr === '' ? last.stdout : last.stderr),
    end() {
      out.end();
      err.end();
    },
  };
}

/** Shows text in the task's live view. */
export const shower =
  (task: AgentTask) =>
  (text: string, channel: 'answer' | 'reasoning'): void => {
    try {
      task.onText?.(text, channel);
    } catch {
      // A view that fails is no reason to lose what comes after this text.
    }
  };

/* Says every so often that a program is still at work. */

/** Logs `<what> still running` every `ms` milliseconds until the answer is called. */
export function heartbeat(what: string, task: AgentTask, clock: Clock, ms: number): () => void {
  const over = new AbortController();
  const began = clock.monotonic();
  const beat = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(ms, over.signal);
      if (over.signal.aborted) return;
      task.log('info', `${what} still running`, { elapsed_ms: Math.round(clock.monotonic() - began) });
    }
  };
  void beat();
  return () => over.abort();
}

/** Logs how a program's work ended; `elapsed` in milliseconds. */
export function logEnd(what: string, task: AgentTask, report: AgentReport, elapsed: number): void {
  const elapsed_ms = Math.round(elapsed);
  if (report.kind === 'failed') {
    const how = report.class === 'timeout' ? 'timed out' : 'failed';
    task.log('warn', `${what} ${how}`, { elapsed_ms, reason: report.reason });
  } else if (report.kind === 'finished') {
    task.log('info', `${what} completed`, { elapsed_ms, outcome: report.outcome });
  } else if (report.kind === 'answered') {
    task.log('info', `${what} completed`, { elapsed_ms });
  }
}

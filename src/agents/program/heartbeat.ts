/** Says every so often that a program is still at work. */
import type { Clock } from '../../system/clock.ts';
import type { AgentReport, AgentTask } from '../agent.ts';

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

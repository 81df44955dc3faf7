/** Runs several tasks at a time. */

/** Runs the tasks, `jobs` at a time; the answers are in the tasks' order. None is started after the signal fired. */
export async function pooled<T, R>(
  tasks: readonly T[],
  { jobs, signal }: { readonly jobs: number; readonly signal: AbortSignal },
  carryOut: (task: T) => Promise<R>,
): Promise<readonly R[]> {
  const answers: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < tasks.length && !signal.aborted; at = next++) {
      const task = tasks[at];
      if (task !== undefined) answers[at] = await carryOut(task);
    }
  };
  // Waits for all, also when one throws: no process may be left running.
  const ended = await Promise.allSettled(Array.from({ length: Math.min(jobs, tasks.length) }, worker));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return answers;
}

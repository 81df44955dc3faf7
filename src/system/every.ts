/** The door to repeated work in the background. */

/** Calls `work` every `ms` milliseconds until the answer is called. It does not keep the process alive. */
export type Every = (ms: number, work: () => void) => () => void;

export const realEvery: Every = (ms, work) => {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
};

/** Calls `work` each time this process goes on after it was stopped (SIGSTOP, Ctrl-Z), until the answer is called. */
export type Continued = (work: () => void) => () => void;

const waking = new Set<() => void>();
const awake = (): void => {
  for (const work of waking) work();
};

export const realContinued: Continued = (work) => {
  if (waking.size === 0) process.on('SIGCONT', awake);
  waking.add(work);
  return () => {
    if (waking.delete(work) && waking.size === 0) process.off('SIGCONT', awake);
  };
};

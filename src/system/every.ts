/** The only module that repeats work in the background. */

/** Calls `work` every `ms` milliseconds until the returned function is called. It does not keep the process alive. */
export type Every = (ms: number, work: () => void) => () => void;

export const realEvery: Every = (ms, work) => {
  const timer = setInterval(work, ms);
  timer.unref();
  return () => clearInterval(timer);
};

/** The context of a run without a watcher. */
import type { Doors } from '../../src/factory.ts';
import { realClock } from '../../src/system/clock.ts';

export const plainFlags = { vars: {}, envPass: [], allowDirty: false, acceptChanges: false };

/** The real clock, no watcher, and of the environment only PATH and `env`. */
export const quietDoors = (cwd: string, env: Readonly<Record<string, string>> = {}): Doors => ({
  cwd,
  env: { PATH: process.env['PATH'], ...env },
  clock: realClock,
  signal: new AbortController().signal,
  watcher: { event: () => {}, streamed: () => {}, spent: () => {} },
  log: () => {},
});

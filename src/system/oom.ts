/** Processes that the system has ended because no memory was left. */
import { readFileSync } from 'node:fs';

/** Counts them, on the whole machine; where the system does not count them, there are none. */
export class OutOfMemory {
  private seen: number;

  /** `count` answers how many there have been since the system began, undefined where it does not tell. */
  constructor(private readonly count: () => number | undefined = kills) {
    this.seen = this.count() ?? 0;
  }

  /** How many there have been since this was made, or asked last. */
  since(): number {
    const before = this.seen;
    this.seen = this.count() ?? before;
    return this.seen - before;
  }
}

function kills(): number | undefined {
  try {
    const [, count] = /^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'latin1')) ?? [];
    return count === undefined ? undefined : Number(count);
  } catch {
    return undefined;
  }
}

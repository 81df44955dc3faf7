/** Processes that the system killed because it was out of memory. */
import { readFileSync } from 'node:fs';

/** Counts them on the whole machine; none where the system keeps no count. */
export class OutOfMemory {
  private seen: number;

  /** `count` returns how many there were since boot; undefined where the system has no count. */
  constructor(private readonly count: () => number | undefined = kills) {
    this.seen = this.count() ?? 0;
  }

  /** How many there were since the last call, or since this was created. */
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

/** Names of processes that share a runs directory: `HOST~PID~START-SPACE`, a name of a file or folder. */

import { sha256 } from '../core/sha256.ts';
import { isAlive, processId, type Self } from '../platform/process/table.ts';

/** START is the kernel's time of start (in the form of a name), SPACE the boot and pid namespace in which PID counts. */
export function processName({ host, id, pidSpace }: Self): string {
  return `${hostWord(host)}~${id.pid}~${startWord(id.startTime)}-${spaceWord(pidSpace)}`;
}

const form = /^([A-Za-z0-9.-]+)~(\d+)~([A-Za-z0-9]*)-([0-9a-f]{8})$/;

export const isProcessName = (name: string): boolean => form.test(name);

const hostWord = (host: string): string => host.replace(/[^A-Za-z0-9.-]/g, '-').slice(0, 64) || '-';
const spaceWord = (space: string): string => sha256(space).slice(0, 8);
/** Systems without the kernel's process files report a date with blanks. */
const startWord = (start: string): string => (/^\d*$/.test(start) ? start : sha256(start).slice(0, 8));

/** Whether the process of that name runs, as far as `self` can see it: not from another host, container or boot. */
export function seenFrom(self: Self, name: string): 'alive' | 'ended' | 'out of sight' {
  const [, host, pid, start, space] = form.exec(name) ?? [];
  if (host !== hostWord(self.host) || space !== spaceWord(self.pidSpace)) return 'out of sight';
  const id = processId(Number(pid));
  return id !== undefined && startWord(id.startTime) === start && isAlive(id) ? 'alive' : 'ended';
}

/** Where tests make temporary files: in memory where there is room. Flushes and removals on a disk would take longer than
 *  what most tests test. */
import { readFileSync, statfsSync } from 'node:fs';

const given = process.env['TMPDIR'];
const memory = '/dev/shm';
/** What all workers need at a time, in bytes, several times over. */
const room = 2 ** 31;

/** Programs can be started there, and there is room: containers often allow neither. */
function isUsable(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    const options = / \/dev\/shm tmpfs (\S+)/.exec(readFileSync('/proc/mounts', 'utf8'))?.[1]?.split(',');
    return options?.includes('rw') === true && !options.includes('noexec') && bavail * bsize >= room;
  } catch {
    return false;
  }
}

/** Unless the user names a folder. */
export function inMemory(): void {
  if (given === undefined && isUsable()) process.env['TMPDIR'] = memory;
}

/** For the rest of a test file that confines programs: what is below `/dev` is not theirs. */
export function onDisk(): void {
  if (given === undefined) delete process.env['TMPDIR'];
}

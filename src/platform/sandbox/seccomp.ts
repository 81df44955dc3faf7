/** A system call filter that hides the kernel's key rings from confined nodes. Neither namespaces nor permissions
 *  separate them: a node could read the keys of the user who started the run, and leave holdouts there for the next
 *  node. */
import { openSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { nameless } from '../process/outputs.ts';

/** For each system call interface of a machine: its name (AUDIT_ARCH_…), and the number of `add_key`, the first of
 *  three. */
const calls: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  x64: [
    [0xc000003e, 248],
    [0x40000003, 286],
  ],
  arm64: [
    [0xc00000b7, 217],
    [0x40000028, 309],
  ],
};

/** In the kernel's format: code, jump if true, jump if false, value. */
function step(code: number, yes: number, no: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code);
  bytes.writeUInt8(yes, 2);
  bytes.writeUInt8(no, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}

const load = (at: number) => step(0x20, 0, 0, at);
const answer = (what: number) => step(0x06, 0, 0, what);
const allow = answer(0x7fff0000);
/** ENOSYS, as on a kernel without key rings. */
const refuse = answer(0x00050026);

const program = (): Buffer =>
  Buffer.concat([
    ...(calls[arch()] ?? []).flatMap(([name, first]) => [
      load(4),
      step(0x15, 0, 6, name),
      load(0),
      // The bit of the x32 calls, which have the same numbers.
      step(0x54, 0, 0, 0xbfffffff),
      step(0x35, 0, 2, first),
      step(0x25, 1, 0, first + 2),
      refuse,
      allow,
    ]),
    allow,
  ]);

let place: string | undefined | null;

/** A path of this process to the filter, valid while the process runs; undefined where there is none. */
export function filterPlace(): string | undefined {
  place ??= made();
  return place ?? undefined;
}

function made(): string | null {
  if (platform() !== 'linux' || calls[arch()] === undefined) return null;
  for (const folder of [tmpdir(), '/dev/shm', '/var/tmp'])
    try {
      return `/proc/${process.pid}/fd/${nameless(program(), folder)}`;
    } catch {
      // The next folder may work.
    }
  return null;
}

/** A descriptor to read the filter from, for one program; the caller closes it. */
export function openFilter(): number {
  const path = filterPlace();
  if (path === undefined) throw new Error('Internal: no filter was made for this node');
  return openSync(path, 'r');
}

/** The descriptor that bubblewrap reads the filter from. */
export const filterWords: readonly [string, string] = ['--seccomp', '3'];

/** A system call filter for confined nodes. It hides the kernel's key rings: neither namespaces nor permissions
 *  separate them, so a node could read the keys of the user who started the run, and leave holdouts there for the next
 *  node. And no program traces the first process of its sandbox, which ends the sandbox with the node's program: a tracer
 *  that stops it would hold the node until its timeout. */
import { openSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { nameless } from '../process/outputs.ts';

/** For each system call interface of a machine: its name (AUDIT_ARCH_…), the number of `add_key`, the first of
 *  three, and that of `ptrace`; x32 has a separate one. */
const calls: Readonly<Record<string, readonly (readonly [number, number, readonly [number, number]])[]>> = {
  x64: [
    [0xc000003e, 248, [101, 521]],
    [0x40000003, 286, [26, 26]],
  ],
  arm64: [
    [0xc00000b7, 217, [117, 117]],
    [0x40000028, 309, [26, 26]],
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
/** EPERM, as for the process of another user. */
const forbid = answer(0x00050001);
const equals = (value: number, yes: number, no: number) => step(0x15, yes, no, value);

const program = (): Buffer =>
  Buffer.concat([
    ...(calls[arch()] ?? []).flatMap(([name, first, [ptrace, other]]) => [
      load(4),
      equals(name, 0, 13),
      load(0),
      // The bit of the x32 calls, most of which have the same numbers.
      step(0x54, 0, 0, 0xbfffffff),
      step(0x35, 0, 2, first),
      step(0x25, 1, 0, first + 2),
      refuse,
      equals(ptrace, 1, 0),
      equals(other, 0, 5),
      // The request and the process, without the upper halves. Request 0 is for the caller itself.
      load(16),
      equals(0, 3, 0),
      load(24),
      equals(1, 0, 1),
      forbid,
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

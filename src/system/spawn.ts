/** The door to other programs: starts a stage's process, keeps its output, and leaves nothing of it behind. */

import type { Confinement } from './sandbox/confinement.ts';

/** How a program ended. A missing program, a timeout and a signal are answers, not exceptions. */
export type Exit =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timed_out'; readonly afterMs: number }
  | { readonly kind: 'cancelled' }
  /** `noRoom`: it is there, but the machine had no process, file or memory left for it just now. */
  | { readonly kind: 'not_found'; readonly program: string; readonly why: string; readonly noRoom?: true };

export type SpawnRequest = {
  /** Program and arguments; no shell in between. Searched on `env.PATH` when it has no slash. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment of the child; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Given on standard input, then end of file; without it standard input is `/dev/null`. */
  readonly stdin?: string;
  /** A descriptor of ours that it gets as its own number 3. */
  readonly third?: number;
  /** Files that receive the whole of either stream, however long unless `mostBytes` says; created or emptied. */
  readonly stdoutFile: string;
  readonly stderrFile: string;
  /** Values that must not appear in the files: each occurrence becomes `***`, also across two writes.
   *  When empty the child writes straight to the files. */
  readonly mask?: readonly string[];
  /** Called with what is written to the files, masked, as it arrives; a line, and a character, may come in pieces. What
   *  they throw is their own affair. */
  readonly onStdout?: (bytes: Buffer) => void;
  readonly onStderr?: (bytes: Buffer) => void;
  /** Bytes that each file may grow to. Of a longer stream the head and the tail are kept, and a line between them says
   *  how much was left out. Without it there is no limit. */
  readonly mostBytes?: number;
  /** Milliseconds until the whole process group gets SIGTERM, and SIGKILL `graceMs` later. */
  readonly timeoutMs?: number;
  /** Default 5000. */
  readonly graceMs?: number;
  /** Fires: the group is ended the same way and the answer is `cancelled`. */
  readonly signal?: AbortSignal;
  /** `NAME=value` as it stands in `env`: whatever process still carries it when the program has ended, however it
   *  ended, is ended too. */
  readonly marker?: string;
  /** What the program may read, write and reach; held to by the spawn of `sandbox/`, which every stage goes through. */
  readonly confinement?: Confinement;
  /** The program only watches over others of its group and dies with them: a SIGTERM is for the others. */
  readonly watched?: boolean;
  /** Called once the process exists; awaited before the answer is given. */
  readonly started?: (process: ProcessId) => void | Promise<void>;
};

/** A process that can be told from a later one with the same pid. `startTime` is the kernel's, in clock ticks; `boot`
 *  names the boot that they count from, where the system has a name for it. */
export type ProcessId = { readonly pid: number; readonly startTime: string; readonly boot?: string };

export interface Spawn {
  /** Runs one program to its end. Never rejects for what the program does; rejects when the output files cannot be
   *  written. Every process of the group, and every one that carries the marker, is gone when it settles. */
  run(request: SpawnRequest): Promise<Exit>;
}

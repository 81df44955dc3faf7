/** Interface for starting a node's program: it keeps the output and ends every process that the program leaves
 *  behind. */
import type { Confinement } from './sandbox.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The standard input of a program, while it stays open. */
export interface OpenInput {
  /** Ignored once the program has closed it, or has ended. */
  write(text: string): void;
  /** The program reads end of file. */
  end(): void;
}

/** How a program ended. A missing program, a timeout and a signal are results, not exceptions. */
export type Exit =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timed_out'; readonly afterMs: number }
  | { readonly kind: 'cancelled' }
  /** `noRoom`: it exists, but the machine had no process, file or memory left for it. */
  | { readonly kind: 'not_found'; readonly program: string; readonly why: string; readonly noRoom?: true };

export type SpawnRequest = {
  /** Program and arguments; no shell in between. Searched on `env.PATH` when it has no slash. */
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment of the child; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Passed on standard input, then end of file; without it standard input is `/dev/null`. */
  readonly stdin?: string;
  /** Instead of `stdin`: called once the program has been started, with its standard input, which stays open until it is ended or
   *  the program is. */
  readonly talk?: (input: OpenInput) => void;
  /** A descriptor of this process that the program gets as number 3. */
  readonly third?: number;
  /** Files that receive each whole stream, limited only by `mostBytes`; created or replaced. */
  readonly stdoutFile: string;
  readonly stderrFile: string;
  /** Values that must not appear in the files: each occurrence becomes `***`, also across two writes.
   *  When empty the child writes straight to the files. */
  readonly mask?: readonly string[];
  /** Called at the end if a value was masked in standard output. */
  readonly onMaskedStdout?: () => void;
  /** Called with the masked output as it arrives; a line, and a character, may come in pieces. Their exceptions are
   *  ignored. */
  readonly onStdout?: (bytes: Buffer) => void;
  readonly onStderr?: (bytes: Buffer) => void;
  /** The largest size of each file. Of a longer stream the head and the tail are kept, with a line between them
   *  that states how much was left out. Without it there is no limit. */
  readonly mostBytes?: number;
  /** Milliseconds until the whole process group gets SIGTERM, and SIGKILL `graceMs` later. */
  readonly timeoutMs?: number;
  /** Default 5000. */
  readonly graceMs?: number;
  /** Fires: the group is ended the same way and the result is `cancelled`. */
  readonly signal?: AbortSignal;
  /** A `NAME=value` of `env`: every process that still carries it when the program has ended, for any reason, is
   *  ended too. */
  readonly marker?: string;
  /** What the program may read, write and reach; enforced by the spawn of `sandbox/`, which runs every node. */
  readonly confinement?: Confinement;
  /** The program only supervises others of its group and dies with them: SIGTERM goes to the others. */
  readonly watched?: boolean;
  /** Called once the process exists; awaited before the result is returned. */
  readonly started?: (process: ProcessId) => void | Promise<void>;
};

/** Distinguishes a process from a later one with the same pid. `startTime` is the kernel's, in clock ticks; `boot`
 *  names the boot that they count from, where the system has a name for it. */
export type ProcessId = { readonly pid: number; readonly startTime: string; readonly boot?: string };

export interface Spawn {
  /** Runs one program until it ends. Never rejects for what the program does; rejects when the output files cannot
   *  be written. When it settles, every process of the group, and every one that carries the marker, has ended. */
  run(request: SpawnRequest): Promise<Exit>;
}

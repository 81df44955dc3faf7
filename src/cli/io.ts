/** What a command receives of its process. Only `program.ts` has the process itself. */
import type { Readable, Writable } from 'node:stream';
import type { Clock, Every } from '../core/contracts/clock.ts';
import type { Spawn } from '../core/contracts/process.ts';
import type { OwnSteps } from '../engine/own-step.ts';

export type Io = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results. */
  out(text: string): void;
  /** Log records, the live view and errors. */
  err(text: string): void;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** Columns of the terminal, which may change: read it when it is used. */
  readonly width: number;
  /** Its lines, where it knows them. */
  readonly height?: number | undefined;
  /** How the user calls us, and the command line that would start the same again. */
  readonly called?: { readonly program: string; readonly again?: string };
};

/** Raw standard output, for commands that read a run. */
export type Raw = {
  /** Results that are no text for people. */
  bytes(piece: Uint8Array): void;
  /** Whether the reader of the output has closed it (`factory … | head`). */
  outIsClosed(): boolean;
};

/** What every verb receives. */
export type CliIo = Io &
  Raw & {
    readonly clock: Clock;
    readonly every: Every;
    readonly now: () => Date;
    readonly spawn: Spawn;
    /** Handles signals from the first call on; the answer fires at the first signal. */
    readonly signal: () => AbortSignal;
    /** Fires at the second signal, which then does not end the process; the third does. */
    readonly secondSignal?: () => AbortSignal;
    /** See `Host` in app/types.ts. */
    readonly parting: (command: string) => void;
    readonly onBegin?: (runDir: string) => void;
    readonly atLast: (work: () => Promise<void>) => void;
    readonly ownSteps?: OwnSteps;
    /** Standard input and output as they are, for a protocol; undefined where a caller has none. */
    readonly streams?: () => {
      readonly input: NodeJS.ReadableStream;
      readonly output: NodeJS.WritableStream;
    };
    /** Where a person can be asked: undefined unless standard input and error are a terminal. */
    readonly terminal?: Terminal | undefined;
  };

export type Terminal = {
  readonly input: Readable;
  readonly output: Writable;
  /** What Ctrl-C does while no line is read. */
  readonly interrupt: () => void;
};

/** Columns of standard error; undefined if it is not a terminal. */
export const errColumns = (io: Io): number | undefined => (io.errIsTerminal ? io.width : undefined);

/** Whether to use colors: never with `--no-color` or `NO_COLOR`, always with `FORCE_COLOR`, else on a terminal
 *  that can. */
export function paints(io: Pick<Io, 'env'>, terminal: boolean, flag: boolean | undefined): boolean {
  const { env } = io;
  const { NO_COLOR, FORCE_COLOR } = env;
  if (flag === false || (NO_COLOR !== undefined && NO_COLOR !== '')) return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0') return true;
  return terminal && env['TERM'] !== 'dumb';
}

/** What a terminal acts on, or what turns the order of letters round; line ends and tabs are none of it. */
const acting = /\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;
/** Our own and git's: colours, with which nothing can be hidden, and at the beginning of a text the clearing of a live line. */
const ours = /\x1b\[(?:[0127]|22|3[1-46]|39)m|^\r\x1b\[2K(?:\x1b\[1A\x1b\[2K)*/;
const either = new RegExp(`${ours.source}|${acting.source}`, 'g');

/** Text that may come from an untrusted run: terminal control characters are shown as `\uNNNN`, which has the same meaning
 *  in JSON. */
export const harmless = (text: string): string =>
  acting.test(text)
    ? text.replace(either, (found) =>
        found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
    : text;

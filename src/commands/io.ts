/** What a command is given of the process it runs in. Only `program.ts` has the process itself. */

export type Io = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results. */
  out(text: string): void;
  /** Log records, the live view, and what is wrong. */
  err(text: string): void;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** Columns of the terminal. */
  readonly width: number;
  /** How the user calls us, and the command line that would start the same again. */
  readonly called?: { readonly program: string; readonly again?: string };
};

/** Columns for what is drawn on standard error; undefined where it is no terminal. */
export const errColumns = (io: Io): number | undefined => (io.errIsTerminal ? io.width : undefined);

/** Whether to paint: never with `--no-color` or `NO_COLOR`, always with `FORCE_COLOR`, else on a terminal
 *  that can. */
export function paints(io: Pick<Io, 'env'>, terminal: boolean, flag: boolean | undefined): boolean {
  const { env } = io;
  const { NO_COLOR, FORCE_COLOR } = env;
  if (flag === false || (NO_COLOR !== undefined && NO_COLOR !== '')) return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0') return true;
  return terminal && env['TERM'] !== 'dumb';
}

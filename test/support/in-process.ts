/** The command line called in this process: everything that `factory …` does except its start, streams and signals. */
import { flagsFirst, sameAgain } from '../../src/cli/arguments.ts';
import { factory as runCommandLine } from '../../src/cli/command-line.ts';
import { harmless } from '../../src/cli/io.ts';
import { reportTrouble } from '../../src/cli/report/errors.ts';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { realClock, realEvery } from '../../src/platform/clock.ts';
import { cleanEnv, type Home as HomeOfProgram, home as homeOf, type Ran } from './cli.ts';

export { cleanEnv, cli, type Ran, root } from './cli.ts';

export type Call = {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  /** Both streams are a terminal; by default neither is. */
  readonly terminal?: boolean;
  /** Sees standard error line by line; `kill` does what the signal does to the command line. */
  readonly watch?: (
    line: string,
    called: { readonly pid: number; kill(signal: 'SIGINT' | 'SIGTERM'): void },
  ) => void;
};

/** Runs `factory …argv` to its end. */
export async function factory(
  argv: readonly string[],
  { cwd, env, clock, terminal, watch }: Call,
): Promise<Ran> {
  const controller = new AbortController();
  const last: (() => Promise<void>)[] = [];
  let stdout = '';
  let stderr = '';
  let line = '';
  const given = flagsFirst(argv);
  const again = sameAgain('factory', given);
  const doors = {
    cwd,
    env: cleanEnv({ ...(watch === undefined ? {} : { FACTORY_LOG_LEVEL: 'debug' }), ...env }),
    out: (text: string) => {
      stdout += harmless(text);
    },
    err: (text: string) => {
      stderr += harmless(text);
      const lines = (line + text).split('\n');
      line = lines.pop() ?? '';
      for (const whole of lines)
        watch?.(whole, { pid: process.pid, kill: (signal) => controller.abort(signal) });
    },
    bytes: (piece: Uint8Array) => {
      stdout += Buffer.from(piece).toString();
    },
    outIsClosed: () => false,
    outIsTerminal: terminal === true,
    errIsTerminal: terminal === true,
    width: 100,
    called: { program: 'factory', ...(again === undefined ? {} : { again }) },
    clock: clock ?? realClock,
    every: realEvery,
    signal: () => controller.signal,
    parting: () => {},
    atLast: (work: () => Promise<void>) => void last.push(work),
  };
  const code = await runCommandLine(given, doors).catch((error: unknown) =>
    reportTrouble(error, doors, given),
  );
  for (const work of last) await work();
  return { code, signal: null, stdout, stderr };
}

export type Home = Omit<HomeOfProgram, 'factory'> & {
  factory(argv: readonly string[], options?: Partial<Call>): Promise<Ran>;
  /** The built command line, as a process. */
  readonly program: HomeOfProgram['factory'];
};

/** A home (see `cli.ts`) whose `factory` runs in this process. */
export async function home(files: Readonly<Record<string, string>> = {}): Promise<Home> {
  const { factory: program, ...it } = await homeOf(files);
  return {
    ...it,
    program,
    factory: (argv, options = {}) =>
      factory(argv, { ...options, cwd: options.cwd ?? it.path, env: { HOME: it.path, ...options.env } }),
  };
}

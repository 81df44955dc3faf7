/** A verb of the command line, called in this process with options by name. */
import { type CommandHost, factory } from '../../src/cli/command-line.ts';
import { realClock, realEvery } from '../../src/platform/clock.ts';

export type Told = { readonly code: number; readonly out: string; readonly err: string };

/** Options as the command line names them, in camel case. */
export type Flags = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

const words = (flags: Flags): string[] =>
  Object.entries(flags).flatMap(([name, value]) => {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (typeof value === 'boolean') return value ? [flag] : name === 'color' ? ['--no-color'] : [];
    if (value === undefined) return [];
    return [value].flat().map((one) => `${flag}=${one}`);
  });

/** Answers with what was printed; the doors may be replaced. `heard` gets what comes on standard error. */
export async function call(
  verb: readonly string[],
  flags: Flags,
  doors: Partial<CommandHost> & Pick<CommandHost, 'cwd' | 'env'>,
  heard?: (text: string) => void,
): Promise<Told> {
  const told = { out: '', err: '' };
  const last: (() => Promise<void>)[] = [];
  const code = await factory([...verb, ...words(flags)], {
    out: (text) => {
      told.out += text;
    },
    bytes: (piece) => {
      told.out += Buffer.from(piece).toString();
    },
    err: (text) => {
      told.err += text;
      heard?.(text);
    },
    outIsClosed: () => false,
    outIsTerminal: false,
    errIsTerminal: false,
    width: 100,
    clock: realClock,
    every: realEvery,
    signal: () => new AbortController().signal,
    parting: () => {},
    atLast: (work) => void last.push(work),
    ...doors,
    // Who listens waits for a node to start, which is a debug record.
    ...(heard === undefined ? {} : { env: { FACTORY_LOG_LEVEL: 'debug', ...doors.env } }),
  });
  for (const work of last) await work();
  return { code, ...told };
}

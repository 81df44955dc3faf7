/** Log records on standard error: readable lines, or JSON with `--log-format json`. */
import type { Clock } from '../../core/contracts/clock.ts';
import type { Log } from '../../core/contracts/watcher.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Flags that choose level and format of the log; each wins over its variable. */
export type LogOptions = { readonly logLevel?: string; readonly logFormat?: string };

type Env = Readonly<Record<string, string | undefined>>;

const chosen = (flag: string | undefined, variable: string | undefined): string =>
  (flag ?? variable ?? '').trim().toLowerCase();

/** The level that a flag or variable names, or undefined where neither is set. */
export function chosenLevel(options: LogOptions, env: Env): LogLevel | undefined {
  const word = chosen(options.logLevel, env['FACTORY_LOG_LEVEL']);
  return word === '' ? undefined : logLevel(word);
}

export const chosenFormat = (options: LogOptions, env: Env): 'json' | 'text' =>
  chosen(options.logFormat, env['FACTORY_LOG_FORMAT']) === 'json' ? 'json' : 'text';

/** A warning about a variable with an unknown value, or undefined. Flags are checked by the parser of the command line. */
export function logVariableProblem(env: Env): string | undefined {
  const level = chosen(undefined, env['FACTORY_LOG_LEVEL']);
  if (level !== '' && !/^(?:debug|info|warn|warning|error)$/.test(level))
    return `FACTORY_LOG_LEVEL=${level} is none of debug, info, warn, error; info is used`;
  const format = chosen(undefined, env['FACTORY_LOG_FORMAT']);
  if (format !== '' && !/^(?:json|text)$/.test(format))
    return `FACTORY_LOG_FORMAT=${format} is neither json nor text; text is used`;
  return undefined;
}

/** `debug`, `info`, `warn`/`warning`, `error`; anything else counts as `info`. */
export function logLevel(word: string | undefined): LogLevel {
  switch (word?.trim().toLowerCase()) {
    case 'debug':
      return 'debug';
    case 'warn':
    case 'warning':
      return 'warn';
    case 'error':
      return 'error';
    default:
      return 'info';
  }
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** Whether a record of level `at` is printed at the level `least`. */
export const isLogged = (at: LogLevel, least: LogLevel): boolean =>
  levels.indexOf(at) >= levels.indexOf(least);

/** A log that writes each record at once, so that an exit loses none. pino makes the JSON records and is loaded only for
 *  them. Errors of `to` are its own. */
export async function openLog(
  to: (line: string) => void,
  level: LogLevel,
  format: 'json' | 'text',
  clock: Pick<Clock, 'now'>,
): Promise<Log> {
  if (format === 'text')
    return (at, message, fields = {}) => {
      if (!isLogged(at, level)) return;
      to(recordLine(clock.now().toISOString().slice(11, 19), at.toUpperCase().padEnd(5), message, fields));
    };
  const { pino } = await import('pino');
  const json = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${clock.now().toISOString()}"`,
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
    },
    { write: to },
  );
  return (at, message, fields = {}) => json[at](fields, message);
}

/** `10:20:30 INFO  node started node=plan visit=1` */
export function recordLine(when: string, level: string, message: string, fields: object = {}): string {
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${quoted(value)}`);
  return `${[when, level, message, ...shown].join(' ')}\n`;
}

function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof value === 'string' && (text === '' || /[\s"=\p{Cc}]/u.test(text))
    ? JSON.stringify(text)
    : text;
}

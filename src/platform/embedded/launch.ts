/** A launch as the side of the scenario sees it, whichever program makes it: what the broker is asked for, and how the launch ended. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net, { type Socket } from 'node:net';
import { constants } from 'node:os';
import path from 'node:path';
import type { LaunchEnd, LaunchRequest } from './broker.ts';
import { badLink, isNamedIn, linkTarget } from './links.ts';

export type LauncherPlaces = {
  /** Folder of the broker's socket. */
  readonly socket: string;
  readonly app: string;
  readonly temporary: string;
  /** Folder in which the launcher leaves what the harness must know: `launched`, `input-lost`, `links`, `gone`. */
  readonly marks: string;
  /** Names of places that the product must not learn. */
  readonly hidden: readonly string[];
};

/** The process that the script started as `"$APP_RUN" …`. */
export type Caller = {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Undefined if it cannot be read. */
  readonly folder: string | undefined;
  /** Whether its standard output and error are one file, as after `2>&1`: of two pipes the order of what was written would be lost. */
  readonly oneOutput: boolean;
};

/** `proc`: the folder of the caller's process in `/proc`; `output`: the descriptor of its standard output. */
export const isOneOutput = (proc: string, output = '1'): boolean => {
  const [out, err] = [output, '2'].map((fd) => linkTarget(path.join(proc, 'fd', fd)));
  return out !== undefined && out === err;
};

export const ignore = (): void => {};

/** What a caller gets is passed on to the program. */
export const forwardedSignals = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGALRM',
  'SIGWINCH',
  'SIGCONT',
] as const;

/** Leaves a mark for the harness. */
export const leaveMark = ({ marks }: LauncherPlaces, name: string, text = ''): void => {
  try {
    fs.writeFileSync(path.join(marks, name), text);
  } catch {
    // The harness then knows less.
  }
};

/** What a shell passes on. A function that the script exports (`BASH_FUNC_name%%`) has the script's text. */
const isVariable = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name);
const dropped = ['APP_RUN', 'SCENARIO_MODE', 'REQUIRE_LIVE', 'SCENARIO_NODE_OPTIONS', 'OLDPWD', '_'];
const environment = ({ env }: Caller, { hidden }: LauncherPlaces, cwd: string): Record<string, string> => {
  const given: Record<string, string> = {};
  for (const [name, value = ''] of Object.entries(env))
    if (isVariable(name) && !dropped.includes(name) && !hidden.some((place) => isNamedIn(value, place)))
      given[name] = value;
  const options = env['SCENARIO_NODE_OPTIONS'];
  if (options !== undefined) given['NODE_OPTIONS'] = options;
  given['PWD'] = cwd;
  return given;
};

/** What the broker is asked for. The program starts where the script is, if the product has that place too, else in the product's
 *  folder. */
export const launchRequest = (caller: Caller, places: LauncherPlaces): LaunchRequest => {
  const { app, temporary } = places;
  const here = caller.folder ?? app;
  const isShared = [app, temporary].some((place) => here === place || here.startsWith(`${place}/`));
  const cwd = isShared ? here : app;
  const id = randomBytes(12).toString('hex');
  const { argv, oneOutput } = caller;
  return { id, argv, cwd, env: environment(caller, places, cwd), oneOutput };
};

export type LaunchConnections = Readonly<Record<'control' | 'input' | 'output' | 'errors', Socket>>;

/** Connects to the broker, by a relative name: the whole path may be longer than a socket's name may be. */
export const connectLaunch = (request: LaunchRequest): LaunchConnections => {
  const connect = (first: unknown): Socket => {
    const connection = net.createConnection({ path: 's', allowHalfOpen: true });
    connection.on('error', ignore);
    connection.write(`${JSON.stringify(first)}\n`);
    return connection;
  };
  const { id } = request;
  const [control, input] = [connect(request), connect({ id, stream: 'in' })];
  return { control, input, output: connect({ id, stream: 'out' }), errors: connect({ id, stream: 'err' }) };
};

/** Asks the broker to send a signal to the program. */
export const sendSignal = (control: Socket, signal: string): void => {
  control.write(`${JSON.stringify({ signal })}\n`);
};

/** What the broker says of the end; undefined if it ended before. */
export const launchEnd = (control: Socket): Promise<LaunchEnd | undefined> =>
  new Promise((settle) => {
    let text = '';
    let end: LaunchEnd | undefined;
    control.setEncoding('utf8');
    control.on('data', (more: string) => {
      if (end !== undefined) return;
      text += more;
      const at = text.indexOf('\n');
      if (at < 0 && text.length < 65_536) return;
      end = endIn(text.slice(0, at));
      if (end === undefined) control.destroy();
    });
    control.once('end', () => control.end());
    control.once('close', () => settle(end));
  });

/** The broker's line, which a product can write too. */
const endIn = (line: string): LaunchEnd | undefined => {
  try {
    const end = JSON.parse(line) as LaunchEnd | null;
    return typeof end === 'object' && end !== null ? end : undefined;
  } catch {
    return undefined;
  }
};

/** How the caller's process ends. */
export type CallerEnd = {
  /** That of the program; for a signal as a shell gives it. */
  readonly code: number;
  readonly signal?: NodeJS.Signals;
  /** What the launcher itself has to say. */
  readonly message?: string;
  /** Bytes of standard input that the product has read. */
  readonly consumed: number;
};

const goneEnd: CallerEnd = {
  code: 125,
  message: 'the product’s sandbox ended before the product did: the product ended its own broker',
  consumed: 0,
};

/** What follows for the caller from what the broker said, with the marks for the harness. */
export const callerEnd = (end: LaunchEnd | undefined, program: string, places: LauncherPlaces): CallerEnd => {
  const gone = () => {
    leaveMark(places, 'gone');
    return goneEnd;
  };
  if (end === undefined) return gone();
  const bad = badLink(places);
  if (bad !== undefined) leaveMark(places, 'links', bad);
  if ('failed' in end) {
    const why =
      end.failed === 'EACCES' ? 'Permission denied' : end.failed === 'ENOENT' ? 'not found' : end.failed;
    return { code: end.failed === 'ENOENT' ? 127 : 126, message: `1: ${program}: ${why}`, consumed: 0 };
  }
  const { code, signal } = end;
  const consumed = Math.max(0, Math.floor(Number(end.consumed))) || 0;
  if (typeof code === 'number') return { code: code & 255, consumed };
  const number = typeof signal === 'string' ? constants.signals[signal as NodeJS.Signals] : undefined;
  return number === undefined ? gone() : { code: 128 + number, signal: signal as NodeJS.Signals, consumed };
};

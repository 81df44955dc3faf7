/** The process of the command line: its streams, signals and exit code. */
import { closeSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { layout } from '../core/records/layout.ts';
import { realClock, realEvery } from '../platform/clock.ts';
import { isCode, systemWords } from '../platform/files/write.ts';
import { backgroundWord, continueAlone } from '../platform/process/background.ts';
import { dropEverything } from '../platform/process/cleanup-registry.ts';
import { untilRead } from '../platform/streams.ts';
import { flagsFirst, programWords, sameAgain } from './arguments.ts';
import { type CommandHost, factory } from './command-line.ts';
import { harmless, type Io } from './io.ts';

if (process.platform === 'win32') {
  process.stderr.write('factory runs on Linux and macOS; on Windows, run it inside WSL\n');
  process.exit(2);
}

// A reader that went away (`factory … | head`) is no error; a full disk is.
let unwritten = false;
/** Node says of no pipe that it is destroyed. */
let outIsClosed = false;
process.stdout.on('error', (error) => {
  outIsClosed = true;
  // EIO: the terminal went away.
  if (isCode(error, 'EIO')) process.once('exit', leaveTerminal);
  if (isCode(error, 'EPIPE', 'EIO') || unwritten) return;
  unwritten = true;
  process.stderr.write(`factory: standard output cannot be written: ${systemWords(error)}\n`);
  process.exitCode = process.exitCode || 1;
});
process.stderr.on('error', () => {});

/** The current directory. It may have been removed; then paths mean nothing. */
function startedIn(): string {
  try {
    return process.cwd();
  } catch (error) {
    const why = isCode(error, 'ENOENT') ? 'does not exist any more' : `cannot be used: ${systemWords(error)}`;
    process.stderr.write(
      `error[cwd]: the folder that factory was started in ${why}\n  = fix: change into one that is there (cd), then the same command again\n`,
    );
    process.exit(2);
  }
}

const cwd = startedIn();
const program = programWords(process.argv[1] ?? '', process.env, cwd);
const inBackground = process.argv[2] === backgroundWord;
const given = flagsFirst(process.argv.slice(inBackground ? 3 : 2));
const again = sameAgain(program, given);

const io: Io = {
  cwd,
  env: process.env,
  out: (text) => void process.stdout.write(harmless(text)),
  err: (text) => void process.stderr.write(harmless(text)),
  outIsTerminal: process.stdout.isTTY === true,
  errIsTerminal: process.stderr.isTTY === true,
  get width() {
    // A terminal that does not know its size says 0. Either of the two may go somewhere else.
    return process.stderr.columns || process.stdout.columns || 100;
  },
  get height() {
    return process.stderr.rows || process.stdout.rows || undefined;
  },
  called: { program, ...(again === undefined ? {} : { again }) },
};

/** The command that resumes the active run. */
let resumeWith: string | undefined;

/** Whether signals are ours to answer. */
let heedsSignals = false;

/** Ends us where signals are heeded: left to itself, Node gives signals their usual meaning back while it clears up, and
 *  one that comes then would make a run that has ended, and said so, look like a killed one. */
async function leave(): Promise<void> {
  if (!heedsSignals) return;
  leaving = new AbortController();
  await untilRead([process.stdout, process.stderr], { asked, enough: leaving.signal });
  // Side by side: work that waits for a network does not hold up the others, and the second signal ends the wait.
  leaving = new AbortController();
  const { signal } = leaving;
  const hurried = new Promise((done) => signal.addEventListener('abort', done, { once: true }));
  await Promise.race([Promise.all(last.map((work) => work())), hurried]);
  process.exit();
}

let asked: AbortSignal | undefined;
/** Set when nothing is left but what readers have not taken yet, then the last work; ends the wait for them. */
let leaving: AbortController | undefined;

/** Milliseconds within which the same signal twice is one: `npx` passes on what the terminal has sent to both of us. */
const oneSignalMs = 100;

/** Lets go of a terminal that has hung up: Node would set it to what it was, which cannot be done, and abort for it. */
function leaveTerminal(): void {
  for (const file of [0, 1, 2])
    try {
      closeSync(file);
      openSync('/dev/null', 'r+');
    } catch {
      // It was closed already.
    }
}

/** What ends a process: people and systems that ask, alarms, and a limit on the time of a CPU. */
const endings = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR2',
  'SIGALRM',
  'SIGVTALRM',
  'SIGXCPU',
] as const;

/** Whether Node itself heeds SIGUSR2: it was started with --report-on-signal or --heapsnapshot-signal. */
const nodeReports = process.listenerCount('SIGUSR2') > 0;

/** Answers the second signal, where a command wants to. */
let second: AbortController | undefined;

/** Fires at the first of these signals: stages are ended and the checkpoint saved. The second one, or SIGQUIT, ends us,
 *  with every stage killed where it stands and nothing half-made left. */
function stopping(): AbortSignal {
  heedsSignals = true;
  const controller = new AbortController();
  asked = controller.signal;
  let first = Number.NEGATIVE_INFINITY;
  for (const signal of endings) {
    if (signal === 'SIGUSR2' && nodeReports) continue;
    process.on(signal, () => {
      if (signal === 'SIGHUP') process.once('exit', leaveTerminal);
      if (controller.signal.aborted || signal === 'SIGQUIT') {
        if (signal === controller.signal.reason && realClock.monotonic() - first < oneSignalMs) return;
        if (leaving !== undefined) return leaving.abort();
        if (second?.signal.aborted === false && signal !== 'SIGQUIT') {
          first = realClock.monotonic();
          return second.abort(signal);
        }
        dropEverything();
        if (resumeWith !== undefined) io.err(`stopped at once by ${signal}; resume with:\n${resumeWith}\n`);
        process.exit(130);
      }
      first = realClock.monotonic();
      controller.abort(signal);
    });
  }
  return controller.signal;
}

const parting = (command: string): void => {
  resumeWith = command;
};

const onBegin = (runDir: string): void => {
  if (inBackground) continueAlone(runDir, layout(runDir).log);
};

/** Work after all output is written. */
const last: (() => Promise<void>)[] = [];

const host: CommandHost = {
  ...io,
  get width() {
    return io.width;
  },
  get height() {
    return io.height;
  },
  bytes: (piece) => void process.stdout.write(piece),
  outIsClosed: () => outIsClosed,
  clock: realClock,
  every: realEvery,
  signal: stopping,
  secondSignal: () => {
    second ??= new AbortController();
    return second.signal;
  },
  streams: () => ({ input: process.stdin, output: process.stdout }),
  get terminal() {
    // Without a terminal no stream for standard input is made.
    if (!isatty(0) || !isatty(2) || process.env['TERM'] === 'dumb') return undefined;
    return {
      input: process.stdin,
      output: process.stderr,
      // At once: the prompt is answered before a signal of the system would arrive.
      interrupt: () => void process.emit('SIGINT', 'SIGINT'),
    };
  },
  parting,
  onBegin,
  atLast: (work) => void last.push(work),
};

factory(given, host)
  .then(
    (code) => {
      process.exitCode = unwritten && code === 0 ? 1 : code;
    },
    async (error: unknown) => {
      const { reportTrouble: tellTrouble } = await import('./report/errors.ts');
      process.exitCode = await tellTrouble(error, io, given);
    },
  )
  .finally(leave);

/** Starts a node's program in a separate process group, keeps its output, and ends every process it leaves behind. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Exit, OpenInput, ProcessId, Spawn, SpawnRequest } from '../../core/contracts/process.ts';
import { quoteWord } from '../../core/policy/words.ts';
import { after, monotonicMs } from '../clock.ts';
import { beforeWrite, mayWrite, signOf } from '../files/fence.ts';
import { isProgram } from '../files/read.ts';
import { registerCleanup } from './cleanup-registry.ts';
import {
  type Copying,
  copyMasked,
  type MaskingCopy,
  nameless,
  openOutput,
  type Pipe,
  pipeReader,
  realPipes,
  scratchFor,
} from './outputs.ts';
import { isNoRoom, spawnError, unusable } from './spawn-error.ts';
import { askOthers, endAll, groupGone, killGroup } from './sweep.ts';
import { hasProc, isAlive, processId, tooShortToWrap } from './table.ts';

/** Runs real processes. The program's pid names its group and its session. */
export const realSpawn: Spawn = {
  async run(request) {
    const descriptors = new Descriptors();
    try {
      return await runWith(request, descriptors);
    } finally {
      descriptors.closeAll();
    }
  },
};

async function runWith(request: SpawnRequest, descriptors: Descriptors): Promise<Exit> {
  beforeWrite(request.stdoutFile);
  const stdoutFile = descriptors.add(openOutput(request.stdoutFile));
  const stderrFile =
    request.stderrFile === request.stdoutFile ? stdoutFile : descriptors.add(openOutput(request.stderrFile));
  if (isCancelled(request)) return { kind: 'cancelled' };
  const [program] = request.argv;
  const problem = unusable(request);
  if (problem !== undefined) return { kind: 'not_found', program, why: problem };
  const stdin =
    request.stdin === undefined
      ? undefined
      : descriptors.add(nameless(request.stdin, scratchFor(request.stdoutFile)));
  const streams = await openStreams(request, { stdoutFile, stderrFile }, descriptors);
  const startedAt = monotonicMs();
  beforeWrite(request.stdoutFile);
  const third = request.third === undefined ? [] : [request.third];
  const input = stdin ?? (request.talk === undefined ? 'ignore' : 'pipe');
  const started = start(request, [input, ...streams.given, ...third]);
  if (started.leader === undefined) {
    const code = await started.failed;
    const why = spawnError(request, code);
    return { kind: 'not_found', program, why, ...(isNoRoom(code) ? { noRoom: true } : {}) };
  }
  const copies = streams.copies(started.child);
  if (request.talk !== undefined) request.talk(openInput(started.child));
  const { leader } = started;
  const quarry = { leader, ...(request.marker === undefined ? {} : { marker: request.marker }) };
  const ended = registerCleanup(quarry);
  const { stopped, broken } = await untilEnded(request, leader, started.exit, copies);
  // A process that took the run over while this one was stopped has ended this program, and what runs there is its
  // own.
  if (mayWrite(request.stdoutFile)) {
    const newerPidsOnly = monotonicMs() - startedAt < tooShortToWrap();
    const mayEnd = () => mayWrite(request.stdoutFile);
    await endAll({ ...quarry, newerPidsOnly, mayEnd });
  }
  ended();
  const finished = await Promise.allSettled(copies.map((one) => one.finish()));
  const unwritten = finished.find((one) => one.status === 'rejected');
  if (broken !== undefined) throw broken.error;
  if (unwritten !== undefined) throw unwritten.reason;
  if (stopped === 'timed_out') return { kind: 'timed_out', afterMs: request.timeoutMs ?? 0 };
  if (stopped === 'cancelled') return { kind: 'cancelled' };
  return exitOf(await started.exit, request);
}

/** What the program gets as its output streams, and what copies them into their files once it has started: nothing where it
 *  writes to the files itself. */
async function openStreams(
  request: SpawnRequest,
  { stdoutFile, stderrFile }: { readonly stdoutFile: number; readonly stderrFile: number },
  descriptors: Descriptors,
) {
  const values = (request.mask ?? []).filter((value) => value !== '');
  const isHeard = request.onStdout !== undefined || request.onStderr !== undefined;
  if (values.length === 0 && !isHeard && request.mostBytes === undefined)
    return { given: [stdoutFile, stderrFile], copies: (): MaskingCopy[] => [] };
  const pipes = await realPipes(scratchFor(request.stdoutFile));
  for (const pipe of pipes ?? []) for (const end of [pipe.reader, pipe.writer]) descriptors.add(end);
  const copy = (
    pipe: Pipe | undefined,
    stream: Readable | null,
    file: number,
    how: Pick<Copying, 'heardBy' | 'onMasked'>,
  ): MaskingCopy => {
    if (pipe !== undefined) descriptors.close(pipe.writer);
    const reader = pipe === undefined ? stream : pipeReader(descriptors.giveAway(pipe.reader));
    if (reader === null) throw new Error('Internal: a masked stream has no pipe');
    return copyMasked(reader, file, { values, most: request.mostBytes, ...how });
  };
  return {
    given: pipes?.map((pipe) => pipe.writer) ?? (['pipe', 'pipe'] as const),
    copies: ({ stdout, stderr }: ChildProcess): MaskingCopy[] => [
      copy(pipes?.[0], stdout, stdoutFile, { heardBy: request.onStdout, onMasked: request.onMaskedStdout }),
      copy(pipes?.[1], stderr, stderrFile, { heardBy: request.onStderr }),
    ],
  };
}

/** The program's standard input. A program that has closed it, or has ended, is no error: its end is reported. */
function openInput({ stdin }: ChildProcess): OpenInput {
  stdin?.on('error', () => {});
  return {
    write(text) {
      if (stdin?.writable === true) stdin.write(text);
    },
    end: () => stdin?.end(),
  };
}

async function exitOf({ code, signal }: Ended, request: SpawnRequest): Promise<Exit> {
  if (code !== null) return { kind: 'exited', code };
  // A signal to this whole process group, such as Ctrl-C, also reaches a program that has not left the group yet, and
  // the program's end may be reported before the signal. The program was then interrupted with this process and has
  // not failed.
  await new Promise((turn) => setImmediate(turn));
  await new Promise((turn) => setImmediate(turn));
  if (isCancelled(request)) return { kind: 'cancelled' };
  return { kind: 'signalled', signal: signal ?? 'SIGKILL' };
}

const isCancelled = ({ signal }: SpawnRequest): boolean => signal?.aborted === true;

type Ended = { readonly code: number | null; readonly signal: string | null };
type Started =
  | { readonly child: ChildProcess; readonly leader: ProcessId; readonly exit: Promise<Ended> }
  | { readonly leader?: undefined; readonly failed: Promise<string> };

/** Starts the program, or returns the error code for which it did not start. */
function start(request: SpawnRequest, stdio: StdioOptions): Started {
  const [program, ...args] = guarded(request);
  try {
    const file = located(program, request.env['PATH'] ?? '');
    const options = { cwd: request.cwd, env: request.env, stdio, detached: true, argv0: program };
    const child = spawn(file, args, options);
    const exit = new Promise<Ended>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const failed = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(codeOf(error)));
    });
    if (child.pid === undefined) return { failed };
    // If this process was stopped during the start and the run was taken over, the program must be killed
    // immediately.
    if (!mayWrite(request.stdoutFile)) child.kill('SIGKILL');
    // The child has not been collected yet, so its pid is still its own, even if it has exited.
    return { child, leader: processId(child.pid) ?? { pid: child.pid, startTime: '' }, exit };
  } catch (error) {
    return { failed: Promise.resolve(codeOf(error)) };
  }
}

/** A shell first checks that this process still owns the run: a process that was stopped right before the start
 *  cannot kill the shell quickly enough after a takeover. The node's command starts with `$?` equal to 0, as usual. */
function guarded({ argv, stdoutFile }: SpawnRequest): SpawnRequest['argv'] {
  const [program, flag, text, ...rest] = argv;
  const sign = signOf(stdoutFile);
  if (program !== 'sh' || flag !== '-c' || text === undefined || sign === undefined) return argv;
  return ['sh', '-c', `[ ! -e ${quoteWord(resolve(sign))} ]||kill -9 $$;${text}`, ...rest];
}

let shell: { readonly path: string; readonly file: string } | undefined;

/** The path of the shell on PATH, searched once for each PATH: every node starts it, and the system would try each
 *  folder again. The system finds any other program itself. */
function located(program: string, path: string): string {
  if (program !== 'sh') return program;
  if (shell?.path !== path) {
    const folders = path.split(delimiter);
    // A relative folder depends on where the program is started.
    const found = folders.every(isAbsolute)
      ? folders.map((folder) => join(folder, program)).find(isProgram)
      : undefined;
    shell = { path, file: found ?? program };
  }
  return shell.file;
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);

type HowItWent = {
  readonly stopped: 'timed_out' | 'cancelled' | undefined;
  /** Set when the caller's side failed: the output file, or the `started` callback. */
  readonly broken: { readonly error: unknown } | undefined;
};

/** Waits for the program's end, and ends it on a timeout, on the signal, or when the caller's side fails. */
async function untilEnded(
  request: SpawnRequest,
  leader: ProcessId,
  exit: Promise<Ended>,
  copies: readonly MaskingCopy[],
): Promise<HowItWent> {
  const graceMs = request.graceMs ?? 5000;
  let stopped: HowItWent['stopped'];
  let broken: HowItWent['broken'];
  let termSentAt: number | undefined;
  let over = false;
  let spared: (() => void) | undefined;

  const stop = () => {
    if (termSentAt !== undefined || over) return;
    termSentAt = monotonicMs();
    if (request.watched === true) askOthers(leader);
    else killGroup(leader, 'SIGTERM');
    spared = after(graceMs, () => killGroup(leader, 'SIGKILL'));
  };
  const stopAs = (why: 'timed_out' | 'cancelled') => {
    // A program that has just exited has not timed out, even if its end has not been reported yet.
    if (stopped !== undefined || over || (hasProc && !isAlive(leader))) return;
    stopped = why;
    stop();
  };
  const breakWith = (error: unknown) => {
    broken ??= { error };
    stop();
  };

  const onAbort = () => stopAs('cancelled');
  request.signal?.addEventListener('abort', onAbort, { once: true });
  if (request.signal?.aborted === true) onAbort();
  const { timeoutMs } = request;
  const inTime = timeoutMs === undefined ? undefined : after(timeoutMs, () => stopAs('timed_out'));
  for (const copy of copies) copy.broken.catch(breakWith);
  const reported = (async () => request.started?.(leader))().catch(breakWith);

  await exit;
  over = true;
  inTime?.();
  request.signal?.removeEventListener('abort', onAbort);
  // The rest of the group received SIGTERM too, and gets the same grace period.
  if (termSentAt !== undefined) await groupGone(leader, graceMs - (monotonicMs() - termSentAt));
  spared?.();
  await reported;
  return { stopped, broken };
}

/** Open descriptors; each is closed exactly once. */
class Descriptors {
  private readonly open = new Set<number>();

  add(descriptor: number): number {
    this.open.add(descriptor);
    return descriptor;
  }

  close(descriptor: number): void {
    if (this.open.delete(descriptor)) closeSync(descriptor);
  }

  /** Another owner closes it. */
  giveAway(descriptor: number): number {
    this.open.delete(descriptor);
    return descriptor;
  }

  closeAll(): void {
    for (const descriptor of [...this.open]) this.close(descriptor);
  }
}

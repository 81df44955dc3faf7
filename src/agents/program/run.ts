/** The work of an agent program from its start to a report, as far as all of them do it alike. */
import { join } from 'node:path';
import type { Usage } from '../../core/budget/usage.ts';
import type {
  AgentProgram,
  AgentProgramName,
  AgentReport,
  AgentTask,
  FailedReport,
} from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import type { Environment, Exit, OpenInput } from '../../core/contracts/process.ts';
import { lostThread } from '../../core/fidelity.ts';
import type { SessionLine } from '../../core/records/session.ts';
import { isFolder } from '../../platform/files/read.ts';
import { removeNow } from '../../platform/files/write.ts';
import { findExecutable } from './executable.ts';
import { type ProgramSession, programSession } from './session.ts';
import type { ProgramSettings } from './settings.ts';
import type { ThreadSession } from './thread.ts';
import { heartbeat, logEnd, programView } from './view.ts';

/** What of an agent program's work is particular to it. */
export type ProgramAgent<S extends ProgramSettings> = {
  readonly name: AgentProgramName;
  /** Its name in messages. */
  readonly title: string;
  /** What to do where the program is missing. */
  readonly install: string;
  /** The attribute that gives it more time. */
  readonly timeoutKey: string;
  readonly env: Environment;
  readonly clock: Clock;
  readSettings(task: AgentTask): { readonly settings: S } | { readonly problem: string };
  /** Called once the program has been found. A failure is the report. */
  prepare(task: AgentTask, settings: S, path: string): Promise<Launch | FailedReport>;
};

/** How a program is started, and what it leaves behind. */
export type Launch = {
  /** Artifacts that are written before it starts. */
  readonly artifacts: Readonly<Record<string, string>>;
  readonly program: Omit<
    AgentProgram,
    'argv' | 'stdoutName' | 'stderrName' | 'onStdout' | 'onStderr' | 'timeoutMs' | 'enough' | 'talk'
  >;
  readonly args: readonly string[];
  /** Talks to the program while it works. Its standard input is closed when this settles, which it does once the program has ended
   *  at the latest; it never rejects. */
  readonly talk?: (input: OpenInput) => Promise<void>;
  /** Milliseconds that it has to exit when it has finished. */
  readonly exitMs?: number;
  /** Takes the lines of standard output, where they are events. */
  readonly events?: (line: string) => void;
  /** Reads the steps of its session from such a line. */
  readonly steps?: (line: string) => readonly SessionLine[];
  /** Whether its latest event is the one after which it has nothing to do but to exit. */
  finished?(): boolean;
  /** Called when it has ended. */
  cleanUp?(): Promise<void>;
  /** The conversation that it continues or begins. */
  readonly session?: ThreadSession | undefined;
  /** Whether a model may have been asked. */
  asked?(): boolean;
  /** What it answered and used, however it ended. */
  result(exit: Exit): Promise<ProgramResult>;
};

export type ProgramResult = {
  readonly response?: string;
  readonly usage?: Usage;
  /** What it wanted to do and was not allowed to. */
  readonly denied?: readonly string[];
  /** The last error that it reported itself. */
  readonly lastError?: string | undefined;
  /** The report for a program that has ended by itself. */
  exited(end: ProgramEnd): AgentReport | Promise<AgentReport>;
};

export type ProgramEnd = {
  readonly code: number;
  /** The last line that it printed. */
  readonly lastWords: string;
  readonly now: Date;
  /** The report of a failure. */
  readonly fail: (failureClass: FailedReport['class'], reason: string) => FailedReport;
};

/** A reason's end: `: words`, or nothing. */
export const because = (words: string | undefined): string =>
  words === undefined || words === '' ? '' : `: ${words}`;

/** It was not started, and has cost nothing. */
const notStarted = (reason: string): FailedReport => ({
  kind: 'failed',
  class: 'config',
  reason,
  unbilled: true,
});

/** Runs the program for a task. Rejects only where the task's `run` and `keep` do. */
export async function runProgram<S extends ProgramSettings>(
  agent: ProgramAgent<S>,
  task: AgentTask,
  signal: AbortSignal,
): Promise<AgentReport> {
  const { name, title, env, clock } = agent;
  if (signal.aborted) return { kind: 'cancelled' };
  const read = agent.readSettings(task);
  if ('problem' in read) return notStarted(read.problem);
  const { settings } = read;
  const found = await findExecutable(name, settings.executable, env['PATH'], agent.install);
  if ('problem' in found) return { ...notStarted(found.problem), missing: true };
  if (settings.workdir !== task.workspace && !isFolder(settings.workdir))
    return notStarted(`${name}.workdir: there is no folder ${settings.workdir}`);

  // The answer of an earlier attempt is not this one's.
  removeNow(join(task.nodeDir, 'response.md'));
  const launch = await agent.prepare(task, settings, found.path);
  if ('kind' in launch) return launch;
  for (const [artifact, content] of Object.entries(launch.artifacts)) await task.keep(artifact, content);
  const session =
    launch.events === undefined || launch.steps === undefined
      ? undefined
      : programSession(name, task, clock, launch.steps);
  const view = programView(name, task, env, eventsOf(launch, session));
  const began = clock.monotonic();
  task.log('info', `${title} started`, { program: found.path, workdir: settings.workdir });
  const endHeartbeat = heartbeat(title, task, clock, settings.heartbeatMs);
  const lingering = linger(clock, launch);
  session?.begin(settings.model);
  let ended: Exit;
  try {
    ended = await task.run({
      ...launch.program,
      argv: [found.path, ...launch.args],
      stdoutName: `${name}.stdout.log`,
      stderrName: `${name}.stderr.log`,
      onStdout(text) {
        view.stdout(text);
        lingering.heard();
      },
      onStderr: view.stderr,
      ...talkOf(launch, lingering.heard),
      enough: lingering.enough,
      ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
    });
  } finally {
    endHeartbeat();
    lingering.end();
    await launch.cleanUp?.();
    await launch.session?.close();
  }
  view.end();
  await session?.keep();
  const exit = exitOf(ended, launch, signal);
  // A program that was talked to may wait for more.
  if (exit !== ended && launch.talk === undefined)
    task.log('warn', `${title} did not exit after its final event and was ended; its answer counts`);
  const result = await launch.result(exit);
  const own = inThread(launch, exit, await reportOf(agent, exit, result, view.lastWords()));
  const report = result.denied === undefined ? own : { ...own, denied: result.denied };
  logEnd(title, task, report, clock.monotonic() - began);
  return report;
}

/** The talk, after which the program reads end of file; `over` is called then. */
function talkOf({ talk }: Launch, over: () => void): Pick<AgentProgram, 'talk'> {
  if (talk === undefined) return {};
  return {
    talk: (input) =>
      void talk(input).then(() => {
        input.end();
        over();
      }),
  };
}

/** Takes the lines of standard output, first as events. */
const eventsOf = ({ events }: Launch, session: ProgramSession | undefined): Launch['events'] =>
  events &&
  ((line) => {
    events(line);
    session?.line(line);
  });

/** Keeps the conversation of a program that worked to its end. One that ended for no known reason before it asked a model did not
 *  take the session: another version may have written it. */
function inThread({ session, asked }: Launch, exit: Exit, report: AgentReport): AgentReport {
  if (report.kind === 'finished') session?.keep();
  const unknown = report.kind === 'failed' && report.class === 'agent' && exit.kind === 'exited';
  return unknown && session?.resumes !== undefined && asked?.() === false
    ? lostThread(report.reason)
    : report;
}

/** What a program that has finished has to exit. */
const graceMs = 10_000;

/** Watches for a program that has finished and does not exit: `enough` fires then. */
function linger(clock: Clock, launch: Launch): { readonly enough: AbortSignal; heard(): void; end(): void } {
  const enough = new AbortController();
  let waiting: AbortController | undefined;
  let isOver = false;
  const end = () => {
    waiting?.abort();
    waiting = undefined;
  };
  return {
    enough: enough.signal,
    heard() {
      if (launch.finished?.() !== true) return end();
      if (waiting !== undefined || isOver) return;
      const wait = new AbortController();
      waiting = wait;
      void clock.sleep(launch.exitMs ?? graceMs, wait.signal).then(() => {
        if (!wait.signal.aborted) enough.abort();
      });
    },
    end() {
      isOver = true;
      end();
    },
  };
}

/** A program that had finished when it was ended, for whatever it did then, has exited: its answer counts; one that was stopped
 *  has not. */
function exitOf(exit: Exit, launch: Launch, signal: AbortSignal): Exit {
  // One that is asked to stop may do so by itself, before it is ended.
  const stopsItself = launch.talk !== undefined && exit.kind === 'exited' && launch.finished?.() !== true;
  if (stopsItself && signal.aborted) return { kind: 'cancelled' };
  const wasEnded = exit.kind === 'timed_out' || exit.kind === 'cancelled';
  return wasEnded && !signal.aborted && launch.finished?.() === true ? { kind: 'exited', code: 0 } : exit;
}

async function reportOf(
  { name, title, timeoutKey, clock }: Pick<ProgramAgent<never>, 'name' | 'title' | 'timeoutKey' | 'clock'>,
  exit: Exit,
  { response, usage, lastError, exited }: ProgramResult,
  lastWords: string,
): Promise<AgentReport> {
  const used = usage === undefined ? {} : { usage };
  const fail: ProgramEnd['fail'] = (failureClass, reason) => ({
    kind: 'failed',
    class: failureClass,
    reason,
    ...(response === undefined ? {} : { response }),
    ...used,
  });
  switch (exit.kind) {
    case 'cancelled':
      return { kind: 'cancelled', ...used };
    case 'not_found':
      return {
        ...notStarted(`cannot start ${name}: ${exit.why}`),
        ...(exit.noRoom === true ? { class: 'infra' as const } : { missing: true }),
      };
    case 'timed_out': {
      const longer = `(longer: timeout or ${timeoutKey} on the node)`;
      return fail('timeout', `${title} timeout after ${exit.afterMs / 1000}s${because(lastError)} ${longer}`);
    }
    case 'signalled':
      return fail('agent', `${title} failed: ended by ${exit.signal}${because(lastWords)}`);
    case 'exited': {
      const now = clock.now();
      return { ...ofProvider(await exited({ code: exit.code, lastWords, now, fail }), now), ...used };
    }
  }
}

/** Marks a failure whose cause is the model's provider, for the exit code of the run; with the reset of a quota that was named. */
function ofProvider(report: AgentReport, now: Date): AgentReport {
  if (report.kind !== 'failed' || (report.class !== 'infra' && report.park === undefined)) return report;
  const { park, retryAfterMs } = report;
  if (park?.kind !== 'quota' || park.wakeAtMs !== undefined || retryAfterMs === undefined)
    return { ...report, model: 'api' };
  return { ...report, model: 'api', park: { ...park, wakeAtMs: now.getTime() + retryAfterMs } };
}

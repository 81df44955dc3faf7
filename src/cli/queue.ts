/** `factory queue`: shows the queue, and changes it. */
import { thisUser } from '../app/acts.ts';
import { localTime } from '../core/amounts.ts';
import type { JobQueue } from '../core/contracts/job-queue.ts';
import type { QueueChange, QueueReport } from '../core/records/queue-report.ts';
import { holdsOf, removeHold } from '../fleet/holds.ts';
import { watchWorkers } from '../fleet/workers.ts';
import { type ChangeHost, dropJob, holdJob, type MoveRequest, moveJobs } from '../keeper/queue-changes.ts';
import { queueReport } from '../keeper/queue-report.ts';
import { namedRun } from '../run/runs.ts';
import { runsDirOf, usage } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { type QueuePlace, withQueue } from './open-queue.ts';
import { canDraw } from './report/live.ts';
import { queueLines } from './report/queue.ts';
import { painter } from './report/run.ts';
import { openDrawing } from './report/terminal.ts';
import { timedOutCode } from './stop.ts';
import type { VerbResult } from './verb.ts';

export type QueueViewOptions = QueuePlace & {
  readonly watch?: boolean;
  readonly migrate?: boolean;
  readonly json?: boolean;
  readonly color?: boolean;
};

export async function queueCommand(options: QueueViewOptions, io: CliIo): Promise<VerbResult> {
  if (options.migrate === true) return (await import('./queue-migrate.ts')).queueMigrate(options, io);
  return withQueue(options, io, async (queue, runsDir) => {
    if (options.watch === true) return watch(queue, runsDir, options, io);
    const report = await queueReport(queue, { ...io, runsDir });
    io.out(options.json === true ? `${JSON.stringify(report, null, 2)}\n` : textOf(report, options, io));
    return 0;
  });
}

const textOf = (report: QueueReport, { color }: QueueViewOptions, io: CliIo): string =>
  `${queueLines(report, painter(paints(io, io.outIsTerminal, color)), { width: io.outIsTerminal ? io.width : undefined, most: mostListed }).join('\n')}\n`;

/** How many jobs of a state are listed; on a terminal that is drawn again and again, fewer. */
const [mostListed, mostWatched] = [50, 8];
/** Milliseconds between two drawings, and at least between two lines of JSON or texts. */
const [drawMs, leastMs] = [1000, 100];

/** Shows the queue until a signal: on a terminal in place, else again after each change. */
async function watch(
  queue: JobQueue,
  runsDir: string,
  options: QueueViewOptions,
  io: CliIo,
): Promise<number> {
  const signal = io.signal();
  const host = { ...io, runsDir, workers: watchWorkers(runsDir, io.clock) };
  const drawn = options.json !== true && canDraw(io) ? openDrawing(io) : undefined;
  const paint = painter(paints(io, drawn === undefined ? io.outIsTerminal : io.errIsTerminal, options.color));
  let wake = new AbortController();
  const end = queue.onChange(() => wake.abort());
  while (!signal.aborted) {
    wake = new AbortController();
    const report = await queueReport(queue, host);
    if (options.json === true) io.out(`${JSON.stringify(report)}\n`);
    else if (drawn === undefined) io.out(`${localTimeOf(report)}\n${textOf(report, options, io)}\n`);
    else drawn.draw([], queueLines(report, paint, { width: io.width, most: mostWatched }));
    await io.clock.sleep(leastMs, signal);
    await io.clock.sleep(drawn === undefined ? quietMs : drawMs, AbortSignal.any([signal, wake.signal]));
  }
  end();
  if (drawn !== undefined) io.err('\n');
  return 130;
}

/** Without a change, a watch that is read by a program prints again after so long: times of workers change too. */
const quietMs = 60_000;

const localTimeOf = ({ at }: QueueReport): string => `# ${at}`;

type ChangeOptions = QueuePlace & { readonly json?: boolean; readonly timeout?: number };
type MoveOptions = ChangeOptions & {
  readonly first?: boolean;
  readonly last?: boolean;
  readonly now?: boolean;
  readonly priority?: number;
  readonly notBefore?: string;
};

export async function queueMove(run: string, options: MoveOptions, io: CliIo): Promise<VerbResult> {
  const [request, ...more] = movesIn(options);
  if (request === undefined || more.length > 0)
    return usage(
      request === undefined ? 'nothing says where to move it' : 'a job is moved to one place',
      'pass one of --first, --last, --priority, --now, --not-before',
    );
  return change(options, io, (queue, host) => moveJobs(queue, run, request, host));
}

const movesIn = ({ first, last, now, priority, notBefore }: MoveOptions): readonly MoveRequest[] => [
  ...(first === true ? [{ to: 'first' } as const] : []),
  ...(last === true ? [{ to: 'last' } as const] : []),
  ...(now === true ? [{ to: 'now' } as const] : []),
  ...(priority === undefined ? [] : [{ priority }]),
  ...(notBefore === undefined ? [] : [{ notBefore }]),
];

export const queueHold = (
  run: string,
  options: ChangeOptions & { readonly reason?: string },
  io: CliIo,
): Promise<VerbResult> =>
  change(options, io, (queue, host) => holdJob(queue, run, options.reason ?? '', host));

export const queueDrop = (run: string, options: ChangeOptions, io: CliIo): Promise<VerbResult> =>
  change(options, io, (queue, host) => dropJob(queue, run, host));

/** Changes a job, and prints what became of it. */
function change(
  options: ChangeOptions,
  io: CliIo,
  act: (queue: JobQueue, host: ChangeHost) => ReturnType<typeof dropJob>,
): Promise<VerbResult> {
  const signal = io.signal();
  return withQueue(options, io, async (queue, runsDir) => {
    const { clock } = io;
    const warn = (message: string): void => io.err(`warning: ${message}\n`);
    const done = await act(queue, {
      runsDir,
      clock,
      who: thisUser(),
      timeoutMs: options.timeout,
      signal,
      warn,
    });
    if ('problems' in done) return done;
    io.out(
      options.json === true ? `${JSON.stringify(done, null, 2)}\n` : `${changeText(done, runsDir, io)}\n`,
    );
    if (done.answer !== 'stopping') return 0;
    return signal.aborted ? 130 : timedOutCode;
  });
}

function changeText(
  { run_id, title, answer, state, due_at, priority, has_run }: QueueChange,
  runsDir: string,
  io: CliIo,
): string {
  const program = io.called?.program ?? 'factory';
  const run = namedRun(`${runsDir}/${run_id}`, io.cwd);
  const what = `run ${run_id} (${title})`;
  switch (answer) {
    case 'moved':
      return `${what}: ${state === 'later' ? `sleeps until ${localTime(due_at ?? '', io.clock.now())}` : state}, priority ${priority}`;
    case 'held':
      return `${what} is on hold\n  release  ${program} queue move ${run} --now`;
    case 'dropped':
      return `${what} has left the queue${has_run ? `\n  its run stays: ${program} show ${run}` : ''}`;
    case 'ended':
      return `${what} has ended, and left the queue before`;
    case 'stopping':
      return `${what} is still stopping`;
  }
}

/** Removes a hold of an account, by its id or a beginning of it that no other has. */
export async function queueRelease(
  name: string,
  options: Pick<QueuePlace, 'runsdir'>,
  io: CliIo,
): Promise<VerbResult> {
  const runsDir = runsDirOf(options, io);
  const all = holdsOf(runsDir);
  const [hold, ...others] = all.filter(({ id }) => id.startsWith(name));
  if (hold === undefined || others.length > 0)
    return usage(
      `${others.length > 0 ? 'several holds have ids that begin so' : 'there is no hold with this id'}: ${name}`,
      all.length === 0 ? 'no account is on hold' : `there are ${all.map(({ id }) => id).join(', ')}`,
    );
  removeHold(runsDir, hold.id);
  const { agent, model, endpoint, until } = hold;
  const whose = [agent, model, endpoint].filter((word) => word !== '').join(' ');
  io.out(
    `the hold of ${whose} until ${localTime(until, io.clock.now())} is removed; suspended runs keep their time (resume RUN --now)\n`,
  );
  return 0;
}

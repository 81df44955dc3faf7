/** `factory attach`: the live view of a run of another process. */
import { followRun } from '../app/inspect/follow.ts';
import { inspectRow } from '../app/inspect/rows.ts';
import { resultIn } from '../app/inspect/run.ts';
import { titleOf } from '../app/inspect/title.ts';
import { untilEnded } from '../app/until-ended.ts';
import { refused } from '../core/diagnostic.ts';
import { type RunEvent, runEventSchema } from '../core/events.ts';
import { openRun } from '../run/open-run.ts';
import { namedRun } from '../run/runs.ts';
import { isAtWork, summaryOf } from '../run/summary.ts';
import { findNamed, type NamedRun } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { logsCommand } from './logs.ts';
import { sheetOf } from './report/fit.ts';
import { runLine } from './report/inspect.ts';
import { canDraw, openScreen } from './report/live.ts';
import { askedText } from './report/question.ts';
import { painter } from './report/run.ts';
import { summary } from './report/summary.ts';
import type { VerbResult } from './verb.ts';
import { failureCardIn } from './why.ts';

export type AttachOptions = {
  readonly runsdir?: string;
  readonly verbose?: boolean;
  readonly color?: boolean;
};

/** Shows a run as the terminal that started it does, from its first event on, until it ends; then prints its summary. The exit code
 *  does not depend on the result of the run; 130 after a signal, which leaves the run alone. */
export async function attachCommand(run: string, options: AttachOptions, io: CliIo): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const signal = io.signal();
  // Of a run that has ended the summary says what there is to know; factory logs prints its events.
  if (!canDraw(io) && !isAtWork(await summaryOf(found.id, found.dir, io.clock))) {
    await end(found, options, io);
    return 0;
  }
  if (canDraw(io)) {
    const read = await openRun(found.dir).manifest();
    if (!read.ok) return refused('no-run', read.why);
    const { manifest } = read;
    const title = await titleOf(found.dir, manifest);
    await draw({ ...found, title }, options, io, signal);
  } else {
    const followed = await logsCommand(run, { ...options, follow: true, output: true }, io, signal);
    if (followed !== 0) return followed;
  }
  if (signal.aborted) {
    io.err(
      `detached; attach again: ${io.called?.program ?? 'factory'} attach ${namedRun(found.dir, io.cwd)}\n`,
    );
    return 130;
  }
  // Its result is written after its last event.
  const { clock } = io;
  await untilEnded(found.id, found.dir, { clock, deadline: Number.POSITIVE_INFINITY, signal });
  await end(found, options, io);
  return 0;
}

/** Draws the run until it ends or the signal fires. */
async function draw(
  { dir, title }: NamedRun & { readonly title: string },
  options: AttachOptions,
  io: CliIo,
  signal: AbortSignal,
): Promise<void> {
  const times = { of: ({ at }: RunEvent) => Date.parse(at), now: () => io.clock.now().getTime() };
  const colour = paints(io, io.errIsTerminal, options.color);
  const screen = openScreen(io, colour, options.verbose === true, times);
  screen.watcher.opened?.({ dir, title });
  try {
    for await (const one of followRun(openRun(dir), {
      clock: io.clock,
      until: 'ended',
      signal,
      texts: true,
    })) {
      if (one.kind === 'text') {
        const { node, text, channel } = one.text;
        if (channel === 'stdout' || channel === 'stderr') screen.watcher.output(node, text, channel);
        else if (channel !== 'session') screen.watcher.streamed(node, text, channel);
      }
      // An event of another version is not drawn.
      const event = one.kind === 'event' ? runEventSchema().safeParse(one.record).data : undefined;
      if (event !== undefined) screen.watcher.event(event);
    }
  } finally {
    screen.close();
  }
}

/** The summary of a run that has ended; where its owner could not write one, how it stands. */
async function end({ id, dir }: NamedRun, options: AttachOptions, io: CliIo): Promise<void> {
  const row = await inspectRow(dir, io);
  const result = resultIn(dir, io);
  if (result === null || result.status !== row?.status) io.err(`${runLine(`run ${id}:`, row)}\n`);
  else {
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    const card = row.status === 'failed' ? await failureCardIn(dir, io) : null;
    io.out(`${summary({ ...result, next: row.next }, paint, card, sheetOf(io))}\n`);
    for (const question of row.questions) io.out(`${askedText(question, paint, sheetOf(io))}\n`);
  }
}

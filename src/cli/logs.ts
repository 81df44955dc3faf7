/** `factory logs`: what happened in a run, event by event; with `--follow` also what happens from now on. */
import { stripVTControlCharacters } from 'node:util';
import { shownEvent } from '../app/inspect/events.ts';
import { followRun } from '../app/inspect/follow.ts';
import { inspectRow } from '../app/inspect/rows.ts';
import { textsWithheld } from '../app/inspect/withheld.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Log } from '../core/contracts/watcher.ts';
import { runEventSchema } from '../core/events.ts';
import type { JsonObject } from '../core/json.ts';
import { layout } from '../core/records/layout.ts';
import { toReader } from '../platform/streams.ts';
import { cursorNearEnd, type JournalPosition } from '../run/journal-read.ts';
import { openRun, type RunReader } from '../run/open-run.ts';
import { findNamed } from './find-run.ts';
import { type Io, paints, type Raw } from './io.ts';
import { recordOf } from './report/events.ts';
import { runLine } from './report/inspect.ts';
import { exitsHeld } from './report/live.ts';
import { chosenLevel, isLogged, type LogLevel, recordLine } from './report/log.ts';
import { outputPrinter } from './report/output.ts';
import { oneLine, painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type LogsOptions = {
  readonly runsdir?: string;
  readonly node?: string;
  readonly follow?: boolean;
  /** What the nodes print too. */
  readonly output?: boolean;
  /** Of what has happened so far. */
  readonly last?: number;
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Prints a run's events. With `follow` it ends with the run, or when its output is closed. The exit code does not depend on
 *  the result of the run. */
export async function logsCommand(
  run: string,
  options: LogsOptions,
  io: Io & Pick<Raw, 'outIsClosed'> & { readonly clock: Clock },
  signal?: AbortSignal,
): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const { dir } = found;
  const recorded = openRun(dir);
  const { events } = layout(dir);
  const { last = Number.POSITIVE_INFINITY } = options;
  // Of a long run only the end is read, if it has as many lines to print.
  const near = Number.isFinite(last) ? cursorNearEnd(events, 65_536 + last * 2048) : undefined;
  const printed =
    (near === undefined ? undefined : await tellFrom(recorded, near, options, io, signal)) ??
    (await tellFrom(recorded, undefined, options, io, signal));
  if (printed?.isEmpty !== false) io.err(`there is no record in ${events}\n`);
  else if (printed.lines === 0 && options.node !== undefined)
    io.err(`no event so far is about a node "${options.node}"\n`);
  io.err(`${runLine(`run ${found.id}:`, await inspectRow(dir, io))}\n`);
  return 0;
}

/** Prints what is recorded from `from` on, and with `follow` what comes; undefined, with nothing printed, if that is less than
 *  `last` wants and more is recorded before. */
async function tellFrom(
  recorded: RunReader,
  from: JournalPosition | undefined,
  options: LogsOptions,
  io: Io & Pick<Raw, 'outIsClosed'> & { readonly clock: Clock },
  signal: AbortSignal | undefined,
): Promise<{ readonly lines: number; readonly isEmpty: boolean } | undefined> {
  const reader = toReader(io);
  const teller = openTeller(options, { ...io, out: reader.out });
  const texts = options.output === true;
  const isWithheld = texts || options.json === true ? await textsWithheld(recorded) : () => true;
  const printer = outputPrinter(recorded.dir, (node, text) => teller.output(node, text), isWithheld);
  let isEmpty = true;
  let isCaughtUp = false;
  for await (const one of followRun(recorded, { clock: io.clock, from, until: 'ended', signal, texts })) {
    if (one.kind === 'text') printer.text(one.text);
    else if (one.kind === 'unreadable')
      io.err(`line ${one.line} of ${layout(recorded.dir).events} cannot be read\n`);
    else if (one.kind === 'event') {
      isEmpty = false;
      const event = texts ? runEventSchema().safeParse(one.record).data : undefined;
      // Before the line that says how the execution ended.
      if (event !== undefined) await printer.event(event);
      teller.tell(options.json === true ? shownEvent(one.record, isWithheld) : one.record);
    } else if (!isCaughtUp) {
      isCaughtUp = true;
      if (from !== undefined && teller.printed() < (options.last ?? 0)) return undefined;
      for (const line of teller.begin()) {
        reader.out(line);
        if (!(await reader.isThere())) break;
      }
      if (options.follow !== true) break;
    }
    if (!(await reader.isThere())) break;
  }
  teller.end();
  return { lines: teller.printed(), isEmpty };
}

/** Prints records as lines; with `last` the latest ones are held until `begin`. */
function openTeller(options: LogsOptions, io: Io) {
  const { last = Number.POSITIVE_INFINITY, node } = options;
  const level = chosenLevel({}, io.env) ?? (options.verbose === true ? 'debug' : 'info');
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  const painted: Readonly<Record<LogLevel, (word: string) => string>> = {
    debug: paint.dim,
    info: (word) => word,
    warn: paint.yellow,
    error: paint.red,
  };
  let waiting: string[] = [];
  /** Trimmed at twice the wanted number: trimming at each line would move all others each time. */
  const latest = (): string[] => (last === 0 ? [] : waiting.slice(-last));
  let isFollowing = last === Number.POSITIVE_INFINITY;
  let printed = 0;
  const out = (line: string): void => {
    printed += 1;
    if (isFollowing) io.out(line);
    else waiting.push(line);
    if (waiting.length > 2 * last) waiting = latest();
  };
  const isAbout = (id: unknown): boolean => node === undefined || id === node;
  const log = (at: string, [how, message, fields]: Parameters<Log>): void => {
    if (!isLogged(how, level)) return;
    const word = painted[how](how.toUpperCase().padEnd(5));
    out(recordLine(at.slice(0, 19).replace('T', ' '), word, message, fields));
  };
  let at = '';
  const words = exitsHeld(
    (event) => {
      if (isAbout('node_id' in event ? event.node_id : undefined)) log(event.at, recordOf(event));
    },
    (exit) => {
      if (isAbout(exit)) log(at, ['warn', 'failing exit reached', { node: exit, outcome: 'fail' }]);
    },
  );
  return {
    output(of: string, text: string): void {
      // A carriage return would let a node write over the name before its line.
      const shown = stripVTControlCharacters(text).replace(/[^\P{Cc}\t]/gu, '');
      if (isAbout(of)) out(`${paint.dim(`${of} │`)} ${shown}\n`);
    },
    tell(record: JsonObject): void {
      if (options.json === true) {
        if (isAbout(record['node_id'])) out(`${JSON.stringify(record)}\n`);
        return;
      }
      at = String(record['at'] ?? '');
      const event = runEventSchema().safeParse(record);
      if (event.success) words.tell(event.data);
      // An event of another version.
      else if (isAbout(record['node_id']))
        log(at, ['info', oneLine(String(record['type'] ?? 'an unknown event'), 100)]);
    },
    /** Answers the lines that waited. */
    begin(): readonly string[] {
      isFollowing = true;
      const lines = latest();
      waiting = [];
      return lines;
    },
    /** What waits for an end that has not come. */
    end: (): void => words.rest(),
    printed: (): number => printed,
  };
}

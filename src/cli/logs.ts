/** `factory logs`: what happened in a run, event by event; with `--follow` also what happens from now on. */
import { nextOf } from '../app/inspect/next.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Log } from '../core/contracts/watcher.ts';
import { runEventSchema } from '../core/events.ts';
import type { JsonObject } from '../core/json.ts';
import { isPaused } from '../core/outcome.ts';
import { layout } from '../core/records/layout.ts';
import { toReader } from '../platform/streams.ts';
import { type Cursor, cursorNearEnd, readJournal } from '../store/journal-read.ts';
import { livingOwners } from '../store/lock.ts';
import { namedRun, type RunSummary, summaryOf } from '../store/runs.ts';
import { findNamed } from './find-run.ts';
import type { VerbResult } from './index.ts';
import { type Io, paints, type Raw } from './io.ts';
import { recordOf } from './report/events.ts';
import { exitsHeld } from './report/live.ts';
import { chosenLevel, isLogged, type LogLevel, recordLine } from './report/log.ts';
import { foreign, oneLine, painter } from './report/run.ts';
import { storyOf } from './runs.ts';

export type LogsOptions = {
  readonly runsdir?: string;
  readonly node?: string;
  readonly follow?: boolean;
  /** Of what has happened so far. */
  readonly last?: number;
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Milliseconds between two reads of a run that is being followed. */
const lookMs = 250;

/** Prints a run's events. With `follow` it ends with the run, or when its output is closed. The exit code does not depend on
 *  the result of the run. */
export async function logsCommand(
  run: string,
  options: LogsOptions,
  io: Io & Pick<Raw, 'outIsClosed'> & { readonly clock: Clock },
): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const { dir } = found;
  const { events } = layout(dir);
  const reader = toReader(io);
  let teller = openTeller(options, { ...io, out: reader.out });
  const { last = Number.POSITIVE_INFINITY } = options;
  // Of a long run only the end is read, if it has as many lines to print.
  const near = Number.isFinite(last) ? cursorNearEnd(events, 65_536 + last * 2048) : undefined;
  let cursor: Cursor | undefined = near;
  const readOn = async (): Promise<void> => {
    for await (const entry of readJournal(events, cursor)) {
      cursor = entry.cursor;
      if (entry.kind === 'record') teller.tell(entry.record);
      else io.err(`line ${entry.cursor.line} of ${events} cannot be read\n`);
      if (!(await reader.isThere())) return;
    }
  };
  await readOn();
  if (near !== undefined && teller.told() < last) {
    teller = openTeller(options, { ...io, out: reader.out });
    cursor = undefined;
    await readOn();
  }
  for (const line of teller.begin()) {
    reader.out(line);
    if (!(await reader.isThere())) break;
  }
  let stands = await summaryOf(found.id, dir, io.clock);
  while (options.follow === true && !io.outIsClosed()) {
    await readOn();
    // Looked at before the last reading, so that its last words are not missed. Of a parked run the lock is free, and its
    // owner may wait all the same; any other that is free has said all, however long the program lives that made it.
    const goesOn = stands.status === 'running' || (isPaused(stands.status) && livingOwners(dir).length > 0);
    if (!goesOn) break;
    await io.clock.sleep(lookMs);
    stands = await summaryOf(found.id, dir, io.clock);
  }
  teller.end();
  if (cursor === undefined) io.err(`there is no record in ${events}\n`);
  else if (teller.told() === 0 && options.node !== undefined)
    io.err(`no event so far is about a node "${options.node}"\n`);
  io.err(`${standing(stands, dir, io)}\n`);
  return 0;
}

/** How the run stands, and what could be typed next. */
function standing(summary: RunSummary, dir: string, io: Io): string {
  const story = foreign(storyOf(summary), '  ');
  const next = nextOf(summary, io.called?.program ?? 'factory', namedRun(dir, io.cwd));
  return `run ${summary.id}: ${summary.status}${story === '' ? '' : `: ${story}`}${next === '' ? '' : `\nnext: ${next}`}`;
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
  let hasBegun = last === Number.POSITIVE_INFINITY;
  let told = 0;
  const out = (line: string): void => {
    told += 1;
    if (hasBegun) io.out(line);
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
      hasBegun = true;
      const lines = latest();
      waiting = [];
      return lines;
    },
    /** What waits for an end that has not come. */
    end: (): void => words.rest(),
    told: (): number => told,
  };
}

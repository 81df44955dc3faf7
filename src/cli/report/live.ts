/** Output while a run is executed: live lines on a terminal, log records elsewhere. */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Clock, Every } from '../../core/contracts/clock.ts';
import type { Log, Watcher } from '../../core/contracts/watcher.ts';
import type { Diagnostic } from '../../core/diagnostic.ts';
import type { RunEvent } from '../../core/events.ts';
import { nodeLayout } from '../../core/records/layout.ts';
import type { LiveText } from '../../core/records/live.ts';
import { errColumns, type Io, paints } from '../io.ts';
import { formatDiagnostic } from './diagnostics.ts';
import { recordOf } from './events.ts';
import { chosenFormat, chosenLevel, type LogOptions, logVariableProblem, openLog } from './log.ts';
import { oneLine, painter } from './run.ts';
import { runScreen } from './screen.ts';
import { openDrawing } from './terminal.ts';

export interface View {
  readonly watcher: Watcher;
  readonly log: Log;
  /** A warning about the pipeline's text. */
  warn(found: Diagnostic, text: string | undefined): void;
  /** Removes the progress line before other output. */
  clear(): void;
  /** Standard error is for programs. */
  readonly isJson: boolean;
}

/** `every` updates the progress line. */
export type ViewIo = Io & { readonly clock: Clock; readonly every: Every };

/** Flags that choose what is printed while a run goes, and how. */
export type ViewOptions = LogOptions & {
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly color?: boolean;
};

/** The live view on a terminal, unless JSON records are wanted; else log records. */
export async function openView(options: ViewOptions, io: ViewIo): Promise<View> {
  const level =
    chosenLevel(options, io.env) ??
    (options.quiet === true ? 'error' : options.verbose === true ? 'debug' : 'info');
  const format = chosenFormat(options, io.env);
  const json = format === 'json';
  const log = await openLog(io.err, level, format, io.clock);
  const colour = paints(io, io.errIsTerminal, options.color);
  const warn = (found: Diagnostic, text: string | undefined): void => {
    if (level === 'error') return;
    if (json)
      log('warn', found.message, {
        code: found.code,
        ...(found.fix === undefined ? {} : { fix: found.fix }),
      });
    else io.err(`${formatDiagnostic(found, text, colour, errColumns(io), io.called?.program)}\n`);
  };
  const problem = logVariableProblem(io.env);
  if (problem !== undefined) log('warn', problem);
  const live = canDraw(io) && !json && level !== 'error' && level !== 'warn';
  if (!live) {
    return {
      log,
      warn,
      clear: () => {},
      isJson: json,
      watcher: {
        event: exitsHeld(
          (event) => {
            // The summary of a quiet run reports it.
            if (event.type === 'PipelineFailed' && options.quiet === true) return;
            const [how, ...record] = recordOf(event);
            // For people the end of each node is a line; programs that read JSON count on both.
            log(event.type === 'StageStarted' && !json ? 'debug' : how, ...record);
          },
          (node) => log('warn', 'failing exit reached', { node, outcome: 'fail' }),
        ).tell,
        streamed: () => {},
        output: () => {},
        spent: (node, usage) => log('debug', 'model call', { node, ...usage }),
      },
    };
  }
  const now = () => io.clock.monotonic();
  const screen = openScreen(io, colour, level === 'debug', { of: now, now });
  return {
    clear: screen.clear,
    isJson: false,
    // Between live lines only warnings and errors are logged.
    log: (at, message, fields) => {
      if ((at === 'info' || at === 'debug') && level !== 'debug') return;
      screen.clear();
      log(at, message, fields);
    },
    warn: (found, text) => {
      screen.clear();
      warn(found, text);
    },
    watcher: {
      ...screen.watcher,
      spent: (node, usage) => {
        if (level !== 'debug') return;
        screen.clear();
        log('debug', 'model call', { node, ...usage });
      },
    },
  };
}

/** A terminal without control sequences gets plain records. */
export const canDraw = (io: Pick<Io, 'errIsTerminal' | 'env'>): boolean =>
  io.errIsTerminal && io.env['TERM'] !== 'dumb';

/** Holds the events of an exit until the run has ended: only then is its outcome known. If the run has failed, `failing` is
 *  called instead. */
export function exitsHeld(tell: (event: RunEvent) => void, failing: (node: string) => void) {
  let exit: string | undefined;
  let held: RunEvent[] = [];
  return {
    tell(event: RunEvent): void {
      if (event.type === 'StageStarted') exit = isRunsExit(event) ? event.node_id : undefined;
      if (exit !== undefined && (event.type === 'StageCompleted' || event.type === 'CheckpointSaved')) {
        held.push(event);
        return;
      }
      const waiting = held;
      held = [];
      const failed = event.type === 'PipelineFailed' && exit !== undefined && waiting.length > 0;
      if (failed && exit !== undefined) failing(exit);
      for (const one of waiting) if (!failed || one.type !== 'StageCompleted') tell(one);
      tell(event);
    },
    /** Passes on the held events of a run without an end. */
    rest(): void {
      for (const one of held.splice(0)) tell(one);
    },
  };
}

/** An exit of the run itself: those of pipelines that it calls have dots in their ids. */
const isRunsExit = ({ node_type, node_id }: Extract<RunEvent, { type: 'StageStarted' }>): boolean =>
  node_type === 'exit' && !node_id.includes('.');

/** Milliseconds between two looks at what is drawn below; at every fourth it is drawn again in any case. */
const lookMs = 250;

/** The time of an event, and now, in milliseconds of one clock. */
export type ScreenTimes = { readonly of: (event: RunEvent) => number; readonly now: () => number };

/** The screen of a run, drawn as it goes. Under events that are long past nothing is drawn below. */
export function openScreen(io: ViewIo, colour: boolean, unfolded: boolean, times: ScreenTimes) {
  const drawing = openDrawing(io);
  let dir: string | undefined;
  const outputOf = (node: string, channel?: string) =>
    dir === undefined ? undefined : outputPlace(dir, node, channel, io.cwd);
  const screen = runScreen({ paint: painter(colour), unfolded, outputOf });
  let drawn = times.now();
  let isNew = false;
  const draw = (lines: readonly string[], isPast = false) => {
    drawn = times.now();
    isNew = isPast;
    drawing.draw(lines, isPast ? [] : screen.below(drawn, io.width));
  };
  const stop = io.every(lookMs, () => {
    if (isNew || times.now() - drawn >= 4 * lookMs) draw([]);
  });
  const text = (node: string, piece: string, channel: Exclude<LiveText['channel'], 'session'>) => {
    screen.text(node, piece, channel);
    isNew = true;
  };
  const held = exitsHeld(
    (event) => {
      const at = times.of(event);
      draw(screen.event(event, at, io.width), at < times.now() - 4 * lookMs);
    },
    // The summary reports the exit and the reason.
    () => {},
  );
  const watcher: Watcher = {
    opened(run) {
      dir = run.dir;
      draw([oneLine(`run ${shortPath(run.dir, io.cwd)}: ${run.title}`, io.width - 1)]);
    },
    event: held.tell,
    streamed: text,
    output: text,
    spent() {},
  };
  return {
    watcher,
    clear: drawing.clear,
    /** Removes what is drawn below, and draws no more. */
    close() {
      stop();
      drawing.clear();
    },
  };
}

/** Where the whole output of a running node is: a tool's file, else its folder. */
function outputPlace(dir: string, node: string, channel: string | undefined, cwd: string): string {
  const at = nodeLayout(join(dir, node));
  const file = channel === 'stderr' ? at.toolStderr : at.toolStdout;
  return shortPath(existsSync(file) ? file : at.root, cwd);
}

const shortPath = (path: string, cwd: string): string => {
  const from = relative(cwd, path);
  return from.startsWith('..') ? path : from;
};

/** Output while a run is executed: live lines on a terminal, log records elsewhere. */
import { elapsedWords } from '../../core/amounts.ts';
import type { Clock, Every } from '../../core/contracts/clock.ts';
import type { Log, Watcher } from '../../core/contracts/watcher.ts';
import type { Diagnostic } from '../../core/diagnostic.ts';
import type { RunEvent } from '../../core/events.ts';
import { errColumns, type Io, paints } from '../io.ts';
import { formatDiagnostic } from './diagnostics.ts';
import { liveLine, recordOf } from './events.ts';
import { chosenFormat, chosenLevel, type LogOptions, logVariableProblem, openLog } from './log.ts';
import { painter, tail } from './run.ts';

export interface View {
  readonly watcher: Watcher;
  readonly log: Log;
  /** A warning about the pipeline's text. */
  warn(found: Diagnostic, text: string | undefined): void;
  /** Removes the progress line before other output. */
  clear(): void;
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
    else io.err(`${formatDiagnostic(found, text, colour, errColumns(io))}\n`);
  };
  const problem = logVariableProblem(io.env);
  if (problem !== undefined) log('warn', problem);
  // A terminal without control sequences gets plain records.
  const live =
    io.errIsTerminal && io.env['TERM'] !== 'dumb' && !json && level !== 'error' && level !== 'warn';
  if (!live) {
    return {
      log,
      warn,
      clear: () => {},
      watcher: {
        event: exitsHeld(
          (event) => {
            // The summary of a quiet run reports it.
            if (event.type !== 'PipelineFailed' || options.quiet !== true) log(...recordOf(event));
          },
          (node) => log('warn', 'failing exit reached', { node, outcome: 'fail' }),
        ).tell,
        streamed: () => {},
        output: () => {},
        spent: (node, usage) => log('debug', 'model call', { node, ...usage }),
      },
    };
  }
  const screen = openScreen(io, colour);
  return {
    clear: screen.clear,
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

/** Holds the events of an exit until the run has ended: only then is its outcome known. If the run has failed, `failing` is
 *  called instead. */
export function exitsHeld(tell: (event: RunEvent) => void, failing: (node: string) => void) {
  let exit: string | undefined;
  let held: RunEvent[] = [];
  return {
    tell(event: RunEvent): void {
      if (event.type === 'StageStarted') exit = event.node_type === 'exit' ? event.node_id : undefined;
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

/** Lines of finished nodes, and below them a progress line. */
function openScreen(io: ViewIo, colour: boolean) {
  const paint = painter(colour);
  const began = io.clock.monotonic();
  let shown = false;
  let stage: { node: string; visit: number; began: number; characters: number; thought: string } | undefined;
  const clear = () => {
    if (shown) io.err('\r\x1b[2K');
    shown = false;
  };
  const show = () => {
    if (stage === undefined) return;
    const now = io.clock.monotonic();
    const again = stage.visit > 1 ? ` #${stage.visit}` : '';
    const arrived = stage.characters > 0 ? `  ${stage.characters} characters` : '';
    const line = `${elapsedWords(now - began).padStart(7)} … ${stage.node}${again} ${elapsedWords(now - stage.began)}${arrived}`;
    const room = Math.max(10, io.width - 1);
    const thought = stage.characters > 0 ? '' : tail(stage.thought, room - line.length - 2);
    io.err(`\r\x1b[2K${paint.dim(line.slice(0, room))}${thought === '' ? '' : paint.dim(`  ${thought}`)}`);
    shown = true;
  };
  io.every(1000, show);
  const told = exitsHeld(
    (event) => {
      clear();
      const line = liveLine(event, io.clock.monotonic() - began, paint, io.width);
      if (line !== undefined) io.err(`${line}\n`);
      if (event.type === 'StageStarted') {
        stage = {
          node: event.node_id,
          visit: event.visit,
          began: io.clock.monotonic(),
          characters: 0,
          thought: '',
        };
        show();
      } else if (event.type === 'StageCompleted' || event.type === 'StageFailed') {
        stage = undefined;
      }
    },
    // The summary reports the exit and the reason.
    () => {
      clear();
      stage = undefined;
    },
  );
  const watcher: Watcher = {
    event: told.tell,
    streamed(_node, text, channel) {
      if (stage === undefined) return;
      if (channel === 'answer') stage.characters += text.length;
      else stage.thought = `${stage.thought}${text}`.slice(-1000);
      show();
    },
    output() {},
    spent() {},
  };
  return { watcher, clear };
}

/** `factory runs --watch`: the table of runs, drawn again whenever it changes, until Ctrl-C. */
import { openRunList } from '../app/inspect/run-list.ts';
import { runsDirOf, usage } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { canDraw } from './report/live.ts';
import { painter } from './report/run.ts';
import { heightOf, openDrawing, rowsOnScreen } from './report/terminal.ts';
import { type RunsOptions, type RunTable, readRunTable, runTableLines, type TableView } from './runs.ts';
import type { VerbResult } from './verb.ts';

/** Milliseconds between two looks; of many thousands of runs the looks alone would keep a processor busy. */
const lookMs = (took: number): number => Math.max(1000, 10 * took);

/** Only on a terminal: for programs there is a stream of changes. */
export async function watchRunTable(options: RunsOptions, io: CliIo): Promise<VerbResult> {
  if (!canDraw(io))
    return usage(
      '--watch draws on a terminal, and there is none',
      'leave --watch out; programs follow GET /api/v1/stream of factory serve',
    );
  const signal = io.signal();
  const from = openRunList(runsDirOf(options, io), io);
  const drawing = openDrawing(io);
  const paint = painter(paints(io, io.errIsTerminal, options.color));
  let shown: string | undefined;
  while (!signal.aborted) {
    const began = io.clock.monotonic();
    const found = await readRunTable(from, options, io);
    const lines = screenOf(found, options, { paint, width: io.width, now: io.clock.now() }, io);
    const now = lines.join('\n');
    if (now !== shown) drawing.draw([], lines);
    shown = now;
    await io.clock.sleep(lookMs(io.clock.monotonic() - began), signal);
  }
  io.err('\n');
  return 130;
}

/** As many runs as the terminal has room for: what has scrolled away cannot be drawn again. */
function screenOf(found: RunTable, options: RunsOptions, view: TableView, io: CliIo): readonly string[] {
  const many = found.list.runs.length;
  const room = heightOf(io) - 2;
  for (let most = Math.min(many, room); ; most--) {
    const lines = runTableLines(found, options, view, io, most);
    if (most > 1 && rowsOnScreen(lines, io.width) > room) continue;
    return most < many ? [...lines, `… ${many - most} more runs`] : lines;
  }
}

/** `factory validate --watch`: one screen with what is wrong now, until Ctrl-C. */
import { dirname, resolve } from 'node:path';
import { pipelinePath } from '../app/pipelines.ts';
import { graphsIn } from '../core/graph.ts';
import { present } from '../core/settings/types.ts';
import { watchFolder } from '../platform/files/watch.ts';
import { type CliIo, errColumns, paints } from './io.ts';
import { formatDiagnostic } from './report/diagnostics.ts';
import { textsOfFiles } from './report/errors.ts';
import { canDraw } from './report/live.ts';
import { heightOf, openDrawing, rowsOnScreen } from './report/terminal.ts';
import {
  type CheckedFile,
  checkedFiles,
  linesOfFile,
  print,
  reportOf,
  type ValidateOptions,
} from './validate.ts';

/** Milliseconds after a change in which more of them are expected: an editor writes a file in several steps. */
const settleMs = 60;
/** Milliseconds after which it looks again without a notice: a network disk may send none. */
const quietMs = 30_000;

/** Checks the files again whenever one in their folders changes, or one in the folder of a prompt or of a called pipeline. Prints
 *  only what is new: on a terminal in place. */
export async function watchPipelines(
  files: readonly string[],
  options: ValidateOptions,
  io: CliIo,
): Promise<number> {
  const signal = io.signal();
  const drawing = options.json !== true && canDraw(io) ? openDrawing(io) : undefined;
  const folders = new Map<string, (() => void) | undefined>();
  let changed = new AbortController();
  let shown: string | undefined;
  while (!signal.aborted) {
    changed = new AbortController();
    const checked = await checkedFiles(files, options, io);
    for (const folder of checked.flatMap((one) => foldersOf(one, io.cwd)))
      if (!folders.has(folder))
        folders.set(
          folder,
          watchFolder(folder, () => changed.abort()),
        );
    const now = JSON.stringify(reportOf(checked));
    if (now !== shown) {
      if (options.json === true) io.out(`${now}\n`);
      else if (drawing === undefined) for (const one of checked) await print(one, options, io);
      else drawing.draw([], await screenOf(checked, options, io));
    }
    shown = now;
    await io.clock.sleep(quietMs, AbortSignal.any([signal, changed.signal]));
    await io.clock.sleep(settleMs, signal);
  }
  for (const end of folders.values()) end?.();
  if (drawing !== undefined) io.err('\n');
  return 130;
}

/** The folders of the files that the findings depend on. */
function foldersOf({ file, anyGraph }: CheckedFile, cwd: string): readonly string[] {
  const folders = [dirname(resolve(cwd, pipelinePath(file, cwd)))];
  if (anyGraph === undefined) return folders;
  for (const graph of graphsIn(anyGraph)) {
    const folder = dirname(resolve(cwd, graph.file));
    const prompts = [...graph.nodes.values()].flatMap(({ attrs }) => {
      const text = present(attrs, 'prompt')?.value.text.trim() ?? '';
      return text.startsWith('@') ? [dirname(resolve(folder, text.slice(1)))] : [];
    });
    folders.push(folder, ...prompts);
  }
  return folders;
}

/** The line of each file, below as many findings as the terminal has room for. */
async function screenOf(
  checked: readonly CheckedFile[],
  { color }: ValidateOptions,
  io: CliIo,
): Promise<readonly string[]> {
  const colour = paints(io, io.errIsTerminal, color);
  const known = new Map(checked.map(({ file, text }) => [pipelinePath(file, io.cwd), text]));
  const found = checked.flatMap(({ diagnostics }) => diagnostics);
  const texts = await textsOfFiles(found, io.cwd, known);
  const ends = [...checked.flatMap(linesOfFile), 'watching; Ctrl-C ends'];
  let room = heightOf(io) - ends.length - 2;
  const lines: string[] = [];
  for (const [at, one] of found.entries()) {
    const text = one.place === undefined ? undefined : texts.get(one.place.file);
    const drawn = formatDiagnostic(one, text, colour, errColumns(io), io.called?.program).split('\n');
    room -= rowsOnScreen(drawn, io.width);
    if (at > 0 && room < 0) {
      lines.push(`… ${found.length - at} more`);
      break;
    }
    lines.push(...drawn);
  }
  return [...lines, ...(lines.length === 0 ? [] : ['']), ...ends];
}

/** What is printed, fitted to the columns of a terminal: words that wrap between blanks, paths that people only read, and
 *  commands that are copied whole. Pure. */
import { isAbsolute, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Io } from '../io.ts';
import { columnsOf } from './diagnostics.ts';

/** A terminal, and the folder that paths are relative to. Output into a pipe has none: its reader may be a program. */
export type Sheet = { readonly columns: number; readonly cwd: string };

export const sheetOf = (io: Pick<Io, 'outIsTerminal' | 'width' | 'cwd'>): Sheet | undefined =>
  io.outIsTerminal ? { columns: io.width, cwd: io.cwd } : undefined;

/** Columns without those that colours take. */
const seenColumns = (text: string): number => columnsOf(stripVTControlCharacters(text));

/** Folders above the current one through which a relative path is still read at once. */
const mostAbove = 2;

/** A path for people: relative where that is shorter, and cut in the middle, between folders where that is possible. */
export function fittedPath(path: string, { cwd }: Pick<Sheet, 'cwd'>, room: number): string {
  const slash = path.endsWith('/') ? '/' : '';
  const near = isAbsolute(path) ? `${relative(cwd, path) || '.'}${slash}` : path;
  const above = /^(?:\.\.\/)*/.exec(near)?.[0].length ?? 0;
  const shown = above <= 3 * mostAbove && near.length < path.length ? near : path;
  if (shown.length <= room) return shown;
  const most = Math.floor((room * 2) / 3);
  const end = shown.slice(-most);
  const folder = end.slice(0, -1).indexOf('/');
  const last = folder === -1 ? end : end.slice(folder);
  const start = shown.slice(0, Math.max(0, room - 1 - last.length));
  const first = start.lastIndexOf('/') > 0 ? start.slice(0, start.lastIndexOf('/') + 1) : start;
  return `${first}…${last}`;
}

/** Lines that break between words only; those after the first one are indented. The first begins after `offset` columns. */
export function wrappedWords(text: string, columns: number, indent: string, offset = 0): string {
  return text
    .split('\n')
    .map((line, at) => wrappedLine(line, columns, indent, at === 0 ? offset : 0))
    .join('\n');
}

function wrappedLine(line: string, columns: number, indent: string, offset: number): string {
  if (offset + seenColumns(line) <= columns) return line;
  const lines: string[] = [];
  let open = '';
  let used = offset;
  // The blanks before a word belong to it: those of code stay as they are.
  for (const piece of line.split(/(?<=\S)(?=\s)/)) {
    const wide = seenColumns(piece);
    const isFirst = open.trim() === '';
    if (used + wide <= columns || isFirst) {
      open += piece;
      used += wide;
      continue;
    }
    lines.push(open);
    open = `${indent}${piece.trimStart()}`;
    used = seenColumns(open);
  }
  return [...lines, open].join('\n');
}

/** A command on a separate line if it would wrap; what has to be done before is above it, without `paint`. */
export function fittedCommand(
  command: string,
  { columns }: Pick<Sheet, 'columns'>,
  offset: number,
  paint: (text: string) => string,
): string {
  if (offset + columnsOf(command) <= columns) return paint(command);
  const at = command.indexOf(' # ');
  const plain = at === -1 ? command : command.slice(0, at);
  const indent = ' '.repeat(offset);
  const before = at === -1 ? '' : `${wrappedWords(command.slice(at + 3), columns - 1, indent, offset)}:`;
  const isNarrow = offset + columnsOf(plain) > columns;
  // From the first column on, so that nothing but the command is copied.
  return `${before}${before === '' && !isNarrow ? '' : `\n${isNarrow ? '' : indent}`}${paint(plain)}`;
}

/** `next: COMMAND` as lines under a list; `columns` is undefined where the output is no terminal. */
export const nextLines = (
  command: string,
  columns: number | undefined,
  paint: (text: string) => string = String,
): readonly string[] => {
  const offset = 'next: '.length;
  const text = columns === undefined ? paint(command) : fittedCommand(command, { columns }, offset, paint);
  return `next: ${text}`.split('\n').map((line) => line.trimEnd());
};

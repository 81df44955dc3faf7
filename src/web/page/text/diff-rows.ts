/** A unified diff → rows for one or two columns. */

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'hunk';
  readonly text: string;
  /** Number of the line before and after; null where it is not. */
  readonly before: number | null;
  readonly after: number | null;
}

/** A row with two columns; null is an empty cell. A heading of a part is in both. */
export type DiffRow = readonly [before: DiffLine | null, after: DiffLine | null];

/** The lines of one file's patch, without its head. */
export function patchLines(patch: string): readonly DiffLine[] {
  const all = patch.split('\n');
  if (all.at(-1) === '') all.pop();
  const begin = all.findIndex((line) => line.startsWith('@@'));
  let before = 0;
  let after = 0;
  return (begin < 0 ? [] : all.slice(begin)).map((line): DiffLine => {
    const text = line.slice(1);
    const start = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (start !== null) {
      before = Number(start[1]);
      after = Number(start[2]);
      return { kind: 'hunk', text: line, before: null, after: null };
    }
    if (line.startsWith('+')) return { kind: 'added', text, before: null, after: after++ };
    if (line.startsWith('-')) return { kind: 'removed', text, before: before++, after: null };
    // `\ No newline at end of file`
    if (line.startsWith('\\')) return { kind: 'hunk', text: line.slice(2), before: null, after: null };
    return { kind: 'same', text, before: before++, after: after++ };
  });
}

/** The lines of a text that is no change. */
export const linesOfCode = (text: string): readonly DiffLine[] =>
  (text === '' ? [] : text.replace(/\n$/, '').split('\n')).map((line, at) => ({
    ...{ kind: 'same', text: line, before: null, after: at + 1 },
  }));

/** Lines that are drawn together; long changes are cut, so that only what is seen has to be drawn and coloured. */
export interface DiffPiece {
  /** Number of its first line in the patch. */
  readonly at: number;
  /** Whether a part of the file begins with it. */
  readonly begins: boolean;
  readonly lines: readonly DiffLine[];
}

/** A piece ends before a line that both sides have, or at the latest after so many lines. */
const pieceLines = { usual: 200, most: 400 } as const;

/** The lines in pieces: each part of the file begins one. */
export function diffPieces(lines: readonly DiffLine[]): readonly DiffPiece[] {
  const pieces: DiffPiece[] = [];
  let from = 0;
  const end = (to: number) => {
    if (to > from) pieces.push({ at: from, begins: isHead(lines[from]), lines: lines.slice(from, to) });
    from = to;
  };
  lines.forEach((line, at) => {
    const size = at - from;
    if (isHead(line) || size >= pieceLines.most || (size >= pieceLines.usual && line.kind === 'same'))
      end(at);
  });
  end(lines.length);
  return pieces;
}

const isHead = (line: DiffLine | undefined): boolean => line?.kind === 'hunk' && line.text.startsWith('@@');

/** Rows with removed lines on the left and the lines that replace them on the right. */
export function sideBySide(lines: readonly DiffLine[]): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  for (let i = 0; i < lines.length; ) {
    const line = lines[i];
    if (line === undefined) break;
    if (line.kind === 'same' || line.kind === 'hunk') {
      rows.push([line, line]);
      i++;
      continue;
    }
    const removed = run(lines, i, 'removed');
    const added = run(lines, i + removed.length, 'added');
    for (let row = 0; row < Math.max(removed.length, added.length); row++)
      rows.push([removed[row] ?? null, added[row] ?? null]);
    i += removed.length + added.length;
  }
  return rows;
}

function run(lines: readonly DiffLine[], from: number, kind: DiffLine['kind']): readonly DiffLine[] {
  let to = from;
  while (lines[to]?.kind === kind) to++;
  return lines.slice(from, to);
}

/** Lines and columns as editors count them: from 0, columns in UTF-16 units. */
import type { Position, Range } from 'vscode-languageserver/node';
import type { Span } from '../core/diagnostic.ts';

/** Lines of a text end with `\n`, `\r\n` or `\r`. */
export class TextLines {
  readonly #starts: readonly number[];

  constructor(readonly text: string) {
    this.#starts = [0, ...[...text.matchAll(/\r\n|\n|\r/g)].map(({ index, 0: end }) => index + end.length)];
  }

  position(offset: number): Position {
    let line = this.#starts.findLastIndex((start) => start <= offset);
    line = Math.max(line, 0);
    return { line, character: offset - (this.#starts[line] ?? 0) };
  }

  range(start: number, end: number): Range {
    return { start: this.position(start), end: this.position(end) };
  }

  span({ start, end }: Span): Range {
    return this.range(start.offset, end.offset);
  }
}

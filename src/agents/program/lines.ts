/** Lines out of text that arrives in pieces, and the JSON in them. */
import type * as z from 'zod';
import { mostGivenLevels, parseJson } from '../../core/json.ts';

/** Characters; a longer line is left out: it would not fit into memory. */
const longest = 16 * 1024 * 1024;

export interface LineReader {
  push(text: string): void;
  /** The last line may lack its end. */
  end(): void;
}

/** Calls `take` with every line without its end (LF or CR LF), in order; a line that is longer than 16 Mi characters is left out. */
export function lineReader(take: (line: string) => void): LineReader {
  let pieces: string[] = [];
  let length = 0;
  const flush = () => {
    const line = pieces.join('');
    const whole = length <= longest;
    pieces = [];
    length = 0;
    if (whole) take(line.endsWith('\r') ? line.slice(0, -1) : line);
  };
  const add = (piece: string) => {
    length += piece.length;
    if (length <= longest) pieces.push(piece);
    else pieces = [];
  };
  return {
    push(text) {
      let from = 0;
      for (let to = text.indexOf('\n'); to >= 0; to = text.indexOf('\n', from)) {
        add(text.slice(from, to));
        from = to + 1;
        flush();
      }
      if (from < text.length) add(text.slice(from));
    },
    end() {
      if (length > 0) flush();
    },
  };
}

/** The JSON object of a line, undefined where it is none of this shape. */
export function jsonLine<T>(line: string, shape: z.ZodType<T>): T | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return shape.safeParse(parseJson(line, mostGivenLevels)).data;
  } catch {
    return undefined;
  }
}

/** Lines out of text that arrives in pieces. */

/** Characters; a longer line is not told, since nobody could hold it. */
const longest = 16 * 1024 * 1024;

export interface Lines {
  push(text: string): void;
  /** The last line may lack its end. */
  end(): void;
}

/** Tells every line without its end (LF or CR LF), in order; a line that is longer than 16 Mi characters is left out. */
export function lines(told: (line: string) => void): Lines {
  let pieces: string[] = [];
  let length = 0;
  const tell = () => {
    const line = pieces.join('');
    const whole = length <= longest;
    pieces = [];
    length = 0;
    if (whole) told(line.endsWith('\r') ? line.slice(0, -1) : line);
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
        tell();
      }
      if (from < text.length) add(text.slice(from));
    },
    end() {
      if (length > 0) tell();
    },
  };
}

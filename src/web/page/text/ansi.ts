/** Text with terminal escapes → pieces with classes, without any other escape. */

/** A piece of a line. `classes` are those of app.css (`a31`, `a-bold`); `color` and `background` are CSS colours of the
 *  256-colour and 24-bit escapes. */
export interface AnsiPiece {
  readonly text: string;
  readonly classes: string;
  readonly color?: string;
  readonly background?: string;
}

interface Pen {
  color: string;
  background: string;
  marks: Set<string>;
}

const escapes =
  /\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
const marks: Readonly<Record<number, string>> = {
  1: 'a-bold',
  2: 'a-dim',
  3: 'a-italic',
  4: 'a-underline',
  7: 'a-inverse',
  9: 'a-strike',
};
const off: Readonly<Record<number, readonly string[]>> = {
  22: ['a-bold', 'a-dim'],
  23: ['a-italic'],
  24: ['a-underline'],
  27: ['a-inverse'],
  29: ['a-strike'],
};

/** Reads lines one after another; a colour that a line does not reset holds in the next. */
export function ansiReader(): (line: string) => readonly AnsiPiece[] {
  const pen: Pen = { color: '', background: '', marks: new Set() };
  return (line) => {
    const pieces: AnsiPiece[] = [];
    let from = 0;
    const take = (to: number) => {
      if (to > from) pieces.push(pieceOf(line.slice(from, to), pen));
    };
    for (const found of line.matchAll(escapes)) {
      take(found.index);
      from = found.index + found[0].length;
      if (found[1] !== undefined) select(pen, found[1]);
    }
    take(line.length);
    return pieces;
  };
}

/** The text that is left without escapes. */
export const plainText = (text: string): string => text.replace(escapes, '');

function pieceOf(text: string, { color, background, marks: on }: Pen): AnsiPiece {
  const named = [color, background].filter((one) => one.startsWith('a'));
  return {
    text,
    classes: [...named, ...on].join(' '),
    ...(color !== '' && !color.startsWith('a') ? { color } : {}),
    ...(background !== '' && !background.startsWith('a') ? { background } : {}),
  };
}

function select(pen: Pen, parameters: string): void {
  const codes = parameters.split(/[;:]/).map(Number);
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 38 || code === 48) {
      const [color, used] = extended(codes.slice(i + 1), code === 48);
      if (code === 38) pen.color = color;
      else pen.background = color;
      i += used;
    } else one(pen, code);
  }
}

function one(pen: Pen, code: number): void {
  if (code === 0) {
    pen.color = '';
    pen.background = '';
    pen.marks.clear();
  } else if (marks[code] !== undefined) pen.marks.add(marks[code]);
  else if (off[code] !== undefined) for (const mark of off[code]) pen.marks.delete(mark);
  else if (code === 39) pen.color = '';
  else if (code === 49) pen.background = '';
  else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) pen.color = `a${code}`;
  else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) pen.background = `a${code}`;
}

/** What follows a 38 or 48: the colour, and how many codes it takes. */
function extended(codes: readonly number[], behind: boolean): readonly [color: string, used: number] {
  const byte = (n = 0) => Math.min(255, Math.max(0, n || 0));
  if (codes[0] === 2) return [`rgb(${byte(codes[1])}, ${byte(codes[2])}, ${byte(codes[3])})`, 4];
  if (codes[0] !== 5) return ['', codes.length];
  const n = byte(codes[1]);
  if (n < 16) return [`a${(n < 8 ? 30 + n : 82 + n) + (behind ? 10 : 0)}`, 2];
  if (n > 231) {
    const grey = 8 + 10 * (n - 232);
    return [`rgb(${grey}, ${grey}, ${grey})`, 2];
  }
  const level = (step: number) => (step === 0 ? 0 : 55 + 40 * step);
  const cube = n - 16;
  return [`rgb(${level(Math.floor(cube / 36))}, ${level(Math.floor(cube / 6) % 6)}, ${level(cube % 6)})`, 2];
}

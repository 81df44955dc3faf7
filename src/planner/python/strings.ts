/** String literals of Python: where one ends, whether its escapes are right, and what an f-string embeds. */
import { PythonSyntaxError } from './syntax-error.ts';

export type Literal = {
  /** Offset after the closing quote. */
  readonly end: number;
  readonly bytes: boolean;
  /** Source of the expressions that an f-string embeds, those in format specifiers included. */
  readonly fields: readonly string[];
};

/** How deeply f-strings may be nested in one another. */
const maxNesting = 50;

/** Matches a string prefix with its opening quotes. */
const opening = /(?:[rR][bBfF]?|[bBfF][rR]?|[uU])?(?:'''|"""|'|")/y;

/** Reads the literal that begins at `start`; undefined when none does. */
export function readLiteral(source: string, start: number, nesting = 0): Literal | undefined {
  opening.lastIndex = start;
  const opened = opening.exec(source)?.[0];
  if (opened === undefined) return undefined;
  if (nesting > maxNesting) throw new PythonSyntaxError('f-strings are nested too deeply', source, start);
  const prefix = opened.replace(/['"]/g, '').toLowerCase();
  const quote = opened.slice(prefix.length);
  const bytes = prefix.includes('b');
  const raw = prefix.includes('r');
  const fields: string[] = [];
  const formatted = prefix.includes('f');
  let at = start + opened.length;
  while (!source.startsWith(quote, at)) {
    const char = source.charAt(at);
    if (char === '' || (char === '\n' && quote.length === 1)) {
      throw new PythonSyntaxError('a string is never closed', source, start);
    }
    if (bytes && char > '\x7f')
      throw new PythonSyntaxError('a bytes literal has a character beyond ASCII', source, at);
    if (char === '\\') at = afterEscape(source, at, { raw, bytes, formatted });
    else if (formatted && char === '{') {
      if (source.charAt(at + 1) === '{') at += 2;
      else at = readField(source, at, { quote, fields, nesting });
    } else if (formatted && char === '}') {
      if (source.charAt(at + 1) !== '}')
        throw new PythonSyntaxError('an f-string has a single "}"', source, at);
      at += 2;
    } else at++;
  }
  return { end: at + quote.length, bytes, fields };
}

function afterEscape(
  source: string,
  at: number,
  how: { raw: boolean; bytes: boolean; formatted: boolean },
): number {
  const next = source.charAt(at + 1);
  // A brace after a backslash still opens or closes a field.
  if (how.formatted && (next === '{' || next === '}')) return at + 1;
  if (how.raw) return at + 2;
  const rest = source.slice(at + 2, at + 10);
  const digits = { x: 2, u: how.bytes ? 0 : 4, U: how.bytes ? 0 : 8 }[next] ?? 0;
  if (
    !new RegExp(`^[0-9a-fA-F]{${digits}}`).test(rest) ||
    (digits === 8 && Number.parseInt(rest, 16) > 0x10ffff)
  ) {
    throw new PythonSyntaxError(`the escape \\${next} is incomplete or out of range`, source, at);
  }
  if (next !== 'N' || how.bytes) return at + 2;
  const name = /\{[^{}'"\n]+\}/y;
  name.lastIndex = at + 2;
  if (!name.test(source))
    throw new PythonSyntaxError('the escape \\N needs a character name in braces', source, at);
  return name.lastIndex;
}

type Around = { readonly quote: string; readonly fields: string[]; readonly nesting: number };

/** Reads `{expression!conversion:specifier}` and returns the offset after it. */
function readField(source: string, open: number, around: Around): number {
  const { quote, fields, nesting } = around;
  const broken = (why: string, at: number) => new PythonSyntaxError(why, source, at);
  let at = expressionEnd(source, open + 1, around);
  const expression = source.slice(open + 1, at);
  if (expression.trim() === '') throw broken('an f-string has an empty expression', open);
  fields.push(expression);
  const self = /=\s*/y;
  self.lastIndex = at;
  if (self.test(source)) at = self.lastIndex;
  if (source.charAt(at) === '!') {
    const conversion = /![sra]\s*(?=[:}])/y;
    conversion.lastIndex = at;
    if (!conversion.test(source)) throw broken('an f-string has an unknown conversion', at);
    at = conversion.lastIndex;
  }
  if (source.charAt(at) === ':') {
    at++;
    while (source.charAt(at) !== '}') {
      const char = source.charAt(at);
      if (char === '' || source.startsWith(quote, at))
        throw broken('an f-string has a "{" that is never closed', open);
      if (char === '\n' && quote.length === 1) throw broken('a string is never closed', open);
      if (char !== '{') at++;
      else if (nesting >= maxNesting) throw broken('f-strings are nested too deeply', at);
      else at = readField(source, at, { ...around, nesting: nesting + 1 });
    }
  }
  if (source.charAt(at) !== '}') throw broken('an f-string has a "{" that is never closed', open);
  return at + 1;
}

/** The offset of what ends a field's expression: `}`, `:`, `!` or a final `=`, outside brackets and strings. */
function expressionEnd(source: string, start: number, { quote, nesting }: Around): number {
  let depth = 0;
  for (let at = start; ; ) {
    const char = source.charAt(at);
    const literal = /[\w'"]/.test(char) ? readLiteralOrWord(source, at, quote, nesting) : undefined;
    if (literal !== undefined) at = literal;
    else if (char === '' || char === '#' || char === '\\' || (char === '\n' && quote.length === 1)) {
      throw new PythonSyntaxError('an f-string has a "{" that is never closed', source, start - 1);
    } else if ('([{'.includes(char)) {
      depth++;
      at++;
    } else if (depth > 0) {
      if (')]}'.includes(char)) depth--;
      at++;
    } else if (char === '}' || char === ':') return at;
    else if (/[=!<>]/.test(char) && source.charAt(at + 1) === '=') at += 2;
    else if (char === '!' || (char === '=' && /^=\s*[!:}]/.test(source.slice(at, at + 200)))) return at;
    else at++;
  }
}

/** Skips a nested string or a whole word, so that a prefix in the middle of a word is none. The quotes of the
 *  surrounding string may be used again inside a field only where they open a string that closes again. */
function readLiteralOrWord(source: string, at: number, quote: string, nesting: number): number | undefined {
  const literal = readLiteral(source, at, nesting + 1);
  if (literal !== undefined) {
    if (quote.length === 1 && source.slice(at, literal.end).includes('\n')) return undefined;
    return literal.end;
  }
  const word = /\w+/y;
  word.lastIndex = at;
  return word.test(source) ? word.lastIndex : undefined;
}

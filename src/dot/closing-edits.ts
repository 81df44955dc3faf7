/** What is missing in a text that does not close a list, a brace or a string. */
import { isLiteral, type Range, type RangeEdit, type Token } from './lex.ts';

/** A bracket behind the last `key=value` of the list that begins at `open`, if a new line follows it. */
export function closingBracket(text: string, tokens: readonly Token[], open: Token): readonly RangeEdit[] {
  let end: number | undefined;
  let i = tokens.indexOf(open) + 1;
  for (; isLiteral(tokens[i]) && tokens[i + 1]?.kind === '=' && isLiteral(tokens[i + 2]); i++) {
    end = tokens[i + 2]?.end;
    i += 2;
    if (/^[,;]$/.test(tokens[i + 1]?.kind ?? '')) i++;
  }
  const next = tokens[i]?.start ?? text.length;
  if (end === undefined || !/[\n\r]/.test(text.slice(end, next))) return [];
  return [{ start: end, end, text: ']' }];
}

/** The same string in double quotes, if it ends in its line. */
export function inDoubleQuotes(text: string, { start }: Range): readonly RangeEdit[] {
  const close = { "'": "'", '“': '”', '„': '“', '‘': '’', '«': '»', '»': '«', '‚': '‘' }[text[start] ?? ''];
  const line = /^[^\n\r]*/.exec(text.slice(start + 1))?.[0] ?? '';
  const length = close === undefined ? -1 : line.indexOf(close);
  const inside = line.slice(0, Math.max(length, 0));
  if (length === -1 || inside.includes('"')) return [];
  return [{ start, end: start + length + 2, text: `"${inside}"` }];
}

/** The last brace of a graph, in a separate line. */
export function closingBrace(text: string): RangeEdit {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const end = text.length;
  return { start: end, end, text: `${/[\n\r]$/.test(text) ? '' : eol}}${eol}` };
}

/** Splits JavaScript into tokens, as far as finding its imports needs it. Any text has tokens: what makes no sense
 *  becomes punctuation. */

export type Token = {
  /** `literal`: a number, a regular expression, or the text parts of a template. */
  readonly kind: 'name' | 'string' | 'literal' | 'punctuation';
  readonly text: string;
  /** Of a string: what it stands for, its escapes left as they are. */
  readonly value: string;
  /** Offsets into the source. */
  readonly start: number;
  readonly end: number;
  /** How many brackets are open before it. */
  readonly depth: number;
};

const blank = /[\s\ufeff]+|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?(?:\*\/|$)/y;
const name = /[#@]?[\p{ID_Start}$_\\][\p{ID_Continue}$\\]*/uy;
const text = /"(?:\\[\s\S]|[^"\\\n\r])*"|'(?:\\[\s\S]|[^'\\\n\r])*'/y;
const number = /\.?\d[\w.]*/y;
const expression = /\/(?:\\.|\[(?:\\.|[^\]\\\n\r])*\]|[^/\\[\n\r])+\/[a-z]*/y;
const template = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*(`|\$\{|$)/y;

/** After these a slash begins a regular expression although a name stands before it. */
const operators = new Set(
  'return typeof instanceof in of new delete void throw case do else await yield default'.split(' '),
);

export function tokens(source: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  let depth = 0;
  /** Depths at which a template goes on when its brace closes. */
  const templates: number[] = [];
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0];
  };
  const push = (kind: Token['kind'], taken: string, value = ''): void => {
    found.push({ kind, text: taken, value, start: at, end: at + taken.length, depth });
    at += taken.length;
  };
  const pushTemplate = (): void => {
    at++;
    const taken = take(template) ?? '';
    if (taken.endsWith('${')) templates.push(depth++);
    at += taken.length;
  };
  const begins = (): boolean => {
    const before = found.at(-1);
    if (before === undefined) return true;
    if (before.kind === 'name') return operators.has(before.text);
    return before.kind === 'punctuation' && !/^[)\]}]$/.test(before.text);
  };

  const shebang = /^#![^\n]*/.exec(source)?.[0];
  if (shebang !== undefined) at = shebang.length;
  while (at < source.length) {
    const skipped = take(blank);
    if (skipped !== undefined) {
      at += skipped.length;
      continue;
    }
    const char = source.charAt(at);
    const word = take(name);
    const quoted = word === undefined ? take(text) : undefined;
    if (word !== undefined) push('name', word);
    else if (quoted !== undefined) push('string', quoted, quoted.slice(1, -1));
    else if (char === '`') {
      found.push({ kind: 'literal', text: '`', value: '', start: at, end: at + 1, depth });
      pushTemplate();
    } else if (char === '}' && templates.at(-1) === depth - 1) {
      templates.pop();
      depth--;
      found.push({ kind: 'literal', text: '`', value: '', start: at, end: at + 1, depth });
      pushTemplate();
    } else if (take(number) !== undefined) push('literal', take(number) ?? '');
    else if (char === '/' && begins() && take(expression) !== undefined)
      push('literal', take(expression) ?? '');
    else {
      if (/[)\]}]/.test(char)) depth--;
      push('punctuation', char);
      if (/[([{]/.test(char)) depth++;
    }
  }
  return found;
}

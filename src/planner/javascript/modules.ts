/** Makes a module's program one that can be compiled as a function's body. */
import type { Token } from './tokens.ts';

export type AsFunction = {
  /** It has what only a module may have: declarations of imports or exports, `import.meta`, an `await`. */
  readonly isModule: boolean;
  /** What is wrong with its declarations. */
  readonly problem: string | undefined;
  /** The program as an async function that begins on the line before it. */
  readonly text: string;
};

const item = String.raw`(?:\w+|"")(?: as (?:\w+|""))?`;
const list = String.raw`\{ (?:${item}(?: , ${item})*(?: ,)? )?\}`;
const all = String.raw`\* as \w+`;
const attributes = String.raw`(?: (?:with|assert) \{.*\})?`;
/** The forms of declarations, as `outline` writes them. */
const imported = new RegExp(`^import (?:(?:\\w+|(?:\\w+ , )?(?:${all}|${list})) from )?""${attributes}$`);
const exported = new RegExp(`^export (?:(?:\\*|\\* as (?:\\w+|"")|${list}) from ""${attributes}|${list})$`);

/** Import declarations are blanked, exports lose their `export`, `import.meta` becomes `this`. */
export function asFunction(source: string, tokens: readonly Token[]): AsFunction {
  let text = '';
  // What names the program's interpreter stands before everything, and would not within a function.
  let kept = /^#!.*/.exec(source)?.[0].length ?? 0;
  let isModule = tokens.some(({ kind, text: word }) => kind === 'name' && word === 'await');
  let problem: string | undefined;
  const replace = (from: number, to: number, by: string) => {
    // Lines stay where they are.
    text += source.slice(kept, from) + by + source.slice(from, to).replace(/[^\n]/g, '');
    kept = to;
  };
  for (const [at, token] of tokens.entries()) {
    if (token.start < kept || token.kind !== 'name' || tokens[at - 1]?.text === '.') continue;
    const next = tokens[at + 1];
    if (token.text === 'import' && next?.text === '.' && tokens[at + 2]?.text === 'meta') {
      isModule = true;
      replace(token.start, tokens[at + 2]?.end ?? token.end, 'this');
    } else if (token.depth > 0 || !startsStatement(source, tokens[at - 1], token)) continue;
    else if (token.text === 'import' && next?.text !== '(') {
      isModule = true;
      const end = declarationEnd(tokens, at);
      if (!imported.test(outline(tokens.slice(at, end)))) problem ??= 'an import declaration is malformed';
      replace(token.start, tokens[end - 1]?.end ?? token.end, ';');
    } else if (token.text === 'export') {
      isModule = true;
      if (next?.text === '{' || next?.text === '*') {
        const end = declarationEnd(tokens, at);
        if (!exported.test(outline(tokens.slice(at, end)))) problem ??= 'an export declaration is malformed';
        replace(token.start, tokens[end - 1]?.end ?? token.end, ';');
      } else if (next?.text === 'default') {
        const after = tokens.slice(at + 2, at + 5).map((t) => t.text);
        const isNamed = /^(?:class (?!extends )|(?:async )?function (?:\* )?)[\w$]/.test(after.join(' '));
        replace(token.start, next.end, isNamed ? ';' : 'let $default =');
      } else if (/^(?:const|let|var|class|function|async)$/.test(next?.text ?? ''))
        replace(token.start, token.end, ';');
      else problem ??= 'an export declaration is malformed';
    }
  }
  if (tokens.some(({ depth }) => depth < 0)) problem ??= 'a bracket is closed that was never opened';
  const returns = ({ depth, kind, text: word }: Token, at: number) =>
    depth === 0 && kind === 'name' && word === 'return' && tokens[at - 1]?.text !== '.';
  if (tokens.some(returns)) problem ??= 'a module cannot return';
  return { isModule, problem, text: `(async () => {"use strict";\n${text}${source.slice(kept)}\n})` };
}

/** Both words are reserved: where a line begins with one, a statement that could end before it has. */
const startsStatement = (source: string, before: Token | undefined, { start }: Token): boolean =>
  before === undefined ||
  before.text === ';' ||
  before.text === '}' ||
  before.kind !== 'punctuation' ||
  (/^[)\]+-]$/.test(before.text) && /[\n\r\u2028\u2029]/.test(source.slice(before.end, start)));

/** One past the last token of the declaration at `at`: its module's name with what may follow it, or the brace of a
 *  list that names none. */
function declarationEnd(tokens: readonly Token[], at: number): number {
  let end = at + 1;
  for (; end < tokens.length; end++) {
    const { kind, text, depth } = tokens[end] ?? { kind: 'name', text: ';', depth: 0 };
    if (depth > 0) continue;
    if (kind === 'string') break;
    if (text === ';') return end;
    if (text === '}' && tokens[at]?.text === 'export' && tokens[end + 1]?.text !== 'from') return end + 1;
  }
  if (/^(?:with|assert)$/.test(tokens[end + 1]?.text ?? '') && tokens[end + 2]?.text === '{') {
    while (end < tokens.length && tokens[end]?.text !== '}') end++;
  }
  return Math.min(end + 1, tokens.length);
}

/** The tokens with a blank between them, strings emptied. */
const outline = (tokens: readonly Token[]): string =>
  tokens
    .map(({ kind, text }) => (kind === 'string' ? '""' : text.replace(/[^\x21-\x7e]|\$/g, '_')))
    .join(' ');

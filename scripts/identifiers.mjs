/** The names in a source file, and which of them are private words: participles and metaphors that nobody would search for.
 *  Members after a dot are left out: they are declared elsewhere. */

/** A word within a name → what to say. Of `taken` only the whole name: an edge is taken, and a process takes over. */
const words = {
  told: 'name it: the text, report or records',
  said: 'name it: the text, values or report',
  stands: 'name it: the state, what was loaded',
  begun: 'name it: what is open or started',
  wanted: 'expected, sought, request',
  door: 'host, io',
  doors: 'host, io',
  books: 'costs, ledger',
  beside: 'next to, sibling',
  mend: 'fix',
  mends: 'fixes',
  mending: 'fix',
};

/** What is wrong with a name; undefined if nothing is. */
export function privateWord(name) {
  if (name === 'taken') return 'name it: what was chosen, removed or used';
  const parts = name.split(/(?<=[a-z\d])(?=[A-Z])|_/).map((part) => part.toLowerCase());
  const found = parts.find((part) => Object.hasOwn(words, part));
  return found === undefined ? undefined : words[found];
}

/** After these a slash begins a regular expression. */
const beforeExpression = /(?:^|[(,=:[!&|?{;+\-*%~^]|\b(?:return|typeof|case|in|of|await|yield))\s*$/;

/** The names of TypeScript code with their places, without comments, texts, regular expressions and members. */
export function identifiersIn(code) {
  const found = [];
  // Three dots before a name are a spread, one is an access.
  const token =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`|\}|\{|\/|(?<![\w$]|(?<!\.\.)\.)[A-Za-z_$][\w$]*|\d[\w.]*/g;
  /** For each open brace whether it is one of a template. */
  const braces = [];
  const template = (from) => {
    for (let at = from; at < code.length; at++) {
      if (code[at] === '\\') at++;
      else if (code[at] === '`') return at + 1;
      else if (code[at] === '$' && code[at + 1] === '{') {
        braces.push(true);
        return at + 2;
      }
    }
    return code.length;
  };
  for (let part = token.exec(code); part !== null; part = token.exec(code)) {
    const [text] = part;
    if (text === '`') token.lastIndex = template(token.lastIndex);
    else if (text === '{') braces.push(false);
    else if (text === '}') {
      if (braces.pop() === true) token.lastIndex = template(token.lastIndex);
    } else if (text === '/') {
      if (!beforeExpression.test(code.slice(Math.max(0, part.index - 200), part.index))) continue;
      const expression = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
      expression.lastIndex = part.index;
      token.lastIndex = part.index + (expression.exec(code)?.[0].length ?? 1);
    } else if (/^[A-Za-z_$]/.test(text)) found.push({ name: text, index: part.index });
  }
  return found;
}

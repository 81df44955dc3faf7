/** What in a command would mean something else, or only something, to a shell: commands run without one. What stands in
 *  quotes does not count: in single ones it is text to a shell, too, and in double ones a program may be meant. A word that
 *  is nothing but a substitution in double quotes is no program. */
import { assignedName } from '../policy/programs.ts';
import { wordFrom } from '../policy/words.ts';

export type ShellMeaning = {
  /** Operators and substitutions, each as it is written, in order: `2>&1`, `a&&b` has `&&`; also a `#` that begins a
   *  comment, a line's end, and a first word that a shell has itself: `cd`, `!`. */
  readonly operators: readonly string[];
  /** Words that a shell would expand: variables, wildcards, braces. */
  readonly expansions: readonly string[];
};

/** Longest first, so that `a&&b` has one operator. A number before a redirection belongs to it. */
const operator = /(?:&>>?|\|\||\|&|&&|;;|<<<|<<-?|[<>]\(|>>|[<>]&|<>|>\||\$\(|[|&;<>`])/y;

/** What begins a command in a shell and is no program, or none that could do what the shell does. */
const own = new Set(
  `! : . [[ { alias case cd declare eval exec exit export for function if let local popd pushd readonly return select
  set shift source trap typeset unset until while`.split(/\s+/),
);

const substitution = /^"(?:\$\([\s\S]*\)|`[\s\S]*`)"$/;

/** `command` must be one that `splitWords` can split. */
export function shellMeaning(command: string): ShellMeaning {
  const operators: string[] = [];
  const expansions: string[] = [];
  const words = placedWords(command);
  const first = words.find(({ text }) => assignedName(text) === undefined)?.text ?? '';
  if (own.has(first)) operators.push(first);
  for (const { raw, bare, onNewLine } of words) {
    if (onNewLine) operators.push("a line's end");
    if (substitution.test(raw)) operators.push(raw);
    if (bare.startsWith('#')) operators.push('#');
    for (let at = 0; at < bare.length; ) {
      const found = taken(operator, bare, at);
      if (found === '') {
        at++;
        continue;
      }
      const isRedirection = /^[<>]/.test(found);
      const number = isRedirection && /^\d+$/.test(bare.slice(0, at)) ? bare.slice(0, at) : '';
      at += found.length;
      const target = isRedirection && found.endsWith('&') ? taken(/[\d-]+/y, bare, at) : '';
      operators.push(`${number}${found}${target}`);
      // Backticks come in pairs; what stands between them has been named with the first.
      if (found === '`') break;
    }
    if (/\$[A-Za-z_{\d@*#?]|[*?]|\[[^\]]+\]|\{[^{}]*,[^{}]*\}/.test(bare)) expansions.push(raw);
  }
  return { operators, expansions };
}

/** What `pattern` (sticky) finds at `at`. */
function taken(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

/** Whether the first word of `command` that is `word` was quoted or escaped. */
export const isQuoted = (command: string, word: string): boolean =>
  placedWords(command).some(({ raw, text }) => text === word && raw !== word);

type Placed = {
  readonly text: string;
  readonly raw: string;
  readonly bare: string;
  /** A line ends between the word before and this one. */
  readonly onNewLine: boolean;
};

function placedWords(command: string): Placed[] {
  const words: Placed[] = [];
  for (let at = 0; ; ) {
    const word = wordFrom(command, at);
    if (word === undefined || 'problem' in word) return words;
    const raw = command.slice(word.start, word.end);
    const onNewLine = words.length > 0 && command.slice(at, word.start).includes('\n');
    words.push({ text: word.text, raw, bare: withoutQuoted(raw), onNewLine });
    at = word.end;
  }
}

/** A word with every quoted piece and escaped character replaced by a mark that means nothing to a shell. */
const withoutQuoted = (raw: string): string =>
  raw.replace(/'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S]/g, '\u0001');

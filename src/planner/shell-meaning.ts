/** What in a command would mean something else, or only something, to a shell: commands run without one. Only what
 *  stands outside quotes counts; in quotes it is text to a shell, too. */
import { wordFrom } from '../policy/words.ts';

export type ShellMeaning = {
  /** Operators and substitutions, each as it is written, in order: `2>&1`, `a&&b` has `&&`. */
  readonly operators: readonly string[];
  /** Words that a shell would expand: variables, wildcards, a home folder. */
  readonly expansions: readonly string[];
};

/** Longest first, so that `a&&b` has one operator. A number before a redirection belongs to it. */
const operator = /^(?:&>>?|\|\||\|&|&&|;;|<<<|<<-?|[<>]\(|>>|[<>]&|<>|>\||[|&;<>])/;

/** `command` must be one that `splitWords` can split. */
export function shellMeaning(command: string): ShellMeaning {
  const operators: string[] = [];
  const expansions: string[] = [];
  for (const { raw, bare } of placedWords(command)) {
    let at = 0;
    while (at < bare.length) {
      const rest = bare.slice(at);
      const found = operator.exec(rest)?.[0] ?? (rest.startsWith('$(') ? '$(' : rest[0] === '`' ? '`' : '');
      if (found !== '') {
        const number = /^[<>]/.test(found) ? (/^\d+$/.exec(bare.slice(0, at))?.[0] ?? '') : '';
        const target = found.endsWith('&') ? (/^[\d-]+/.exec(rest.slice(found.length))?.[0] ?? '') : '';
        operators.push(`${number}${found}${/^[<>]/.test(found) ? target : ''}`);
      }
      // Backticks come in pairs; what stands between them has been named with the first.
      if (found === '`') break;
      at += found.length || 1;
    }
    if (/\$[A-Za-z_{\d@*#?]|[*?]|\[[^\]]+\]|^~/.test(bare)) expansions.push(raw);
  }
  return { operators, expansions };
}

/** Whether the first word of `command` that is `word` was quoted or escaped. */
export const isQuoted = (command: string, word: string): boolean =>
  placedWords(command).some(({ raw, text }) => text === word && raw !== word);

type Placed = { readonly text: string; readonly raw: string; readonly bare: string };

function placedWords(command: string): Placed[] {
  const words: Placed[] = [];
  for (let at = 0; ; ) {
    const word = wordFrom(command, at);
    if (word === undefined || 'problem' in word) return words;
    const raw = command.slice(word.start, word.end);
    words.push({ text: word.text, raw, bare: withoutQuoted(raw) });
    at = word.end;
  }
}

/** A word with every quoted piece and escaped character replaced by a mark that means nothing to a shell. */
const withoutQuoted = (raw: string): string => raw.replace(/'[^']*'|"(?:\\["\\]|[^"])*"|\\[\s\S]/g, '\u0001');

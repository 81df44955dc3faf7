/** Splits a command line into words as a POSIX shell does, so that rules check words instead of searching text. It
 *  is no complete shell: here-documents, arithmetic, `${…}` and texts on which shells differ are not examined. */

type ShellWord = {
  /** Quotes and backslashes removed; `$NAME` as written, `$()` and `${}` in place of longer expansions. */
  readonly text: string;
  readonly raw: string;
  /** The part outside quotes; a quoted piece is one U+0001. */
  readonly bare: string;
  /** It expands `$HOME`. */
  readonly home: boolean;
};

export type ShellCommand = {
  /** Keywords, assignments, program and arguments, in order. */
  readonly words: readonly ShellWord[];
  /** Targets of redirections. */
  readonly targets: readonly ShellWord[];
  /** Its output goes into a pipe. */
  readonly piped: boolean;
};

/** A command, or what stands between commands: an operator, a parenthesis of a group, a line end. */
export type ShellStep = ShellCommand | string;

type ShellText = {
  /** The commands of pipelines, lists, groups and substitutions. */
  readonly commands: readonly ShellCommand[];
  /** What a shell interprets outside quotes, as written: operators, redirections, substitutions, comments, line
   *  ends. */
  readonly operators: readonly string[];
  /** Commands and what stands between them, in order, without those of substitutions. */
  readonly steps: readonly ShellStep[];
};

type Draft = { text: string; bare: string; home: boolean; readonly from: number };
/** The whole text, a group or a substitution. */
type Level = {
  command: { words: ShellWord[]; targets: ShellWord[]; piped: boolean };
  word: Draft | undefined;
  inDouble: boolean;
  /** The next word is the target of a redirection. */
  redirects: boolean;
  readonly closer: string;
  /** An outer level is in double quotes. */
  readonly isQuoted: boolean;
  /** It is a substitution, or in one. */
  readonly substitutes: boolean;
};

const operator = /&&|\|\||\|&|;;|(?:&>>?|<<<|<<-?|<>|>>|>\||[<>]&(?:\d+|-)?|[<>])|[|&;]/y;
const hereDocument = /<<-?[ \t]*\\?(['"]?)([\w.-]+)\1/g;
/** Characters of `${…}` or `$((…))`: the end of a longer one is not searched for. */
const longestExpansion = 500;
const quotedPiece = '\u0001';

/** Reads any text; an invalid one is read as far as it makes sense. */
export function readShell(text: string): ShellText {
  return new Reader(withoutDocuments(text)).read();
}

/** Removes the bodies of here-documents. One without an end line is none: `1 << 2`. */
function withoutDocuments(text: string): string {
  const lines = text.split('\n');
  const last = new Map(lines.map((line, at) => [line.replace(/^\t+/, ''), at]));
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    kept.push(line);
    for (const [, , end = ''] of line.matchAll(hereDocument)) {
      if ((last.get(end) ?? 0) <= at) continue;
      do at++;
      while (lines[at]?.replace(/^\t+/, '') !== end);
    }
  }
  return kept.join('\n');
}

class Reader {
  private at = 0;
  private readonly commands: ShellCommand[] = [];
  private readonly operators: string[] = [];
  private readonly outer: Level[] = [];
  private readonly steps: ShellStep[] = [];
  private level = newLevel('', false, false);

  constructor(private readonly source: string) {}

  read(): ShellText {
    while (this.at < this.source.length) {
      const char = this.source.charAt(this.at);
      if (this.level.inDouble) this.inDoubleQuotes(char);
      else this.outsideQuotes(char);
    }
    while (this.outer.length > 0) this.close();
    this.endCommand();
    return { commands: this.commands, operators: this.operators, steps: this.steps };
  }

  private inDoubleQuotes(char: string): void {
    if (char === '"') {
      this.level.inDouble = false;
      this.at++;
    } else if (char === '\\') this.escape(/[$`"\\\n]/);
    else if (!this.expansion(char)) this.add(char);
  }

  private outsideQuotes(char: string): void {
    if (char === ' ' || char === '\t') {
      this.endWord();
      this.at++;
    } else if (char === '\n') {
      this.endCommand();
      this.at++;
      this.note("a line's end");
      this.step('\n');
    } else if (char === '\\') this.escape(/[\s\S]/);
    else if (char === "'") {
      const end = this.indexOf("'", this.at + 1);
      this.addQuoted(this.source.slice(this.at + 1, end));
      this.at = end + 1;
    } else if (char === '"') {
      this.addQuoted('');
      this.level.inDouble = true;
      this.at++;
    } else if (char === '#' && this.level.word === undefined) {
      this.note('#');
      this.at = this.indexOf('\n', this.at);
    } else if (char === '(' || char === ')') this.parenthesis(char);
    else if (/[&|;<>]/.test(char)) this.operator(char);
    else if (!this.expansion(char)) this.add(char);
  }

  private indexOf(char: string, from: number): number {
    const found = this.source.indexOf(char, from);
    return found < 0 ? this.source.length : found;
  }

  private draft(): Draft {
    this.level.word ??= { text: '', bare: '', home: false, from: this.at };
    return this.level.word;
  }

  private add(text: string, length = 1): void {
    const draft = this.draft();
    draft.text += text;
    if (!this.level.inDouble) draft.bare += text;
    this.at += length;
  }

  private addQuoted(text: string): void {
    const draft = this.draft();
    draft.text += text;
    if (!this.level.inDouble) draft.bare += quotedPiece;
  }

  /** A backslash: it quotes a character that `escapes` matches, and joins a line to the next. */
  private escape(escapes: RegExp): void {
    const next = this.source.charAt(this.at + 1);
    if (next === '\n') this.at += 2;
    else if (escapes.test(next)) {
      this.addQuoted(next);
      this.at += 2;
    } else this.add('\\');
  }

  /** Reads a `$` or a backtick; false when `char` begins no expansion. */
  private expansion(char: string): boolean {
    if (char === '`') {
      if (this.level.closer === '`') this.close();
      else this.open('`', '`');
      this.at++;
      return true;
    }
    if (char !== '$') return false;
    const next = this.source.charAt(this.at + 1);
    if (/^\$\{?HOME\b/.test(this.source.slice(this.at, this.at + 7))) this.draft().home = true;
    const skipped = next === '{' ? this.bracketed('{', '}') : this.bracketed('(', ')');
    if (/^(?:\{|\(\([\s\S]*\)\)$)/.test(skipped)) {
      if (next === '(') this.note('$((');
      this.add(next === '{' ? '${}' : '$()', skipped.length + 1);
    } else if (next === '(') {
      this.open(')', '$(');
      this.at += 2;
    } else if (!this.level.inDouble && (next === "'" || next === '"')) {
      // Shells differ on `$'…'` and `$"…"`; the quotes are read as ordinary ones.
      this.at++;
    } else this.add(char);
    return true;
  }

  /** The text after this `$` up to the matching closing bracket; empty where there is none. */
  private bracketed(open: string, close: string): string {
    const rest = this.source.slice(this.at + 1, this.at + longestExpansion);
    let depth = 0;
    for (let at = 0; at < rest.length && rest.startsWith(open); at++) {
      if (rest[at] === open) depth++;
      else if (rest[at] === close && --depth === 0) return rest.slice(0, at + 1);
    }
    return '';
  }

  private parenthesis(char: string): void {
    this.endWord();
    if (char === '(') this.open(')', '');
    else if (this.level.closer === ')') this.close();
    else {
      // A closing parenthesis without an opening one ends a pattern of `case`.
      this.endCommand();
      this.step(')');
    }
    this.at++;
  }

  /** Begins a group, or (`operator` is not empty) a substitution in the current word. */
  private open(closer: string, operator: string): void {
    if (operator !== '') {
      this.add('$()', 0);
      this.note(operator);
    }
    const { isQuoted, inDouble, substitutes } = this.level;
    if (operator === '') this.step('(');
    this.outer.push(this.level);
    this.level = newLevel(closer, isQuoted || inDouble, substitutes || operator !== '');
  }

  private close(): void {
    this.endCommand();
    const { substitutes } = this.level;
    this.level = this.outer.pop() ?? this.level;
    if (!substitutes) this.step(')');
  }

  private operator(char: string): void {
    operator.lastIndex = this.at;
    const found = operator.exec(this.source)?.[0] ?? char;
    const isRedirection = /[<>]/.test(found);
    const { word } = this.level;
    // A number directly before a redirection is a part of it.
    const number = isRedirection && word !== undefined && /^\d+$/.test(word.bare) ? word.bare : '';
    if (number === '') this.endWord();
    this.level.word = undefined;
    this.note(`${number}${found}`);
    this.at += found.length;
    if (found === '|' || found === '|&') this.level.command.piped = true;
    if (!isRedirection) {
      this.endCommand();
      this.step(found);
    } else this.level.redirects = !/&(?:\d+|-)$/.test(found);
  }

  private step(step: ShellStep): void {
    if (!this.level.substitutes) this.steps.push(step);
  }

  private note(operator: string): void {
    if (!this.level.isQuoted && !this.level.inDouble) this.operators.push(operator);
  }

  private endWord(): void {
    const { word, command, redirects } = this.level;
    if (word === undefined) return;
    const { text, bare, home, from } = word;
    const raw = this.source.slice(from, this.at);
    (redirects ? command.targets : command.words).push({ text, bare, home, raw });
    this.level.word = undefined;
    this.level.redirects = false;
  }

  private endCommand(): void {
    this.endWord();
    const { command } = this.level;
    if (command.words.length + command.targets.length > 0) {
      this.commands.push(command);
      this.step(command);
    }
    this.level.command = newCommand();
    this.level.redirects = false;
  }
}

const newCommand = () => ({ words: [], targets: [], piped: false });
const newLevel = (closer: string, isQuoted: boolean, substitutes: boolean): Level => ({
  command: newCommand(),
  word: undefined,
  inDouble: false,
  redirects: false,
  closer,
  isQuoted,
  substitutes,
});

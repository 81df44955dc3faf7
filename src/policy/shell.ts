/** Reads shell text into its simple commands, wherever they stand: in pipelines, groups, substitutions. It is no
 *  shell: it finds out which words a shell would see, so that rules can look at words instead of at text. */

export type ShellWord = {
  /** Quotes removed; expansions and substitutions as they are written. */
  readonly text: string;
  /** Names of the variables that are expanded in it. */
  readonly variables: readonly string[];
  /** It has a brace outside quotes, which some shells expand. */
  readonly braces: boolean;
  /** Some of it was quoted or is an expansion. */
  readonly quoted: boolean;
};

/** Assignments, program and arguments are `words`, in order; a keyword before them (`if`, `!`) is one of them. */
export type ShellCommand = {
  readonly words: ShellWord[];
  /** Redirection targets, and what stands in for an unset variable (`${x:-word}`). */
  readonly others: ShellWord[];
  /** Bodies of here-documents and here-strings. */
  readonly inputs: string[];
  /** What it writes goes into a pipe. */
  piped: boolean;
};

export type ShellText = {
  readonly commands: readonly ShellCommand[];
  /** Nested beyond what is read; what lies deeper is not among `commands`. */
  readonly tooDeep: boolean;
};

const deepest = 50;

/** Whether `$'…'` is the quoting with backslash escapes and `((…))` a sum, as bash and zsh have it; to others they are a
 *  `$` before a quoted text, and groups. Busybox has the quoting and no sums. */
export type Dialect = 'bash' | 'busybox' | 'posix';

/** Reads any text at all: what a shell would refuse is read as far as it makes sense. */
export function readShell(text: string, dialect: Dialect): ShellText {
  const sink: Sink = { commands: [], tooDeep: false };
  new Reader(text, dialect, sink, 0).list(undefined);
  return sink;
}

type Sink = { commands: ShellCommand[]; tooDeep: boolean };
type Draft = { text: string; variables: string[]; braces: boolean; quoted: boolean };
type HereDocument = { command: ShellCommand; slot: number; end: string; dedent: boolean; literal: boolean };
/** Where a piece of a word ends: a bare word at a blank or operator, as does one in which nothing is expanded, the others
 *  at their closing character. */
type Piece = 'bare' | 'plain' | 'double' | 'brace' | 'quoted brace' | 'sum' | 'all';

/** Words after which another command begins. */
export const shellKeywords = ['if', 'then', 'elif', 'else', 'while', 'until', 'do', '!', '{', 'time'];

class Reader {
  private at = 0;
  private waiting: HereDocument[] = [];

  constructor(
    private readonly source: string,
    private readonly dialect: Dialect,
    private readonly sink: Sink,
    private depth: number,
    /** Where the parentheses of what may be sums are closed, -1 for those that are not: none is looked for twice. */
    private readonly closings = new Map<number, number>(),
    /** Only to find out where things end: texts that are read by themselves are left out. */
    private readonly ahead = false,
  ) {}

  /** Reads commands up to the closing parenthesis of a substitution, or to the end. */
  list(closer: ')' | undefined): void {
    let command = newCommand();
    let parentheses = 0;
    let cases = 0;
    const finish = () => {
      if (command.words.length + command.others.length + command.inputs.length > 0)
        this.sink.commands.push(command);
      command = newCommand();
    };
    while (this.at < this.source.length) {
      const char = this.source.charAt(this.at);
      if (char === ' ' || char === '\t') this.at++;
      else if (this.source.startsWith('\\\n', this.at)) this.at += 2;
      else if (char === '#') this.skipTo('\n');
      else if (char === '\n') {
        this.at++;
        finish();
        this.hereDocuments();
      } else if (this.redirection(command)) continue;
      else if (this.dialect === 'bash' && this.sum(this.at)) continue;
      else if (char === '(') {
        parentheses++;
        this.at++;
        finish();
      } else if (char === ')') {
        this.at++;
        finish();
        // Inside `case`, a parenthesis that nobody opened ends a pattern.
        if (parentheses > 0) parentheses--;
        else if (cases === 0 && closer !== undefined) return;
      } else if (char === ';' || char === '&' || char === '|') {
        command.piped = char === '|' && this.source.charAt(this.at + 1) !== '|';
        this.at++;
        finish();
      } else {
        const word = this.word();
        if (!word.quoted && /^\d+$/.test(word.text) && /[<>]/.test(this.source.charAt(this.at))) continue;
        if (startsCase(command, word)) cases++;
        if (endsCase(command, word)) cases = Math.max(0, cases - 1);
        command.words.push(word);
      }
    }
    finish();
  }

  private word(piece: 'bare' | 'plain' = 'bare'): ShellWord {
    const draft = newDraft();
    this.pieces(draft, piece);
    return draft;
  }

  /** Adds to `draft` until the piece ends; the closing character is consumed, but for that of a sum. */
  private pieces(draft: Draft, piece: Piece): void {
    // To others than bash a quote in a sum is a character like any other.
    const isWord = piece === 'bare' || piece === 'plain';
    const bare = isWord || piece === 'brace' || (piece === 'sum' && this.dialect === 'bash');
    const open = piece === 'sum' ? [this.at - 1] : [];
    while (this.at < this.source.length) {
      const char = this.source.charAt(this.at);
      if (piece === 'sum' && char === '(') open.push(this.at);
      if (piece === 'sum' && char === ')') {
        this.closings.set(open.pop() ?? this.at, this.at);
        if (open.length === 0) return;
      }
      if (isWord && /[ \t\n;&|()<>]/.test(char)) return;
      if ((piece === 'double' && char === '"') || (piece.endsWith('brace') && char === '}')) {
        this.at++;
        return;
      }
      if (char === '\\') this.escape(draft, bare);
      else if (char === "'" && bare) this.single(draft);
      else if (char === '"' && (bare || piece === 'quoted brace')) {
        draft.quoted = true;
        this.at++;
        this.pieces(draft, 'double');
      } else if (char === '`' && piece !== 'plain') this.backticks(draft, !bare);
      else if (char === '$' && !this.isPlain(piece)) this.dollar(draft, bare);
      else {
        if (char === '{' && piece === 'bare') draft.braces = true;
        draft.text += char;
        this.at++;
      }
    }
    for (const one of open) this.closings.set(one, -1);
  }

  /** Whether the dollar that stands here is but a character. Looking for the end of a sum bash takes no notice of `${`. */
  private isPlain(piece: Piece): boolean {
    const isBrace = this.source.charAt(this.at + 1) === '{';
    return piece === 'plain' || (piece === 'sum' && this.dialect === 'bash' && isBrace);
  }

  private escape(draft: Draft, bare: boolean): void {
    const next = this.source.charAt(this.at + 1);
    const isEscape = bare || (next !== '' && '$`"\\\n'.includes(next));
    // A backslash at the end of a line joins it to the next.
    if (!isEscape || next === '') draft.text += `\\${next}`;
    else if (next !== '\n') draft.text += next;
    draft.quoted = true;
    this.at += 2;
  }

  private single(draft: Draft): void {
    const from = ++this.at;
    this.skipTo("'");
    draft.text += this.source.slice(from, this.at++);
    draft.quoted = true;
  }

  private dollar(draft: Draft, bare: boolean): void {
    draft.quoted = true;
    const from = this.at;
    const next = this.source.charAt(from + 1);
    if (bare && next === '"') this.at++;
    else if (bare && next === "'" && this.dialect !== 'posix') this.ansi(draft);
    else if (next === '(') {
      this.nested(() => this.substitution());
      draft.text += this.source.slice(from, this.at);
    } else if (next === '{') {
      this.nested(() => this.parameter(draft, bare));
      draft.text += this.source.slice(from, this.at);
    } else {
      const name = /^(?:[A-Za-z_]\w*|[\d@*#?$!-])/.exec(this.source.slice(from + 1, from + 100))?.[0] ?? '';
      if (name !== '') draft.variables.push(name);
      draft.text += `$${name}`;
      this.at += 1 + name.length;
    }
  }

  /** `$(…)`, or `$((…))` where what matters are only the substitutions in it. */
  private substitution(): void {
    const open = this.at + 1;
    if (this.sum(open)) return;
    const end = (this.dialect === 'bash' ? this.closings.get(open) : undefined) ?? -1;
    if (end < 0) {
      this.within(open);
      return;
    }
    // Bash looks for the end first, and a here-document that begins in it does not go on behind that.
    this.apart(this.source.slice(open + 1, end), (inner) => inner.list(undefined));
    this.at = end + 1;
  }

  /** The commands between the parenthesis at `open` and the one that closes it. */
  private within(open: number): void {
    this.at = open + 1;
    // What is announced before it comes after the line that it ends on.
    const waiting = this.waiting;
    this.waiting = [];
    this.list(')');
    // So does what is announced in it, to bash; to others that is empty, and the next lines are commands.
    if (this.dialect === 'bash') for (const one of this.waiting) waiting.push(one);
    this.waiting = waiting;
  }

  /** Reads `((…))`, if that stands at `open`. Where the two are not closed side by side, it is commands to bash. */
  private sum(open: number): boolean {
    if (!this.source.startsWith('((', open)) return false;
    if (!this.closings.has(open)) {
      const sink = { commands: [], tooDeep: false };
      const ahead = new Reader(this.source, this.dialect, sink, this.depth, this.closings, true);
      ahead.at = open + 1;
      ahead.pieces(newDraft(), 'sum');
    }
    const [first, second] = [this.closings.get(open + 1), this.closings.get(open)];
    if (first === undefined || second !== first + 1) return false;
    this.at = open + 1;
    this.pieces(newDraft(), 'sum');
    this.at = second + 1;
    return true;
  }

  /** `${name}` and its forms with an operator. */
  private parameter(draft: Draft, bare: boolean): void {
    this.at += 2;
    const head = /^[#!]?(\w+|[@*?$]|-(?=:?[-=+]))?(:?[-=+])?/.exec(this.source.slice(this.at, this.at + 200));
    if (head?.[1] !== undefined && head[1] !== '') draft.variables.push(head[1]);
    this.at += head?.[0].length ?? 0;
    const rest = newDraft();
    this.pieces(rest, bare ? 'brace' : 'quoted brace');
    draft.variables.push(...rest.variables);
    // An index ends as the whole does: with it unread, nothing of it is mistaken for an end.
    const indexed = rest.text.startsWith('[') ? rest.text.split(/\]:?[-=+]/).slice(1) : [];
    const standIns = head?.[2] === undefined ? indexed : [rest.text];
    for (const standIn of standIns) {
      // Outside quotes the shell splits it at blanks.
      const others = [standIn, ...standIn.split(/[ \t\n]+/)].map((text) => ({ ...rest, text }));
      this.sink.commands.push({ ...newCommand(), others });
    }
  }

  private backticks(draft: Draft, inDouble: boolean): void {
    const from = this.at++;
    while (this.at < this.source.length && this.source.charAt(this.at) !== '`') {
      this.at += this.source.charAt(this.at) === '\\' ? 2 : 1;
    }
    const escaped = inDouble ? /\\([\\$`"])/g : /\\([\\$`])/g;
    const text = this.source.slice(from + 1, this.at).replace(escaped, '$1');
    this.at = Math.min(this.at + 1, this.source.length);
    this.apart(text, (inner) => inner.list(undefined));
    draft.text += this.source.slice(from, this.at);
    draft.quoted = true;
  }

  private ansi(draft: Draft): void {
    const from = this.at + 2;
    this.at = from;
    while (this.at < this.source.length && this.source.charAt(this.at) !== "'") {
      this.at += this.source.charAt(this.at) === '\\' ? 2 : 1;
    }
    draft.text += unescapeAnsi(this.source.slice(from, this.at));
    this.at++;
  }

  /** Reads a redirection, if one stands here, with its target. */
  private redirection(command: ShellCommand): boolean {
    const found = /^(?:&>>?|<<<|<<-?|<>|<&|>>|>&|>\||<|>)/.exec(this.source.slice(this.at, this.at + 3))?.[0];
    if (found === undefined) return false;
    this.at += found.length;
    if (this.source.charAt(this.at) === '(') {
      // `<(…)` has no target, and is no sum where it begins with another one.
      this.nested(() => this.within(this.at));
      return true;
    }
    while (/[ \t]/.test(this.source.charAt(this.at)) || this.source.startsWith('\\\n', this.at)) {
      this.at += this.source.charAt(this.at) === '\\' ? 2 : 1;
    }
    if (this.at >= this.source.length || /[\n;&|()<>]/.test(this.source.charAt(this.at))) return true;
    const from = this.at;
    const isHere = found === '<<' || found === '<<-';
    // To bash an expansion in the word is a part of it, to others its blanks and operators end it.
    const target = this.word(isHere && this.dialect !== 'bash' ? 'plain' : 'bare');
    if (isHere) {
      // The body comes with the next line; until then its place is kept.
      const slot = command.inputs.push('') - 1;
      const literal = /['"\\]/.test(this.source.slice(from, this.at));
      this.waiting.push({ command, slot, end: target.text, dedent: found === '<<-', literal });
    } else {
      command.others.push(target);
      if (found === '<<<') command.inputs.push(target.text);
    }
    return true;
  }

  /** The bodies of the here-documents that the line just ended has announced. */
  private hereDocuments(): void {
    for (const { command, slot, end, dedent, literal } of this.waiting.splice(0)) {
      const lines: string[] = [];
      while (this.at < this.source.length) {
        const from = this.at;
        this.skipTo('\n');
        const line = this.source.slice(from, this.at++);
        const shown = dedent ? line.replace(/^\t+/, '') : line;
        if (shown === end) break;
        lines.push(shown);
      }
      this.at = Math.min(this.at, this.source.length);
      const body = lines.join('\n');
      command.inputs[slot] = body;
      if (!literal) this.apart(body, (inner) => inner.pieces(newDraft(), 'all'));
    }
  }

  private apart(source: string, read: (inner: Reader) => void): void {
    if (this.ahead) return;
    this.nested(() => read(new Reader(source, this.dialect, this.sink, this.depth)));
  }

  /** Deeper than any honest text the rest is left unread, and said so: the reader must not run out of stack. */
  private nested(read: () => void): void {
    if (this.depth >= deepest) {
      this.sink.tooDeep = true;
      this.at = this.source.length;
      return;
    }
    this.depth++;
    read();
    this.depth--;
  }

  private skipTo(char: string): void {
    const found = this.source.indexOf(char, this.at);
    this.at = found < 0 ? this.source.length : found;
  }
}

const newCommand = (): ShellCommand => ({ words: [], others: [], inputs: [], piped: false });
const newDraft = (): Draft => ({ text: '', variables: [], braces: false, quoted: false });

const isHead = (words: readonly ShellWord[]): boolean =>
  words.every((word) => !word.quoted && shellKeywords.includes(word.text));

const startsCase = (command: ShellCommand, word: ShellWord): boolean =>
  word.text === 'case' && !word.quoted && isHead(command.words);

function endsCase({ words }: ShellCommand, word: ShellWord): boolean {
  if (word.text !== 'esac' || word.quoted) return false;
  return isHead(words) || (words.at(-1)?.text === 'in' && words.at(-3)?.text === 'case');
}

const ansiEscapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

function unescapeAnsi(text: string): string {
  const sequence =
    /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([0-7]{1,3})|c(.)|([\s\S]))/g;
  return text.replace(sequence, (_all, x, u, wide, octal, control, other) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
    if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 0x1f);
    if (other !== undefined) return ansiEscapes[other] ?? other;
    const code = Number.parseInt(x ?? u ?? wide, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

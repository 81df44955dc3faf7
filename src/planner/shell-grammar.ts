/** Whether the text after `sh -c` is grammatical. It knows what POSIX shells share; where a text goes beyond that
 *  (here-documents, `[[`, arrays and the like) it has no opinion, so that nothing valid is refused. */

/** Why a shell would refuse `text`; undefined when it would not, or when that is not known. Never throws. */
export function shellGrammarProblem(text: string): string | undefined {
  try {
    new Grammar(text).program();
    return undefined;
  } catch (error) {
    if (error instanceof Unknown || error instanceof RangeError) return undefined;
    if (error instanceof ShellSyntaxError) return error.message;
    throw error;
  }
}

class ShellSyntaxError extends Error {}
/** The text has something that is beyond this grammar. */
class Unknown extends Error {}

type Token = {
  readonly kind: 'word' | 'operator' | 'line' | 'end';
  readonly text: string;
  /** Nothing in it is quoted or expanded, so that it can be a keyword. */
  readonly plain: boolean;
};

const operator = /(?:\d+(?=[<>]))?(?:&>>?|&&|\|\||\|&|;;&|;&|;;|<<<|<<-?|<&|>&|<>|>>|>\||[|&;()<>])/y;
/** `${…}` in forms that nothing can stand in but plain text. */
const parameter = /\$\{[#!]?[\w@*?$!-]+[:=+?#%]*[\w./ -]*\}/y;
const redirection = /^\d*(?:&>>?|<<<|<<-?|<&|>&|<>|>>|>\||[<>])$/;
const ends = new Set(['then', 'elif', 'else', 'fi', 'do', 'done', 'esac', '}']);
const beyond = new Set(['[[', 'function', 'select', 'coproc', 'time']);

class Grammar {
  private at = 0;
  private next: Token | undefined;

  constructor(private readonly source: string) {}

  program(): void {
    this.list();
    if (this.peek().kind !== 'end') this.refuse();
  }

  /** Commands up to a word or operator that cannot begin one; how many there are. */
  private list(): number {
    let commands = 0;
    for (;;) {
      this.lines();
      const { kind, text, plain } = this.peek();
      if (kind === 'end' || text === ')' || text === ';;' || (plain && ends.has(text))) return commands;
      this.andOr();
      commands++;
      if (!this.skip(';') && !this.skip('&') && this.peek().kind !== 'line') return commands;
    }
  }

  private andOr(): void {
    this.pipeline();
    while (this.skip('&&') || this.skip('||')) {
      this.lines();
      this.pipeline();
    }
  }

  private pipeline(): void {
    let inverted = false;
    while (this.skipWord('!')) inverted = true;
    // Some shells let `!` stand alone.
    if (inverted && this.peek().kind !== 'word' && this.peek().text !== '(') throw new Unknown();
    this.command();
    while (this.skip('|') || this.skip('|&')) {
      this.lines();
      this.command();
    }
  }

  private command(): void {
    const { kind, text, plain } = this.peek();
    if (this.skip('(')) {
      if (this.peek().text === '(') throw new Unknown();
      this.body(')');
    } else if (!plain) {
      if (kind !== 'word' && !redirection.test(text)) this.refuse();
      this.simple();
      return;
    } else if (beyond.has(text)) throw new Unknown();
    else if (ends.has(text)) this.refuse();
    else if (this.skipWord('{')) this.body('}');
    else if (this.skipWord('if')) {
      do {
        this.body('then');
        this.some();
      } while (this.skipWord('elif'));
      if (this.skipWord('else')) this.some();
      this.want('fi');
    } else if (this.skipWord('while') || this.skipWord('until')) {
      this.body('do');
      this.body('done');
    } else if (this.skipWord('for')) this.loop();
    else if (this.skipWord('case')) this.choice();
    else {
      this.simple();
      return;
    }
    while (this.redirect());
    if (this.peek().kind === 'word' && !this.closes()) this.refuse();
  }

  private loop(): void {
    if (this.peek().kind !== 'word') throw new Unknown();
    this.take();
    this.lines();
    if (this.skipWord('in')) while (this.peek().kind === 'word') this.take();
    this.skip(';');
    this.lines();
    this.want('do');
    this.body('done');
  }

  private choice(): void {
    if (this.peek().kind !== 'word') this.refuse();
    this.take();
    this.lines();
    this.want('in');
    for (;;) {
      this.lines();
      if (this.skipWord('esac')) return;
      this.skip('(');
      do {
        if (this.peek().kind !== 'word') this.refuse();
        this.take();
      } while (this.skip('|'));
      this.want(')');
      this.list();
      // Ends of an item that some shells have besides.
      if (this.peek().text === ';&' || this.peek().text === ';;&') throw new Unknown();
      if (!this.skip(';;')) {
        this.want('esac');
        return;
      }
    }
  }

  private simple(): void {
    for (let words = 0; ; ) {
      const { kind, text } = this.peek();
      if (kind === 'word') {
        this.take();
        words++;
        if (this.peek().text === '(') {
          // Arrays and extended patterns, or a function.
          if (words > 1 || /[=?*+@!]$/.test(text)) throw new Unknown();
          this.take();
          this.want(')');
          this.lines();
          this.command();
          return;
        }
      } else if (!this.redirect()) return;
    }
  }

  private redirect(): boolean {
    const { text, kind } = this.peek();
    if (kind !== 'operator') return false;
    if (/<<-?$/.test(text)) throw new Unknown();
    if (!redirection.test(text)) return false;
    this.take();
    if (this.peek().text === '(') throw new Unknown();
    if (this.peek().kind !== 'word') this.refuse();
    this.take();
    return true;
  }

  /** At least one command, then `end`. */
  private body(end: string): void {
    this.some();
    this.want(end);
  }

  private some(): void {
    if (this.list() === 0) this.refuse();
  }

  private closes(): boolean {
    const { plain, text } = this.peek();
    return plain && ends.has(text);
  }

  private want(text: string): void {
    const found = this.peek();
    if (found.text !== text || (found.kind === 'word' && !found.plain)) this.refuse(text);
    this.take();
  }

  private refuse(wanted?: string): never {
    const { kind, text } = this.peek();
    const found = kind === 'end' ? 'it ends' : kind === 'line' ? 'a line ends' : `${text} stands`;
    const where = wanted === undefined ? 'where a command must go on' : `where ${wanted} is needed`;
    throw new ShellSyntaxError(`${found} ${where}`);
  }

  private lines(): void {
    while (this.peek().kind === 'line') this.take();
  }

  private skip(text: string): boolean {
    const { kind, text: found } = this.peek();
    if (kind !== 'operator' || found !== text) return false;
    this.take();
    return true;
  }

  private skipWord(text: string): boolean {
    const { plain, text: found } = this.peek();
    if (!plain || found !== text) return false;
    this.take();
    return true;
  }

  private peek(): Token {
    this.next ??= this.read();
    return this.next;
  }

  private take(): void {
    this.peek();
    this.next = undefined;
  }

  private read(): Token {
    while (/[ \t]/.test(this.source.charAt(this.at)) || this.source.startsWith('\\\n', this.at)) {
      this.at += this.source.charAt(this.at) === '\\' ? 2 : 1;
    }
    if (this.source.charAt(this.at) === '#') this.to('\n');
    const char = this.source.charAt(this.at);
    if (char === '') return { kind: 'end', text: '', plain: false };
    if (char === '\n') {
      this.at++;
      return { kind: 'line', text: char, plain: false };
    }
    operator.lastIndex = this.at;
    const found = operator.exec(this.source)?.[0];
    if (found !== undefined) {
      this.at += found.length;
      return { kind: 'operator', text: found, plain: false };
    }
    return this.word();
  }

  private word(): Token {
    const from = this.at;
    let plain = true;
    while (this.at < this.source.length) {
      const char = this.source.charAt(this.at);
      if (/[ \t\n;&|()<>]/.test(char)) break;
      if (/[\\'"$`]/.test(char)) plain = false;
      if (char === '\\') this.at += 2;
      else if (char === "'") this.close("'");
      else if (char === '"') this.double();
      else if (char === '`') this.backticks();
      else if (char === '$') this.dollar(false);
      else this.at++;
    }
    return { kind: 'word', text: this.source.slice(from, this.at), plain };
  }

  private double(): void {
    for (this.at++; this.source.charAt(this.at) !== '"'; ) {
      const char = this.source.charAt(this.at);
      if (char === '') throw new ShellSyntaxError('a double quote is never closed');
      if (char === '\\') this.at += 2;
      else if (char === '`') this.backticks();
      else if (char === '$') this.dollar(true);
      else this.at++;
    }
    this.at++;
  }

  private dollar(inDouble: boolean): void {
    const next = this.source.charAt(this.at + 1);
    // `$'…'` and what `${…}` may hold differ between shells.
    if ((next === "'" && !inDouble) || this.source.startsWith('$((', this.at)) throw new Unknown();
    if (next === '{') {
      parameter.lastIndex = this.at;
      const simple = parameter.exec(this.source)?.[0];
      if (simple === undefined) throw new Unknown();
      this.at += simple.length;
    } else if (next === '(') {
      const outer = this.next;
      this.next = undefined;
      this.at += 2;
      this.list();
      if (this.peek().text !== ')') this.refuse(')');
      this.next = outer;
    } else this.at++;
  }

  private backticks(): void {
    for (this.at++; this.source.charAt(this.at) !== '`'; this.at++) {
      if (this.at >= this.source.length) throw new ShellSyntaxError('a backtick is never closed');
      if (this.source.charAt(this.at) === '\\') this.at++;
    }
    this.at++;
  }

  private close(quote: string): void {
    const end = this.source.indexOf(quote, this.at + 1);
    if (end < 0) throw new ShellSyntaxError('a single quote is never closed');
    this.at = end + 1;
  }

  private to(char: string): void {
    const found = this.source.indexOf(char, this.at);
    this.at = found < 0 ? this.source.length : found;
  }
}

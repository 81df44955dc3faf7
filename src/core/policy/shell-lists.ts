/** Reads shell text as lists, pipes and compound commands. It is no complete shell: in what it does not know (`case`, functions)
 *  nothing is looked at. */
import { readShell, type ShellCommand, type ShellStep } from './shell.ts';

/** Pipelines, the operators between them, and the one after them. */
export type ListStatement = {
  readonly pipelines: readonly ListNode[][];
  readonly operators: readonly ('&&' | '||')[];
  readonly end: string;
};
export type ListNode =
  | { readonly is: 'command'; readonly command: ShellCommand }
  | { readonly is: 'group' | 'subshell' | 'loop'; readonly body: readonly ListStatement[] }
  | { readonly is: 'if'; readonly bodies: readonly (readonly ListStatement[])[] }
  | { readonly is: 'unknown'; readonly commands: readonly ShellCommand[] };

/** The statements of a text. */
export const readLists = (text: string): readonly ListStatement[] =>
  new ListReader(readShell(text).steps).list([]);

/** All commands of a node, except those that decide whether others run. */
export function shellCommandsOf(node: ListNode): readonly ShellCommand[] {
  if (node.is === 'command') return [node.command];
  if (node.is === 'unknown') return node.commands;
  const bodies = node.is === 'if' ? node.bodies : [node.body];
  return bodies.flat().flatMap(({ pipelines }) => pipelines.flat().flatMap(shellCommandsOf));
}

/** Reads steps as lists, pipes and compound commands. What it does not know is `unknown`, in which nothing is found. */
class ListReader {
  private at = 0;
  /** Keywords of the current command that have been read. */
  private skipped = 0;

  constructor(private readonly steps: readonly ShellStep[]) {}

  /** Statements up to one of the words `closers`, which is not read. */
  list(closers: readonly string[]): readonly ListStatement[] {
    const found: ListStatement[] = [];
    for (;;) {
      while (this.isSeparator()) this.next();
      if (this.at >= this.steps.length || closers.includes(this.word())) return found;
      const before = [this.at, this.skipped];
      found.push(this.statement());
      // A step that nothing takes.
      if (before[0] === this.at && before[1] === this.skipped) this.next();
    }
  }

  private statement(): ListStatement {
    const pipelines: ListNode[][] = [[this.node()]];
    const operators: ('&&' | '||')[] = [];
    for (;;) {
      const step = this.steps[this.at];
      if (step === '|' || step === '|&') {
        this.next();
        this.newLines();
        pipelines.at(-1)?.push(this.node());
      } else if (step === '&&' || step === '||') {
        operators.push(step);
        this.next();
        this.newLines();
        pipelines.push([this.node()]);
      } else return { pipelines, operators, end: typeof step === 'string' ? step : '' };
    }
  }

  private node(): ListNode {
    const word = this.word();
    if (word === '(' && this.steps[this.at + 1] === ')') return this.definition();
    if (word === '(') return this.compound('subshell', [')']);
    if (word === '{') return this.compound('group', ['}']);
    if (word === 'if') return this.choice();
    if (word === 'while' || word === 'until') {
      this.keyword();
      this.list(['do']);
      return this.compound('loop', ['done']);
    }
    if (word === 'for' || word === 'select') {
      // Its words.
      this.next();
      while (this.isSeparator()) this.next();
      return this.compound('loop', ['done']);
    }
    if (word === 'case') return this.unknownUpTo('esac');
    const step = this.steps[this.at];
    if (step === undefined || typeof step === 'string') return { is: 'unknown', commands: [] };
    const command = { ...step, words: step.words.slice(this.skipped) };
    this.next();
    return { is: 'command', command };
  }

  /** `name() { … }`, of which the parentheses come first: what it does counts where it is called. */
  private definition(): ListNode {
    this.next();
    this.next();
    this.keyword();
    this.newLines();
    return { is: 'unknown', commands: shellCommandsOf(this.node()) };
  }

  private compound(is: 'group' | 'subshell' | 'loop', closers: readonly string[]): ListNode {
    this.keyword();
    const body = this.list(closers);
    this.close();
    return { is, body };
  }

  private choice(): ListNode {
    const bodies: (readonly ListStatement[])[] = [];
    for (let word = this.word(); word === 'if' || word === 'elif'; word = this.word()) {
      this.keyword();
      this.list(['then']);
      this.keyword();
      bodies.push(this.list(['elif', 'else', 'fi']));
    }
    if (this.word() === 'else') {
      this.keyword();
      bodies.push(this.list(['fi']));
    }
    this.close();
    return { is: 'if', bodies };
  }

  private unknownUpTo(closer: string): ListNode {
    const commands: ShellCommand[] = [];
    for (; this.at < this.steps.length && this.word() !== closer; this.next()) {
      const step = this.steps[this.at];
      if (typeof step === 'object') commands.push(step);
    }
    this.close();
    return { is: 'unknown', commands };
  }

  /** The next word or sign; empty at the end. */
  private word(): string {
    const step = this.steps[this.at];
    return typeof step === 'string' ? step : (step?.words[this.skipped]?.raw ?? '');
  }

  /** Reads one keyword or sign. */
  private keyword(): void {
    const step = this.steps[this.at];
    if (typeof step !== 'object' || this.skipped + 1 >= step.words.length) this.next();
    else this.skipped++;
  }

  /** Reads the end of a compound command, with its redirections. */
  private close(): void {
    const isSign = typeof this.steps[this.at] === 'string';
    this.next();
    const redirected = this.steps[this.at];
    if (isSign && typeof redirected === 'object' && redirected.words.length === 0) this.next();
  }

  private next(): void {
    this.at++;
    this.skipped = 0;
  }

  private newLines(): void {
    while (this.steps[this.at] === '\n') this.next();
  }

  private isSeparator(): boolean {
    const step = this.steps[this.at];
    return step === ';' || step === '\n' || step === '&' || step === ';;';
  }
}

/** Formats a pipeline's text: one statement per line, short attribute lists on one line, all comments preserved. Names
 *  and values are the author's text, in quotes where Graphviz requires them. */
import type { Range } from './lex.ts';
import { piecesOf, rangeOf, type SyntaxTree } from './parse.ts';
import { isGraphvizWord, rewrite } from './prepass.ts';

const width = 110;

/** Formats a text that `readGraph` reads without an error. Line endings are the author's. */
export function printGraph(text: string): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return new Printer(text).lines().join(eol) + eol;
}

type Located = Parameters<typeof rangeOf>[1];

class Printer {
  private readonly rewritten;
  private readonly comments: readonly Range[];
  private readonly out: string[] = [];
  private comment = 0;
  private indent = '';
  /** Offset in the author's text of the end of the last printed item. */
  private last = 0;
  private base = 0;

  constructor(private readonly text: string) {
    this.rewritten = rewrite(text);
    const strings = this.rewritten.tokens.filter(({ kind }) => kind === 'string');
    let next = 0;
    // A comment between strings joined by + is printed with them.
    this.comments = this.rewritten.comments.filter(({ start }) => {
      while ((strings[next]?.end ?? start) < start) next++;
      return (strings[next]?.start ?? start) >= start;
    });
  }

  lines(): readonly string[] {
    const { header, tokens } = this.rewritten;
    const close = tokens.findLast(({ kind }) => kind === '}');
    if (header === undefined || close === undefined) throw new Error('Internal: there is no graph to print');
    const name = header.isName ? `${this.quoted(this.text.slice(header.start, header.end))} ` : '';
    this.begin(`digraph ${name}{`, header);
    for (const { base, trees } of piecesOf(this.text, this.rewritten, [])) {
      this.base = base;
      for (const tree of trees) this.statement(tree);
    }
    this.end('}', close.end);
    this.flush(this.text.length);
    return this.out;
  }

  private quoted(text: string): string {
    return text.startsWith('"') || isGraphvizWord(text) ? text : `"${text.replace(/[\\"]/g, '\\$&')}"`;
  }

  private literal(tree: Located): string {
    const { start, end } = rangeOf(this.base, tree);
    return this.quoted(this.text.slice(start, end));
  }

  /** Prints the text for `place`, after one empty line if the author had any there. */
  private line(printed: string, { start, end }: Range): void {
    const isFirst = /^$|[[{]$/.test(this.out.at(-1) ?? '');
    if (!isFirst && /\n[^\n]*\n/.test(this.text.slice(this.last, start))) this.out.push('');
    this.out.push(this.indent + printed);
    this.last = end;
  }

  private begin(printed: string, place: Range): void {
    this.flush(place.end);
    this.line(printed, place);
    this.indent += '  ';
  }

  private end(printed: string, end: number): void {
    this.flush(end);
    this.indent = this.indent.slice(2);
    this.out.push(this.indent + printed);
    this.last = end;
  }

  /** Prints the comments that begin before `end`: a comment at the end of a line stays there. */
  private flush(end: number): void {
    for (let one = this.comments[this.comment]; one !== undefined && one.start < end; ) {
      const comment = this.text.slice(one.start, one.end).trimEnd();
      // Graphviz reads # as a comment only at the start of a line.
      const printed = one.start > 0 && comment.startsWith('#') ? `//${comment.slice(1)}` : comment;
      const before = this.out.at(-1);
      if (before !== undefined && /^[ \t;,[{]*$/.test(this.text.slice(this.last, one.start))) {
        this.out[this.out.length - 1] = `${before}  ${printed}`;
        this.last = one.end;
      } else this.line(printed, one);
      one = this.comments[++this.comment];
    }
  }

  private statement(tree: SyntaxTree): void {
    const { start, end: reached } = rangeOf(this.base, tree);
    const end = start + this.rewritten.strict.slice(start, reached).replace(/[\s;]+$/, '').length;
    if (tree.type === 'Attribute') this.withList(this.attribute(tree), { start, end }, [], end);
    else if (tree.type === 'Node')
      this.withList(this.literal(tree.id), rangeOf(this.base, tree.id), tree.children, end);
    else if (tree.type === 'AttributeList') {
      const kind = tree.kind.toLowerCase();
      if (tree.children.length > 0)
        this.withList(kind, { start, end: start + kind.length }, tree.children, end);
    } else if (tree.type === 'Edge') {
      const ends = tree.targets.map((target) =>
        target.type === 'NodeRef'
          ? this.literal(target.id)
          : `{ ${target.children.map(({ id }) => this.literal(id)).join(' ')} }`,
      );
      const last = tree.targets[tree.targets.length - 1] ?? tree;
      this.withList(ends.join(' -> '), { start, end: rangeOf(this.base, last).end }, tree.children, end);
    } else if (tree.type === 'Subgraph') {
      const name = tree.id === undefined ? '' : `${this.literal(tree.id)} `;
      const from = tree.id === undefined ? start : rangeOf(this.base, tree.id).end;
      this.begin(`subgraph ${name}{`, { start, end: this.rewritten.strict.indexOf('{', from) });
      for (const child of tree.children) this.statement(child);
      this.end('}', end);
    }
  }

  private attribute({ key, value }: { readonly key: Located; readonly value: Located }): string {
    return `${this.literal(key)}=${this.literal(value)}`;
  }

  private withList(head: string, place: Range, children: readonly SyntaxTree[], end: number): void {
    this.flush(place.end);
    const attributes = children.flatMap((child) => (child.type === 'Attribute' ? [child] : []));
    const printed = attributes.map((one) => this.attribute(one));
    const short = printed.length === 0 ? head : `${head} [${printed.join(', ')}]`;
    const hasComments = (this.comments[this.comment]?.start ?? end) < end;
    const isShort = !hasComments && !/[\n\r]/.test(short) && this.indent.length + short.length <= width;
    if (printed.length === 0 || isShort) {
      this.line(short, { start: place.start, end });
      return;
    }
    this.begin(`${head} [`, place);
    for (const [i, { key, value }] of attributes.entries()) {
      const range = { start: rangeOf(this.base, key).start, end: rangeOf(this.base, value).end };
      this.flush(range.end);
      this.line(`${printed[i]}${i < attributes.length - 1 ? ',' : ''}`, range);
    }
    this.end(']', end);
  }
}

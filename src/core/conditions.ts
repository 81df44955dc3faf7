/** The condition language of edges: parse, evaluate, print. */
import { own } from './json.ts';
import { classesIn, outcomeOf } from './outcome.ts';

/** Why a condition does not parse, and where: `length` characters from `at` on. */
export type ConditionProblem = {
  readonly message: string;
  readonly at: number;
  readonly length: number;
  /** What was probably meant there. */
  readonly instead?: string | undefined;
};
/** A literal of a condition, with its place, for lint. */
export type Compared = {
  readonly key: string;
  readonly test: Operator;
  readonly literal: string;
  readonly at: number;
  readonly length: number;
};

/** A key of a condition, with its place, for lint. */
export type KeyNamed = {
  readonly key: string;
  readonly at: number;
  readonly length: number;
  /** It is not compared: the question is whether it is set. */
  readonly bare?: true;
};

const signs = ['&&', '||', '!=', '<=', '>=', '===', '==', '=', '<', '>', '!', '(', ')'] as const;
const tests: ReadonlySet<string> = new Set(['=', '!=', '<', '<=', '>', '>=', 'contains', 'matches']);
const keyForm = /^[A-Za-z_][\w-]*(\.[\w-]+)*$/;
const numberForm = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// Limits on conditions, so that none exhausts the stack.
const deepest = 200;
const longest = 1000;

type Piece = {
  readonly kind: 'sign' | 'word' | 'quoted' | 'end';
  readonly text: string;
  readonly at: number;
  readonly length: number;
};

class Problem extends Error {
  readonly at: number;
  readonly length: number;
  readonly instead: string | undefined;
  constructor(message: string, at: number, length: number, instead?: string) {
    super(message);
    this.at = at;
    this.length = length;
    this.instead = instead;
  }
}

function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  while (at < text.length) {
    const c = text[at] ?? '';
    if (/\s/.test(c)) {
      at++;
      continue;
    }
    if (c === '"' || c === "'") {
      let value = '';
      let end = at + 1;
      for (; end < text.length && text[end] !== c; end++) {
        const next = text[end + 1];
        if (text[end] === '\\' && (next === c || next === '\\')) end++;
        value += text[end];
      }
      if (end >= text.length) throw new Problem('this quoted text is never closed', at, text.length - at);
      found.push({ kind: 'quoted', text: value, at, length: end + 1 - at });
      at = end + 1;
      continue;
    }
    const sign = signs.find((s) => text.startsWith(s, at));
    if (sign !== undefined) {
      found.push({ kind: 'sign', text: sign, at, length: sign.length });
      at += sign.length;
      continue;
    }
    let end = at;
    while (end < text.length && !/[\s"'()=<>!]/.test(text[end] ?? '')) {
      if (text.startsWith('&&', end) || text.startsWith('||', end)) break;
      end++;
    }
    found.push({ kind: 'word', text: text.slice(at, end), at, length: end - at });
    at = end;
  }
  found.push({ kind: 'end', text: '', at: text.length, length: 0 });
  return found;
}

const misspelt: Readonly<Record<string, string>> = { '=>': '>=', '=<': '<=', '<>': '!=', '=!': '!=' };
const joiners: Readonly<Record<string, string>> = { and: '&&', or: '||', not: '!', '&': '&&', '|': '||' };

class Reader {
  #next = 0;
  #depth = 0;
  readonly compared: Compared[] = [];
  readonly keys: KeyNamed[] = [];
  readonly #pieces: readonly Piece[];
  constructor(text: string) {
    this.#pieces = pieces(text);
  }

  #peek(): Piece {
    const piece = this.#pieces[this.#next];
    if (piece === undefined) throw new Error('Internal: read past the end of a condition');
    return piece;
  }
  #take(): Piece {
    const piece = this.#peek();
    if (piece.kind !== 'end') this.#next++;
    return piece;
  }
  #sign(text: string): boolean {
    const piece = this.#peek();
    if (piece.kind !== 'sign' || piece.text !== text) return false;
    this.#next++;
    return true;
  }
  #fail(message: string, piece: Piece, instead?: string): never {
    if (piece.kind !== 'end') throw new Problem(message, piece.at, piece.length, instead);
    // If something is missing at the end, underline the last token.
    const last = this.#pieces[this.#pieces.length - 2];
    throw new Problem(message, last?.at ?? 0, last?.length ?? 0);
  }

  whole(): EdgeCondition {
    if (this.#peek().kind === 'end') throw new Problem('the condition is empty', 0, 0);
    const condition = this.#or();
    const rest = this.#peek();
    if (rest.kind === 'end') return condition;
    const joiner = own(joiners, rest.text.toLowerCase());
    if (rest.kind === 'word' && joiner !== undefined)
      this.#fail(`"${rest.text}" is written ${joiner}`, rest, joiner);
    const before = this.#pieces[this.#next - 1];
    if (before?.kind === 'word' && before.text.endsWith(','))
      throw new Problem('"," is written &&', before.at + before.length - 1, 1, ' &&');
    if (rest.text === ')') this.#fail('this ) closes nothing', rest);
    if (rest.kind === 'word' || rest.kind === 'quoted')
      this.#fail('&& or || is missing here, or quotes around a value with blanks', rest);
    this.#fail(`${rest.text} cannot stand here`, rest);
  }

  #or(): EdgeCondition {
    let left = this.#and();
    while (this.#sign('||')) left = { op: 'or', left, right: this.#and() };
    return left;
  }
  #and(): EdgeCondition {
    let left = this.#unary();
    while (this.#sign('&&')) left = { op: 'and', left, right: this.#unary() };
    return left;
  }
  #unary(): EdgeCondition {
    const piece = this.#peek();
    if (++this.#depth > deepest) this.#fail('the condition is nested too deeply', piece);
    try {
      if (this.#sign('!')) return { op: 'not', of: this.#unary() };
      if (this.#sign('(')) {
        const inner = this.#or();
        if (!this.#sign(')')) {
          if (this.#peek().kind === 'end') this.#fail('this ( is never closed', piece);
          this.#fail('&&, || or ) is missing here', this.#peek());
        }
        return inner;
      }
      return this.#comparison();
    } finally {
      this.#depth--;
    }
  }
  #comparison(): EdgeCondition {
    const key = this.#take();
    if (key.kind !== 'word') {
      if (key.kind === 'end') this.#fail('a comparison is missing at the end', key);
      this.#fail(key.kind === 'quoted' ? 'a key is not quoted' : 'a key is missing here', key);
    }
    if (keyForm.test(key.text.replace(/:$/, '')) && key.text.endsWith(':'))
      this.#fail(`"${key.text}" is written ${key.text.replace(/:$/, '=')}`, key, key.text.replace(/:$/, '='));
    if (!keyForm.test(key.text))
      this.#fail(`"${key.text}" is no key: a key is made of words joined by dots`, key);
    if (this.compared.length >= longest) this.#fail('the condition has too many comparisons', key);

    const test = this.#peek();
    if (/^={2,3}$/.test(test.text) && test.kind === 'sign')
      this.#fail(`${test.text} is written =`, test, '=');
    if (test.kind === 'word' && /^(?:is|eq|equals)$/i.test(test.text))
      this.#fail(`"${test.text}" is written =`, test, '=');
    const joiner = own(joiners, key.text.toLowerCase());
    if (joiner !== undefined && (test.kind === 'word' || test.text === '(') && !tests.has(test.text))
      this.#fail(`"${key.text}" is written ${joiner}`, key, joiner);
    const bare = test.kind === 'end' || test.kind === 'quoted' || !tests.has(test.text);
    const named = { key: key.text, at: key.at, length: key.length };
    this.keys.push(bare ? { ...named, bare } : named);
    if (bare) {
      this.compared.push({ key: key.text, test: '=', literal: '', at: key.at, length: 0 });
      return { op: 'truthy', key: key.text };
    }
    this.#next++;
    const literal = this.#take();
    const meant = literal.kind === 'sign' ? own(misspelt, test.text + literal.text) : undefined;
    if (meant !== undefined && literal.at === test.at + test.length)
      this.#fail(
        `${test.text}${literal.text} is written ${meant}`,
        { ...test, length: test.length + literal.length },
        meant,
      );
    if (literal.kind === 'word' && /^[“”„‟«»‘’‚‛]/.test(literal.text))
      this.#fail('use straight quotes, " or \', around a text', literal);
    if (literal.kind !== 'word' && literal.kind !== 'quoted')
      this.#fail(
        `a value is missing after ${test.text}; the empty text is written ""`,
        literal.kind === 'end' ? test : literal,
      );
    const operator = test.text as Operator; // `tests` holds only operators
    if (operator === 'matches') {
      try {
        new RegExp(literal.text);
      } catch (error) {
        const why = error instanceof Error ? error.message.replace(/^Invalid regular expression: /, '') : '';
        this.#fail(`not a regular expression: ${why}`, literal);
      }
    }
    this.compared.push({
      key: key.text,
      test: operator,
      literal: literal.text,
      at: literal.at,
      length: literal.length,
    });
    return {
      op: 'compare',
      key: comparedKey(key.text, operator, literal.text),
      test: operator,
      literal: literal.text,
    };
  }
}

/** A node that answers a word of the pipeline's own has it as its preferred label: `outcome=has_dod` is a question about
 *  that. */
const comparedKey = (key: string, test: Operator, literal: string): string =>
  asksOutcome(key) && (test === '=' || test === '!=') && outcomeOf(literal) === undefined && literal !== ''
    ? 'preferred_label'
    : key;

/** Parses a condition. `compared` lists its comparisons with the places of their literals, `keys` every key. */
export function parseCondition(text: string):
  | {
      readonly condition: EdgeCondition;
      readonly compared: readonly Compared[];
      readonly keys: readonly KeyNamed[];
    }
  | ConditionProblem {
  try {
    const reader = new Reader(text);
    const condition = reader.whole();
    return { condition, compared: reader.compared.filter((c) => c.length > 0), keys: reader.keys };
  } catch (error) {
    if (error instanceof Problem) {
      const { message, at, length, instead } = error;
      return { message, at, length, instead };
    }
    throw error;
  }
}

/** The canonical word for an outcome or its synonym (`pass` → `success`); other words are unchanged. */
const outcomeWord = (word: string): string => outcomeOf(word) ?? word;

function ordered(a: string, b: string): number {
  if (numberForm.test(a.trim()) && numberForm.test(b.trim())) return Number(a) - Number(b);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether a comparison of plain texts holds. */
export function holds(value: string, test: Operator, literal: string): boolean {
  switch (test) {
    case '=':
      return value === literal;
    case '!=':
      return value !== literal;
    case '<':
      return ordered(value, literal) < 0;
    case '<=':
      return ordered(value, literal) <= 0;
    case '>':
      return ordered(value, literal) > 0;
    case '>=':
      return ordered(value, literal) >= 0;
    case 'contains':
      return value.includes(literal);
    case 'matches':
      return new RegExp(literal).test(value);
  }
}

/** The classes of failures that a comparison names by a word for several of them. */
export const classesNamed = ({ key, test, literal }: Extract<EdgeCondition, { op: 'compare' }>) =>
  asksClass(key) && (test === '=' || test === '!=') ? classesIn(literal) : undefined;

/** Whether a key is the outcome of the node that an edge leaves. */
export const asksOutcome = (key: string): boolean => key === 'outcome' || key === 'context.outcome';

/** Whether a key is the class of the failure that an edge takes. */
export const asksClass = (key: string): boolean => key === 'failure_class' || key === 'context.failure_class';

/** Whether a condition holds. `lookup` returns a key's value as text, empty for a missing key. */
export function evaluate(condition: EdgeCondition, lookup: (key: string) => string): boolean {
  switch (condition.op) {
    case 'truthy': {
      const value = lookup(condition.key);
      return value !== '' && value !== 'false' && value !== '0';
    }
    case 'compare': {
      const value = lookup(condition.key);
      const classes = classesNamed(condition);
      if (classes !== undefined) return classes.some((one) => one === value) === (condition.test === '=');
      if (!asksOutcome(condition.key) || condition.test === 'matches' || condition.test === 'contains')
        return holds(value, condition.test, condition.literal);
      return holds(outcomeWord(value), condition.test, outcomeWord(condition.literal));
    }
    case 'not':
      return !evaluate(condition.of, lookup);
    case 'and':
      return evaluate(condition.left, lookup) && evaluate(condition.right, lookup);
    case 'or':
      return evaluate(condition.left, lookup) || evaluate(condition.right, lookup);
  }
}

/** The parsed form of edge conditions. */
export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'contains' | 'matches';

export type EdgeCondition =
  | { readonly op: 'compare'; readonly key: string; readonly test: Operator; readonly literal: string }
  /** A bare key: true when the value is neither empty, `false` nor `0`. */
  | { readonly op: 'truthy'; readonly key: string }
  | { readonly op: 'not'; readonly of: EdgeCondition }
  | { readonly op: 'and' | 'or'; readonly left: EdgeCondition; readonly right: EdgeCondition };

/** What the tables of the languages are made of: a rule answers with the changes that a node of a syntax tree admits. */
import type { GrammarName, SyntaxNode } from '../platform/grammars.ts';

export type MutantOperator =
  | 'arithmetic'
  | 'assignment'
  | 'boolean'
  | 'boundary'
  | 'call'
  | 'comparison'
  | 'condition'
  | 'logic'
  | 'negation'
  | 'number'
  | 'regex anchor'
  | 'regex class'
  | 'regex quantifier'
  | 'return'
  | 'statement'
  | 'string'
  | 'template';

/** A part of a text with what replaces it. */
export interface TextChange {
  readonly operator: MutantOperator;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

export type MutationRule = (node: SyntaxNode) => readonly TextChange[];

export interface LanguageTable {
  readonly grammar: GrammarName;
  /** What begins a comment up to the end of its line. */
  readonly comment: '//' | '#';
  /** What has no effect that a user can see, with everything in it: comments, types, imports, logs for debugging … */
  readonly isLeftOut: (node: SyntaxNode) => boolean;
  /** By the type of the node. */
  readonly rules: Readonly<Record<string, readonly MutationRule[]>>;
  /** What replaces all of a file where an empty one would not be noticed by the compiler. */
  readonly emptied?: string;
  /** What replaces all of a file so that a compiler notices only what uses it; without it nothing. */
  readonly idle?: (path: string, text: string) => string;
  /** String literals that are regular expressions: the pattern's place, and how it reads. */
  readonly patternOf?: (node: SyntaxNode) => PatternText | undefined;
}

/** A regular expression in a text, from `start` to `end`. */
export interface PatternText {
  readonly start: number;
  readonly end: number;
  /** Whether a backslash is written twice there. */
  readonly escaped: boolean;
  /** Whether the engine that will read it accepts it, where we know. */
  readonly accepts?: (pattern: string) => boolean;
}

export const changed = (
  operator: MutantOperator,
  node: { readonly start: number; readonly end: number },
  replacement: string,
): TextChange => ({ operator, start: node.start, end: node.end, replacement });

export const childOf = (node: SyntaxNode, field: string): SyntaxNode | undefined =>
  node.children.find((child) => child.field === field);

export const namedChildren = (node: SyntaxNode): readonly SyntaxNode[] =>
  node.children.filter((child) => child.named && child.type !== 'comment');

/** The nearest node above it of such a type. */
export function ancestor(node: SyntaxNode, types: RegExp): SyntaxNode | undefined {
  for (let at = node.parent; at !== undefined; at = at.parent) if (types.test(at.type)) return at;
  return undefined;
}

/** A node without the parentheses around it. */
export function bare(node: SyntaxNode): SyntaxNode {
  const [inner] = /^parenthesized_/.test(node.type) ? namedChildren(node) : [];
  return inner === undefined ? node : bare(inner);
}

/** Token → what it is replaced by. */
export type Swaps = Readonly<Record<string, readonly (readonly [MutantOperator, string])[]>>;

export const comparisonSwaps: Swaps = {
  '<': [
    ['boundary', '<='],
    ['comparison', '>='],
  ],
  '<=': [
    ['boundary', '<'],
    ['comparison', '>'],
  ],
  '>': [
    ['boundary', '>='],
    ['comparison', '<='],
  ],
  '>=': [
    ['boundary', '>'],
    ['comparison', '<'],
  ],
  '==': [['comparison', '!=']],
  '!=': [['comparison', '==']],
};

export const arithmetic: Swaps = {
  '+': [['arithmetic', '-']],
  '-': [['arithmetic', '+']],
  '*': [['arithmetic', '/']],
  '/': [['arithmetic', '*']],
  '%': [['arithmetic', '*']],
  '<<': [['arithmetic', '>>']],
  '>>': [['arithmetic', '<<']],
  '&': [['arithmetic', '|']],
  '|': [['arithmetic', '&']],
  '^': [['arithmetic', '&']],
};

export const assignments: Swaps = {
  '+=': [['assignment', '-=']],
  '-=': [['assignment', '+=']],
  '*=': [['assignment', '/=']],
  '/=': [['assignment', '*=']],
  '%=': [['assignment', '*=']],
  '|=': [['assignment', '&=']],
  '&=': [['assignment', '|=']],
  '^=': [['assignment', '&=']],
  '<<=': [['assignment', '>>=']],
  '>>=': [['assignment', '<<=']],
};

/** Each operator of a node in turn replaced by another, except where the node is not what it looks like. */
export const swapped =
  (swaps: Swaps, unless: (node: SyntaxNode, token: string) => boolean = () => false): MutationRule =>
  (node) =>
    node.children.flatMap((child) =>
      child.named || unless(node, child.type)
        ? []
        : (Object.hasOwn(swaps, child.type) ? (swaps[child.type] ?? []) : [])
            .filter(([operator]) => operator !== 'comparison' || !isWholeCondition(node))
            .map(([operator, other]) => changed(operator, child, other)),
    );

/** Each operand of a chain of one operator left out. The other operator instead would be noticed wherever one of these is. */
export const operandsLeftOut =
  (tokens: RegExp): MutationRule =>
  (node) => {
    const token = tokenOf(node, tokens);
    if (token === undefined || (node.parent !== undefined && tokenOf(node.parent, tokens) === token))
      return [];
    const operands = chainOf(node, token);
    return operands.map((left) => {
      const next = operands[operands.indexOf(left) + 1];
      const end = operands.at(-2)?.end ?? node.end;
      return next === undefined
        ? { operator: 'logic', start: end, end: node.end, replacement: '' }
        : { operator: 'logic', start: left.start, end: next.start, replacement: '' };
    });
  };

const tokenOf = (node: SyntaxNode, tokens: RegExp): string | undefined =>
  node.children.find((child) => !child.named && tokens.test(child.type))?.type;

/** `a && b && c` is a tree of two nodes. */
const chainOf = (node: SyntaxNode, token: string): readonly SyntaxNode[] =>
  namedChildren(node).flatMap((operand) =>
    operand.children.some((child) => !child.named && child.type === token) && operand.type === node.type
      ? chainOf(operand, token)
      : [operand],
  );

/** What a condition becomes. */
export interface Decisions {
  readonly always?: (condition: string) => string;
  readonly never: (condition: string) => string;
}

/** Where a compiler refuses variables that are not read, or code that cannot be reached. */
export const decidedByOperator: Decisions = {
  always: (condition) => `${condition} || true`,
  never: (condition) => `${condition} && false`,
};

/** A condition that always or never holds. A chain of `and` that always holds would be noticed wherever an operand that is
 *  left out is, and so would one of `or` that never does. */
export const decided =
  (values: Decisions, of: (node: SyntaxNode) => SyntaxNode | undefined): MutationRule =>
  (node) => {
    const found = of(node);
    const condition = found === undefined ? undefined : bare(found);
    if (condition === undefined || /^(?:true|false|1|0)$/i.test(condition.text)) return [];
    const isAll = tokenOf(condition, /^(?:&&|and)$/) !== undefined;
    const isAny = tokenOf(condition, /^(?:\|\||or)$/) !== undefined;
    const chosen = [isAll ? undefined : values.always, isAny ? undefined : values.never];
    return chosen.flatMap((value) =>
      value === undefined ? [] : [changed('condition', condition, value(condition.text))],
    );
  };

/** Whether a node is all of a condition, which `decided` mutates: its opposite would be noticed wherever both values are. */
export function isWholeCondition(node: SyntaxNode): boolean {
  const { parent } = node;
  if (parent === undefined) return false;
  if (/^(?:parenthesized_.*|test_command|arithmetic_expansion|command_name|command)$/.test(parent.type))
    return isWholeCondition(parent);
  return node.field === 'condition' || (parent.type === 'elif_clause' && namedChildren(parent)[0] === node);
}

/** A prefix operator that is left out. */
export const unprefixed =
  (tokens: RegExp, operator: MutantOperator): MutationRule =>
  (node) => {
    const operand = namedChildren(node).at(-1);
    const isPrefix = node.children.some((child) => !child.named && tokens.test(child.type));
    if (!isPrefix || operand === undefined || (operator === 'negation' && isWholeCondition(node))) return [];
    return [changed(operator, node, operand.text)];
  };

/** One more; what is not a whole decimal number becomes zero, or one. */
export const numberChanged: MutationRule = (node) => {
  const whole = /^(?!0[xob])(0|[1-9][\d_]*)([a-z]\w*|L)?$/i.exec(node.text);
  if (whole?.[1] !== undefined) {
    const more = BigInt(whole[1].replaceAll('_', '')) + 1n;
    return [changed('number', node, `${more}${whole[2] ?? ''}`)];
  }
  const isZero = !/[1-9]/.test(node.text.replace(/^0[xob]/i, ''));
  const point = /[.eE]/.test(node.text) && !/^0x/i.test(node.text) ? '.0' : '';
  return [changed('number', node, `${isZero ? 1 : 0}${point}`)];
};

/** What an empty text becomes. */
const someText = 'mutant';

/** The text between two marks, from `start` to `end`: nothing, or something where there is nothing. */
export const emptied = (start: number, end: number): readonly TextChange[] => [
  { operator: 'string', start, end, replacement: start === end ? someText : '' },
];

/** The fixed text around the parts that are filled in, each piece in turn left out. */
export function fixedText(
  start: number,
  end: number,
  filled: readonly { readonly start: number; readonly end: number }[],
): readonly TextChange[] {
  const starts = [start, ...filled.map((one) => one.end)];
  const ends = [...filled.map((one) => one.start), end];
  return starts.flatMap((from, at) => {
    const to = ends[at] ?? end;
    return from < to ? [{ operator: 'template' as const, start: from, end: to, replacement: '' }] : [];
  });
}

/** The same for a literal whose text from `start` to `end` names in another form what is filled in, as `%d`. */
export function textAround(
  literal: SyntaxNode,
  start: number,
  end: number,
  form: RegExp,
): readonly TextChange[] {
  const text = literal.text.slice(start - literal.start, end - literal.start);
  const filled = [...text.matchAll(form)].map((found) => ({
    start: start + found.index,
    end: start + found.index + found[0].length,
  }));
  return filled.length === 0 ? emptied(start, end) : fixedText(start, end, filled);
}

/** `%d`, `%-10.2f`, `%(name)s`, `%1$s`; `%%` is text. */
export const percentForm = /(?<!%)(?:%%)*%(?:\(\w+\)|\d+\$)?[-#0 +,.\d*]*[A-Za-z]/g;
/** `{}`, `{name}`, `{0:>10}`; `{{` is text. */
export const braceForm = /(?<!\{)(?:\{\{)*\{[^{}]*\}/g;

/** `object.method(…)` without the call, for methods that answer with what they were called on, changed. */
export const uncalled = (
  call: SyntaxNode,
  object: SyntaxNode | undefined,
  method: string | undefined,
  methods: RegExp,
): readonly TextChange[] =>
  object !== undefined && method !== undefined && methods.test(method)
    ? [changed('call', call, object.text)]
    : [];

/** A name of a function or method with its opposite. */
export const opposite = (
  name: SyntaxNode | undefined,
  opposites: Readonly<Record<string, string>>,
): readonly TextChange[] => {
  const other = name !== undefined && Object.hasOwn(opposites, name.text) ? opposites[name.text] : undefined;
  return name === undefined || other === undefined ? [] : [changed('call', name, other)];
};

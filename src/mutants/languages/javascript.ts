/** JavaScript, TypeScript and TSX: one table, as their grammars agree on everything that runs. Replacements differ: a compiler of
 *  TypeScript may refuse unused names, empty branches, code that cannot be reached, and texts that a type does not name. */
import type { GrammarName, SyntaxNode } from '../../platform/grammars.ts';
import {
  ancestor,
  arithmetic,
  assignments,
  bare,
  changed,
  childOf,
  comparisonSwaps,
  type Decisions,
  decided,
  emptied,
  fixedText,
  type LanguageTable,
  type MutationRule,
  namedChildren,
  numberChanged,
  operandsLeftOut,
  opposite,
  type PatternText,
  type Swaps,
  swapped,
  uncalled,
  unprefixed,
} from '../rules.ts';

const operators: Swaps = {
  ...comparisonSwaps,
  ...arithmetic,
  '**': [['arithmetic', '*']],
  '===': [['comparison', '!==']],
  '!==': [['comparison', '===']],
};

const updates: Swaps = {
  ...assignments,
  '**=': [['assignment', '*=']],
  '??=': [['assignment', '=']],
  '||=': [['assignment', '&&=']],
  '&&=': [['assignment', '||=']],
  '++': [['assignment', '--']],
  '--': [['assignment', '++']],
};

const isText = (node: SyntaxNode): boolean => /^(?:string|template_string)$/.test(node.type);

/** `'a' + b`: minus would be no number, which its text is mutated for already. */
const joinsText = (node: SyntaxNode, token = '+'): boolean =>
  token === '+' &&
  node.children.some((child) => isText(child) || (child.type === 'binary_expression' && joinsText(child)));

/** `typeof x === 'string'`: another word only decides the condition. */
const namesType = (node: SyntaxNode): boolean =>
  node.parent?.type === 'binary_expression' && /(?:^|[^.\w])typeof\b/.test(node.parent.text.slice(0, 80));

const isModuleName = (node: SyntaxNode): boolean =>
  node.field === 'source' ||
  (node.parent?.type === 'arguments' && /^(?:import|require)\b/.test(node.parent.parent?.text ?? ''));

/** How an element looks: no text, and no behaviour. */
const isLook = (node: SyntaxNode): boolean =>
  node.parent?.type === 'jsx_attribute' && /^(?:className|class|style|key)\b/.test(node.parent.text);

const isLog = (call: SyntaxNode | undefined): boolean =>
  call?.type === 'call_expression' &&
  /^(?:console|\w*\.?log(?:ger)?)\.(?:debug|trace|verbose|silly|assert)\(/i.test(call.text);

const types =
  /_type$|^type_(?!of)|_signature$|_annotation$|^(?:comment|html_comment|hash_bang_line|import_statement|import_alias|export_clause|interface_declaration|ambient_declaration|implements_clause|asserts)$/;

/** Types and imports, directives (`'use strict'`), what only a log for debugging has. */
const isLeftOut = (node: SyntaxNode): boolean =>
  (node.named && types.test(node.type)) ||
  (node.type === 'expression_statement' && node.children[0]?.type === 'string') ||
  (node.type === 'expression_statement' && isLog(node.children[0])) ||
  isLog(node);

const string: MutationRule = (node) =>
  isModuleName(node) || namesType(node) || isLook(node) ? [] : emptied(node.start + 1, node.end - 1);

/** Where a type may name the texts that are allowed. */
const typedPlace =
  /^(?:arguments|array|arrow_function|pair|return_statement|switch_case|ternary_expression)$/;

/** Compared with another text, it only decides a condition, which is mutated itself. */
const typedString: MutationRule = (node) => {
  const parent = node.parent?.type ?? '';
  if (parent === 'binary_expression' && /[!=]==?/.test(node.parent?.children[1]?.type ?? '')) return [];
  const isCast = typedPlace.test(parent) && node.field !== 'key' && node.end > node.start + 2;
  return string(node).map((change) =>
    isCast ? changed(change.operator, node, `${node.text[0]}${node.text[0]} as never`) : change,
  );
};

const template: MutationRule = (node) => {
  const filled = node.children.filter((child) => child.type === 'template_substitution');
  const [start, end] = [node.start + 1, node.end - 1];
  if (isModuleName(node)) return [];
  return filled.length === 0 ? emptied(start, end) : fixedText(start, end, filled);
};

const jsxText: MutationRule = (node) => (node.text.trim() === '' ? [] : [changed('template', node, '')]);

const sameKind =
  /^(?:trim|trimStart|trimEnd|sort|toSorted|reverse|toReversed|filter|slice|concat|flat|replace|replaceAll|toLowerCase|toUpperCase|padStart|padEnd|substring)$/;
const opposites = {
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  indexOf: 'lastIndexOf',
  lastIndexOf: 'indexOf',
  find: 'findLast',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
};

const call: MutationRule = (node) => {
  const member = childOf(node, 'function');
  if (member?.type !== 'member_expression') return [];
  const name = childOf(member, 'property');
  const object = childOf(member, 'object');
  return [...uncalled(node, object, name?.text, sameKind), ...opposite(name, opposites)];
};

/** Statements without an effect are none, and a class cannot do without `super()`. */
const statement: MutationRule = (node) => {
  const [expression] = namedChildren(node);
  const acts =
    /^(?:call|await|assignment|augmented_assignment|update|yield|unary|new|ternary|binary|sequence)_expression$/;
  if (expression === undefined || !acts.test(expression.type) || /^super\b/.test(expression.text)) return [];
  return removed(node);
};

/** Compilers refuse `if (a);`. */
const removed: MutationRule = (node) => {
  const isBranch =
    /^(?:if_statement|else_clause|for_statement|for_in_statement|while_statement|do_statement)$/.test(
      node.parent?.type ?? '',
    );
  return [changed('statement', node, isBranch ? '{}' : ';')];
};

/** A loop that nothing else ends would never end. */
const leave: MutationRule = (node) =>
  ancestor(node, /^(?:for|for_in|while|do|switch)_statement$/)?.type === 'for_in_statement' ||
  node.type === 'continue_statement'
    ? removed(node)
    : [];

/** Or a truth value, which is mutated itself. */
const isNothing = (node: SyntaxNode): boolean => /^(?:undefined|null|void 0|true|false)$/.test(node.text);

type Nothing = (value: SyntaxNode) => string;

const nothingReturned =
  (nothing: Nothing): MutationRule =>
  (node) => {
    const [value] = namedChildren(node);
    return value === undefined || isNothing(value) ? [] : [changed('return', value, nothing(value))];
  };

const nothingAnswered =
  (nothing: Nothing): MutationRule =>
  (node) => {
    const body = childOf(node, 'body');
    return body === undefined || body.type === 'statement_block' || isNothing(body)
      ? []
      : [changed('return', body, nothing(body))];
  };

/** A compiler accepts it for any type. The names in the value stay used, except where functions would lose the types that they have from
 *  their place. */
const typedNothing: Nothing = (value) => {
  const { type, text } = bare(value);
  if (/^(?:arrow_function|function_expression|string|number)$/.test(type)) return 'undefined as never';
  if (/^(?:object|array)$/.test(type) && /=>|\bfunction\b|\) *\{/.test(text)) return 'undefined as never';
  return `void ${value.type === 'parenthesized_expression' ? value.text : `(${value.text})`} as never`;
};

/** Counting down in the head of a loop would only never end. */
const isLoopStep = (node: SyntaxNode): boolean => node.parent?.type === 'for_statement';

const byValue: Decisions = { never: () => 'false', always: () => 'true' };

/** A compiler that sees no constant reads the rest as before. */
const typedDecisions: Decisions = {
  never: (condition) => `${operandOf(condition)} && !1`,
  always: (condition) => `${operandOf(condition)} || !0`,
};

const operandOf = (condition: string): string =>
  /[?,]|=>|[^=!<>]=(?!=)/.test(condition) ? `(${condition})` : condition;

/** `a ?? b` without `b`: the compiler takes it that `a` is something. */
const typedLogic: MutationRule = (node) => {
  const changes = operandsLeftOut(/^(?:&&|\|\||\?\?)$/)(node);
  const isDefault = node.children.some((child) => child.type === '??');
  return changes.map((change) =>
    isDefault && change.end === node.end ? { ...change, replacement: '!' } : change,
  );
};
const condition = (node: SyntaxNode) => childOf(node, 'condition');

function acceptedBy(flags: string): (pattern: string) => boolean {
  return (pattern) => {
    try {
      return new RegExp(pattern, flags) instanceof RegExp;
    } catch {
      return false;
    }
  };
}

/** Literals, and what `RegExp` is given. */
function patternOf(node: SyntaxNode): PatternText | undefined {
  if (node.type === 'regex_pattern') {
    const flags = node.parent === undefined ? undefined : childOf(node.parent, 'flags');
    return { start: node.start, end: node.end, escaped: false, accepts: acceptedBy(flags?.text ?? '') };
  }
  const called = node.parent?.parent;
  if (node.type !== 'string' || called === undefined || !/^(?:new )?RegExp\(/.test(called.text))
    return undefined;
  if (node.parent?.children[1] !== node) return undefined;
  return { start: node.start + 1, end: node.end - 1, escaped: true, accepts: acceptedBy('') };
}

type Forms = {
  readonly nothing: Nothing;
  readonly decisions: Decisions;
  readonly string: MutationRule;
  readonly logic: MutationRule;
};

const plainForms: Forms = {
  ...{ nothing: () => 'undefined', decisions: byValue, string, logic: operandsLeftOut(/^(?:&&|\|\||\?\?)$/) },
};
const typedForms: Forms = {
  ...{ nothing: typedNothing, decisions: typedDecisions, string: typedString, logic: typedLogic },
};

const tableOf = (grammar: GrammarName, { nothing, decisions, string, logic }: Forms): LanguageTable => ({
  grammar,
  comment: '//',
  isLeftOut,
  patternOf,
  rules: {
    binary_expression: [swapped(operators, joinsText), logic],
    augmented_assignment_expression: [swapped(updates)],
    update_expression: [swapped(updates, isLoopStep)],
    unary_expression: [unprefixed(/^!$/, 'negation'), unprefixed(/^[-~]$/, 'arithmetic')],
    if_statement: [decided(decisions, condition)],
    ternary_expression: [decided(decisions, condition)],
    while_statement: [decided({ never: decisions.never }, condition)],
    do_statement: [decided({ never: decisions.never }, condition)],
    for_statement: [decided({ never: decisions.never }, condition)],
    number: [numberChanged],
    true: [(node) => [changed('boolean', node, 'false')]],
    false: [(node) => [changed('boolean', node, 'true')]],
    string: [string],
    template_string: [template],
    jsx_text: [jsxText],
    call_expression: [call],
    expression_statement: [statement],
    throw_statement: [removed],
    break_statement: [leave],
    continue_statement: [leave],
    return_statement: [nothingReturned(nothing)],
    arrow_function: [nothingAnswered(nothing)],
  },
});

export const javascript = tableOf('javascript', plainForms);
export const typescript = tableOf('typescript', typedForms);
export const tsx = tableOf('tsx', typedForms);

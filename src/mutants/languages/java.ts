/** Java. */
import type { SyntaxNode } from '../../platform/grammars.ts';
import {
  ancestor,
  arithmetic,
  assignments,
  changed,
  childOf,
  comparisonSwaps,
  decided,
  decidedByOperator,
  emptied,
  type LanguageTable,
  type MutationRule,
  namedChildren,
  numberChanged,
  operandsLeftOut,
  opposite,
  type PatternText,
  percentForm,
  type Swaps,
  swapped,
  textAround,
  uncalled,
  unprefixed,
} from '../rules.ts';

const operators: Swaps = { ...comparisonSwaps, ...arithmetic, '>>>': [['arithmetic', '<<']] };
const updates: Swaps = {
  ...assignments,
  '>>>=': [['assignment', '<<=']],
  '++': [['assignment', '--']],
  '--': [['assignment', '++']],
};

const joinsText = (node: SyntaxNode, token = '+'): boolean =>
  /^\+=?$/.test(token) &&
  node.children.some(
    (child) => child.type === 'string_literal' || (child.type === 'binary_expression' && joinsText(child)),
  );

const isLog = (node: SyntaxNode | undefined): boolean =>
  node?.type === 'method_invocation' &&
  /^(?:\w+\.)*\w*log(?:ger)?\.(?:debug|trace|fine[rst]*)\(/i.test(node.text);

const isLeftOut = (node: SyntaxNode): boolean =>
  /^(?:line_comment|block_comment|import_declaration|package_declaration|annotation|marker_annotation|annotation_type_declaration|assert_statement|type_arguments|type_parameters|module_declaration)$/.test(
    node.type,
  ) ||
  (node.type === 'expression_statement' && isLog(node.children[0])) ||
  isLog(node);

/** Between the quotes; a block of text begins on the next line. */
function contentOf(node: SyntaxNode): { readonly start: number; readonly end: number } {
  const open = /^"""[^\n]*\n|^"/.exec(node.text)?.[0].length ?? 1;
  return { start: node.start + open, end: node.end - (node.text.startsWith('"""') ? 3 : 1) };
}

const calledWith = (node: SyntaxNode): SyntaxNode | undefined =>
  node.parent?.type === 'argument_list' ? node.parent.parent : undefined;

const string: MutationRule = (node) => {
  const { start, end } = contentOf(node);
  const called = calledWith(node) ?? node.parent;
  const name = called?.type === 'method_invocation' ? childOf(called, 'name')?.text : undefined;
  return /^(?:format|printf|formatted)$/.test(name ?? '')
    ? textAround(node, start, end, percentForm)
    : emptied(start, end);
};

const sameKind =
  /^(?:trim|strip|stripLeading|stripTrailing|toLowerCase|toUpperCase|replace|replaceAll|replaceFirst|substring|concat|filter|sorted|distinct|limit|skip|peek|normalize|toAbsolutePath)$/;
const opposites = {
  anyMatch: 'allMatch',
  allMatch: 'anyMatch',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  indexOf: 'lastIndexOf',
  lastIndexOf: 'indexOf',
  isPresent: 'isEmpty',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  isBefore: 'isAfter',
  isAfter: 'isBefore',
};

const call: MutationRule = (node) => {
  const name = childOf(node, 'name');
  return [...uncalled(node, childOf(node, 'object'), name?.text, sameKind), ...opposite(name, opposites)];
};

const removed: MutationRule = (node) => [changed('statement', node, ';')];

const statement: MutationRule = (node) => {
  const [only] = namedChildren(node);
  return only !== undefined &&
    /^(?:method_invocation|assignment_expression|update_expression|object_creation_expression)$/.test(
      only.type,
    )
    ? removed(node)
    : [];
};

/** A loop that nothing else ends would never end. */
const leave: MutationRule = (node) =>
  ancestor(node, /^(?:for|enhanced_for|while|do)_statement$|^switch_expression$/)?.type ===
  'enhanced_for_statement'
    ? removed(node)
    : [];

const functions = /^(?:method_declaration|lambda_expression|constructor_declaration)$/;

const emptyOf = (type: string): string => {
  if (type === 'boolean') return 'false';
  return /^(?:byte|short|int|long|float|double|char)$/.test(type) ? '0' : 'null';
};

const nothingReturned: MutationRule = (node) => {
  const [value] = namedChildren(node);
  const of = ancestor(node, functions);
  const type = of?.type === 'method_declaration' ? childOf(of, 'type') : undefined;
  if (value === undefined || type === undefined || /^(?:true|false|null|0)$/.test(value.text)) return [];
  return [changed('return', value, emptyOf(type.text))];
};

const isLoopStep = (node: SyntaxNode): boolean => node.parent?.type === 'for_statement';
const condition = (node: SyntaxNode) => childOf(node, 'condition');
const never = { never: decidedByOperator.never };

const readsPattern = /^(?:compile|matches|replaceAll|replaceFirst|split)$/;

function patternOf(node: SyntaxNode): PatternText | undefined {
  const called = calledWith(node);
  const isFirst = node.parent !== undefined && namedChildren(node.parent)[0] === node;
  if (node.type !== 'string_literal' || called?.type !== 'method_invocation' || !isFirst) return undefined;
  return readsPattern.test(childOf(called, 'name')?.text ?? '')
    ? { ...contentOf(node), escaped: true }
    : undefined;
}

/** A class of the file's name without anything, in the same package; a class of before is replaced. */
function idleClass(path: string, text: string): string {
  const name = /([A-Za-z_$][\w$]*)\.java$/i.exec(path)?.[1];
  const [declared = ''] = /^[ \t]*package[ \t]+[\w.]+[ \t]*;/m.exec(text) ?? [];
  return name === undefined || /-info\.java$/.test(path) ? '' : `${declared}\npublic class ${name} {}\n`;
}

export const java: LanguageTable = {
  grammar: 'java',
  comment: '//',
  // Of an empty file javac makes no class, and leaves the one of before.
  emptied: '}',
  idle: idleClass,
  isLeftOut,
  patternOf,
  rules: {
    binary_expression: [swapped(operators, joinsText), operandsLeftOut(/^(?:&&|\|\|)$/)],
    assignment_expression: [swapped(updates, joinsText)],
    update_expression: [swapped(updates, isLoopStep)],
    unary_expression: [unprefixed(/^!$/, 'negation'), unprefixed(/^[-~]$/, 'arithmetic')],
    if_statement: [decided(decidedByOperator, condition)],
    ternary_expression: [decided(decidedByOperator, condition)],
    while_statement: [decided(never, condition)],
    do_statement: [decided(never, condition)],
    for_statement: [decided(never, condition)],
    decimal_integer_literal: [numberChanged],
    hex_integer_literal: [numberChanged],
    octal_integer_literal: [numberChanged],
    binary_integer_literal: [numberChanged],
    decimal_floating_point_literal: [numberChanged],
    true: [(node) => [changed('boolean', node, 'false')]],
    false: [(node) => [changed('boolean', node, 'true')]],
    string_literal: [string],
    method_invocation: [call],
    expression_statement: [statement],
    throw_statement: [removed],
    break_statement: [leave],
    continue_statement: [removed],
    return_statement: [nothingReturned],
  },
};

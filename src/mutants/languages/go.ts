/** Go. Its compiler refuses variables and imports that are not used, so what is left out stays in the text. */
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
  unprefixed,
} from '../rules.ts';

const operators: Swaps = { ...comparisonSwaps, ...arithmetic, '&^': [['arithmetic', '&']] };
const updates: Swaps = { ...assignments, '++': [['assignment', '--']], '--': [['assignment', '++']] };

const isText = (node: SyntaxNode): boolean => /^(?:interpreted|raw)_string_literal$/.test(node.type);

const joinsText = (node: SyntaxNode, token = '+'): boolean =>
  token === '+' &&
  node.children.some((child) => isText(child) || (child.type === 'binary_expression' && joinsText(child)));

const isLog = (node: SyntaxNode | undefined): boolean =>
  node?.type === 'call_expression' && /^(?:\w+\.)*\w*(?:log|logger)\.(?:Debug|Trace)\w*\(/i.test(node.text);

const isLeftOut = (node: SyntaxNode): boolean =>
  /^(?:comment|package_clause|import_declaration|array_type|interface_type)$/.test(node.type) ||
  (node.type === 'expression_statement' && isLog(node.children[0])) ||
  isLog(node);

const string: MutationRule = (node) => {
  const [start, end] = [node.start + 1, node.end - 1];
  const called = node.parent?.type === 'argument_list' ? node.parent.parent : undefined;
  const isFormat = /^[\w.]*f\(/.test(called?.text ?? '');
  return isFormat ? textAround(node, start, end, percentForm) : emptied(start, end);
};

/** Functions of `strings` and the like that answer with their first argument, changed. */
const sameKind =
  /^(?:strings\.(?:Trim\w*|ToLower|ToUpper|ToTitle|Replace|ReplaceAll|Repeat)|filepath\.(?:Clean|ToSlash)|path\.Clean|math\.Abs|slices\.(?:Compact|Clip))$/;
const opposites = {
  HasPrefix: 'HasSuffix',
  HasSuffix: 'HasPrefix',
  TrimPrefix: 'TrimSuffix',
  TrimSuffix: 'TrimPrefix',
  TrimLeft: 'TrimRight',
  TrimRight: 'TrimLeft',
  Index: 'LastIndex',
  LastIndex: 'Index',
  Min: 'Max',
  Max: 'Min',
  Floor: 'Ceil',
  Ceil: 'Floor',
  Before: 'After',
  After: 'Before',
  min: 'max',
  max: 'min',
};

const call: MutationRule = (node) => {
  const called = childOf(node, 'function');
  const [first] = namedChildren(childOf(node, 'arguments') ?? node);
  const name = called?.type === 'selector_expression' ? childOf(called, 'field') : called;
  const isSame = called !== undefined && first !== undefined && sameKind.test(called.text);
  return [...(isSame ? [changed('call', node, first.text)] : []), ...opposite(name, opposites)];
};

/** In the head of an `if` or a loop a statement gives a name its value. */
const isInHead = (node: SyntaxNode): boolean => /^(?:initializer|update)$/.test(node.field ?? '');

const statement: MutationRule = (node) =>
  isInHead(node) || /^panic\(/.test(node.text)
    ? []
    : [changed('statement', node, `if false { ${node.text} }`)];

const removed: MutationRule = (node) => [changed('statement', node, '')];

/** A loop that nothing else ends would never end. */
const leave: MutationRule = (node) => {
  const loop = ancestor(node, /^(?:for_statement|.*switch_statement|select_statement)$/);
  return loop?.children.some((child) => child.type === 'range_clause') ? removed(node) : [];
};

/** The types of what a function returns, each once for every name that has it. */
function resultTypes(at: SyntaxNode): readonly string[] | undefined {
  const of = ancestor(at, /^(?:function_declaration|method_declaration|func_literal)$/);
  const result = of === undefined ? undefined : childOf(of, 'result');
  if (result?.type !== 'parameter_list') return result === undefined ? undefined : [result.text];
  return namedChildren(result).flatMap((declared) => {
    const names = declared.children.filter((child) => child.field === 'name').length;
    return Array.from({ length: Math.max(1, names) }, () => childOf(declared, 'type')?.text ?? '');
  });
}

const zeroOf = (type: string): string => {
  if (type === 'string') return '""';
  if (type === 'bool') return 'false';
  if (type === 'error' || type === 'any' || /^(?:\*|\[\]|map\[|func\b|chan\b|interface\b)/.test(type))
    return 'nil';
  return /^(?:u?int\d*|float\d\d|byte|rune|uintptr)$/.test(type) ? '0' : `*new(${type})`;
};

/** The values are computed, and zero values returned. */
const nothingReturned: MutationRule = (node) => {
  const [list] = namedChildren(node);
  const types = resultTypes(node);
  if (list === undefined || types === undefined) return [];
  const values = namedChildren(list);
  const zeros = types.map(zeroOf);
  const isZero = /^(?:nil|0|""|true|false|\w+\{\})$/;
  const used = values.filter((value) => !isZero.test(value.text));
  if (used.length === 0 || (values.length !== types.length && values.length !== 1)) return [];
  const blanks = (values.length === types.length ? used : types).map(() => '_').join(', ');
  const computed = `${blanks} = ${used.map((value) => value.text).join(', ')}`;
  return [changed('return', node, `${computed}; return ${zeros.join(', ')}`)];
};

/** `for a < b { … }` */
const loopCondition = (node: SyntaxNode) =>
  node.children.find(
    (child) => child.named && !/^(?:for_clause|range_clause|block|comment)$/.test(child.type),
  );

const condition = (node: SyntaxNode) => childOf(node, 'condition');
const never = { never: decidedByOperator.never };

function patternOf(node: SyntaxNode): PatternText | undefined {
  const called = node.parent?.type === 'argument_list' ? node.parent.parent : undefined;
  if (!isText(node) || !/^regexp\.\w+\(/.test(called?.text ?? '')) return undefined;
  if (namedChildren(node.parent ?? node)[0] !== node) return undefined;
  return { start: node.start + 1, end: node.end - 1, escaped: node.type === 'interpreted_string_literal' };
}

/** Up to its package, which a compiler also reads in files that it does not build. */
function packageOnly(_: string, text: string): string {
  const found = /^package[ \t]+\w+/m.exec(text);
  return found === null ? '' : `${text.slice(0, found.index)}${found[0]}\n`;
}

export const goTable: LanguageTable = {
  grammar: 'go',
  comment: '//',
  idle: packageOnly,
  isLeftOut,
  patternOf,
  rules: {
    binary_expression: [swapped(operators, joinsText), operandsLeftOut(/^(?:&&|\|\|)$/)],
    unary_expression: [unprefixed(/^!$/, 'negation'), unprefixed(/^[-^]$/, 'arithmetic')],
    assignment_statement: [swapped(updates, joinsText), statement],
    inc_statement: [swapped(updates, isInHead), statement],
    dec_statement: [swapped(updates, isInHead), statement],
    if_statement: [decided(decidedByOperator, condition)],
    for_clause: [decided(never, condition)],
    for_statement: [decided(never, loopCondition)],
    int_literal: [numberChanged],
    float_literal: [numberChanged],
    true: [(node) => [changed('boolean', node, 'false')]],
    false: [(node) => [changed('boolean', node, 'true')]],
    interpreted_string_literal: [string],
    raw_string_literal: [string],
    call_expression: [call],
    expression_statement: [statement],
    send_statement: [statement],
    go_statement: [statement],
    defer_statement: [statement],
    break_statement: [leave],
    continue_statement: [removed],
    return_statement: [nothingReturned],
  },
};

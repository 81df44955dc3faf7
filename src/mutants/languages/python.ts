/** Python. */
import type { SyntaxNode } from '../../platform/grammars.ts';
import {
  ancestor,
  arithmetic,
  assignments,
  braceForm,
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
  percentForm,
  type Swaps,
  swapped,
  textAround,
  uncalled,
  unprefixed,
} from '../rules.ts';

const operators: Swaps = {
  ...comparisonSwaps,
  ...arithmetic,
  '//': [['arithmetic', '/']],
  '**': [['arithmetic', '*']],
  is: [['comparison', 'is not']],
  'is not': [['comparison', 'is']],
  in: [['comparison', 'not in']],
  'not in': [['comparison', 'in']],
};

const updates: Swaps = { ...assignments, '//=': [['assignment', '/=']], '**=': [['assignment', '*=']] };

const collections = /^(?:string|concatenated_string|list|tuple|list_comprehension|dictionary|set)$/;

/** Texts and lists joined or repeated, and texts filled in: another operator is none of theirs. */
const joins = (node: SyntaxNode, token: string): boolean =>
  /^[+*%]$/.test(token) &&
  node.children.some(
    (child) =>
      collections.test(child.type) ||
      (child.type === 'binary_operator' &&
        child.children.some((one) => one.type === token) &&
        joins(child, token)),
  );

/** `if __name__ == '__main__'` and `if TYPE_CHECKING`: how the file is loaded, not what it does. */
const isWiring = (node: SyntaxNode): boolean =>
  node.field === 'condition' && /\b__name__\b|^(?:\w+\.)?TYPE_CHECKING$/.test(node.text);

const isLog = (node: SyntaxNode): boolean =>
  node.type === 'call' && /^(?:\w+\.)*_?log(?:ger|ging)?\.debug\(/i.test(node.text);

const withoutEffect = /^(?:string|concatenated_string|ellipsis|identifier)$/;

/** Types, imports, docstrings, assertions, what only a log for debugging has. */
const isLeftOut = (node: SyntaxNode): boolean =>
  (node.named &&
    /^(?:comment|type|import_statement|import_from_statement|future_import_statement|assert_statement|type_alias_statement|format_specifier|global_statement|nonlocal_statement)$/.test(
      node.type,
    )) ||
  (node.type === 'if_statement' && /\bTYPE_CHECKING$/.test(childOf(node, 'condition')?.text ?? '')) ||
  (node.type === 'expression_statement' && isIdle(node)) ||
  isWiring(node) ||
  isLog(node);

function isIdle(statement: SyntaxNode): boolean {
  const [only, ...more] = namedChildren(statement);
  if (only === undefined || more.length > 0) return false;
  const names =
    only.type === 'assignment' && /^__(?:all|slots|version)__$/.test(childOf(only, 'left')?.text ?? '');
  return withoutEffect.test(only.type) || names || isLog(only);
}

const isTyping = (node: SyntaxNode): boolean =>
  /^(?:typing\.)?(?:TypeVar|NewType|ParamSpec|cast)\(/.test(node.parent?.parent?.text ?? '');

/** Between the quotes, of which there are one or three. */
function contentOf(node: SyntaxNode): { readonly start: number; readonly end: number } {
  const [open, close] = [node.children[0], node.children.at(-1)];
  return { start: open?.end ?? node.start, end: close?.start ?? node.end };
}

/** `'a %s' % b`, `'a {}'.format(b)`. */
function formOf(node: SyntaxNode): RegExp | undefined {
  const { parent, field } = node;
  if (parent?.type === 'binary_operator' && field === 'left' && parent.children[1]?.type === '%')
    return percentForm;
  return parent?.type === 'attribute' && /\.format(?:_map)?$/.test(parent.text) ? braceForm : undefined;
}

const string: MutationRule = (node) => {
  const form = formOf(node);
  const filled = node.children.filter((child) => child.type === 'interpolation');
  const { start, end } = contentOf(node);
  if (isTyping(node)) return [];
  if (form !== undefined) return textAround(node, start, end, form);
  return filled.length === 0 ? emptied(start, end) : fixedText(start, end, filled);
};

const sameKind =
  /^(?:strip|lstrip|rstrip|lower|upper|title|capitalize|casefold|replace|removeprefix|removesuffix|ljust|rjust|zfill|copy|resolve|absolute|expanduser)$/;
const opposites = {
  startswith: 'endswith',
  endswith: 'startswith',
  find: 'rfind',
  rfind: 'find',
  any: 'all',
  all: 'any',
  min: 'max',
  max: 'min',
};

const call: MutationRule = (node) => {
  const called = childOf(node, 'function');
  if (called?.type === 'attribute') {
    const name = childOf(called, 'attribute');
    return [...uncalled(node, childOf(called, 'object'), name?.text, sameKind), ...opposite(name, opposites)];
  }
  const [first] = namedChildren(childOf(node, 'arguments') ?? node);
  const isSorting = /^(?:sorted|reversed)$/.test(called?.text ?? '');
  return isSorting &&
    first !== undefined &&
    !/generator|splat|keyword/.test(first.type) &&
    !/^\s*\w+ for /.test(first.text)
    ? [changed('call', node, `list(${first.text})`)]
    : opposite(called, opposites);
};

/** A name that has no other value yet must get one: without it every run would end there. */
function isFirstValue(assignment: SyntaxNode): boolean {
  const left = childOf(assignment, 'left');
  if (left === undefined || !/^[\w\s,()*]+$/.test(left.text)) return false;
  if (childOf(assignment, 'type') !== undefined || left.type !== 'identifier') return true;
  const place = ancestor(assignment, /^(?:function_definition|class_definition|module)$/);
  if (place === undefined || ancestor(assignment, /_definition$/)?.type === 'class_definition') return true;
  const before = place.text.slice(0, assignment.start - place.start);
  return !new RegExp(`(?:^|[;\\n:])\\s*${left.text}\\b\\s*(?:[-+*/|&]?=(?!=)|:.*=)`).test(before);
}

const statement: MutationRule = (node) => {
  const [only] = namedChildren(node);
  if (only === undefined || (only.type === 'assignment' && isFirstValue(only))) return [];
  // Without it the object has not begun to exist.
  if (/^super\(/.test(only.text)) return [];
  return /^(?:call|await|assignment|augmented_assignment|yield)$/.test(only.type)
    ? [changed('statement', node, 'pass')]
    : [];
};

const removed: MutationRule = (node) => [changed('statement', node, 'pass')];

/** A loop that nothing else ends would never end. */
const leave: MutationRule = (node) =>
  ancestor(node, /^(?:for|while)_statement$/)?.type === 'for_statement' ? removed(node) : [];

const nothingReturned: MutationRule = (node) => {
  const [value] = namedChildren(node);
  return value === undefined || /^(?:None|True|False)$/.test(value.text)
    ? []
    : [changed('return', value, 'None')];
};

const never: Decisions = { never: () => 'False' };
const either: Decisions = { ...never, always: () => 'True' };
const condition = (node: SyntaxNode) => {
  const found = childOf(node, 'condition');
  return found === undefined || isWiring(found) ? undefined : found;
};

/** The first text that a function of `re` is given. */
function patternOf(node: SyntaxNode): PatternText | undefined {
  const called = node.parent?.type === 'argument_list' ? node.parent.parent : undefined;
  const isPattern =
    node.type === 'string' &&
    /^(?:re|regex)\.\w+\(/.test(called?.text ?? '') &&
    namedChildren(node.parent ?? node)[0] === node;
  if (!isPattern || node.children.some((child) => child.type === 'interpolation')) return undefined;
  return { ...contentOf(node), escaped: !/^[bu]?r/i.test(node.text) };
}

export const python: LanguageTable = {
  grammar: 'python',
  comment: '#',
  isLeftOut,
  patternOf,
  rules: {
    binary_operator: [swapped(operators, joins)],
    comparison_operator: [swapped(operators)],
    boolean_operator: [operandsLeftOut(/^(?:and|or)$/)],
    not_operator: [unprefixed(/^not$/, 'negation')],
    unary_operator: [unprefixed(/^[-~]$/, 'arithmetic')],
    augmented_assignment: [swapped(updates, joins)],
    if_statement: [decided(either, condition)],
    elif_clause: [decided(either, condition)],
    conditional_expression: [decided(either, (node) => namedChildren(node)[1])],
    if_clause: [decided(either, (node) => namedChildren(node)[0])],
    while_statement: [decided(never, condition)],
    integer: [numberChanged],
    float: [numberChanged],
    true: [(node) => [changed('boolean', node, 'False')]],
    false: [(node) => [changed('boolean', node, 'True')]],
    string: [string],
    call: [call],
    expression_statement: [statement],
    raise_statement: [removed],
    break_statement: [leave],
    continue_statement: [removed],
    return_statement: [nothingReturned],
  },
};

/** Rust. */
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
  type LanguageTable,
  type MutationRule,
  namedChildren,
  numberChanged,
  operandsLeftOut,
  opposite,
  type PatternText,
  type Swaps,
  swapped,
  textAround,
  uncalled,
  unprefixed,
} from '../rules.ts';

const operators: Swaps = { ...comparisonSwaps, ...arithmetic };
const ranges: Swaps = { '..': [['boundary', '..=']], '..=': [['boundary', '..']] };

const isText = (node: SyntaxNode): boolean => /^(?:raw_)?string_literal$/.test(node.type);

/** `a + "b"`, `a + &b`. */
const joinsText = (node: SyntaxNode, token = '+'): boolean =>
  token === '+' &&
  node.children.some(
    (child) =>
      isText(child) ||
      (child.type === 'reference_expression' && child.field === 'right') ||
      (child.type === 'binary_expression' && joinsText(child)),
  );

/** `#[test]`, `#[cfg(test)]` before an item. */
function isForTests(item: SyntaxNode): boolean {
  const siblings = item.parent?.children ?? [];
  for (let at = siblings.indexOf(item) - 1; /^attribute_item|_comment$/.test(siblings[at]?.type ?? ''); at--)
    if (/^#\[(?:\w+::)*test\b|^#\[cfg\((?!not)[^\]]*\btest\b/.test(siblings[at]?.text ?? '')) return true;
  return false;
}

const hiddenMacros =
  /^(?:debug_assert|assert|static_assertions|debug|trace|unreachable|todo)(?:_eq|_ne)?!|^(?:log|tracing)::(?:debug|trace)!/;
const isHidden = (node: SyntaxNode | undefined): boolean =>
  node?.type === 'macro_invocation' && hiddenMacros.test(node.text);

const isLeftOut = (node: SyntaxNode): boolean =>
  /^(?:line_comment|block_comment|use_declaration|extern_crate_declaration|attribute_item|inner_attribute_item|type_arguments|type_parameters|array_type|macro_definition|where_clause)$/.test(
    node.type,
  ) ||
  (/_item$/.test(node.type) && isForTests(node)) ||
  (node.type === 'expression_statement' && isHidden(node.children[0])) ||
  isHidden(node);

/** Between the quotes: `"…"`, `b"…"`, `r#"…"#`. */
function contentOf(node: SyntaxNode): { readonly start: number; readonly end: number } {
  const [open = '', marks = ''] = /^[bc]?r?(#*)"/.exec(node.text) ?? [];
  return { start: node.start + open.length, end: node.end - 1 - marks.length };
}

const formats =
  /^(?:std::)?(?:e?print(?:ln)?|format|write(?:ln)?|format_args|panic|bail|anyhow|ensure|error|warn|info)!/;

const string: MutationRule = (node) => {
  const { start, end } = contentOf(node);
  const macro = node.parent?.type === 'token_tree' ? node.parent.parent : undefined;
  const method = node.parent?.type === 'arguments' ? node.parent.parent : undefined;
  // Read only when the program has a defect.
  if (/\.expect(?:_err)?\($/.test(method?.text.slice(0, node.start - method.start) ?? '')) return [];
  return formats.test(macro?.text ?? '') ? textAround(node, start, end, braceForm) : emptied(start, end);
};

const sameKind =
  /^(?:trim|trim_start|trim_end|rev|skip|take|filter|abs|to_ascii_lowercase|to_ascii_uppercase|to_lowercase|to_uppercase|saturating_sub|saturating_add)$/;
const opposites = {
  any: 'all',
  all: 'any',
  starts_with: 'ends_with',
  ends_with: 'starts_with',
  is_some: 'is_none',
  is_none: 'is_some',
  is_ok: 'is_err',
  is_err: 'is_ok',
  min: 'max',
  max: 'min',
  find: 'rfind',
  rfind: 'find',
  floor: 'ceil',
  ceil: 'floor',
  strip_prefix: 'strip_suffix',
  strip_suffix: 'strip_prefix',
};

const call: MutationRule = (node) => {
  const called = childOf(node, 'function');
  if (called?.type !== 'field_expression') return [];
  const name = childOf(called, 'field');
  return [...uncalled(node, childOf(called, 'value'), name?.text, sameKind), ...opposite(name, opposites)];
};

const statement: MutationRule = (node) => {
  const [only] = namedChildren(node);
  if (only === undefined || !node.text.endsWith(';')) return [];
  const isLoopEnd =
    only.type === 'break_expression' &&
    ancestor(node, /^(?:for|while|loop)_expression$/)?.type !== 'for_expression';
  return !isLoopEnd &&
    /^(?:call|macro_invocation|assignment|compound_assignment|await|try|continue|break)/.test(only.type)
    ? [changed('statement', node, ';')]
    : [];
};

const neverBuilt = /^(?:impl\b|Self\b|Box<|dyn\b|!)/;

/** An empty value of a type; undefined where none is known. */
function emptyOf(type: string): string | undefined {
  const inner = /^(?:[\w:]+::)?Result<(.*)>$/s.exec(type)?.[1];
  if (inner !== undefined) return /^\(\)/.test(inner) ? 'Ok(())' : 'Ok(Default::default())';
  if (/^(?:std::)?fmt::Result$/.test(type)) return 'Ok(())';
  if (/^(?:[\w:]+::)?Option</.test(type)) return 'None';
  if (/^&(?:'\w+\s+)?str$/.test(type)) return '""';
  if (type === 'bool') return 'false';
  return neverBuilt.test(type) || type === '()' || /^&/.test(type) ? undefined : 'Default::default()';
}

const functions = /^(?:function_item|closure_expression|async_block)$/;

function returned(value: SyntaxNode, of: SyntaxNode | undefined): ReturnType<MutationRule> {
  const type = of?.type === 'function_item' ? childOf(of, 'return_type') : undefined;
  const empty = type === undefined ? undefined : emptyOf(type.text);
  const isEmpty = /^(?:true|false|0|None|""|Ok\(\(\)\)|\w+::(?:new|default)\(\))$/.test(value.text);
  return empty === undefined || isEmpty ? [] : [changed('return', value, empty)];
}

const nothingReturned: MutationRule = (node) => {
  const [value] = namedChildren(node);
  return value === undefined ? [] : returned(value, ancestor(node, functions));
};

/** The last expression of a function. */
const nothingAnswered: MutationRule = (node) => {
  const last = namedChildren(childOf(node, 'body') ?? node).at(-1);
  const isValue = last !== undefined && !/_statement$|_declaration$|_item$|_comment$|^block$/.test(last.type);
  return isValue && last.parent?.type === 'block' ? returned(last, node) : [];
};

const never: Decisions = { never: () => 'false' };
const either: Decisions = { ...never, always: () => 'true' };
/** A pattern gives names their values. */
const condition = (node: SyntaxNode) => {
  const found = childOf(node, 'condition');
  return found === undefined || /\blet\b/.test(found.text) ? undefined : found;
};

const hasEnd = (node: SyntaxNode): boolean => node.children.at(-1)?.named === true;

function patternOf(node: SyntaxNode): PatternText | undefined {
  const called = node.parent?.type === 'arguments' ? node.parent.parent : undefined;
  if (
    !isText(node) ||
    !/\bRegex(?:Builder)?::new\($/.test(called?.text.slice(0, node.start - called.start) ?? '')
  )
    return undefined;
  return { ...contentOf(node), escaped: node.type === 'string_literal' };
}

export const rust: LanguageTable = {
  grammar: 'rust',
  comment: '//',
  isLeftOut,
  patternOf,
  rules: {
    binary_expression: [swapped(operators, joinsText), operandsLeftOut(/^(?:&&|\|\|)$/)],
    compound_assignment_expr: [swapped(assignments, joinsText)],
    range_expression: [swapped(ranges, (node) => !hasEnd(node))],
    unary_expression: [unprefixed(/^!$/, 'negation'), unprefixed(/^-$/, 'arithmetic')],
    if_expression: [decided(either, condition)],
    match_pattern: [decided(either, condition)],
    while_expression: [decided(never, condition)],
    integer_literal: [numberChanged],
    float_literal: [numberChanged],
    boolean_literal: [(node) => [changed('boolean', node, node.text === 'true' ? 'false' : 'true')]],
    string_literal: [string],
    raw_string_literal: [string],
    call_expression: [call],
    expression_statement: [statement],
    return_expression: [nothingReturned],
    function_item: [nothingAnswered],
  },
};

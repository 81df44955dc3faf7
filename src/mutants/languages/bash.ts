/** Scripts for bash and sh. */
import type { SyntaxNode } from '../../platform/grammars.ts';
import {
  ancestor,
  arithmetic,
  assignments,
  changed,
  childOf,
  comparisonSwaps,
  type Decisions,
  decided,
  emptied,
  fixedText,
  isWholeCondition,
  type LanguageTable,
  type MutationRule,
  namedChildren,
  numberChanged,
  operandsLeftOut,
  type PatternText,
  percentForm,
  type Swaps,
  swapped,
  textAround,
  unprefixed,
} from '../rules.ts';

const operators: Swaps = { ...comparisonSwaps, ...arithmetic, '=': [['comparison', '!=']] };
const updates: Swaps = { ...assignments, '++': [['assignment', '--']], '--': [['assignment', '++']] };

const tests: Swaps = {
  '-eq': [['comparison', '-ne']],
  '-ne': [['comparison', '-eq']],
  '-lt': [
    ['boundary', '-le'],
    ['comparison', '-ge'],
  ],
  '-le': [
    ['boundary', '-lt'],
    ['comparison', '-gt'],
  ],
  '-gt': [
    ['boundary', '-ge'],
    ['comparison', '-le'],
  ],
  '-ge': [
    ['boundary', '-gt'],
    ['comparison', '-lt'],
  ],
  '-z': [['comparison', '-n']],
  '-n': [['comparison', '-z']],
};

/** Outside of arithmetic `<` compares texts or redirects, `+` and `/` are text. */
const isNoNumber = (node: SyntaxNode, token: string): boolean =>
  !/^[!=]=?$|^==$/.test(token) &&
  ancestor(node, /^(?:test_command|arithmetic_expansion|c_style_for_statement)$/)?.type === 'test_command' &&
  !isArithmetic(node);

const isArithmetic = (node: SyntaxNode): boolean =>
  ancestor(node, /^test_command$/)?.text.startsWith('((') === true;

/** `(( a = 1 ))` */
const isAssignment = (node: SyntaxNode, token: string): boolean => token === '=' && isArithmetic(node);

const testOperator: MutationRule = (node) =>
  (Object.hasOwn(tests, node.text) ? (tests[node.text] ?? []) : [])
    .filter(([operator]) => operator !== 'comparison' || !isWholeCondition(node.parent ?? node))
    .map(([operator, other]) => changed(operator, node, other));

/** What sets a shell up rather than does something, and what a loop would never end without. */
const setUp =
  /^(?:set|shopt|source|\.|trap|shift|unset|umask|ulimit|cd|wait|sleep|:|true|false|local|export|readonly|read|getopts|esac)$/;

const nameOf = (command: SyntaxNode | undefined): string =>
  command === undefined ? '' : (childOf(command, 'name')?.text ?? '');

const isLeftOut = (node: SyntaxNode): boolean =>
  /^(?:comment|file_redirect|heredoc_start|heredoc_end)$/.test(node.type) ||
  (node.type === 'command' && /^(?:set|shopt|source|\.|trap|umask|ulimit|sleep)$/.test(nameOf(node)));

const string: MutationRule = (node) => {
  const filled = node.children.filter((child) => child.named && child.type !== 'string_content');
  const [start, end] = [node.start + 1, node.end - 1];
  const isFormat = node.parent?.type === 'command' && nameOf(node.parent) === 'printf' && isFirst(node);
  if (isFormat && filled.length === 0) return textAround(node, start, end, percentForm);
  return filled.length === 0 ? emptied(start, end) : fixedText(start, end, filled);
};

const isFirst = (node: SyntaxNode): boolean =>
  node.parent?.children.find((child) => child.field === 'argument') === node;

const rawString: MutationRule = (node) => {
  const isFormat = node.parent?.type === 'command' && nameOf(node.parent) === 'printf' && isFirst(node);
  const [start, end] = [node.start + node.text.indexOf("'") + 1, node.end - 1];
  return isFormat ? textAround(node, start, end, percentForm) : emptied(start, end);
};

/** All but the end of its last line, which the closing mark needs. */
const heredoc: MutationRule = (node) =>
  fixedText(
    node.start,
    node.text.endsWith('\n') ? node.end - 1 : node.end,
    node.children.filter((child) => child.named && child.type !== 'heredoc_content'),
  );

/** A statement, alone or in `$(…)`. An operand of a chain is left out as one, a part of a pipeline by `stage`. */
const statement: MutationRule = (node) => {
  const whole = node.parent?.type === 'redirected_statement' ? node.parent : node;
  return setUp.test(nameOf(node)) || isPart(whole) ? [] : [changed('statement', node, ':')];
};

const isPart = ({ field, parent }: SyntaxNode): boolean =>
  field === 'condition' ||
  (parent !== undefined && /^(?:list|negated_command|elif_clause|pipeline)$/.test(parent.type));

/** `a | b` without `b`, and without both. */
const stage: MutationRule = (node) => {
  const stages = namedChildren(node);
  const whole = isPart(node) ? [] : [changed('statement', node, ':')];
  const without = stages
    .slice(1)
    .map((one, at) => changed('call', { start: stages[at]?.end ?? one.start, end: one.end }, ''));
  return [...whole, ...without];
};

const boolean: MutationRule = (node) => {
  if (node.parent?.type !== 'variable_assignment') return [];
  if (node.text === 'true') return [changed('boolean', node, 'false')];
  return node.text === 'false' ? [changed('boolean', node, 'true')] : [];
};

const isLoopStep = (node: SyntaxNode): boolean => node.field === 'update';

const either: Decisions = { always: () => 'true', never: () => 'false' };
const never: Decisions = { never: () => 'false' };
/** The only command between `if` and `then`. */
const condition = (node: SyntaxNode): SyntaxNode | undefined => {
  const found = node.children.filter((child) => child.named && child.field === 'condition');
  return found.length === 1 ? found[0] : undefined;
};

function patternOf(node: SyntaxNode): PatternText | undefined {
  if (node.type === 'regex') return { start: node.start, end: node.end, escaped: false };
  const command = node.parent?.type === 'command' ? node.parent : undefined;
  const isExtended = /^(?:grep -[a-zA-Z]*[EP][a-zA-Z]* |egrep |sed -[a-zA-Z]*[Er])/.test(command?.text ?? '');
  return node.type === 'raw_string' && isExtended && !/^sed/.test(command?.text ?? '')
    ? { start: node.start + 1, end: node.end - 1, escaped: false }
    : undefined;
}

export const bash: LanguageTable = {
  grammar: 'bash',
  comment: '#',
  isLeftOut,
  patternOf,
  rules: {
    binary_expression: [
      swapped(operators, (node, token) => isNoNumber(node, token) || isAssignment(node, token)),
      swapped(updates),
      operandsLeftOut(/^(?:&&|\|\|)$/),
    ],
    postfix_expression: [swapped(updates, isLoopStep)],
    list: [operandsLeftOut(/^(?:&&|\|\|)$/)],
    test_operator: [testOperator],
    negated_command: [unprefixed(/^!$/, 'negation')],
    if_statement: [decided(either, condition)],
    elif_clause: [decided(either, (node) => namedChildren(node)[0])],
    while_statement: [decided(never, condition)],
    number: [numberChanged],
    word: [boolean],
    string: [string],
    raw_string: [rawString],
    ansi_c_string: [rawString],
    heredoc_body: [heredoc],
    command: [statement],
    pipeline: [stage],
  },
};

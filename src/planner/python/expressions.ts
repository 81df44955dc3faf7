/** Python's expressions, and which of them may be assigned to. */
import { Cursor } from './cursor.ts';
import { parameters } from './parameters.ts';
import { tokenize } from './tokens.ts';

/** As much of an expression as decides where it may stand. */
export type Expression =
  | { readonly kind: 'name' | 'attribute' | 'subscript' | 'other' }
  | { readonly kind: 'star'; readonly of: Expression }
  | { readonly kind: 'tuple' | 'list'; readonly items: readonly Expression[] };

const other: Expression = { kind: 'other' };

/** `a, *b, c`; a tuple as soon as there is a comma. */
export function starExpressions(c: Cursor): Expression {
  return listOf(c, starExpression);
}

function starExpression(c: Cursor): Expression {
  return c.take('*') ? { kind: 'star', of: bitwise(c) } : expression(c);
}

/** As `starExpression`, where `name := value` may stand too. */
export function starNamed(c: Cursor): Expression {
  return c.take('*') ? { kind: 'star', of: bitwise(c) } : namedExpression(c);
}

function listOf(c: Cursor, item: (c: Cursor) => Expression): Expression {
  const first = item(c);
  if (!c.is(',')) return first;
  const items = [first];
  while (c.take(',') && beginsExpression(c)) items.push(item(c));
  return { kind: 'tuple', items };
}

const beginners = new Set([
  '(',
  '[',
  '{',
  '-',
  '+',
  '~',
  '...',
  '*',
  'not',
  'lambda',
  'await',
  'None',
  'True',
  'False',
]);
const beginsExpression = (c: Cursor): boolean =>
  c.isKind('name') || c.isKind('number') || c.isKind('string') || c.is(...beginners);

export function namedExpression(c: Cursor): Expression {
  if (c.isKind('name') && c.peek().kind === 'op' && c.peek().text === ':=') {
    c.next();
    c.next();
    expression(c);
    return other;
  }
  return expression(c);
}

export function expression(c: Cursor): Expression {
  return c.within(() => {
    if (c.take('lambda')) {
      parameters(c, ':', false);
      c.expect(':');
      expression(c);
      return other;
    }
    const value = disjunction(c);
    if (!c.take('if')) return value;
    disjunction(c);
    c.expect('else');
    expression(c);
    return other;
  });
}

export const yieldExpression = (c: Cursor): Expression => {
  c.expect('yield');
  if (c.take('from')) expression(c);
  else if (beginsExpression(c)) starExpressions(c);
  return other;
};

export const yieldOrExpressions = (c: Cursor): Expression =>
  c.is('yield') ? yieldExpression(c) : starExpressions(c);

function disjunction(c: Cursor): Expression {
  let value = inversion(c);
  while (c.take('or') || c.take('and')) {
    inversion(c);
    value = other;
  }
  return value;
}

function inversion(c: Cursor): Expression {
  if (!c.take('not')) return comparison(c);
  c.within(() => inversion(c));
  return other;
}

function comparison(c: Cursor): Expression {
  let value = bitwise(c);
  while (takeComparison(c)) {
    bitwise(c);
    value = other;
  }
  return value;
}

function takeComparison(c: Cursor): boolean {
  if (c.is('==', '!=', '<', '<=', '>', '>=', 'in')) {
    c.next();
    return true;
  }
  if (c.take('is')) {
    c.take('not');
    return true;
  }
  if (!c.is('not')) return false;
  c.next();
  c.expect('in');
  return true;
}

/** All binary operators above comparison. Which binds tighter does not matter for whether a program is grammatical. */
export function bitwise(c: Cursor): Expression {
  let value = factor(c);
  while (c.is('|', '^', '&', '<<', '>>', '+', '-', '*', '/', '//', '%', '@')) {
    c.next();
    factor(c);
    value = other;
  }
  return value;
}

function factor(c: Cursor): Expression {
  if (c.is('+', '-', '~')) {
    c.next();
    c.within(() => factor(c));
    return other;
  }
  const awaited = c.take('await');
  const value = primary(c);
  if (!c.take('**')) return awaited ? other : value;
  c.within(() => factor(c));
  return other;
}

function primary(c: Cursor): Expression {
  let value = atom(c);
  for (;;) {
    if (c.take('.')) {
      c.name();
      value = { kind: 'attribute' };
    } else if (c.take('(')) {
      c.within(() => callArguments(c, true));
      value = other;
    } else if (c.take('[')) {
      c.within(() => subscripts(c));
      value = { kind: 'subscript' };
    } else return value;
  }
}

function atom(c: Cursor): Expression {
  if (c.takeKind('name')) return { kind: 'name' };
  if (c.takeKind('number') || c.take('...') || c.take('None') || c.take('True') || c.take('False'))
    return other;
  if (c.isKind('string')) return strings(c);
  if (c.take('(')) return c.within(() => parenthesized(c));
  if (c.take('[')) return c.within(() => brackets(c));
  if (c.take('{')) return c.within(() => braces(c));
  throw c.fail('an expression is missing');
}

/** Adjoining literals; all of them or none are bytes. */
export function strings(c: Cursor): Expression {
  const { bytes } = c.token;
  while (c.isKind('string')) {
    if (c.token.bytes !== bytes) throw c.fail('bytes and text are joined');
    const { fields = [] } = c.next();
    for (const field of fields) c.within(() => embedded(field));
  }
  return other;
}

/** The expression of an f-string field, read as if it stood in parentheses. */
function embedded(source: string): void {
  const inner = new Cursor(source, tokenize(source, true));
  if (inner.is('yield')) yieldExpression(inner);
  else if (starExpressions(inner).kind === 'star') throw inner.fail('a lone starred expression');
  if (!inner.isKind('end')) throw inner.fail('something does not belong in an f-string expression');
}

/** After `(`: an empty tuple, a tuple, a generator, or an expression in parentheses. */
function parenthesized(c: Cursor): Expression {
  if (c.take(')')) return { kind: 'tuple', items: [] };
  if (c.is('yield')) {
    yieldExpression(c);
    c.expect(')');
    return other;
  }
  const first = starNamed(c);
  if (comprehension(c, first)) {
    c.expect(')');
    return other;
  }
  if (!c.is(',')) {
    if (first.kind === 'star') throw c.fail('a starred expression stands alone in parentheses');
    c.expect(')');
    return first;
  }
  return { kind: 'tuple', items: [first, ...moreItems(c, ')')] };
}

function brackets(c: Cursor): Expression {
  if (c.take(']')) return { kind: 'list', items: [] };
  const first = starNamed(c);
  if (comprehension(c, first)) {
    c.expect(']');
    return other;
  }
  return { kind: 'list', items: [first, ...moreItems(c, ']')] };
}

/** The rest of a display, its closing bracket included. */
function moreItems(c: Cursor, close: string): Expression[] {
  const items: Expression[] = [];
  while (!c.take(close)) {
    c.expect(',');
    if (!c.is(close)) items.push(starNamed(c));
  }
  return items;
}

/** A set or a dictionary. */
function braces(c: Cursor): Expression {
  if (c.take('}')) return other;
  if (c.is('**')) pair(c);
  else {
    const named = c.isKind('name') && c.peek().text === ':=';
    const first = starNamed(c);
    const isSet = named || first.kind === 'star' || !c.is(':');
    if (!isSet) {
      c.expect(':');
      expression(c);
    }
    if (comprehension(c, first)) {
      c.expect('}');
      return other;
    }
    if (isSet) {
      moreItems(c, '}');
      return other;
    }
  }
  while (!c.take('}')) {
    c.expect(',');
    if (!c.is('}')) pair(c);
  }
  return other;
}

function pair(c: Cursor): void {
  if (c.take('**')) bitwise(c);
  else {
    expression(c);
    c.expect(':');
    expression(c);
  }
}

/** The `for … in … if …` clauses after an element, when there are any. */
function comprehension(c: Cursor, element: Expression): boolean {
  if (!beginsClause(c)) return false;
  if (element.kind === 'star') throw c.fail('a comprehension has a starred element');
  while (beginsClause(c)) {
    c.take('async');
    c.expect('for');
    targets(c);
    c.expect('in');
    disjunction(c);
    while (c.take('if')) disjunction(c);
  }
  return true;
}

const beginsClause = (c: Cursor): boolean => c.is('for') || (c.is('async') && c.peek().text === 'for');

/** After `(`: arguments up to and including `)`. A bare generator may be the only argument where `generator` is set. */
export function callArguments(c: Cursor, generator: boolean): void {
  let count = 0;
  let keyword = false;
  let unpacked = false;
  while (!c.take(')')) {
    if (count > 0) {
      c.expect(',');
      if (c.take(')')) return;
    }
    count++;
    if (c.take('**')) {
      expression(c);
      unpacked = true;
    } else if (c.is('*')) {
      if (unpacked) throw c.fail('an argument with "*" follows one with "**"');
      c.next();
      expression(c);
    } else if (c.isKind('name') && c.peek().kind === 'op' && c.peek().text === '=') {
      c.next();
      c.next();
      expression(c);
      keyword = true;
    } else {
      if (keyword || unpacked) throw c.fail('a positional argument follows a keyword argument');
      const value = namedExpression(c);
      if (!comprehension(c, value)) continue;
      if (!generator || count > 1 || !c.is(')')) throw c.fail('a generator expression needs parentheses');
    }
  }
}

/** After `[`: indexes and slices up to and including `]`. */
function subscripts(c: Cursor): void {
  do {
    if (c.take('*')) bitwise(c);
    else if (c.is(':')) slice(c);
    else {
      namedExpression(c);
      if (c.is(':')) slice(c);
    }
  } while (c.take(',') && !c.is(']'));
  c.expect(']');
}

/** A slice from its first colon. */
function slice(c: Cursor): void {
  c.expect(':');
  if (beginsExpression(c)) expression(c);
  if (c.take(':') && beginsExpression(c)) expression(c);
}

/** `a, *b.c, (d, e[0])`, as after `for`. */
export function targets(c: Cursor): Expression {
  return checkTarget(c, listOf(c, starTarget));
}

/** One target, as after `with … as`. */
export function target(c: Cursor): Expression {
  return checkTarget(c, starTarget(c));
}

const starTarget = (c: Cursor): Expression => (c.take('*') ? { kind: 'star', of: bitwise(c) } : bitwise(c));

export function checkTarget(c: Cursor, value: Expression): Expression {
  if (!isTarget(value, true)) throw c.fail('something is assigned to what is no variable');
  return value;
}

/** Whether an expression may be assigned to, or with `starred` false deleted. */
export function isTarget(value: Expression, starred: boolean): boolean {
  switch (value.kind) {
    case 'name':
    case 'attribute':
    case 'subscript':
      return true;
    case 'star':
      return starred && value.of.kind !== 'star' && isTarget(value.of, starred);
    case 'tuple':
    case 'list':
      return value.items.every((item) => isTarget(item, starred));
    default:
      return false;
  }
}

/** A single name, attribute or subscript, as annotations and augmented assignments want it. */
export const isSingleTarget = (value: Expression): boolean =>
  value.kind === 'name' || value.kind === 'attribute' || value.kind === 'subscript';

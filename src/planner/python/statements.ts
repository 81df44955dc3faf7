/** Python's statements: whether a program is grammatical, and what it imports. */
import { Cursor } from './cursor.ts';
import {
  callArguments,
  checkTarget,
  expression,
  isSingleTarget,
  isTarget,
  namedExpression,
  starExpressions,
  starNamed,
  target,
  targets,
  yieldOrExpressions,
} from './expressions.ts';
import { parameters } from './parameters.ts';
import { casePatterns } from './patterns.ts';
import { PythonSyntaxError } from './syntax-error.ts';
import { tokenize } from './tokens.ts';

/** The modules that a grammatical program imports, outermost statements first. Throws a `PythonSyntaxError` for any
 *  other. */
export function parseProgram(text: string): string[] {
  const nul = text.indexOf('\0');
  if (nul >= 0) throw new PythonSyntaxError('the program has a NUL', text, nul);
  const source = text.replace(/\r\n?/g, '\n');
  const c = new Cursor(source, tokenize(source));
  while (!c.isKind('end')) statement(c, 0);
  return [...c.imports].sort((a, b) => a.level - b.level).map(({ module }) => module);
}

/** `level`: how deep the statement stands in the syntax tree, the program's own being 0. */
function statement(c: Cursor, level: number): void {
  if (c.isKind('indent')) throw c.fail('a line is indented without need');
  if (c.token.kind === 'name' && c.token.text === 'match' && matchStatement(c, level)) return;
  const compound = c.token.kind === 'keyword' || c.token.kind === 'op' ? compounds[c.token.text] : undefined;
  if (compound !== undefined) c.within(() => compound(c, level));
  else simpleStatements(c, level);
}

const compounds: Readonly<Record<string, (c: Cursor, level: number) => void>> = {
  if: (c, level) => {
    c.expect('if');
    namedExpression(c);
    block(c, level);
    while (c.take('elif')) {
      namedExpression(c);
      // Each `elif` is an `if` inside the one before, as far as the tree is concerned.
      block(c, ++level);
    }
    if (c.take('else')) block(c, level);
  },
  while: (c, level) => {
    c.expect('while');
    namedExpression(c);
    block(c, level);
    if (c.take('else')) block(c, level);
  },
  for: (c, level) => {
    c.expect('for');
    targets(c);
    c.expect('in');
    starExpressions(c);
    block(c, level);
    if (c.take('else')) block(c, level);
  },
  with: (c, level) => {
    c.expect('with');
    if (!c.is('(') || c.attempt(() => parenthesizedItems(c)) === undefined) {
      do withItem(c);
      while (c.take(','));
    }
    block(c, level);
  },
  try: tryStatement,
  def: (c, level) => {
    c.expect('def');
    c.name();
    typeParameters(c);
    c.expect('(');
    parameters(c, ')', true);
    c.expect(')');
    if (c.take('->')) expression(c);
    block(c, level);
  },
  class: (c, level) => {
    c.expect('class');
    c.name();
    typeParameters(c);
    if (c.take('(')) callArguments(c, false);
    block(c, level);
  },
  async: (c, level) => {
    c.expect('async');
    if (!c.is('def', 'with', 'for')) throw c.fail('"async" needs a function, "for" or "with"');
    statement(c, level);
  },
  '@': (c, level) => {
    while (c.take('@')) {
      namedExpression(c);
      newline(c);
    }
    if (!c.is('def', 'class') && !(c.is('async') && c.peek().text === 'def')) {
      throw c.fail('a decorator needs a function or a class');
    }
    statement(c, level);
  },
};

/** `:` and what it governs: simple statements on the same line, or an indented block. */
function block(c: Cursor, level: number): void {
  c.expect(':');
  if (!c.takeKind('newline')) {
    simpleStatements(c, level + 1);
    return;
  }
  if (!c.takeKind('indent')) throw c.fail('an indented block is missing');
  while (!c.takeKind('dedent')) statement(c, level + 1);
}

function parenthesizedItems(c: Cursor): true {
  c.expect('(');
  do withItem(c);
  while (c.take(',') && !c.is(')'));
  c.expect(')');
  if (!c.is(':')) throw c.fail('":" is missing');
  return true;
}

function withItem(c: Cursor): void {
  expression(c);
  if (c.take('as')) target(c);
}

function tryStatement(c: Cursor, level: number): void {
  c.expect('try');
  block(c, level);
  let kind: 'none' | 'plain' | 'group' = 'none';
  while (c.take('except')) {
    const group = c.take('*');
    if (kind !== 'none' && (kind === 'group') !== group) throw c.fail('"except" and "except*" are mixed');
    kind = group ? 'group' : 'plain';
    if (group || !c.is(':')) {
      expression(c);
      if (c.take('as')) c.name();
    }
    // A handler is a node of the tree between the statement and the handler's own statements.
    block(c, level + 1);
  }
  if (kind !== 'none' && c.take('else')) block(c, level);
  if (c.take('finally')) block(c, level);
  else if (kind === 'none') throw c.fail('a "try" needs "except" or "finally"');
}

/** A `match` statement; false, with nothing read, when the word is an ordinary name here. */
function matchStatement(c: Cursor, level: number): boolean {
  const isMatch = c.attempt(() => {
    c.next();
    subject(c);
    c.expect(':');
    if (!c.takeKind('newline') || !c.takeKind('indent') || c.token.text !== 'case')
      throw c.fail('"case" is missing');
    return true;
  });
  if (isMatch === undefined) return false;
  c.within(() => {
    while (!c.takeKind('dedent')) {
      if (c.token.text !== 'case') throw c.fail('"case" is missing');
      c.next();
      casePatterns(c);
      if (c.take('if')) namedExpression(c);
      block(c, level + 1);
    }
  });
  return true;
}

function subject(c: Cursor): void {
  const first = starNamed(c);
  if (first.kind === 'star' && !c.is(',')) throw c.fail('a starred subject stands alone');
  while (c.take(',') && !c.is(':')) starNamed(c);
}

/** `[T, *Ts, **P]` of Python 3.12. */
function typeParameters(c: Cursor): void {
  if (!c.take('[')) return;
  do {
    if (!c.take('*')) c.take('**');
    c.name();
    if (c.take(':')) expression(c);
    if (c.take('=')) expression(c);
  } while (c.take(',') && !c.is(']'));
  c.expect(']');
}

function newline(c: Cursor): void {
  if (!c.takeKind('newline')) throw c.fail('something does not belong here,');
}

function simpleStatements(c: Cursor, level: number): void {
  do simpleStatement(c, level);
  while (c.take(';') && !c.isKind('newline'));
  newline(c);
}

function simpleStatement(c: Cursor, level: number): void {
  const { kind, text } = c.token;
  const simple = kind === 'keyword' ? simples[text] : undefined;
  if (simple !== undefined) {
    c.next();
    simple(c, level);
  } else if (kind === 'name' && text === 'type' && c.peek().kind === 'name') {
    c.next();
    c.name();
    typeParameters(c);
    c.expect('=');
    expression(c);
  } else assignment(c);
}

const ends = (c: Cursor): boolean => c.isKind('newline') || c.is(';');
const nothing = () => {};

const simples: Readonly<Record<string, (c: Cursor, level: number) => void>> = {
  pass: nothing,
  break: nothing,
  continue: nothing,
  return: (c) => {
    if (!ends(c)) starExpressions(c);
  },
  raise: (c) => {
    if (ends(c)) return;
    expression(c);
    if (c.take('from')) expression(c);
  },
  global: names,
  nonlocal: names,
  del: (c) => {
    if (!isTarget(starExpressions(c), false)) throw c.fail('something is deleted that is no variable');
  },
  assert: (c) => {
    expression(c);
    if (c.take(',')) expression(c);
  },
  import: (c, level) => {
    do {
      c.imports.push({ module: dottedName(c), level });
      if (c.take('as')) c.name();
    } while (c.take(','));
  },
  from: importFrom,
};

function names(c: Cursor): void {
  do c.name();
  while (c.take(','));
}

function dottedName(c: Cursor): string {
  const parts = [c.name()];
  while (c.take('.')) parts.push(c.name());
  return parts.join('.');
}

function importFrom(c: Cursor, level: number): void {
  let relative = false;
  while (c.take('.') || c.take('...')) relative = true;
  if (!relative || !c.is('import')) c.imports.push({ module: dottedName(c), level });
  c.expect('import');
  if (c.take('*')) return;
  const enclosed = c.take('(');
  do {
    c.name();
    if (c.take('as')) c.name();
  } while (c.take(',') && !(enclosed && c.is(')')));
  if (enclosed) c.expect(')');
}

const augmented = ['+=', '-=', '*=', '/=', '//=', '%=', '@=', '&=', '|=', '^=', '>>=', '<<=', '**='];

/** An expression by itself, or any kind of assignment. */
function assignment(c: Cursor): void {
  let value = yieldOrExpressions(c);
  if (c.take(':')) {
    if (!isSingleTarget(value)) throw c.fail('something is annotated that is no variable');
    expression(c);
    if (c.take('=')) yieldOrExpressions(c);
  } else if (c.is(...augmented)) {
    if (!isSingleTarget(value)) throw c.fail('something is assigned to what is no variable');
    c.next();
    yieldOrExpressions(c);
  } else {
    while (c.take('=')) {
      checkTarget(c, value);
      value = yieldOrExpressions(c);
    }
  }
}

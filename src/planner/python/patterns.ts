/** The patterns of `case`. */
import type { Cursor } from './cursor.ts';
import { strings } from './expressions.ts';

/** What follows `case`: a pattern, or a sequence without brackets. */
export function casePatterns(c: Cursor): void {
  const starred = maybeStar(c);
  if (!c.is(',')) {
    if (starred) throw c.fail('a starred pattern stands alone');
    return;
  }
  while (c.take(',') && !c.is(':', 'if')) maybeStar(c);
}

/** True when the pattern is starred. */
function maybeStar(c: Cursor): boolean {
  if (!c.take('*')) {
    pattern(c);
    return false;
  }
  c.name();
  return true;
}

function pattern(c: Cursor): void {
  c.within(() => {
    do closed(c);
    while (c.take('|'));
    if (c.take('as')) capture(c);
  });
}

function capture(c: Cursor): void {
  if (c.token.text === '_') throw c.fail('"_" cannot be a target here');
  c.name();
}

function closed(c: Cursor): void {
  if (c.is('-') || c.isKind('number')) numberPattern(c);
  else if (c.isKind('string')) strings(c);
  else if (c.take('None') || c.take('True') || c.take('False')) return;
  else if (c.isKind('name')) namePattern(c);
  else if (c.take('(')) group(c, ')');
  else if (c.take('[')) group(c, ']');
  else if (c.take('{')) mapping(c);
  else throw c.fail('a pattern is missing');
}

/** A signed number, or the sum of a real and an imaginary one. */
function numberPattern(c: Cursor): void {
  c.take('-');
  const imaginary = () => /[jJ]$/.test(c.token.text);
  const first = imaginary();
  if (!c.takeKind('number')) throw c.fail('a number is missing');
  if (!c.is('+', '-')) return;
  c.next();
  if (first || !imaginary() || !c.takeKind('number')) throw c.fail('a complex number is not well formed');
}

/** A capture, a dotted value, or a class with its patterns. */
function namePattern(c: Cursor): void {
  c.name();
  while (c.take('.')) c.name();
  if (!c.take('(')) return;
  let keyword = false;
  while (!c.take(')')) {
    if (c.isKind('name') && c.peek().text === '=') {
      c.next();
      c.next();
      keyword = true;
    } else if (keyword) throw c.fail('a positional pattern follows a keyword pattern');
    pattern(c);
    if (!c.is(')')) c.expect(',');
  }
}

/** After the opening bracket. Parentheses around one pattern only group it, so that one may not be starred. */
function group(c: Cursor, close: string): void {
  let count = 0;
  while (!c.take(close)) {
    const starred = maybeStar(c);
    count++;
    if (c.take(',')) continue;
    if (count === 1 && starred && close === ')') throw c.fail('a starred pattern stands alone');
    c.expect(close);
    return;
  }
}

function mapping(c: Cursor): void {
  while (!c.take('}')) {
    if (c.take('**')) {
      capture(c);
      c.take(',');
      c.expect('}');
      return;
    }
    key(c);
    c.expect(':');
    pattern(c);
    if (!c.is('}')) c.expect(',');
  }
}

function key(c: Cursor): void {
  if (!c.isKind('name')) {
    if (c.is('(', '[', '{')) throw c.fail('a key must be a literal or a dotted name');
    closed(c);
    return;
  }
  c.name();
  do c.expect('.');
  while (c.name() !== '' && c.is('.'));
}

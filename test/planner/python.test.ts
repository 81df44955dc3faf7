import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readPython } from '../../src/planner/python.ts';

const grammatical = [
  '',
  '# only a comment',
  'x = 1.',
  'x = yield',
  'lambda a, /, b=1, *c, d, **e: (yield)',
  'with (open(a) as b, open(c) as d.e,): pass',
  'for *a, b in *c, d: pass',
  'x[*a, b:c:d, ...]',
  '{a := 1, 2}',
  '{**a, b: lambda: 1}',
  'print(f"{x!r:>{width}} {{}} {y = } {d["key"]}")',
  'f(*a, b=1, *c, **d)',
  'def f(a: int = 1, /, *b: str, c, **d: x) -> y: return',
  '@a or b\nasync def f():\n  async with a as b, c: pass\n  return [await y async for x in z if x]',
  'match = 1; case = match; type = case\nmatch[0](case)',
  'match w := x,:\n  case y as v,: z = 0\nmatch *a, b := c, *d,:\n  case _: pass\nmatch (x):\n  case _: pass',
  'match x, y:\n  case [1 | -2.5+3j, *_] | {"a": None, **rest} if rest: pass\n  case A.B(c, d=(e as f)): pass',
  'try:\n  pass\nexcept* A as e:\n  pass\nelse: pass\nfinally: pass',
  'if x:\n\tpass\nelif y: pass; z\nelse:\n        pass',
  '0x1for x in y',
  "rb'a' B'b'",
  'global a, b',
  'x: int = 1, 2\n(y): str\nz.a[0] += yield b',
  'a = *b, c = d',
  'del a, (b.c, [d[0]])',
  'from ... a import (b as c, d,)'.replace('... a', '...a'),
];
test.for(grammatical)('%j is grammatical', (source) => {
  expect(readPython(source).problem).toBeUndefined();
});

const ungrammatical = [
  ' x',
  'def',
  "print 'x'",
  'x = (1,',
  'x = 1)',
  'y := 2',
  'f(a=1, 2)',
  'f(x for x in y, 1)',
  'f(**a, *b)',
  'def f(a=1, b): pass',
  'def f(*): pass',
  'def f(a, /, b, /): pass',
  'lambda **k, a: 1',
  'f() = 1',
  'None = 1',
  'a, b += 1',
  'x, y: int',
  'for 1 in x: pass',
  'for x in y',
  'del f()',
  'from x import a,',
  'import a.b as c.d',
  'a <> b',
  'a == not b',
  '0777',
  '1__0',
  '1a',
  "'a' b'b'",
  "b'\u00e9'",
  String.raw`'\x1'`,
  String.raw`'\N'`,
  "f'}'",
  "f'{}'",
  "f'{a!x}'",
  "f'{a b}'",
  "'a\nb'",
  '(*a)',
  '[*a for a in b]',
  '{a: 1, b}',
  'x.class',
  'x ? y',
  'x \\ y',
  'x\\',
  'x\u0000',
  '\ufeffx',
  'try: pass',
  'try: pass\nexcept: pass\nexcept* A: pass',
  '@a\nx = 1',
  'async x',
  'if x:\npass',
  'if x:\n  a\n b',
  'if x:\n\ta\n        b',
  'x\n  y',
  'a;; b',
  'match x:\n  case a + b: pass',
  'match *x:\n  case _: pass',
  'match x, , y:\n  case _: pass',
  'match x:\n  case {**r, "a": 1}: pass',
  'match x:\n  case A(b=1, c): pass',
];
test.for(ungrammatical)('%j is not', (source) => {
  expect(readPython(source)).toEqual({ problem: expect.stringMatching(/\(line \d+\)$/), imports: [] });
});

test.for(['()', '[]', '{}'])(
  'two hundred nested %s are grammatical, and one more is not',
  ([open, close]) => {
    const nested = (n: number) => `${(open ?? '').repeat(n)}${(close ?? '').repeat(n)}`;
    const wrapped = (n: number) => (open === '{' ? `${'{1:'.repeat(n)}1${'}'.repeat(n)}` : nested(n));
    expect(readPython(wrapped(200)).problem).toBeUndefined();
    expect(readPython(wrapped(201)).problem).toContain('nested');
  },
);

test('what newer Pythons added is accepted, and what only the compiler finds is no matter of grammar', () => {
  for (const source of [
    'type X = int',
    'def f[T](x: T): pass',
    "f'{a['b']}'",
    '"\\N{no such name}"',
    '"\ud800"',
    'return 1',
    'await x',
    'break',
    'def f(a, a): pass',
  ])
    expect(readPython(source).problem, source).toBeUndefined();
});

test('imports are listed outermost first, each as often as it stands there', () => {
  const source =
    'def f():\n  import inner.one as i\n  if x:\n    from deep import *\nimport outer, outer\n' +
    'from .rel import a\nfrom . import b\ntry: import opt\nexcept E: import late';
  expect(readPython(source).imports).toEqual(['outer', 'outer', 'rel', 'inner.one', 'opt', 'deep', 'late']);
});

test.for([
  '(',
  '[',
  '{',
  'not ',
  '-',
  'lambda: ',
  'x if y else ',
  'f(',
  'a[',
  '{1: ',
  "f'{",
  'if x: ',
  'await ',
  'x**',
  '@',
])('a hundred thousand times %j is an error or not, but never a crash', (piece) => {
  expect(readPython(piece.repeat(100_000)).problem).toBeDefined();
});

test('any text is read without a crash', () => {
  const piece = fc.constantFrom(
    ...[
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      ':',
      ',',
      '=',
      ':=',
      '*',
      '**',
      '.',
      '@',
      '!',
      '|',
      '\\',
      '\n',
      '\n  ',
      '\t',
      "'",
    ],
    ...[
      '"',
      "f'{",
      "'''",
      'rb"',
      '1',
      '1.',
      '0x',
      'x',
      'if ',
      'else ',
      'for ',
      'in ',
      'lambda ',
      'match ',
      'case _',
    ],
    ...[
      'def f',
      'class A',
      'import ',
      'from ',
      'as ',
      'yield ',
      'await ',
      'async ',
      'with ',
      'try',
      'except',
      'é',
      '\ud800',
    ],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      readPython(pieces.join(''));
    }),
    { numRuns: 2000 },
  );
});

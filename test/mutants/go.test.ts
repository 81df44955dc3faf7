/** What a Go compiler would refuse without its uses stays in the text. */
import { expect, test } from 'vitest';
import { described } from './support.ts';

const inFunction = (body: string): string =>
  `package a\nfunc f(a int, b string) (int, error) {\n${body}\n}\n`;

test.for<[string, string[]]>([
  ['x := a + c', ['arithmetic: + → -']],
  ['x := "a" + b', ['string: a → nothing']],
  ['x := a < c', ['boundary: < → <=', 'comparison: < → >=']],
  ['x := c && d', ['logic: c &&  → nothing', 'logic:  && d → nothing']],
  [
    'if err != nil {\n}',
    ['condition: err != nil → err != nil && false', 'condition: err != nil → err != nil || true'],
  ],
  [
    'if !c && d {\n}',
    [
      'negation: !c → c',
      'logic: !c &&  → nothing',
      'condition: !c && d → !c && d && false',
      'logic:  && d → nothing',
    ],
  ],
  ['for c {\n}', ['condition: c → c && false']],
  ['for i := 0; i < a; i++ {\n}', ['number: 0 → 1', 'condition: i < a → i < a && false', 'boundary: < → <=']],
  ['a += c', ['statement: a += c → if false { a += c }', 'assignment: += → -=']],
  ['a++', ['statement: a++ → if false { a++ }', 'assignment: ++ → --']],
  ['g(c)', ['statement: g(c) → if false { g(c) }']],
  ['for _, x := range c { continue }', ['statement: continue → nothing']],
  ['return a, nil', ['return: return a, nil → _ = a; return 0, nil']],
  ['return g()', ['return: return g() → _, _ = g(); return 0, nil']],
  ['x := fmt.Sprintf("a %d%% b", a)', ['template: a  → nothing', 'template: %% b → nothing']],
  ['x := `a`', ['string: a → nothing']],
  ['x := strings.TrimSpace(b)', ['call: strings.TrimSpace(b) → b']],
  ['x := strings.HasPrefix(b, c)', ['call: HasPrefix → HasSuffix']],
  [
    'x := regexp.MustCompile(`^\\D`)',
    ['regex anchor: ^ → nothing', 'string: ^\\D → nothing', 'regex class: D → d'],
  ],
])('%s is mutated where its behaviour can be seen', async ([text, expected]) => {
  expect(await described('a.go', inFunction(text))).toEqual(expected.map((one) => `3 ${one}`));
});

test.for(['// 1', 'return', 'return nil, nil', 'var x [3]int', 'slog.Debug("a", 1)', 'for {\nbreak\n}'])(
  '%s has no mutants',
  async (text) => {
    expect(await described('a.go', inFunction(text))).toEqual([]);
  },
);

test('names in JSON are texts, imports are not', async () => {
  const text = 'package a\nimport "b"\ntype c struct {\n\tD int `json:"d"`\n}\n';
  expect(await described('a.go', text)).toEqual(['4 string: json:"d" → nothing']);
});

test.for([
  ['*T', 'nil'],
  ['[]int', 'nil'],
  ['bool', 'false'],
  ['string', '""'],
  ['float64', '0'],
  ['T', '*new(T)'],
])('nothing of type %s is %s', async ([type, nothing]) => {
  expect(await described('a.go', `package a\nfunc f() ${type} { return g }\n`)).toEqual([
    `2 return: return g → _ = g; return ${nothing}`,
  ]);
});

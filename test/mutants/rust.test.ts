import { expect, test } from 'vitest';
import { described } from './support.ts';

test.for<[string, string[]]>([
  ['let x = a + b;', ['arithmetic: + → -']],
  ['let x = a + "b";', ['string: b → nothing']],
  ['let x = a <= b;', ['boundary: <= → <', 'comparison: <= → >']],
  ['let x = a || b;', ['logic: a ||  → nothing', 'logic:  || b → nothing']],
  ['if a == b {}', ['condition: a == b → false', 'condition: a == b → true']],
  ['while !a {}', ['condition: !a → false']],
  ['for x in 1..y {}', ['number: 1 → 2', 'boundary: .. → ..=']],
  ['for x in y { continue; }', ['statement: continue; → ;']],
  ['x += 1u32;', ['statement: x += 1u32; → ;', 'assignment: += → -=', 'number: 1u32 → 2u32']],
  [
    'println!("a {} {{b}} {c:?}", d);',
    [
      'statement: println!("a {} {{b}} {c:?}", d); → ;',
      'template: a  → nothing',
      'template:  {{b}}  → nothing',
    ],
  ],
  ['let x = r#"a"#;', ['string: a → nothing']],
  ['let x = true;', ['boolean: true → false']],
  ['let x = a.trim();', ['call: a.trim() → a']],
  ['let x = a.is_some();', ['call: is_some → is_none']],
  [
    'let x = Regex::new(r"[^a]+");',
    ['string: [^a]+ → nothing', 'regex class: ^ → nothing', 'regex quantifier: + → nothing'],
  ],
  [
    'match a { x if x > b => {} _ => {} }',
    ['condition: x > b → false', 'condition: x > b → true', 'boundary: > → >='],
  ],
])('%s is mutated where its behaviour can be seen', async ([text, expected]) => {
  expect(await described('a.rs', `fn f() { ${text} }`)).toEqual(expected.map((one) => `1 ${one}`));
});

test.for([
  '// 1',
  '/// 1\nstruct A;',
  'use a::b;',
  '#[derive(Debug)]\nstruct A { a: [u8; 3] }',
  'fn f() { assert_eq!(1, 2); debug!("a"); }',
  'fn f() { let x = a.expect("b"); }',
  'fn f() { if let Some(a) = b {} }',
  '#[test]\nfn f() { g(1); }',
  '#[cfg(test)]\nmod tests { fn f() { g(1); } }',
  'fn f() { loop { break; } }',
])('%s has no mutants', async (text) => {
  expect(await described('a.rs', text)).toEqual([]);
});

test.for([
  ['Result<T, E>', 'Ok(Default::default())'],
  ['io::Result<()>', 'Ok(())'],
  ['Option<T>', 'None'],
  ['&str', '""'],
  ['bool', 'false'],
  ['Vec<T>', 'Default::default()'],
])('nothing of type %s is %s, returned or as the last value', async ([type, nothing]) => {
  expect(await described('a.rs', `fn f() -> ${type} { return a; }`)).toEqual([`1 return: a → ${nothing}`]);
  expect(await described('a.rs', `fn f() -> ${type} { a }`)).toEqual([`1 return: a → ${nothing}`]);
});

test.for(['Self', 'impl Iterator<Item = T>', 'Box<dyn T>'])('nothing is known of type %s', async (type) => {
  expect(await described('a.rs', `fn f() -> ${type} { a }`)).toEqual([]);
});

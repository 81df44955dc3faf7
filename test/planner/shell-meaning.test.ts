import { expect, test } from 'vitest';
import { isQuoted, shellMeaning } from '../../src/planner/shell-meaning.ts';

test.for([
  ['a|b||c|&d', '| || |&'],
  ['a&b&&c;d;;e', '& && ; ;;'],
  ['a >5 2>b 22>>c 2>&1 >&2 <&- x2>y', '> 2> 22>> 2>&1 >&2 <&- >'],
  ['a <b <<c <<-d <<<e <>f >|g &>h &>>i', '< << <<- <<< <> >| &> &>>'],
  ['a <(b >(c', '<( >('],
  ['a $(b', '$('],
  ['a `b c` d', '` `'],
  ['a "2>&1" \'|\' \\; $x (b)', ''],
  ['test "$(cat f)" = "`y`"', '"$(cat f)" "`y`"'],
  ['node -e "`${a}$(b)`;" \'$(x)\' \'`y`\' "a$(b)"', ''],
  ['a\nb \r\n c', "a line's end a line's end"],
  ['\na "\n" b\\\nc\n', ''],
  ['a"|"b|\\|\'&\'&', '| &'],
  ['a #b c#d', '#'],
  ['X=1 cd a', 'cd'],
  ["'!' a", '!'],
  ['if', 'if'],
  ['a cd', ''],
  ['', ''],
] as const)('in %j a shell would see %j', ([command, expected]) => {
  expect(shellMeaning(command).operators.join(' ')).toBe(expected);
});

test.for([
  ['a $b ${c} $1 $@ x$?', '$b ${c} $1 $@ x$?'],
  ['a * b? [cd]e {f,g}', '* b? [cd]e {f,g}'],
  ['a "$b" \'*\' \\? "{f,g}" $ [ ] {} {f} a$', ''],
  ['a "b"$c"d"', '"b"$c"d"'],
] as const)('in %j a shell would expand %j', ([command, expected]) => {
  expect(shellMeaning(command).expansions.join(' ')).toBe(expected);
});

test('a word is quoted when any of it is', () => {
  expect(isQuoted('a | b', '|')).toBe(false);
  for (const command of ["a '|' b", 'a "|" b', 'a \\| b', "a '|'"]) expect(isQuoted(command, '|')).toBe(true);
  expect(isQuoted("a '&' |", '|')).toBe(false);
});

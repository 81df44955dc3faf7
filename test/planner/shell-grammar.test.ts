import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shellGrammarProblem } from '../../src/planner/shell-grammar.ts';

describe('grammatical, or beyond what is judged', () => {
  test.for([
    '',
    '# nothing',
    'a; b & c\nd &',
    'a && b ||\n c | d |& e',
    '! a | b',
    'if a; then b; elif c; then d; else e; fi > f && g',
    'if a\nthen\nb\nfi',
    'while a; do b; done | until c; do d; done',
    'for x in a "b c" $d; do echo $x; done; for y; do :; done; for z do :; done',
    'case $x in a|b) c;; (d) e; f;; *) ;; esac',
    'case x in a) b; esac',
    'case x in a) b;& c) d;;& *) e;; esac',
    'case x in esac',
    'f() { a; }; g ()\n( b )',
    '(a; (b)) | { c; } 2>&1',
    'a=$(b "c)" $(d)) e="$(f \')\')" `g \\` h`',
    'a >b <c 2>>d &>e >&2 <<<f',
    'echo fi then } { esac',
    'echo a#b \\" \'"\' "\'" ${x:-y} ${#z} $((1 + (2)))',
    'a \\\nb',
    'if a; \\\n then b; fi',
    'a |\n b',
    "a # it's\nb",
    'echo "a\\"b"',
    'echo $(( (a) * 2 ))',
    '(( (a) * 2 ))',
    '"if" a; \\then b',
    'a <<E\nif\nE',
    '<<E cat\nif\nE',
    'a; <<-E b\nif\nE',
    '[[ a && b ]]',
    'x=(a b)',
    'echo !(a|b)',
    '((i++))',
    'function f { a; }',
    'coproc x { a; }',
    'select x in a; do b; done',
    'time { a; }',
    "echo $'it\\'s'",
    'diff <(a) <(b)',
    'echo ${x:-"a}"}',
    '!',
  ])('%j', (text) => expect(shellGrammarProblem(text)).toBeUndefined());
});

describe('not grammatical', () => {
  test.for([
    ['echo "a', 'double quote'],
    ["echo 'a", 'single quote'],
    ['echo `a', 'backtick'],
    ['echo $(a', 'it ends where ) is needed'],
    ['echo "$(a', 'it ends where ) is needed'],
    ['a && fi', 'fi stands'],
    ['! done', 'done stands'],
    ['{ a; } b', 'b stands'],
    ['(a) b', 'b stands'],
    ['if a; then b; fi c', 'c stands'],
    ['a &&', 'it ends'],
    ['a |', 'it ends'],
    ['|| a', '|| stands'],
    ['a ; ; b', '; stands'],
    ['a;; b', ';; stands'],
    ['a & && b', '&& stands'],
    ['if a; then b', 'it ends where fi is needed'],
    ['if a; b; fi', 'fi stands where then is needed'],
    ['if a; then fi', 'fi stands'],
    ['if a; then b; else fi', 'fi stands'],
    ['fi', 'fi stands'],
    ['a; done', 'done stands'],
    ['while a; do b; fi', 'fi stands where done is needed'],
    ['for x in a; b; done', 'b stands where do is needed'],
    ['case x a) b;; esac', 'a stands where in is needed'],
    ['case x in a b) c;; esac', 'b stands where ) is needed'],
    ['case x in a) b;;', 'it ends'],
    ['(a', 'it ends where ) is needed'],
    ['a)', ') stands'],
    ['()', ') stands'],
    ['{ a', 'it ends where } is needed'],
    ['f() ', 'it ends'],
    ['f(a) b', 'a stands where ) is needed'],
    ['a > ', 'it ends'],
    ['a > ; b', '; stands'],
    ['(a) b', 'b stands'],
    ['if a; then b; fi c', 'c stands'],
    ['a "b" (c)', undefined],
    ['"if" a; then b; fi', 'then stands'],
  ] as const)('%j', ([text, why]) => {
    const problem = shellGrammarProblem(text);
    if (why === undefined) expect(problem).toBeUndefined();
    else expect(problem).toContain(why);
  });
});

test('any text is read without a crash', () => {
  const pieces = fc.constantFrom(
    ...'if then fi else while do done for x in case esac ; ;; & && | ( ) { } " \' ` $( ${ $x > << 2>&1 \\ # !'.split(
      ' ',
    ),
    '\n',
    'a) ',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 25 }), (parts) => {
      shellGrammarProblem(parts.join(' '));
    }),
    { numRuns: 1000 },
  );
  for (const piece of ['(', '{ ', '$(', 'if ', '"$(', '`', '! ', 'a | '])
    shellGrammarProblem(piece.repeat(100_000));
});

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { singleQuoted } from '../../src/core/policy/words.ts';
import { contextKeysIn, expand, quotedReferences, references } from '../../src/core/references.ts';

const values: Readonly<Record<string, string>> = {
  'var:spec': '.factory/in/spec.md',
  'var:again': '${var.spec} $goal',
  'ctx:a.b': "it's",
  'node:plan.summary': 'two words',
  'ctx:empty': '',
};
const scope = { goal: 'ship it', lookup: (kind: string, key: string) => values[`${kind}:${key}`] };
const noGoal = { ...scope, goal: undefined };

test.for([
  ['do $goal now', 'do ship it now'],
  ['${goal}!', 'ship it!'],
  ['$goalpost $goal_x $goal2 $goal.', '$goalpost $goal_x $goal2 ship it.'],
  ['$goal$goal', 'ship itship it'],
  ['read ${var.spec}', 'read .factory/in/spec.md'],
  ['${ctx.a.b} ${node.plan.summary}', "it's two words"],
  ['${ctx.empty}|', '|'],
  ['once: ${var.again}', 'once: ${var.spec} $goal'],
  ['$${var.spec} $${HOME}', '${var.spec} ${HOME}'],
  ['${HOME} ${x:-y} $HOME ${ var.spec }', '${HOME} ${x:-y} $HOME ${ var.spec }'],
  ['$$goal', '$ship it'],
  ['${', '${'],
  ['', ''],
] as const)('%s expands to %s', ([text, wanted]) => {
  expect(expand(text, scope, 'plain')).toEqual({ text: wanted });
});

test.for([
  ['${var.nope}', 'var.nope'],
  ['${ctx.nope}', 'ctx.nope'],
  ['${node.plan.nope}', 'node.plan.nope'],
  ['${var.}', 'var.'],
] as const)('%s is unknown', ([text, unknown]) => {
  expect(expand(text, scope, 'plain')).toEqual({ unknown });
  expect(expand(text, scope, 'shell')).toEqual({ unknown });
});

test('without a goal $goal is unchanged and ${goal} is unknown', () => {
  expect(expand('do $goal', noGoal, 'plain')).toEqual({ text: 'do $goal' });
  expect(expand('do $goal', noGoal, 'shell')).toEqual({ text: 'do $goal' });
  expect(expand('do ${goal}', noGoal, 'plain')).toEqual({ unknown: 'goal' });
});

test('in a shell command values are single words and other ${…} is the shell’s', () => {
  expect(expand('cat ${ctx.a.b} ${HOME} ${x:-${var.spec}} $${var.spec}', scope, 'shell')).toEqual({
    text: "cat 'it'\\''s' ${HOME} ${x:-'.factory/in/spec.md'} ${var.spec}",
  });
});

test('a shell restores exactly the quoted value', () => {
  const value = fc.string({ unit: 'binary' }).filter((v) => !v.includes('\0'));
  fc.assert(
    fc.property(fc.array(value, { minLength: 10, maxLength: 30 }), (all) => {
      const out = execFileSync('sh', ['-c', `printf '%s\\0' ${all.map(singleQuoted).join(' ')}`]);
      expect(out.equals(Buffer.from(all.map((v) => `${v}\0`).join('')))).toBe(true);
    }),
    { numRuns: 8 },
  );
});

test.for(['sh', 'bash'])(
  'in backquotes %s restores exactly the value too, and executes no part of it',
  (shell) => {
    const values = ['a`; echo ran; `b', '\\`\\\\$(echo ran)\\', "it's $HOME", '`', '\\', '\\\\$'].map(
      (value) => value.replaceAll(' ', ''),
    );
    const commands = values.flatMap((value) =>
      ["printf %s `printf '<%s>' ${var.v}`", 'printf %s "`printf \'<%s>\' ${var.v}`"'].map((command) => {
        const said = expand(command, { goal: undefined, lookup: () => value }, 'shell');
        return 'text' in said ? said.text : '';
      }),
    );
    expect(execFileSync(shell, ['-c', commands.join('\n')], { encoding: 'utf8' })).toBe(
      values.map((value) => `<${value}>`.repeat(2)).join(''),
    );
  },
);

test.for(['sh', 'bash'])(
  'in a here-document %s executes no part of a value, and the value does not end it',
  (shell) => {
    const commands: string[] = [];
    const wanted: string[] = [];
    const inDocument = (opens: string, ends: string, value: string, said: string) => {
      const command = `cat ${opens}\nDon't: ${'${var.v}'}\n${ends}\necho done`;
      const expanded = expand(command, { goal: undefined, lookup: () => value }, 'shell');
      commands.push('text' in expanded ? expanded.text : '');
      wanted.push(`Don't: '${said}'\ndone\n`);
    };
    const hostile = 'a $(echo ran) `echo ran` ${HOME} \\ \\$x';
    for (const [opens, ends] of [
      ['<<E', 'E'],
      ['<<\\E', 'E'],
      [`<<'E E'`, 'E E'],
      ['<<-"E"', '\t\tE'],
    ] as const) {
      const name = ends.trim();
      inDocument(opens, ends, hostile, hostile);
      inDocument(opens, ends, `a\n${name}\necho ran\n`, `a\n${name} \necho ran\n`);
      inDocument(opens, ends, 'tame', 'tame');
    }
    expect(execFileSync(shell, ['-c', commands.join('\n')], { encoding: 'utf8' })).toBe(wanted.join(''));
  },
);

test('no line of a multi-line value in a comment is executed', () => {
  const said = expand(
    '# see ${var.v}\necho done',
    { goal: undefined, lookup: () => 'a\necho ran\r\n#' },
    'shell',
  );
  expect(execFileSync('sh', ['-c', 'text' in said ? said.text : ''], { encoding: 'utf8' })).toBe('done\n');
});

test.for(['sh', 'bash'])('comments and text that looks like one do not change a value in %s', (shell) => {
  const value = 'a\\b $HOME `echo ran`\n"c';
  for (const [command, before] of [
    // Backquotes end a comment inside them.
    ['printf "<%s>" a ` # note` ${var.v}', '<a>'],
    ["printf '<%s>' a `# it's a note` ${var.v}", '<a>'],
    ['printf "<%s>" `echo a # note` ${var.v}', '<a>'],
    // A # within a word or braces does not begin a comment.
    ['v="a #b"; printf "<%s>" ${v% #*} ${var.v}', '<a>'],
    ['v="a #b"; printf "<%s>" $${v%%[ #]*} ${var.v}', '<a>'],
    ['printf "<%s>" a\\ #b ${var.v}', '<a #b>'],
    ['printf "<%s>" a\\\n#b ${var.v}', '<a#b>'],
    // A here-document ends at its name, in any quoting.
    ['cat <<"E"F; printf "<%s>" ${var.v}\nit`s\nEF', 'it`s\n'],
    ["cat <<E\\O'F'; printf '<%s>' ${var.v} # ${var.v}\nit`s\nEOF\n: `\n`", 'it`s\n'],
    ['cat <<E\\OF\nit`s\nEOF\nprintf "<%s>" ${var.v}', 'it`s\n'],
  ] as const) {
    const said = expand(command, { goal: undefined, lookup: () => value }, 'shell');
    const out = execFileSync(shell, ['-c', 'text' in said ? said.text : ''], { encoding: 'utf8' });
    expect(out, command).toBe(`${before}<${value}>`);
  }
});

test.for(['sh', 'bash'])('in a here-document within backquotes %s executes no part of a value', (shell) => {
  const value = 'a $(echo ran) `echo ran` \\ $HOME';
  for (const opens of ['E', '\\E', "'E'"]) {
    const command = `printf %s "\`cat <<${opens}\n${'${var.v}'}\nE\n\`"`;
    const said = expand(command, { goal: undefined, lookup: () => value }, 'shell');
    const out = execFileSync(shell, ['-c', 'text' in said ? said.text : ''], { encoding: 'utf8' });
    expect(out, opens).toBe(`'${value}'`);
  }
});

test('references are listed with their places', () => {
  expect(references('a ${var.x} $${var.y} $goal')).toEqual([
    { kind: 'var', key: 'x', written: '${var.x}', at: 2, length: 8 },
    { kind: 'goal', key: '', written: '$goal', at: 21, length: 5 },
  ]);
});

test.for([
  ['cat ${var.x}', []],
  ['cat "${var.x}"', ['${var.x}']],
  ["cat '${var.x}' ${var.y}", ['${var.x}']],
  ['echo "a" ${var.x} "b"', []],
  ['echo "$(cat ${var.x})"', []],
  ['echo "$(cat "${var.x}")"', ['${var.x}']],
  ['echo "`cat ${var.x}`"', []],
  ['echo \\" ${var.x}', []],
  ['echo "\\" ${var.x}"', ['${var.x}']],
  ["# don't\ncat ${var.x}", []],
  ["echo a#b'${var.x}'", ['${var.x}']],
  ['echo "it\'s" ${var.x}', []],
  ['( echo "$goal" )', ['$goal']],
  ['# ${var.x} "\necho "${var.y}"', ['${var.y}']],
  // A backslash before a value escapes its first quote, inside double quotes or not.
  ['echo \\${var.x}; cat "${var.y}" ${var.z}', ['${var.x}', '${var.y}']],
  ['echo "\\$goal" ${var.x}', ['$goal']],
  ['echo \\\\${var.x}', []],
  ["cat <<EOF > x\nDon't\n${var.x}\nEOF\necho ${var.y} '${var.z}'", ['${var.z}']],
  ["cat <<-'E O' <<B # it's\n'\n\tE O\n\"\nB\necho ${var.y} \"${var.z}\"", ['${var.z}']],
  ["echo $((a << b))\necho '${var.x}'", ['${var.x}']],
  ["cat <<< it's\n${var.x}'", ['${var.x}']],
  ["make `# don't stop` ${var.x}", []],
  ['cat ${x:-it\'s "${var.x}"\'} ${var.y}', ['${var.x}']],
  ["cat <<E'O'F\nDon't\nEOF\necho ${var.x}", []],
] as const)('quoted references of %s are %j', ([command, wanted]) => {
  expect(quotedReferences(command).map((r) => r.written)).toEqual(wanted);
});

test('expansion never throws and never expands inserted values', () => {
  const piece = fc.constantFrom(
    ...'$ { } goal var.spec var.again $goal ${var.again} .'.split(' '),
    "'",
    '"',
    '#',
    '\n',
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = pieces.join('');
      const own = { goal: '<${var.spec}$goal>', lookup: () => '<${goal}>' };
      const out = expand(text, own, 'plain');
      expect('text' in out).toBe(true);
      for (const { at, length, written } of references(text))
        expect(text.slice(at, at + length)).toBe(written);
      quotedReferences(text);
    }),
  );
});

const said: Readonly<Record<string, string>> = {
  'var:feature': 'dark mode',
  'var:my-file': 'a.md',
  'var:repo': 'from vars',
  'var:twice': '$feature {{ goal }} $context.plan',
  'ctx:plan': 'two steps',
  'ctx:tool.output': 'ok',
};
const field = { goal: 'ship it', lookup: (kind: string, key: string) => said[`${kind}:${key}`] };

test.for([
  ['{{ goal }} and {{goal}}', 'ship it and ship it'],
  ['in {{ inputs.repo }}, {{inputs.my-file}}', 'in from vars, a.md'],
  ['{{ other }} {{ .ID }} ${{ inputs.repo }}', '{{ other }} {{ .ID }} ${{ inputs.repo }}'],
  ['Add $feature. To $feature-list, in $my-file', 'Add dark mode. To dark mode-list, in a.md'],
  ['costs $5, $HOME, $featured', 'costs $5, $HOME, $featured'],
  ['$context.plan, $context.repo.', 'two steps, from vars.'],
  ['saw $context.tool.output.', 'saw ok.'],
  ['$context.nothing $context', '$context.nothing $context'],
  ['$$feature $$context.plan $$goal $$HOME', '$feature $context.plan $goal $$HOME'],
  ['$twice', '$feature {{ goal }} $context.plan'],
  ['$goal-post $goal_x', 'ship it-post $goal_x'],
] as const)('the prompt "%s" is "%s"', ([text, wanted]) => {
  expect(expand(text, field, 'prompt')).toEqual({ text: wanted });
});

test('in a command an input is one word, and other words and braces stay', () => {
  const text = "run {{ inputs.feature }} $feature $context.plan $$feature '{{.ID}}'";
  expect(expand(text, field, 'shell')).toEqual({
    text: "run 'dark mode' $feature $context.plan $$feature '{{.ID}}'",
  });
  expect(expand('{{ inputs.nope }}', field, 'shell')).toEqual({ unknown: 'var.nope' });
  expect(expand('{{ goal }}', { ...field, goal: undefined }, 'prompt')).toEqual({ text: '{{ goal }}' });
  expect(quotedReferences('echo "{{ inputs.feature }}"')).toHaveLength(1);
});

test('a text names the context keys that it may read', () => {
  expect(contextKeysIn('${ctx.a.b} $context.c.d. {{ goal }}')).toEqual(['a.b', 'c.d', 'c']);
});

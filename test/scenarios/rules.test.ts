/** What is decided without running anything: which files are scenarios, what they need, what may be shown of them. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { visibleFailure, withoutSealed } from '../../src/core/policy/visible-failure.ts';
import { classify, markerIn, type PhaseEvidence, worst } from '../../src/scenarios/classify.ts';
import { discover, needsOf } from '../../src/scenarios/discover.ts';
import { lintText } from '../../src/scenarios/lint.ts';
import { firstUnreachable, productRuns } from '../../src/scenarios/phase.ts';
import { home } from '../support/cli.ts';

describe('which files are scenarios', () => {
  test('those that are called so, without the harness, helpers and folders', async () => {
    await using it = await home({
      's/a_user_scenarios.sh': '',
      's/b_component_checks.py': '',
      's/c_scenario.mjs': '',
      's/helper.sh': '',
      's/other.sh': '',
      's/lib_scenario.sh': '',
      's/preflight_scenario.sh': '',
      's/lint_scenarios.sh': '',
      's/preflight_provider_live.sh': '',
      's/README_scenario.md': '',
      's/d_scenario.txt': '',
    });
    await mkdir(join(it.path, 's/e_scenario.sh'));
    const found = await discover(join(it.path, 's'));
    expect(found.scenarios.map(({ name, interpreter }) => [name, ...interpreter])).toEqual([
      ['a_user_scenarios.sh', 'bash'],
      ['b_component_checks.py', 'python3'],
      ['c_scenario.mjs', 'node'],
    ]);
    expect(found.passedOver).toEqual(['other.sh']);
  });

  test('one that only begins like a helper is not run, and not passed over in silence', async () => {
    await using it = await home({
      's/a_user_scenarios.sh': '',
      's/library_user_scenarios.sh': '',
      's/settings.sh': '',
      's/setups.sh': '',
      's/utils_scenario.sh': '',
    });
    const found = await discover(join(it.path, 's'));
    expect(found.scenarios.map(({ name }) => name)).toEqual(['a_user_scenarios.sh']);
    expect(found.passedOver).toEqual(['library_user_scenarios.sh', 'settings.sh']);
  });

  test('where none is called so, every script that is no helper; programs of other kinds by their executable bit', async () => {
    await using it = await home({
      's/check.sh': '',
      's/notes.txt': '',
      's/tool': '#!/bin/sh\n',
      's/deep.py': '#!/x\n',
    });
    for (const name of ['tool', 'deep.py', 'check.sh']) await chmod(join(it.path, 's', name), 0o755);
    const found = await discover(join(it.path, 's'));
    expect(found.scenarios.map(({ name, interpreter }) => [name, ...interpreter])).toEqual([
      ['check.sh', 'bash'],
      ['deep.py'],
      ['tool'],
    ]);
  });

  test('a shell script is run by bash, whatever its first line says', async () => {
    await using it = await home({
      's/check.sh': '#!/bin/zsh\n',
      's/check.rb': '#!/x/ruby\n',
      's/more.pl': '',
    });
    for (const name of ['check.sh', 'check.rb', 'more.pl']) await chmod(join(it.path, 's', name), 0o755);
    const found = await discover(join(it.path, 's'));
    expect(found.scenarios.map(({ name, interpreter }) => [name, ...interpreter])).toEqual([
      ['check.rb'],
      ['check.sh', 'bash'],
      ['more.pl', 'perl'],
    ]);
  });

  test('a file is one, whatever it is called', async () => {
    await using it = await home();
    await writeFile(join(it.path, 'lib.sh'), '');
    expect((await discover(join(it.path, 'lib.sh'))).scenarios).toMatchObject([{ name: 'lib.sh' }]);
  });
});

test('the needs of a live phase are read from comments of any language', () => {
  const text =
    '# requires-env: A_KEY, B_KEY\n// requires-network: api.example.org 127.0.0.1:80\necho "requires-env: C"\n -- requires-env: D\n';
  expect(needsOf(text)).toEqual({
    variables: ['A_KEY', 'B_KEY', 'D'],
    hosts: [
      { host: 'api.example.org', port: 443 },
      { host: '127.0.0.1', port: 80 },
    ],
  });
});

const code = (n: number) => ({ kind: 'exited' as const, code: n });
const by = (signal: NodeJS.Signals) => ({ kind: 'signalled' as const, signal });
const late = { kind: 'timed_out' as const, afterMs: 1 };
const exited = (of: number, more: Partial<PhaseEvidence> = {}): PhaseEvidence => ({
  phase: 'live',
  ended: code(of),
  stderr: '',
  script: '/r/s/x.sh',
  app: ['/r/app'],
  ...more,
});

test('words in what a product prints never decide', () => {
  fc.assert(
    fc.property(
      fc.lorem({ mode: 'words', maxCount: 5 }),
      fc.constantFrom('timeout', 'connection refused', 'status 401', 'quota', 'API_KEY', 'not_found_error'),
      fc.integer({ min: 1, max: 85 }),
      (said, word, code) => {
        expect(classify(exited(code, { stderr: `${said} ${word}\n` })).class).toBe('product');
      },
    ),
  );
});

test.for([
  [{ marker: 'infra' as const }, 'infra'],
  [{ unreachable: 'h:1' }, 'infra'],
  [{ ended: late, unreachable: 'h:1' }, 'infra'],
  [{ ended: late, productRan: false }, 'scenario'],
  [{ ended: late }, 'product'],
  [{ ended: { kind: 'not_found', program: 'x', why: 'no such file' } }, 'scenario'],
  [{ ended: code(127), stderr: '/r/s/x.sh: line 3: /r/app/bin: Not a directory\n' }, 'product'],
  [{ stderr: 'Traceback\n  File "/r/s/x.sh", line 3, in <module>\n    x()\nNameError: x\n' }, 'scenario'],
  [{ stderr: 'Traceback\n  File "/r/app/a.py", line 3, in <module>\n    x()\nNameError: x\n' }, 'product'],
  [{ stderr: 'file:///r/s/x.sh:3\nx();\n^\n\nReferenceError: x is not defined\n    at f\n' }, 'scenario'],
  [{ stderr: '/r/app/a.js:3\nx();\n^\n\nReferenceError: x is not defined\n    at f\n' }, 'product'],
  [
    { stderr: '/r/s/x.sh:3\nfail(said);\n^\n\nError: it said\n\nReferenceError: x is not defined\n' },
    'product',
  ],
  [{ ended: code(127), stderr: '/r/s/x.sh: line 3: /r/apples/bin: No such file\n' }, 'scenario'],
  [{ marker: 'product' as const, ended: code(86) }, 'product'],
  [{ ended: code(86) }, 'infra'],
  [{ phase: 'selftest', ended: code(86) }, 'infra'],
  [{ phase: 'selftest' }, 'scenario'],
  [{ phase: 'selftest', unreachable: 'h:1' }, 'scenario'],
  [{ phase: 'syntax' }, 'scenario'],
  [{ phase: 'syntax', ended: code(86) }, 'scenario'],
  [{ phase: 'selftest', ended: late, productRan: true }, 'scenario'],
  [{ ended: { kind: 'not_found', program: 'x', why: 'no memory', noRoom: true } }, 'infra'],
  [{ ended: { kind: 'cancelled' } }, 'infra'],
  [{ ended: by('SIGHUP') }, 'infra'],
  [{ ended: by('SIGINT') }, 'infra'],
  [{ ended: by('SIGTERM') }, 'infra'],
  [{ ended: by('SIGKILL') }, 'infra'],
  [{ ended: by('SIGQUIT') }, 'infra'],
  [{ ended: by('SIGSEGV') }, 'scenario'],
  [{ ended: code(126) }, 'scenario'],
  [{ ended: code(126), stderr: '/r/s/x.sh: line 3: bin/run: Permission denied\n' }, 'product'],
  [{ ended: code(127), stderr: '/r/s/x.sh: line 3: ~/bin/run: No such file\n' }, 'scenario'],
  [{ ended: code(126), stderr: '/r/s/x.sh: line 3: /r/app: Is a directory\n' }, 'product'],
  [{ ended: code(127), stderr: '/r/app/run: line 2: jq: not found\n' }, 'product'],
  [{ stderr: '/r/s/x.sh: line 3: ${a b}: bad substitution\n' }, 'scenario'],
  [{ stderr: '/r/s/x.sh: line 3: A: unbound variable\n' }, 'scenario'],
  [{ stderr: '/r/a/y.sh: line 3: A: unbound variable\n' }, 'product'],
  [
    {
      stderr:
        'Traceback\n  File "/r/s/x.sh", line 3, in <module>\n    x()\n  File "/r/app/a.py", line 1, in x\n    y()\nNameError: y\n',
    },
    'product',
  ],
] satisfies readonly (readonly [Partial<PhaseEvidence>, string])[])(
  '%j is of the class %s',
  ([more, word]) => {
    expect(classify(exited(1, more)).class).toBe(word);
  },
);

test('the last line that names a class and nothing else is the word of a script', () => {
  expect(markerIn('failure_class=infra\nx failure_class=product\n  failure_class=scenario \n')).toBe(
    'scenario',
  );
  expect(markerIn('failure_class=other\n')).toBeUndefined();
  expect([
    worst(['infra', 'product', 'scenario']),
    worst(['infra', 'scenario']),
    worst(['infra']),
    worst([]),
  ]).toEqual(['product', 'scenario', 'infra', undefined]);
});

test.for([
  [
    [
      { args: ['bash', '/s/x.sh', '/app'], cwd: '/app' },
      { args: ['sleep', '9'], cwd: '/app' },
    ],
    false,
  ],
  [[{ args: ['/usr/bin/bash', '/s/x.sh', '/app'], cwd: '/app' }], false],
  [[{ args: ['node', '/app/bin/x.js'], cwd: '/' }], true],
  [[{ args: ['node', 'bin/x.js'], cwd: '/app' }], true],
  [[{ args: ['node', 'bin/x.js'], cwd: '/apples' }], false],
  [undefined, undefined],
  [[{ args: ['node', 'bin/x.js'] }], undefined],
  [[{ args: ['node', 'bin/x.js'] }, { args: ['node', '/app/bin/x.js'] }], true],
  [[{ args: ['/bin/sleep', '9'] }, { args: ['bash', '/s/x.sh', '/app'] }], false],
] as const)('whether a program of the product is among %j', ([programs, is]) => {
  expect(productRuns(programs, { app: '/app', argv: ['bash', '/s/x.sh', '/app'] })).toBe(is);
});

describe('what a builder sees of a failing check', () => {
  const sealed = ['# canary: red-42\ncheck "$(run a)" "the answer" || exit 1\nfi\n'];
  test('is what was expected and observed', () => {
    const stdout = 'all sorts\nFAIL: the sum\n  expected: 5\n  observed: 6\ndone\n';
    expect(visibleFailure({ stdout, stderr: 'failure_class=product\n' }, sealed)).toBe(
      'FAIL: the sum\n  expected: 5\n  observed: 6',
    );
  });
  test('is the end of the output where no line reports a failure', () => {
    expect(visibleFailure({ stdout: 'a\nb\n', stderr: 'c\n' }, sealed)).toBe('a\nb\nc');
  });
  test('holds no line of the scenario, whatever it prints', () => {
    const stderr = '+ check "$(run a)" "the answer" || exit 1\n# canary: red-42\nFAIL: sum\n  got: fi\n';
    expect(visibleFailure({ stdout: '', stderr }, sealed)).toBe('FAIL: sum\n  got: fi');
    expect(withoutSealed(stderr, sealed)).not.toMatch(/run a|red-42/);
  });
  test('has an end', () => {
    const stdout = `FAIL: long\n${'  x\n'.repeat(5000)}`;
    expect(visibleFailure({ stdout, stderr: '' }, []).split('\n')).toHaveLength(40);
  });
});

test.for([
  ['a_user_scenarios.py', 'import os\n', [1]],
  [
    'a_user_scenarios.py',
    'm = os.environ["SCENARIO_MODE"]\nx = os.environ.get("OPENAI_LIVE_MODEL", "gpt-x")\n',
    [2],
  ],
  [
    'a_user_scenarios.mjs',
    "const { SCENARIO_MODE } = process.env;\nconst m = process.env.ANTHROPIC_LIVE_MODEL ?? 'c';\n",
    [2],
  ],
  [
    'a_user_scenarios.mjs',
    "const { SCENARIO_MODE } = process.env;\nconst m = process.env.ANTHROPIC_LIVE_MODEL ?? '';\n",
    [],
  ],
  ['a_scenario.rb', 'File.write("/tmp/x", "")\n', [1]],
  ['a_scenario.rb', 'File.write("#{ENV["SCENARIO_TMP"]}/tmp/x", "")\n', []],
] as const)('lint of %s finds what is wrong, line by line: %j', ([name, text, lines]) => {
  expect(lintText(name, text, name).map(({ line }) => line)).toEqual(lines);
});

test('behind a proxy no host counts as unreachable', async () => {
  const needs = { variables: [], hosts: [{ host: 'h', port: 1 }] };
  const doors = (env: Readonly<Record<string, string>>, there: boolean) =>
    ({ env, reach: async () => there }) as unknown as Parameters<typeof firstUnreachable>[1];
  expect(await firstUnreachable(needs, doors({}, false))).toBe('h:1');
  expect(await firstUnreachable(needs, doors({ HTTPS_PROXY: '' }, false))).toBe('h:1');
  expect(await firstUnreachable(needs, doors({}, true))).toBeUndefined();
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'])
    expect(await firstUnreachable(needs, doors({ [name]: 'http://p' }, false))).toBeUndefined();
});

test('a line that names a canary is never shown, also if no holdout file has it', () => {
  const output = { stdout: 'expected 1\n  CANARY: 77\nobserved 2\n', stderr: '' };
  expect(visibleFailure(output, [])).toBe('expected 1\nobserved 2');
  expect(withoutSealed(output.stdout, [])).not.toContain('77');
});

import { describe, expect, test } from 'vitest';
import {
  classifyAgain,
  classifyFailure,
  type EndedCommand,
  failureWordIn,
  isJudge,
} from '../../src/core/failure-class.ts';
import type { Attribution } from '../../src/core/outcome.ts';
import { scenariosNamed } from '../../src/core/policy/holdout-paths.ts';

const script = 'scripts/scenarios/links.sh';
const judge = `bash ${script} app`;
const harness = `bash scripts/scenarios/preflight_scenario.sh ${script} app`;
const code = (n: number): EndedCommand['exit'] => ({ kind: 'exited', code: n });

/** By class and evidence: the failed commands, and what they printed. */
const rows: Readonly<
  Record<string, readonly (readonly [what: string, given: Partial<Omit<EndedCommand, 'word'>>])[]>
> = {
  'product by said': [
    ['a scenario that says product', { stderr: 'x\nfailure_class=product\n' }],
    [
      'its word on standard error goes before that on standard output',
      { stdout: 'failure_class=infra\n', stderr: 'failure_class=product\n' },
    ],
    ['of two words the last', { stderr: 'failure_class=infra\nfailure_class=product\n' }],
    ['its word goes before exit code 86', { exit: code(86), stderr: 'failure_class=product\n' }],
    ['its word goes before exit code 127', { exit: code(127), stderr: 'failure_class=product\n' }],
    [
      'its word goes before the words that it prints',
      { stderr: 'rate limit exceeded\nfailure_class=product\n' },
    ],
  ],
  'scenario by said': [['a scenario that says scenario', { stderr: 'failure_class=scenario\n' }]],
  'infra by said': [
    ['a scenario that says infra', { stderr: 'failure_class=infra' }],
    ['its word on standard output', { stdout: 'failure_class=infra\n' }],
    ['its word goes before a timeout', { exit: { kind: 'timed_out' }, stderr: 'failure_class=infra\n' }],
  ],
  'config by said': [['a scenario that says config', { stderr: ' failure_class=config \r' }]],
  'product by default': [
    ['a word in a sentence is none', { stderr: 'the app said failure_class=infra here\n' }],
    ['an unknown word is none', { stderr: 'failure_class=weather\n' }],
    [
      'a syntax error of the product is the product’s',
      { stderr: "app/main.sh: line 3: syntax error near unexpected token `then'\n" },
    ],
    [
      'the harness was past its selftest',
      { command: harness, stdout: '[preflight] selftest: start\n[preflight] live: start\n' },
    ],
    [
      'the harness had passed its selftest',
      { command: harness, stdout: '[preflight] selftest\n[preflight] selftest passed\n' },
    ],
    [
      'a product that prints a line of a harness, where there is none',
      { command: 'make check', stdout: '[preflight] selftest\n' },
    ],
    [
      'the product uses such a name, which the scenario has called',
      {
        command: 'python3 scripts/scenarios/links.py app',
        stderr: [
          'Traceback (most recent call last):',
          '  File "/runs/r1/workspace/scripts/scenarios/links.py", line 4, in <module>',
          '    app.main()',
          '  File "/runs/r1/workspace/app/main.py", line 2, in main',
          '    return total',
          "NameError: name 'total' is not defined",
          '',
        ].join('\n'),
      },
    ],
    [
      'the scenario throws what the product said of a name (Node)',
      {
        command: 'node scripts/scenarios/links.js app',
        stderr:
          '/runs/r1/workspace/scripts/scenarios/links.js:3\nthrow new Error(said);\n^\n\nError: exit 1\n/runs/r1/workspace/app/links.js:9\nReferenceError: gone is not defined\n    at Object.<anonymous>\n',
      },
    ],
    ['the same words of another command', { command: 'make', stderr: 'rate limit reached\n' }],
    ['the product’s own timeout', { stdout: 'FAIL: timeout option is ignored\n' }],
    ['an assertion about a quota', { stdout: 'expected quota 5 but got 4\n' }],
    ['an assertion about a status', { stdout: 'want status 200, got status 404\n' }],
    ['the product’s own server', { stderr: 'connect ECONNREFUSED 127.0.0.1:8080\n' }],
    ['the product’s own connection', { stdout: 'FAIL keeps the connection open\n' }],
    ['a plain failure', {}],
    ['a plain failure of any command', { command: 'npm test' }],
  ],
  'infra by evidence': [
    ['exit code 86', { exit: code(86) }],
    ['exit code 86 of any command', { command: 'make check', exit: code(86) }],
    ['a scenario that a signal ended', { exit: { kind: 'signalled', signal: 'SIGKILL' } }],
    [
      'a program of the workspace that the machine had no process left for',
      { command: './bin/app', exit: { kind: 'not_found', program: './bin/app', noRoom: true } },
    ],
  ],
  'config by evidence': [
    [
      'a command that is not there',
      { command: 'nosuchprog --all', exit: code(127), stderr: 'sh: 1: nosuchprog: not found\n' },
    ],
    [
      'a script of the workspace that may not be executed',
      { command: './run.sh', exit: code(126), stderr: 'sh: 1: ./run.sh: Permission denied\n' },
    ],
    [
      'a command that the scenario misses on this machine',
      { exit: code(127), stderr: `${script}: line 4: jq: command not found\n` },
    ],
    [
      'a shell script that is not there, as dash tells it',
      { command: 'sh check.sh', exit: code(2), stderr: 'sh: 0: cannot open check.sh: No such file\n' },
    ],
    [
      'a script of a command that is no scenario misses a program',
      { command: 'sh ci.sh', exit: code(127), stderr: 'ci.sh: 4: ./bin/x: not found\n' },
    ],
    ['a program that is not on the PATH', { command: 'jest', exit: { kind: 'not_found', program: 'jest' } }],
  ],
  'scenario by evidence': [
    [
      'the scenario itself is not there (bash)',
      { exit: code(127), stderr: `bash: ${script}: No such file or directory\n` },
    ],
    [
      'the scenario itself is not there (dash)',
      { command: `sh ${script}`, exit: code(2), stderr: `sh: 0: cannot open ${script}: No such file\n` },
    ],
    [
      'the scenario itself may not be executed',
      { command: `./${script} app`, exit: code(126), stderr: `sh: 1: ./${script}: Permission denied\n` },
    ],
    [
      'the interpreter that the scenario names is not there (dash)',
      { command: `./${script} app`, exit: code(127), stderr: `sh: 1: ./${script}: not found\n` },
    ],
    [
      'the interpreter that the scenario names is not there (bash)',
      {
        command: `./${script} app`,
        exit: code(127),
        stderr: `bash: line 1: ./${script}: cannot execute: required file not found\n`,
      },
    ],
    [
      'the scenario is no shell script (bash)',
      { exit: code(2), stderr: `${script}: line 3: syntax error near unexpected token \`then'\n` },
    ],
    [
      'the scenario is no shell script (dash)',
      { exit: code(2), stderr: `${script}: 3: Syntax error: "then" unexpected\n` },
    ],
    [
      'the scenario is not there (python)',
      {
        command: 'python3 scripts/scenarios/a.py',
        exit: code(2),
        stderr: "python3: can't open file '/run/workspace/scripts/scenarios/a.py': [Errno 2] No such file\n",
      },
    ],
    [
      'the scenario is no Python',
      {
        command: 'python3 scripts/scenarios/a.py',
        stderr:
          '  File "/run/ws/scripts/scenarios/a.py", line 3\n    def (\n        ^\nSyntaxError: invalid syntax\n',
      },
    ],
    [
      'the scenario is not there (node)',
      {
        command: 'node scripts/scenarios/a.mjs',
        stderr: "Error: Cannot find module '/run/ws/scripts/scenarios/a.mjs'\n",
      },
    ],
    [
      'the scenario is no JavaScript',
      {
        command: 'node scripts/scenarios/a.mjs',
        stderr: "file:///run/ws/scripts/scenarios/a.mjs:3\nlet = ;\n\nSyntaxError: Unexpected token ';'\n",
      },
    ],
    ['the harness was at its selftest', { command: harness, stdout: `[preflight] selftest ${script}\n` }],
    ['a scenario that was asked to test itself', { command: `SCENARIO_MODE=selftest bash ${script} app` }],
    [
      'the harness was at its selftest of a script with "live" in its name',
      { command: harness, stdout: '[preflight] selftest: a-live.sh\n' },
    ],
    [
      'the scenario uses a variable that it has not set',
      { stderr: `${script}: line 3: FOO: unbound variable\n` },
    ],
    [
      'the scenario uses a name that it has not defined (Python)',
      {
        command: 'python3 scripts/scenarios/links.py app',
        stderr: [
          'Traceback (most recent call last):',
          '  File "/runs/r1/workspace/scripts/scenarios/links.py", line 4, in <module>',
          '    print(undefined_thing)',
          '          ^^^^^^^^^^^^^^^',
          "NameError: name 'undefined_thing' is not defined",
          '',
        ].join('\n'),
      },
    ],
    [
      'the scenario uses a name that it has not defined (Node)',
      {
        command: 'node scripts/scenarios/links.js app',
        stderr:
          '/runs/r1/workspace/scripts/scenarios/links.js:3\nconsole.log(gone);\n            ^\n\nReferenceError: gone is not defined\n    at Object.<anonymous>\n',
      },
    ],
    [
      'a scenario that cannot be started without a shell',
      { command: `./${script}`, exit: { kind: 'not_found', program: `./${script}` } },
    ],
  ],
  'product by evidence': [
    [
      'the product has no program that can be run',
      { exit: code(127), stderr: `${script}: line 4: app/bin/links: No such file or directory\n` },
    ],
    [
      'the product has none, wherever the workspace lies (dash)',
      { exit: code(126), stderr: `${script}: 4: /runs/r1/workspace/app/x: Permission denied\n` },
    ],
    [
      'any other command that a signal ended',
      { command: 'node app', exit: { kind: 'signalled', signal: 'SIGKILL' } },
    ],
    ['a crash', { exit: { kind: 'signalled', signal: 'SIGSEGV' } }],
    [
      'a program of the workspace that was to be made',
      { command: './bin/app', exit: { kind: 'not_found', program: './bin/app' } },
    ],
  ],
  'timeout by evidence': [['a timeout of the engine', { exit: { kind: 'timed_out' } }]],
  'infra by words': [
    ['a key that is missing', { stderr: 'OPENAI_API_KEY is not set\n' }],
    ['a live service that refuses', { stderr: 'models: status 401 from the API\n' }],
    ['a quota', { stdout: 'You exceeded your current quota\n' }],
    ['a rate limit', { stderr: 'Rate limit reached\n' }],
    ['no way to a host', { stderr: 'getaddrinfo EAI_AGAIN api.example.com\n' }],
    ['a connection that is refused', { stderr: 'api.example.com: connection refused\n' }],
  ],
};

describe('the class of a failure', () => {
  test.for(Object.entries(rows).flatMap(([result, all]) => all.map((row) => [result, ...row] as const)))(
    '%s: %s',
    ([result, , given]) => {
      const { stdout = '', stderr = '' } = given;
      const ended: EndedCommand = {
        word: failureWordIn(stderr, stdout),
        exit: code(1),
        command: judge,
        scenarios: ['scripts/scenarios/'],
        judge: false,
        stdout,
        stderr,
        // The scenario's text contains every line.
        texts: [stdout, stderr],
        ...given,
      };
      const found = classifyFailure(ended);
      expect(`${found.class} by ${found.how}`, found.why).toBe(result);
      expect(found.why).not.toBe('');
    },
  );

  test('a node with judge=true counts as a scenario, whatever its command names', () => {
    const ended = { command: 'make live', scenarios: [], judge: true };
    expect(isJudge(ended)).toBe(true);
    expect(isJudge({ ...ended, judge: false })).toBe(false);
    const found = classifyFailure({
      ...ended,
      word: undefined,
      exit: code(1),
      stdout: '',
      stderr: 'quota exceeded',
      texts: ['echo "quota exceeded" >&2'],
    });
    expect(found).toEqual({ class: 'infra', how: 'words', why: 'it printed "quota"' });
  });

  test('only lines in the text of the scenario count as evidence about a live service, not the output of the product', () => {
    const of = (texts: readonly string[]) =>
      classifyFailure({
        word: undefined,
        exit: code(1),
        command: judge,
        scenarios: ['scripts/scenarios/'],
        judge: false,
        stdout: '',
        stderr: 'error: connection refused by the server\n',
        texts,
      }).class;
    expect(of(['"$1/app" || exit 1\n'])).toBe('product');
    expect(of(['echo "error: connection refused by the server" >&2; exit 1\n'])).toBe('infra');
  });
});

describe('a second run in a clean copy', () => {
  const first = (how: Attribution['how'] = 'default') => ({
    attribution: { class: 'product', how, why: 'exit code 1' } as const,
    exitCode: 1,
  });
  const second = (of: Attribution['class'], how: Attribution['how'], exitCode: number | null) => ({
    passed: false,
    attribution: { class: of, how, why: 'because' },
    exitCode,
  });
  const passed = { passed: true, attribution: undefined, exitCode: null };
  test.for([
    ['that passes makes it a flake', first(), passed, 'passed', 'scenario', 'rerun'],
    ['that passes makes it a flake, whatever was said', first('said'), passed, 'passed', 'scenario', 'rerun'],
    ['alike confirms it', first(), second('product', 'default', 1), 'alike', 'product', 'rerun'],
    ['alike leaves a word a word', first('said'), second('product', 'said', 1), 'alike', 'product', 'said'],
    [
      'with another exit code makes it a flake',
      first(),
      second('product', 'default', 2),
      'differently',
      'scenario',
      'rerun',
    ],
    [
      'with another exit code leaves the word of the first',
      first('said'),
      second('product', 'default', 2),
      'differently',
      'product',
      'said',
    ],
    [
      'with a reported class decides',
      first(),
      second('product', 'said', 2),
      'differently',
      'product',
      'said',
    ],
    [
      'that blames the machine is believed',
      first('said'),
      second('infra', 'evidence', 86),
      'differently',
      'infra',
      'evidence',
    ],
    [
      'that does not end makes it a flake',
      first(),
      second('timeout', 'evidence', null),
      'differently',
      'scenario',
      'rerun',
    ],
  ] as const)('%s', ([, was, then, result, of, how]) => {
    const found = classifyAgain(was, then);
    expect([found.result, found.attribution.class, found.attribution.how]).toEqual([result, of, how]);
    if (found.attribution.how === 'rerun' && of === 'scenario')
      expect(found.attribution.why).toMatch(/^flaky: failed/);
  });
});

test('a command names scenarios by any spelling of their path', () => {
  const named = (command: string) => scenariosNamed(command, ['scripts/scenarios/', 'judge']);
  expect(named('bash "scripts/scenarios/a.sh" app && ./scripts//scenarios/b.sh')).toEqual([
    'scripts/scenarios/a.sh',
    'scripts/scenarios/b.sh',
  ]);
  expect(named('SCRIPT=judge/x node judge')).toEqual(['judge/x', 'judge']);
  expect(named('cat scripts/scenarios.md judges/x /scripts/scenarios/a.sh')).toEqual([]);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  parseVerificationCommand,
  plannedCommandProblem,
  verificationCommandProblem,
} from '../../../src/core/policy/commands.ts';

test.for<[command: string, allowed: string[]]>([
  ['true', ['true']],
  ['go test ./...', ['go build', 'go test']],
  ['go  test x', ['go test']],
  ['test -f "main.txt"', ['test -f']],
  ['test -f main.txt', ['sh agent', ' test -f ']],
  ['CACHE="$PWD/.cache" MODE=fast printenv CACHE MODE', ['printenv']],
  ['NODE_ENV=test CI=1 npm test', ['npm test']],
  ["GOCACHE='$PWD/x' (go test ./...)", ['go test']],
  ['(go test)', ['go test']],
  ['((A=1 go test))', ['go test']],
  ['echo $HOME *.txt', ['echo']],
  ['git show HEAD~1', ['git show']],
  ['sleep 1 &', ['sleep']],
  ["grep '/api' a.txt", ['grep']],
  ['test -c /dev/null', ['test']],
  ["sh -c 'test -f a.txt'", ['sh -c']],
  ['env A=1 go test', ['env']],
  ['grep -q PATH= Makefile', ['grep']],
  ['echo "a  b"', ['echo "a  b"']],
  ['((( (true) )))', ['true']],
])('%j may run where %j is allowed', ([command, allowed]) => {
  expect(verificationCommandProblem(command, allowed, 'tool')).toBeUndefined();
  expect(parseVerificationCommand(command, '/w')).not.toHaveProperty('problem');
});

test.for<[command: string, why: RegExp]>([
  ['echo a && touch x', /"&&"/],
  ['echo a || touch x', /"\|\|"/],
  ['echo a; touch x', /";"/],
  ['echo a | tee x', /"\|"/],
  ['echo `touch x`', /"`"/],
  ['echo $(touch x)', /"\$\("/],
  ['echo a > x', /">"/],
  ['echo a>x', /">"/],
  ['echo < x', /"<"/],
  ['echo a\ntouch x', /"\\n"/],
  ['echo a\rtouch x', /"\\r"/],
  ['echo "a|b"', /"\|"/],
  ['rm -r x', /does not list it/],
  ['echoes', /does not list it/],
  ["echo'x'", /does not list it/],
  ['(echo a) (echo b)', /does not list it/],
  ['(echo a', /does not list it/],
  ['"A=1" echo x', /does not list it/],
  ['A= echo x', /does not list it/],
  ['', /names no program/],
  ['A=1', /names no program/],
  ["''", /names no program/],
  ['echo "a', /cannot be split/],
  ["echo 'a", /cannot be split/],
  ['echo a\\', /cannot be split/],
  ['echo a\0b', /NUL/],
  ['echo /etc/passwd', /guardrail: contains an absolute path/],
  ['echo "/etc/passwd"', /absolute path/],
  ['echo # /etc/passwd', /absolute path/],
  ['/bin/echo x', /absolute path/],
  ['echo ~', /home reference/],
  ['echo ../../x', /path component/],
  ['A=/abs echo x', /absolute path/],
  ['A=../x echo x', /path component/],
  ['A="$PWD/../x" echo x', /path component/],
  ['echo --dir=/abs', /absolute path/],
  ["sh -c 'cat /etc/passwd'", /absolute path/],
  ["sh -c 'cat $HOME/x'", /home reference/],
  ["bash -lc 'LD_PRELOAD=x.so true'", /assignment to LD_PRELOAD/],
  ["bash -c 'export A PATH=x'", /assignment to PATH/],
  ['cat /etc/passwd; touch x', /guardrail/],
])('%j is rejected: %s', ([command, why]) => {
  const problem = verificationCommandProblem(command, ['echo', 'sh -c', 'bash', ''], 'agent');
  expect(problem).toMatch(/^verification command rejected/);
  expect(problem).toMatch(why);
});

test('a verification command may use /tmp in a sandbox', () => {
  for (const command of ['test -f /tmp/x', "sh -c 'cat $HOME/x ~/y'"]) {
    const problem = (where: 'private' | 'shared') =>
      verificationCommandProblem(command, ['test', 'sh -c'], 'tool', undefined, where);
    expect(problem('shared')).toMatch(/allowed only in a sandbox/);
    expect(problem('private')).toBeUndefined();
  }
  expect(plannedCommandProblem('test -f /tmp/x', 'private')).toBeUndefined();
});

test.for([
  ...'LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES PATH NODE_OPTIONS PYTHONPATH'.split(' '),
  ...'PYTHONSTARTUP GIT_SSH_COMMAND GIT_DIR BASH_ENV ENV PERL5LIB'.split(' '),
  ...'PERL5OPT RUBYOPT RUBYLIB GOFLAGS GOENV GOROOT'.split(' '),
  ...'CLASSPATH SHELL MAKEFLAGS NODE_PATH PYTHONHOME PYTHONUSERBASE'.split(' '),
  ...'PYTEST_ADDOPTS PYTEST_PLUGINS PERL5DB PERLLIB LUA_PATH LUA_CPATH'.split(' '),
  ...'LUA_INIT RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS'.split(' '),
  ...'GNUMAKEFLAGS MAKEFILES RUSTDOC CARGO_HOME CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER'.split(' '),
  ...'CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER DOTNET_STARTUP_HOOKS PHPRC R_PROFILE ERL_FLAGS NODE_TEST_CONTEXT'.split(
    ' ',
  ),
  ...'SHELLOPTS BASHOPTS _JAVA_OPTIONS npm_config_script_shell NPM_CONFIG_USERCONFIG BASH_FUNC_ls'.split(' '),
])('an assignment to %s is refused before any command', (name) => {
  const why = new RegExp(`rejected by guardrail: contains an assignment to ${name}, which loads code`);
  for (const command of [
    `${name}=x true`,
    `A=1 ${name}="x" true`,
    `(${name}=x true)`,
    `env ${name}=x true`,
  ]) {
    expect(verificationCommandProblem(command, ['true', 'env'], 'tool')).toMatch(why);
    expect(plannedCommandProblem(command)).toMatch(why);
  }
});

test('an empty list allows nothing', () => {
  expect(verificationCommandProblem('true', [], 'tool')).toMatch(/rejected/);
  expect(verificationCommandProblem('true', ['', ' '], 'tool')).toMatch(/rejected/);
});

test.for<[command: string, env: Record<string, string>, argv: string[]]>([
  [
    'CACHE="$PWD/.cache" MODE=fast printenv CACHE MODE',
    { CACHE: '/w/.cache', MODE: 'fast' },
    ['printenv', 'CACHE', 'MODE'],
  ],
  ["A='${PWD}/x:$PWD/y' B=$PWDX true", { A: '/w/x:/w/y', B: '$PWDX' }, ['true']],
  ['echo $HOME *.txt $PWD', {}, ['echo', '$HOME', '*.txt', '$PWD']],
  ['test -f "main.txt"', {}, ['test', '-f', 'main.txt']],
  ['test A=1', {}, ['test', 'A=1']],
  [' ( A=1 (go test) ) ', { A: '1' }, ['go', 'test']],
  ['A=1 A=2 true', { A: '2' }, ['true']],
  ['A=b=c true', { A: 'b=c' }, ['true']],
  ['A= true', {}, ['A=', 'true']],
  [`A="x y"'z' true ''`, { A: 'x yz' }, ['true', '']],
  [`node -e "if (1 > 0) process.exit(0 || 1)"`, {}, ['node', '-e', 'if (1 > 0) process.exit(0 || 1)']],
])('%j runs as %j %j', ([command, env, argv]) => {
  expect(parseVerificationCommand(command, '/w')).toEqual({ env, argv });
});

test('a folder with a dollar in its name is inserted unchanged', () => {
  expect(parseVerificationCommand('A=$PWD true', "/a$&b$'")).toMatchObject({ env: { A: "/a$&b$'" } });
});

test.for<[command: string]>([['echo "a'], [' '], ['()'], ['A=1'], ['echo \0']])(
  '%j cannot be run',
  ([command]) => {
    expect(parseVerificationCommand(command, '/w')).toEqual({ problem: expect.any(String) });
  },
);

test.for([
  'true',
  'python -m pytest -q',
  'bash scripts/verify.sh',
  `node -e "if (a > 1) throw 1; x | y && z"`,
  'bash -c "touch /tmp/started; exec sleep 20"',
  'bash -c "cd .. && ls > /tmp/x"',
  `python -c "import app; print(app.run('../x'))"`,
  'python3 -c "from mypkg.core import X"',
  "node --eval '/x/.test(process.cwd())'",
  "node -p '/x/.test(1)'",
  "node '--eval=/x/.test(1)'",
  "perl -ne '/x/' a.txt",
  'git diff a..b HEAD~1..HEAD',
  "grep -q '/api' a.txt",
  'cmd 2>&1',
  'echo a;',
  'test -f "a b/../c d"',
  'cat /dev/null',
  'A=1 env B=2 true',
])('a plan may say %j', (command) => {
  expect(plannedCommandProblem(command)).toBeUndefined();
});

test.for<[command: string, why: RegExp]>([
  ['a | b', /`\|`/],
  ['a "|" b', /`\|`/],
  ['a |& b', /`\|&`/],
  ['a >| b', /`>\|`/],
  ['a && b', /`&&`/],
  ['a || b', /`\|\|`/],
  ['a ; b', /`;`/],
  ['a > b', /`>`/],
  ['a >> b', /`>>`/],
  ['a < b', /`<`/],
  ['a << b', /`<<`/],
  ['a &', /`&`/],
  ['cat /etc/passwd', /absolute path/],
  ['/bin/true', /absolute path/],
  ['cat ../x', /path component/],
  ['cat a/../../x', /path component/],
  ['cat ~/x', /home reference/],
  ['make --dir=/abs', /absolute path/],
  ['test -e /etc/passwd', /absolute path/],
  ['mkdir -p /abs', /absolute path/],
  ['K=/abs true', /absolute path/],
  ['PATH=. true', /assignment to PATH/],
  ['env - PATH=. true', /assignment to PATH/],
  ['env --unset A PATH=. true', /assignment to PATH/],
  ['timeout --signal KILL 5 env PATH=. true', /assignment to PATH/],
  ['sudo -u me PATH=. true', /assignment to PATH/],
  ['', /names no program/],
  ['echo "a', /cannot be split/],
])('a plan may not say %j: %s', ([command, why]) => {
  const problem = plannedCommandProblem(command);
  expect(problem).toMatch(/^verification command rejected/);
  expect(problem).toMatch(why);
});

test('the checks throw for no text, and an allowed command can be run', () => {
  const unit = fc.constantFrom(
    "'",
    '"',
    '\\',
    ' ',
    '(',
    ')',
    'A=',
    '1',
    'echo',
    '$PWD',
    '/',
    '..',
    '~',
    '\0',
    '=',
    '|',
  );
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 12 }), (command) => {
      const parsed = parseVerificationCommand(command, '/w');
      if (verificationCommandProblem(command, ['echo'], 'agent') === undefined) {
        expect(parsed).toMatchObject({ argv: expect.arrayContaining(['echo']) });
      }
      if (plannedCommandProblem(command) === undefined) expect(parsed).toHaveProperty('argv');
    }),
    { numRuns: 2000 },
  );
});

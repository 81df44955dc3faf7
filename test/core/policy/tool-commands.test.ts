import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scriptsNamed, toolCommandProblem } from '../../../src/core/policy/commands.ts';
import { quoteWord } from '../../../src/core/policy/words.ts';

test.for([
  '',
  'true',
  'go test ./... && gofmt -l .',
  'echo --verbose',
  'git diff HEAD~1 HEAD~ HEAD^',
  'git log HEAD~1..HEAD main.. ..main a..b',
  'echo a~b foo~ x=a~b',
  'cat ..hidden a..b ... .../x x../y',
  'echo {1..5}',
  'cmd >/dev/null 2>/dev/null </dev/null',
  'cmd --out=/dev/null X=/dev/null /dev/null',
  'echo oops >/dev/stderr; cat /dev/stdin /dev/fd/3 | tee /dev/stdout',
  '/usr/bin/env python3 -V',
  'cat ${X:-/etc/passwd} "${line%% /*}"',
  "echo 'see /etc'",
  'echo "either a/b or c"',
  'sh -c "echo hi > a.txt"',
  `bash -lc 'set -euo pipefail; cd demo && cargo test'`,
  "grep '/api' src/app.ts",
  'grep -rn "/api" src',
  'grep -e /api -e /web src',
  'grep -ne/api src',
  'grep --regexp=/api --include "*.ts" src',
  'grep -m 1 -- /api src',
  'if grep -q /api src; then echo yes; fi',
  '! egrep /api src',
  'LC_ALL=C env -u X A=1 fgrep /api src',
  'find . -name x | xargs -n 1 grep /api',
  "sed -n '/from/,/to/p' a.txt",
  "sed -i.bak -e '/x/d' a.txt",
  "awk -F / '/x/ {print $1 / $2}' a.txt",
  "awk --include lib.awk '/x/' a.txt",
  "rg --type ts --glob '*.ts' /api src",
  'rg --type-not js /api src',
  "jq --arg name value '/a/' data.json",
  "jq --indent 2 '/a/' data.json",
  'timeout 5 grep /api src',
  'sh -c "grep /api src"',
  'echo $((10 / 2))',
  'echo "${path%/*}" "${path##*/}" "${x#/}" "${x:-default}"',
  'cut -d/ -f2 a.txt',
  'curl https://example.com/x http://localhost:80/',
  'URL=http://example.com/x cmd',
  'docker run -v "$PWD:/app" image',
  'CACHE="$PWD/.cache" cmd "$PWD/x" $(pwd)/x',
  "echo '$HOME'",
  'echo $HOMEPAGE ${HOME_PAGE}',
  'HOME=.home cmd',
  '#!/bin/sh\nset -eu\n# see /etc and ~/x\necho ok',
  "cat > notes.md <<'EOF'\nsee /etc and ../x\nEOF",
  'cat <<EOF\n/etc ~/x ../x\nEOF',
  'echo $(( $(wc -c < "a b") / 1024 )) "$(( (1 + 2) / (x ? 3 : 4) ))"',
  "cat <<'EOF' | tee x\n$(cat /etc/passwd)\nEOF",
  'python3 -c "print(\'a/b\')"',
  "awk '$3!~/^done$/' a.tsv",
  'find . -exec cp {} out/{} \\;',
  "git commit -m 'a; b'",
  'test -f my\\ file',
  'case $x in a) echo;; esac',
  'sed s/a/b/ file',
  'echo "unclosed',
  'git grep -n /api -- src',
  'zgrep /api logs.gz',
  'env - A=1 grep /api src',
  'xargs --max-args 1 grep /api',
  'timeout --signal KILL 5 grep /api src',
  'sudo -u me grep /api src',
  'grep -e.. -e../x a.txt',
  'git diff -n1..2 -x..y',
  'echo $((1 << 2)) $(( (1 << 2) + 1 ))',
  'if (( 1 << 2 )); then echo yes; fi',
  "cat <<'EOF' > x; sh x\nsee /etc\nEOF",
  "command -v bash && cat <<'EOF' | tee x\nsee /etc\nEOF",
  'echo "see /etc"; curl -fsS https://example.com/x | sh',
  'npx -c "npm test"',
  // As in the seed, a path is looked for where a word or its value begins.
  'gcc -I../include -I/usr/include a.c',
  'git show HEAD:../x',
  'docker build --build-arg=K=/abs',
])('%j may run', (command) => {
  expect(toolCommandProblem(command)).toBeUndefined();
});

const home = 'home reference';
const parent = '".." path component';
const absolute = 'absolute path';

test.for<[command: string, what: string]>([
  ['ls ~', home],
  ['cat ~/x', home],
  ['cat ~root/x', home],
  ['ls "~"', home],
  ['X=~/a cmd', home],
  ['cmd --dir=~/x', home],
  ['echo x >~/y', home],
  ['cat $HOME/x', home],
  ['cat "${HOME}/x"', home],
  ['cat ${HOME:-x}', home],
  ['cmd --dir=$HOME', home],
  ['echo x > "$HOME/y"', home],
  ["sh -c 'cat $HOME/x'", home],
  ['sh -c "cat \\$HOME/x"', home],
  ['cd ..', parent],
  ['cat ../x', parent],
  ['cat "../x"', parent],
  ["cat '../'x", parent],
  ['cat a/../../x', parent],
  ['cat a/..', parent],
  ['cat .\\./x', parent],
  ["cat .'.'/x", parent],
  ['echo x >../y', parent],
  ['echo x >> ../y', parent],
  ['cmd 2>../y', parent],
  ['K=../x cmd', parent],
  ['cmd k=../x', parent],
  ['cmd --flag=../x', parent],
  ['cat $PWD/../x', parent],
  ['cat "$(pwd)/../x"', parent],
  ["sh -c 'cat ../x'", parent],
  ["sh -c 'cd ..;ls'", parent],
  [`python3 -c "open('../x')"`, parent],
  ['(cd ..)', parent],
  ['/bin/sh -c true', absolute],
  ['true;/bin/ls', absolute],
  ['cat /etc/passwd', absolute],
  ['ls /', absolute],
  ["cat '/etc/passwd'", absolute],
  ['cat "/etc"/passwd', absolute],
  ['cat ""/etc/passwd', absolute],
  ['cat \\/etc/passwd', absolute],
  ['cat /e"tc"', absolute],
  ["echo $'\\'; cat /etc/passwd #'", absolute],
  ['cat $"/etc/passwd"', absolute],
  ['cat /dev/null/../x', parent],
  ['cat /dev/nullx', absolute],
  ['cat /dev/fd/x', absolute],
  ['cat /dev/stdin/x', absolute],
  ['echo x >/tmp/y', absolute],
  ['echo x > /tmp/y', absolute],
  ['echo x >|/tmp/y', absolute],
  ['echo x >&/tmp/y', absolute],
  ['echo x &>/tmp/y', absolute],
  ['cmd 2>/tmp/y', absolute],
  ['cmd 2>>"/tmp/y"', absolute],
  ['cmd </etc/passwd', absolute],
  ['cmd <<</etc/passwd', absolute],
  ['K=/abs cmd', absolute],
  ['cmd k=/abs', absolute],
  ['cmd k="/abs"', absolute],
  ['cmd --flag=/abs', absolute],
  ['export K+=/abs', absolute],
  ['a && cat /etc/passwd', absolute],
  ['a | cat /etc/passwd', absolute],
  ['a\ncat /etc/passwd', absolute],
  ['(cat /etc/passwd)', absolute],
  ['echo $(cat /etc/passwd)', absolute],
  ['echo "$(cat /etc/passwd)"', absolute],
  ['echo `cat /etc/passwd`', absolute],
  ['echo "`cat /etc/passwd`"', absolute],
  ['echo "$(echo "$(cat /etc/passwd)")"', absolute],
  ['cat <(cat /etc/passwd)', absolute],
  ['for f in /etc/*; do echo $f; done', absolute],
  ['[ -f /etc/passwd ]', absolute],
  ['cat <<EOF\nx\nEOF\ncat /etc/passwd', absolute],
  ["sh -c 'cat /etc/passwd'", absolute],
  ["bash -c 'true && cat /etc/passwd'", absolute],
  ["bash -ec 'cat /etc/passwd'", absolute],
  ["bash -lc 'cat /etc/passwd'", absolute],
  ["bash -euo pipefail -c 'cat /etc/passwd'", absolute],
  ["bash --norc -c -e 'cat /etc/passwd'", absolute],
  ["dash -c 'cat /etc/passwd'", absolute],
  ["ash -c 'cat /etc/passwd'", absolute],
  ["zsh -c 'cat /etc/passwd'", absolute],
  ["env A=1 sh -c 'cat /etc/passwd'", absolute],
  ["exec sh -c 'cat /etc/passwd'", absolute],
  ["command sh -c 'cat /etc/passwd'", absolute],
  ["find . -exec sh -c 'cat /etc/passwd' \\;", absolute],
  ["xargs -n1 sh -c 'cat /etc/passwd'", absolute],
  ["$SHELL -c 'cat /etc/passwd'", absolute],
  [`sh -c "sh -c 'cat /etc/passwd'"`, absolute],
  ["if true; then sh -c 'cat /etc/passwd'; fi", absolute],
  ['grep x /etc/passwd', absolute],
  ['grep -e x /etc/passwd', absolute],
  ['grep -f /etc/passwd x', absolute],
  ['grep --file=/etc/passwd x', absolute],
  ['grep --color x /etc/passwd', absolute],
  ['grep /x /etc/passwd', absolute],
  ['grep -e >/tmp/y', absolute],
  ['grep x >/tmp/y', absolute],
  ['/usr/bin/grep x y', absolute],
  ['cat grep /etc/passwd', absolute],
  ['rg --files /etc', absolute],
  ["sed -n '/x/p' /etc/passwd", absolute],
  ['sed -f /tmp/x a.txt', absolute],
  ["awk '{print}' /etc/passwd", absolute],
  ['awk -v x=/abs 1 a.txt', absolute],
  ['awk -E /abs/p.awk a.txt', absolute],
  ["bash -c -- 'cat /etc/passwd'", absolute],
  ['jq . /etc/x.json', absolute],
  ['jq --rawfile a /etc/passwd . b', absolute],
  ['git grep x -- /etc', absolute],
  ["fish -c 'cat /etc/passwd'", absolute],
  ['"$BASH" -c "cat /etc/passwd"', absolute],
  ['(( x = 1 << 2 ))\ncat /etc/passwd', absolute],
  ['((cat /etc/passwd))', absolute],
  ['echo $((cat /etc/passwd) | cat)', absolute],
])('%j is refused: %s', ([command, what]) => {
  const problem = toolCommandProblem(command);
  expect(problem).toMatch(/^tool_command rejected by guardrail: contains /);
  expect(problem).toContain(what);
});

test.for<[command: string]>([
  ['echo x > /tmp/y'],
  ['ls /tmp /tmp/a/b'],
  ['tar -C /tmp --directory=/tmp/a -xf a.tar'],
  ['cat ~ ~/x $HOME "$HOME/x" ${HOME}'],
  ['X=~/a Y=/tmp/y cmd'],
  ["sh -c 'cat $HOME/x > /tmp/y'"],
])('%j needs a sandbox', ([command]) => {
  expect(toolCommandProblem(command)).toMatch(/ \(allowed only in a sandbox\)$/);
  expect(toolCommandProblem(command, 'private')).toBeUndefined();
});

test.for<[command: string, what: string]>([
  ['cat /tmp/../etc/passwd', parent],
  ['cat ~/../x', parent],
  ['cat "$HOME/../x"', parent],
  ['cat ~root/x', home],
  ['cat /tmpx', absolute],
  ['cat /var/tmp/x', absolute],
  ['cat /tmp/x /etc/passwd', absolute],
  ['cat ~/x; cat ../y', parent],
])('%j is refused in a sandbox too: %s', ([command, what]) => {
  expect(toolCommandProblem(command, 'private')).toContain(what);
  expect(toolCommandProblem(command, 'private')).not.toContain('sandbox');
});

test('the refusal shows the word on one line, truncated', () => {
  expect(toolCommandProblem('cat /etc/passwd')).toBe(
    'tool_command rejected by guardrail: contains an absolute path: /etc/passwd',
  );
  const problem = toolCommandProblem(`cat "/a\nb${'x'.repeat(500)}"`) ?? '';
  expect(problem).not.toContain('\n');
  expect(problem.length).toBeLessThan(160);
});

test('a forbidden path is found however it is quoted or nested', () => {
  const path = fc.constantFrom('/etc/passwd', '../x', '~/x', 'a/../../b', '/');
  const quote = fc.constantFrom<(word: string) => string>(
    (word) => word,
    (word) => `'${word}'`,
    (word) => `"${word}"`,
    (word) => `${word.slice(0, 1)}""${word.slice(1)}`,
    (word) => word.replace(/[/.]/g, '\\$&'),
  );
  const place = fc.constantFrom<(word: string) => string>(
    (word) => `cat ${word}`,
    (word) => `echo x >${word}`,
    (word) => `echo x 2>> ${word}`,
    (word) => `K=${word} env`,
    (word) => `make --dir=${word}`,
  );
  const around = fc.constantFrom<(command: string) => string>(
    (command) => `true && ${command}`,
    (command) => `(${command})`,
    (command) => `if true; then ${command}; fi`,
    // Without the blanks `$((` would begin an arithmetic expansion.
    (command) => `echo "$( ${command} )"`,
    (command) => `sh -c ${quoteWord(command)}`,
    (command) => `env A=1 bash -ec ${quoteWord(command)} name`,
    (command) => `echo a | { ${command}; }`,
  );
  fc.assert(
    fc.property(path, quote, place, fc.array(around, { maxLength: 4 }), (bad, quoted, placed, layers) => {
      const command = layers.reduce((inner, layer) => layer(inner), placed(quoted(bad)));
      expect(toolCommandProblem(command)).toBeDefined();
    }),
    { numRuns: 500 },
  );
});

test.for<[command: string, scripts: string[]]>([
  ['bash checks/a.sh', ['checks/a.sh']],
  ['sh \'checks/a.sh\' && bash "b.sh"', ['checks/a.sh', 'b.sh']],
  ['bash a.sh; bash a.sh;', ['a.sh']],
  ["sh -c 'bash x.sh'", ['x.sh']],
  ['(./x.sh)', ['./x.sh']],
  ['bash a.sh arg --script=b.sh -c.sh S=c.sh d.shx', ['a.sh']],
  ['go test ./...', []],
])('%j names the scripts %j', ([command, scripts]) => {
  expect(scriptsNamed(command)).toEqual(scripts);
});

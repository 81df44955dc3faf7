/** Scenarios in their sandboxes: what a product can learn and leave behind, and what its launcher passes through. Real bubblewrap. */
import { readdirSync, readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sandboxCapabilities } from '../../src/platform/sandbox/capabilities.ts';
import type { ScenarioReport } from '../../src/scenarios/result.ts';
import { cleanEnv, type Home, home } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';
import { call, type Flags } from '../support/verb.ts';

onDisk();

const modes = 'if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi\n';
const { bwrap } = await sandboxCapabilities(process.env);
const why = 'missing' in bwrap ? bwrap.missing : '';

async function resultsOf(
  it: Home,
  flags: Flags = {},
  env: Readonly<Record<string, string>> = {},
): Promise<ScenarioReport['results']> {
  const given = { app: 'app', json: true, jobs: 1, ...flags };
  const doors = {
    cwd: it.path,
    env: cleanEnv({ TMPDIR: it.path, FACTORY_SANDBOX: '', FACTORY_FLOOR: 'false', ...env }),
  };
  const { out } = await call(['scenario', 'run', 's'], given, doors);
  return (JSON.parse(out) as ScenarioReport).results;
}

const isRunning = (word: string): boolean =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word);
      } catch {
        return false;
      }
    });

test.skipIf(why !== '')(
  'in a sandbox: a product finds nothing of its scenario: no file, no process, no variable, and an honest one passes',
  async () => {
    const search = `
look() { grep -rsl SECRET[W]ORD "$@" 2>/dev/null; }
env | grep SECRET[W]ORD
env | grep -E '^(APP_RUN|SCENARIO_MODE|REQUIRE_LIVE)=|judge|scenarios'
look ../../judge-*/scenarios "$PWD/../.." /tmp /var/tmp /run "\${SCENARIO_TMP:?}/.."
ls -A ~ | grep -i scenario
look /proc/[0-9]*/cmdline /proc/[0-9]*/environ
for one in /proc/[0-9]*; do look "$one"/root/tmp "$one"/fd/; ls "$one"/cwd/.. | grep judge; done
look "/proc/$PPID/fd/255"
cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -E '[a]_scenario|[a]pp-run'
echo done
`;
    await using it = await home({
      's/a_scenario.sh': `${modes}export OTHER=$0 WORD=1
# SECRETWORD
grep -q SECRETWORD "$0" || exit 3
said=$("$APP_RUN" sh search.sh </dev/null); echo "$said"
[ "$said" = done ]
`,
      's/wanted.txt': 'SECRETWORD',
      'app/search.sh': search,
    });
    expect(await resultsOf(it)).toMatchObject([
      {
        outcome: 'pass',
        output: { stdout: 'done\n' },
        evidence: { isolation: 'launcher', isolation_note: 'product and scenario ran in separate sandboxes' },
      },
    ]);
  },
);

test.skipIf(why !== '')(
  'in a sandbox: what a product leaves in HOME, in /tmp or running is gone in the next phase and the next scenario',
  async () => {
    const mark = `31${process.pid}77`;
    await using it = await home({
      's/a_scenario.sh': `${modes}"$APP_RUN" sh leave.sh </dev/null; ls -A ~ /tmp | grep -q left && exit 1; exit 0\n`,
      's/b_scenario.sh':
        'ls -A ~ /tmp | grep left && exit 1\n"$APP_RUN" ls -A . ~ /tmp </dev/null | grep left && exit 1\nexit 0\n',
      'app/leave.sh': `touch ~/left-home /tmp/left-tmp; setsid sleep ${mark} >/dev/null 2>&1 & exit 0\n`,
    });
    const results = await resultsOf(it);
    expect(results.map((one) => one.outcome)).toEqual(['pass', 'pass']);
    expect(isRunning(`sleep\0${mark}`)).toBe(false);
  },
);

test.skipIf(why !== '')(
  'in a sandbox: a product that its scenario starts itself is not reported as separate',
  async () => {
    await using it = await home({
      's/a_scenario.sh': `${modes}sh "$1/app.sh"\n`,
      'app/app.sh': 'exit 0\n',
    });
    expect(await resultsOf(it)).toMatchObject([{ outcome: 'pass', evidence: { isolation: 'phase' } }]);
  },
);

test.skipIf(why !== '').for([
  ['and the scenario looks at its exit code', '"$APP_RUN" sh kill.sh </dev/null || exit 1', 'exit code 1'],
  ['and the scenario looks at nothing', '"$APP_RUN" sh kill.sh </dev/null', 'its broker was killed'],
  [
    'and another one answers on its socket',
    '"$APP_RUN" sh kill.sh </dev/null; "$APP_RUN" true </dev/null || exit 1',
    'exit code 1',
  ],
] as const)('in a sandbox: a product that kills its broker has failed: %s', async ([, text, reason]) => {
  await using it = await home({
    's/a_scenario.sh': `${modes}${text}\nexit 0\n`,
    'app/kill.sh': 'kill -9 $PPID; sleep 5\n',
  });
  expect(await resultsOf(it)).toMatchObject([
    { outcome: 'fail', failure_class: 'product', evidence: { why: expect.stringContaining(reason) } },
  ]);
});

test.skipIf(why !== '')(
  'in a sandbox: a product that its scenario starts itself cannot report another exit code for it',
  async () => {
    await using it = await home({
      's/a_scenario.sh': `${modes}sh "$1/app.sh"\nexit 1\n`,
      'app/app.sh':
        "marks=$(tr '\\0' '\\n' </proc/1/cmdline /proc/[0-9]*/cmdline 2>/dev/null | grep -E '/run/[0-9a-f]+/[0-9a-f]+$'); for one in $marks; do rm -f $one/code; mkdir $one/code; rmdir $one/code; printf 0 >$one/code; chmod 444 $one/code; done\n",
    });
    expect(await resultsOf(it)).toMatchObject([{ outcome: 'fail', evidence: { exit_code: 1 } }]);
  },
);

test.skipIf(why !== '')(
  'in a sandbox: a product that makes the scenario compare a file with itself has failed, and one with other links has not',
  async () => {
    const text = `${modes}"$APP_RUN" sh app.sh </dev/null || exit 3\ncmp "\${0%/*}/wanted.txt" "$SCENARIO_TMP/out"\n`;
    const files = { 's/a_scenario.sh': text, 's/wanted.txt': 'right\n' };
    await using it = await home({ ...files, 'app/app.sh': 'ln -s /proc/self/fd/3 "$SCENARIO_TMP/out"\n' });
    expect(await resultsOf(it)).toMatchObject([
      {
        outcome: 'fail',
        failure_class: 'product',
        evidence: { why: expect.stringContaining('out -> /proc/self/fd/3') },
      },
    ]);
    const honest =
      'echo right >real; ln -s "$PWD/real" "$SCENARIO_TMP/out"; ln -s /usr/bin/env e; ln -s gone g\n';
    await using other = await home({ ...files, 'app/app.sh': honest });
    expect(await resultsOf(other)).toMatchObject([{ outcome: 'pass' }]);
  },
);

test.skipIf(why !== '')(
  'in a sandbox: a server in the background can be reached on loopback, and ends with the phase',
  async () => {
    const server = `const s = require('node:http').createServer((_, answer) => answer.end('hello')).listen(0, '127.0.0.1', () => {
  require('node:fs').writeFileSync(process.env.SCENARIO_TMP + '/port.new', String(s.address().port));
  require('node:fs').renameSync(process.env.SCENARIO_TMP + '/port.new', process.env.SCENARIO_TMP + '/port');
});`;
    await using it = await home({
      's/a_scenario.sh': `${modes}"$APP_RUN" sh start.sh </dev/null || exit 3
until [ -f "$SCENARIO_TMP/port" ]; do :; done
port=$(cat "$SCENARIO_TMP/port"); echo "$port"
node -e 'fetch("http://127.0.0.1:" + process.argv[1]).then((r) => r.text()).then((t) => process.exit(t === "hello" ? 0 : 1))' "$port"
`,
      'app/start.sh': 'node server.js & exit 0\n',
      'app/server.js': server,
    });
    const [result] = await resultsOf(it);
    expect(result).toMatchObject({ outcome: 'pass' });
    const refused = await new Promise((done) => {
      const socket = createConnection(Number(result?.output.stdout), '127.0.0.1');
      socket.on('connect', () => done(false)).on('error', () => done(true));
    });
    expect(refused).toBe(true);
  },
);

test.skipIf(why !== '')(
  'in a sandbox: what the product does not end in time is its failure, and gone',
  async () => {
    const mark = `32${process.pid}77`;
    await using it = await home({
      's/a_scenario.sh': `${modes}"$APP_RUN" sleep ${mark} </dev/null\n`,
      's/b_scenario.sh': `${modes}sleep ${mark}\n# APP_RUN\n`,
      'app/x': '',
    });
    expect(await resultsOf(it, { timeout: '2s', jobs: 2 })).toMatchObject([
      { failure_class: 'product', evidence: { timeout: 2000 } },
      { failure_class: 'scenario', evidence: { timeout: 2000 } },
    ]);
    expect(isRunning(`sleep\0${mark}`)).toBe(false);
  },
);

test.skipIf(why !== '')(
  'in a sandbox: a script that passes on the death of the product by a signal has failed for the product',
  async () => {
    await using it = await home({
      's/a_scenario.sh': `${modes}"$APP_RUN" sh -c 'kill -SEGV $$' </dev/null; exit $?\n`,
      's/b_scenario.sh': `${modes}kill -SEGV $$\n`,
      'app/x': '',
    });
    expect(await resultsOf(it)).toMatchObject([
      { failure_class: 'product', evidence: { exit_code: 139, signal: null } },
      { failure_class: 'scenario', evidence: { signal: 'SIGSEGV' } },
    ]);
  },
);

/** Each line is a check of the launcher that holds wherever it runs. */
const passes = `
same() { [ "$1" = "$2" ] || { echo "FAIL: $3: $2"; bad=1; }; }
bad=0
mine=$(mktemp -d)
same "$("$APP_RUN" sh args.sh a 'b  c' '' </dev/null)" '[a][b  c][]' arguments
same "$("$APP_RUN" ./args.sh x </dev/null)" '[x]' 'a program of the product'
same "$(cd / && "$APP_RUN" ./args.sh y </dev/null)" '[y]' 'a program of the product from elsewhere'
same "$(cd "$SCENARIO_TMP" && "$APP_RUN" pwd </dev/null)" "$(cd "$SCENARIO_TMP" && pwd -P)" 'working folder in SCENARIO_TMP'
same "$(cd / && "$APP_RUN" pwd </dev/null)" "$(pwd -P)" 'working folder elsewhere'
same "$(X=1 NODE_OPTIONS=--no-warnings "$APP_RUN" sh -c 'echo $X$NODE_OPTIONS$SCENARIO_MODE' </dev/null)" 1--no-warnings environment
"$APP_RUN" sh -c 'exit 41' </dev/null; same $? 41 'exit code'
"$APP_RUN" sh -c 'kill -KILL $$' </dev/null; same $? 137 'death by a signal'
"$APP_RUN" no-such-program </dev/null 2>/dev/null; same $? 127 'a missing program'
"$APP_RUN" ./plain.txt </dev/null 2>/dev/null; same $? 126 'a file that is no program'
same "$(printf 'a\\nb' | "$APP_RUN" cat)" "$(printf 'a\\nb')" 'standard input'
same "$(printf 'later' | "$APP_RUN" sh -c 'sleep 0.2; cat /dev/stdin')" later 'standard input by its name'
same "$("$APP_RUN" sh -c 'echo out; echo err >&2' </dev/null 2>/dev/null)" out 'standard output'
same "$("$APP_RUN" sh -c 'echo out; echo err >/dev/stderr' </dev/null 2>&1 >/dev/null)" err 'standard error'
head -c 3000000 /dev/urandom >"$mine/big"
"$APP_RUN" cat <"$mine/big" >"$mine/back"; cmp "$mine/big" "$mine/back" || bad=1
cat "$mine/big" | "$APP_RUN" cat | cmp - "$mine/big" || bad=1
same "$("$APP_RUN" yes </dev/null 2>/dev/null | head -n 1)" y 'a reader that leaves'
printf '1\\n2\\n3\\n' >"$mine/cases"; count=0
while read -r case; do "$APP_RUN" true; count=$((count + 1)); done <"$mine/cases"
same "$count" 3 'input of the script that the product does not read'
"$APP_RUN" sh -c 'trap "exit 9" TERM; : >"$SCENARIO_TMP/up"; while :; do sleep 0.05; done' </dev/null & pid=$!
until [ -f "$SCENARIO_TMP/up" ]; do :; done; kill -TERM "$pid"; wait "$pid"; same $? 9 'a signal'
same "$("$APP_RUN" sh -c 'sleep 30 & echo up' </dev/null | cat)" up 'a program in the background' &
wait $!
exit $bad
`;
const product = {
  'app/args.sh': '#!/bin/sh\nfor one; do printf "[%s]" "$one"; done\n',
  'app/plain.txt': 'x\n',
};

test.for([
  ['a sandbox', '', 'launcher'],
  ['no sandbox', 'none', 'none'],
] as const)(
  'a launcher passes everything through in %s',
  { timeout: 120_000 },
  async ([, sandbox, isolation], context) => {
    if (sandbox === '' && why !== '') return context.skip(why);
    // A background program of a product keeps its output open without the launcher of a sandbox.
    const text = sandbox === '' ? passes : passes.replace(/^same.*sleep 30.*\nwait .*$/m, '');
    await using it = await home({ 's/a_scenario.sh': `${modes}${text}`, ...product });
    const { chmod } = await import('node:fs/promises');
    await chmod(join(it.path, 'app/args.sh'), 0o755);
    const [result] = await resultsOf(it, {}, { FACTORY_SANDBOX: sandbox });
    expect(result?.output.stdout).toBe('');
    expect(result).toMatchObject({ outcome: 'pass', evidence: { isolation } });
    if (isolation === 'none')
      expect(result?.evidence.isolation_note).toBe(
        'product and scenario shared one user: FACTORY_SANDBOX=none',
      );
  },
);

test('a loop that loses its input to the launcher is broken instead of short', async (context) => {
  if (why !== '') return context.skip(why);
  await using it = await home({
    's/a_scenario.sh': `${modes}printf '1\\n2\\n' | while read -r one; do "$APP_RUN" true; done\nexit 0\n`,
    's/b_scenario.sh': `${modes}printf '1\\n2\\n' | while read -r one; do "$APP_RUN" true </dev/null; done\nexit 0\n`,
    'app/x': '',
  });
  expect(await resultsOf(it)).toMatchObject([
    { outcome: 'broken', evidence: { why: expect.stringContaining('</dev/null') } },
    { outcome: 'pass' },
  ]);
});

/** Calls of the product in a sandbox: they share one launch server, which hostile products and odd callers do not disturb. Real bubblewrap. */
import { expect, test } from 'vitest';
import { sandboxCapabilities } from '../../src/platform/sandbox/capabilities.ts';
import type { ScenarioReport } from '../../src/scenarios/result.ts';
import { cleanEnv, home } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';
import { call } from '../support/verb.ts';

onDisk();

const { bwrap } = await sandboxCapabilities(process.env);
const why = 'missing' in bwrap ? bwrap.missing : '';

async function resultOf(scenario: Readonly<Record<string, string>>) {
  await using it = await home({ ...scenario, 'app/x': '' });
  const doors = {
    cwd: it.path,
    env: cleanEnv({ TMPDIR: it.path, FACTORY_SANDBOX: '', FACTORY_FLOOR: 'false' }),
  };
  const { out } = await call(['scenario', 'run', 's'], { app: 'app', json: true, jobs: 1 }, doors);
  return (JSON.parse(out) as ScenarioReport).results[0];
}

const start = `if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi
bad=0 mine=$(mktemp -d)
same() { [ "$1" = "$2" ] || { echo "FAIL: $3: $1 is not $2"; bad=1; }; }
product() { "$APP_RUN" sh -c "$@" </dev/null; }
`;
const scripts = {
  'what a product does with its pipes': `
same "$(product 'yes & echo up' | grep -m 1 up)" up 'a program in the background that writes without end'
same "$(product 'echo a; (sleep 30 >/dev/null 2>&1 &) ; (sleep 30 &) ; exit 0')" a 'daemons'
product 'echo a; exec >&- 2>&-; sleep 0.1; exit 7' >"$mine/out"; same "$? $(cat "$mine/out")" '7 a' 'output that is closed early'
product 'kill -KILL $$' | cat; same "\${PIPESTATUS[0]}" 137 'a product that is killed'
want=$(yes 0123456789 | head -c 50000000 | cksum)
same "$(product 'yes 0123456789 | head -c 50000000' | cksum)" "$want" '50 MB to a pipe'
product 'yes 0123456789 | head -c 50000000; exit 3' >"$mine/out"; same "$? $(cksum <"$mine/out")" "3 $want" '50 MB to a file'
{ product 'echo a'; echo b; product 'echo c; echo d >&2' 2>&1; } >"$mine/out"; same "$(sort "$mine/out" | tr -d '\\n')" abcd 'a file that others write too'
echo before >"$mine/out"; product 'echo a' >>"$mine/out"; same "$(tr '\\n' . <"$mine/out")" before.a. 'a file that is appended to'
product 'echo a; exit 4' >&-; same $? 4 'no standard output'
same "$("$APP_RUN" sh -c 'cat; echo end' <&-)" end 'no standard input'
`,
  'one file for all output': `
for each in 1 2 3 4 5 6; do
  same "$(product 'echo a; echo b >&2; echo c; echo d >&2' 2>&1 | tr '\\n' .)" a.b.c.d. 'output in its order'
  product 'echo a; echo b >&2; echo c' >"$mine/both" 2>&1; same "$(tr '\\n' . <"$mine/both")" a.b.c. 'output in its order, in a file'
  product 'echo a; echo b >&2; echo c' >"$mine/both" 2>&1 & wait; same "$(tr '\\n' . <"$mine/both")" a.b.c. 'that of a call in the background'
done
`,
  'what a product looks for': `
same "$(product 'find / -type p 2>/dev/null; for one in /proc/[0-9]*; do find $one/root/tmp $one/cwd/ -type p 2>/dev/null; done')" '' 'pipes of the scenario'
same "$(product 'env; tr "\\0" "\\n" </proc/[0-9]*/cmdline; tr "\\0" "\\n" </proc/[0-9]*/environ' 2>/dev/null | grep -cF "$(sed -n 's/^app_run_calls=//p' "$APP_RUN")")" 0 'the folder of the calls'
cat >"$SCENARIO_TMP/disturb.cjs" <<'CODE'
const broker = require('node:fs').readlinkSync('/proc/' + process.ppid + '/cwd') + '/s';
for (const text of ['garbage\\n', '{"id":1}\\n', '{"id":"2","stream":"in"}\\n', '\\0', 'x'.repeat(200000)])
  require('node:net').connect(broker, function () { this.write(text); }).on('error', () => {});
setTimeout(() => process.exit(6), 300);
CODE
"$APP_RUN" node "$SCENARIO_TMP/disturb.cjs" </dev/null; same $? 6 'a product that writes to its broker'
same "$(product 'echo a')" a 'the call after it'
mkdir evil; for one in cat head sh true mkfifo; do printf '#!/bin/sh\\necho evil >>"%s/evil"\\n' "$PWD" >evil/$one; chmod +x evil/$one; done; mkdir evil/bin
same "$(PATH="$PWD/evil:$PATH" "$APP_RUN" echo a </dev/null; ls evil/evil 2>/dev/null)" a 'programs of the product at the start of PATH'
`,
  'variables that a script exports': `
secret() { echo expected-42; }; export -f secret
export calls=a slot=b each=c got=d out=e err=f in=g hit=h code=i signal=j consumed=k
env_of_product() { "$APP_RUN" env </dev/null; }
names='^(calls|slot|each|got|out|err|in|hit|code|signal|consumed)='
want=$(env | grep -E "$names" | sort)
same "$(env_of_product | grep -E "$names" | sort)" "$want" 'variables of a call'
"$APP_RUN" env </dev/null >"$mine/env" & wait; same "$(grep -E "$names" "$mine/env" | sort)" "$want" 'variables of a call in the background'
same "$(cat "$mine/env" <(env_of_product) | grep -c expected-42)" 0 'the text of a function'
`,
  'who calls': `
same "$(seq 20 | xargs -P 20 -I{} "$APP_RUN" sh -c 'echo {}; exit 0' | sort -n | tr '\\n' .)" "$(seq 20 | tr '\\n' .)" 'calls at once'
for one in 1 2 3; do product "sleep 0.$one; exit $one" & pids="$pids $!"; done
for one in $pids; do wait "$one"; codes="$codes$?"; done; same "$codes" 123 'calls in the background'
same "$(product 'echo abc' | "$APP_RUN" tr a-z A-Z | "$APP_RUN" rev)" CBA 'calls that feed each other'
same "$(X=$(printf 'a\\nb=c') "$APP_RUN" sh -c 'echo "$X$0$1"' '' 'd
e' </dev/null | tr '\\n' .)" a.b=cd.e. 'lines in variables and arguments'
same "$(bash "$APP_RUN" sh -c 'echo $0; exit 3' a </dev/null; echo $?)" "$(printf 'a\\n3')" 'another shell'
printf 'one\\ntwo\\nthree\\n' >"$mine/in"
same "$({ "$APP_RUN" sh -c 'read x; echo got $x'; cat; } <"$mine/in" | tr '\\n' .)" 'got one.two.three.' 'a product that reads a part of a file'
mkfifo "$mine/pipe"; (echo abc >"$mine/pipe") & same "$(timeout 20 "$APP_RUN" cat <"$mine/pipe"; echo $?)" "$(printf 'abc\\n0')" 'a pipe with a name whose writer has ended'
waits='trap "echo bye; exit 9" TERM INT; : >"$SCENARIO_TMP/up"; while :; do sleep 0.05; done'
until_up() { until [ -f "$SCENARIO_TMP/up" ]; do sleep 0.05; done; rm "$SCENARIO_TMP/up"; }
"$APP_RUN" sh -c "$waits" </dev/null >"$mine/out" & pid=$!; until_up; kill -INT "$pid"; wait "$pid"; same "$? $(cat "$mine/out")" '9 bye' 'a signal that a shell ignores in the background'
set -m
"$APP_RUN" sh -c "$waits" </dev/null >"$mine/out" & pid=$!; until_up; kill -TERM -- "-$pid"; wait "$pid"; same "$? $(cat "$mine/out")" '9 bye' 'a signal for the process group'
"$APP_RUN" sh -c "echo \\$\\$; $waits" </dev/null >"$mine/out" & pid=$!; until_up; kill -KILL "$pid"; wait "$pid" 2>/dev/null
until ! product "kill -0 $(cat "$mine/out") 2>/dev/null"; do sleep 0.05; done
set +m
first=$(sh -c 'echo $$'); for one in 1 2 3 4 5 6 7 8 9 10; do "$APP_RUN" true </dev/null; done; last=$(sh -c 'echo $$')
[ $((last - first)) -lt 110 ] || { echo "FAIL: $((last - first)) processes and threads for ten calls"; bad=1; }
for one in /proc/[0-9]*; do tr '\\0' ' ' <$one/cmdline 2>/dev/null | grep -q '^[^ ]*node [^ ]*/server.cjs' && server=\${one#/proc/}; done
kill -KILL "$server"; while kill -0 "$server" 2>/dev/null; do sleep 0.05; done
same "$(product 'echo a'; product 'echo b; exit 2'; echo $?)" "$(printf 'a\\nb\\n2')" 'calls without the server'
`,
} as const;

test.skipIf(why !== '').for(Object.entries(scripts))(
  'calls of the product pass everything through: %s',
  { timeout: 120_000 },
  async ([, script]) => {
    const result = await resultOf({ 's/a_scenario.sh': `${start}${script}exit $bad\n` });
    expect(result?.output.stdout).toBe('');
    expect(result).toMatchObject({ outcome: 'pass', evidence: { isolation: 'launcher' } });
  },
);

test.skipIf(why !== '')(
  'a scenario in JavaScript calls the product with sockets and many at once',
  async () => {
    const script = `import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
const run = process.env.APP_RUN;
if (process.env.SCENARIO_MODE === 'selftest') process.exit(0);
const one = spawnSync(run, ['sh', '-c', 'cat; echo e >&2; exit 5'], { input: 'abc' });
if (one.status !== 5 || String(one.stdout) !== 'abc' || String(one.stderr) !== 'e\\n') throw new Error(JSON.stringify(one));
const all = await Promise.all(Array.from({ length: 6 }, (_, at) => promisify(execFile)(run, ['echo', String(at)])));
if (all.map(({ stdout }) => stdout.trim()).join('') !== '012345') throw new Error(JSON.stringify(all));
`;
    expect(await resultOf({ 's/a_scenario.mjs': script })).toMatchObject({ outcome: 'pass' });
  },
);

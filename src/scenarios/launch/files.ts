/** The files that a launcher consists of. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quoteWord } from '../../core/policy/words.ts';
import type { BrokerPlaces } from '../../platform/embedded/broker.ts';
import brokerText from '../../platform/embedded/broker.ts?program';
import { forwardedSignals } from '../../platform/embedded/launch.ts';
import type { ServerPlaces } from '../../platform/embedded/launch-server.ts';
import serverText from '../../platform/embedded/launch-server.ts?program';
import launcherText from '../../platform/embedded/launcher.ts?program';
import { type NullProduct, nullLauncher } from '../floor/null-products.ts';

/** As in scripts/scenarios/preflight_scenario.sh. Without a sandbox: starts the program itself, in the same folder and with the same variables as the launcher does. */
const plainLauncher = (app: string, temporary: string): string => `#!/bin/sh
[ "$#" -gt 0 ] || { echo 'APP_RUN: no program is given: "$APP_RUN" PROGRAM ARGUMENTS…' >&2; exit 125; }
unset APP_RUN SCENARIO_MODE REQUIRE_LIVE OLDPWD
app=${quoteWord(app)} temporary=${quoteWord(temporary)}
case $(pwd -P)/ in "$app"/* | "$temporary"/*) ;; *) cd "$app" || exit 126 ;; esac
case $1 in
  /*) ;;
  */*) [ -e "$1" ] || { program=$app/$1; shift; set -- "$program" "$@"; } ;;
esac
exec "$@"
`;

/** As the launch server forwards them. */
const forwarded = forwardedSignals.map((name) => name.slice(3)).join(' ');

/** Hands the call to the launch server, or to the launcher of a single call. NODE_OPTIONS is the product's: it must not change the launcher.
 *  Programs are named by paths: the script may have changed PATH. Its variables have names that no script exports: the launcher of a
 *  single call gets them. The server looks at 5 instead of 1, which a shell replaces while `echo` writes elsewhere. */
const startLauncher = (node: string, program: string, calls: string): string => `#!/bin/sh
set +eu
alone() {
  if [ -n "\${NODE_OPTIONS+x}" ]; then
    export SCENARIO_NODE_OPTIONS="$NODE_OPTIONS"
    unset NODE_OPTIONS
  fi
  exec ${quoteWord(node)} ${quoteWord(program)} "$@"
}
app_run_calls=${quoteWord(calls)}
[ "$#" -gt 0 ] && [ -p "$app_run_calls/ready" ] || alone "$@"
{ true >"$app_run_calls/wake" <"$app_run_calls/ready"; } 2>/dev/null
set -C
app_run_slot= app_run_got=
for app_run_each in "$app_run_calls"/[0-9]*; do
  { true >"$app_run_each/claim"; } 2>/dev/null && app_run_slot=$app_run_each && break
done
[ -n "$app_run_slot" ] || alone "$@"
{ command exec 6<"$app_run_slot/answer" 7<"$app_run_slot/out" 8<"$app_run_slot/err" 9>"$app_run_slot/call"; } 2>/dev/null || alone "$@"
{ command exec 5>&1; } 2>/dev/null
for app_run_each in ${forwarded}; do trap "app_run_hit=1 app_run_got=$app_run_each; echo $app_run_each >&9" "$app_run_each"; done
# Signals for the process group must not end these.
{ trap '' ${forwarded}; exec "$app_run_calls/cat" <&7 2>/dev/null 5>&- 6<&- 7<&- 8<&- 9>&-; } &
app_run_out=$!
{ trap '' ${forwarded}; exec "$app_run_calls/cat" <&8 >&2 2>/dev/null 5>&- 6<&- 7<&- 8<&- 9>&-; } &
app_run_err=$!
exec 7<&- 8<&-
app_run_in=
if [ -S /proc/self/fd/0 ]; then
  exec 4<&0
  { trap '' ${forwarded}; exec "$app_run_calls/cat" <&4 2>/dev/null >"$app_run_slot/in" 4<&- 5>&- 6<&- 9>&-; } &
  app_run_in=$!
fi
echo "$$ $#" >&9
# A signal ends these early.
for app_run_each in "$app_run_out" "$app_run_err"; do
  while app_run_hit=; wait "$app_run_each"; [ -n "$app_run_hit" ]; do :; done
done
[ -z "$app_run_in" ] || kill -KILL "$app_run_in" 2>/dev/null
while app_run_hit=; ! read -r app_run_code app_run_signal app_run_consumed <&6; do
  [ -n "$app_run_hit" ] || { echo 'APP_RUN: the launcher was ended' >&2; exit 125; }
done
if [ "$app_run_code" = alone ]; then
  trap - ${forwarded}
  [ -z "$app_run_got" ] || kill -s "$app_run_got" $$
  alone "$@" 5>&- 6<&- 9>&-
fi
[ "$app_run_consumed" = 0 ] || "$app_run_calls/head" -c "$app_run_consumed" >/dev/null
if [ "$app_run_signal" != - ]; then
  trap - ${forwarded}
  kill -s "$app_run_signal" $$
fi
exit "$app_run_code"
`;

/** Starts the launch server of the folder `calls` in the background, when it is first called. Where there is none, also when it has ended,
 *  each call uses the launcher of a single call: what waits for one of its pipes is released. */
const serverStart = (node: string, program: string, calls: string): string =>
  [
    `calls=${quoteWord(calls)}`,
    'mkfifo -m 600 "$calls/wake" "$calls/ready" 2>/dev/null',
    `{ trap '' ${forwarded}; exec 8<"$calls/wake"; unset NODE_OPTIONS; ${quoteWord(node)} ${quoteWord(program)}; mv "$calls" "$calls-ended"; for each in "$calls-ended"/* "$calls-ended"/*/*; do true <>"$each"; done; } </dev/null >/dev/null 2>&1 3>&- &`,
  ].join('\n');

/** A program for another process, with its places. */
export const programWith = (places: object, text: string): string =>
  `const places = ${JSON.stringify(places)};\n${text}`;

/** Writes the launcher and its server into the folder `tools`; answers with the launcher's path and what starts the server. */
export async function writeLauncher(
  tools: string,
  node: string,
  places: ServerPlaces,
): Promise<{ readonly launcher: string; readonly server: string }> {
  const [launcher, program, server] = ['app-run', 'app-run.cjs', 'server.cjs'].map((name) =>
    join(tools, name),
  ) as [string, string, string];
  await writeFile(program, programWith(places, launcherText));
  await writeFile(server, programWith(places, serverText));
  await writeFile(launcher, startLauncher(node, program, places.calls), { mode: 0o755 });
  return { launcher, server: serverStart(node, server, places.calls) };
}

/** Writes the plain launcher into the folder `tools`; answers with its path. */
export async function writePlainLauncher(tools: string, app: string, temporary: string): Promise<string> {
  const start = join(tools, 'app-run');
  await writeFile(start, plainLauncher(app, temporary), { mode: 0o755 });
  return start;
}

/** Writes the broker into the existing folder `place`; answers with its path. */
export async function writeBroker(place: string, places: BrokerPlaces): Promise<string> {
  const program = join(place, 'broker.cjs');
  await writeFile(program, programWith(places, brokerText));
  return program;
}

/** Writes the launcher of a product that does nothing into the folder `tools`; answers with its path. */
export async function writeNullLauncher(tools: string, product: NullProduct): Promise<string> {
  const start = join(tools, 'app-run');
  await writeFile(start, nullLauncher(product), { mode: 0o755 });
  return start;
}

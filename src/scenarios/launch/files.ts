/** The files that a launcher consists of. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quoteWord } from '../../core/policy/words.ts';
import type { BrokerPlaces } from '../../platform/embedded/broker.ts';
import brokerText from '../../platform/embedded/broker.ts?program';
import type { LauncherPlaces } from '../../platform/embedded/launcher.ts';
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

/** NODE_OPTIONS is the product's: it must not change the launcher. */
const startLauncher = (node: string, program: string): string => `#!/bin/sh
if [ -n "\${NODE_OPTIONS+x}" ]; then
  export SCENARIO_NODE_OPTIONS="$NODE_OPTIONS"
  unset NODE_OPTIONS
fi
exec ${quoteWord(node)} ${quoteWord(program)} "$@"
`;

/** A program for another process, with its places. */
export const programWith = (places: object, text: string): string =>
  `const places = ${JSON.stringify(places)};\n${text}`;

/** Writes the launcher into the folder `tools`; answers with its path. */
export async function writeLauncher(tools: string, node: string, places: LauncherPlaces): Promise<string> {
  const [start, program] = [join(tools, 'app-run'), join(tools, 'app-run.cjs')];
  await writeFile(program, programWith(places, launcherText));
  await writeFile(start, startLauncher(node, program), { mode: 0o755 });
  return start;
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

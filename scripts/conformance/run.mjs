#!/usr/bin/env node
/** Runs every case below a folder against the built command line and library.
 *
 *  node scripts/conformance/run.mjs --vectors DIR [--only text,text] [--jobs N] [--json FILE] [--list] [--keep]
 *  [--verbose] [--scripts DIR]
 *
 *  The last line is `N passed, N failed`; exit code 1 when a case failed, 2 when the flags are wrong. Cases that are
 *  tagged as quirks, and those that `superseded.mjs` names, are run and printed, but never fail. */
import { existsSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { discover } from './discover.mjs';
import { endRemaining } from './processes.mjs';
import { tell, verdictOf } from './report.mjs';

const house = resolve(import.meta.dirname, '../..');

function fail(problem) {
  console.error(
    `${problem}\nusage: npm run conformance -- --vectors DIR [--only text,text] [--jobs N] [--json FILE]`,
  );
  process.exit(2);
}

function readFlags() {
  try {
    return parseArgs({
      options: {
        vectors: { type: 'string' },
        only: { type: 'string' },
        jobs: { type: 'string' },
        json: { type: 'string' },
        scripts: { type: 'string', default: join(house, 'scripts') },
        list: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        verbose: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return fail(error.message);
  }
}

const flags = readFlags();
if (flags.vectors === undefined) fail('--vectors is missing');
const folder = resolve(flags.vectors);
if (!existsSync(folder)) fail(`there is no ${folder}`);
const jobs = Number(flags.jobs ?? Math.min(4, availableParallelism()));
if (!Number.isSafeInteger(jobs) || jobs < 1)
  fail(`--jobs is ${flags.jobs}: give a whole number of at least 1`);
const cli = join(house, 'dist/cli.js');
const library = join(house, 'dist/index.mjs');
if (!existsSync(cli) || !existsSync(library)) fail('dist/ is missing: npm run build makes it');

const only = flags.only?.split(',').filter(Boolean);
const cases = discover(folder).filter(
  ({ id }) => only === undefined || only.some((part) => id.includes(part)),
);
if (cases.length === 0)
  fail(`there are no cases below ${folder}${only === undefined ? '' : ' with such a name'}`);
if (flags.list) {
  for (const { id, tags } of cases) console.log(`${id}${tags.length === 0 ? '' : `  [${tags.join(', ')}]`}`);
  process.exit(0);
}

const setting = {
  command: [process.execPath, cli],
  library: await import(library),
  scripts: existsSync(join(flags.scripts, 'scenarios/preflight_scenario.sh'))
    ? resolve(flags.scripts)
    : undefined,
  keep: flags.keep,
};

const results = new Array(cases.length);
let next = 0;
async function worker() {
  while (next < cases.length) {
    const at = next++;
    const one = cases[at];
    const began = performance.now();
    const outcome = await one
      .run(setting)
      .catch((error) => ({ problems: [`the runner broke: ${error.stack}`] }));
    results[at] = { ...one, problems: [], ...outcome, seconds: (performance.now() - began) / 1000 };
    if (flags.verbose)
      console.log(`${verdictOf(results[at]).padEnd(10)} ${one.id} (${results[at].seconds.toFixed(1)} s)`);
  }
}
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    endRemaining();
    process.exit(130);
  });
await Promise.all(Array.from({ length: jobs }, worker));

if (flags.json !== undefined) {
  const rows = results.map(({ id, tags, skipped, problems }) => ({ id, tags, skipped, reasons: problems }));
  writeFileSync(flags.json, `${JSON.stringify(rows, null, 1)}\n`);
}
process.exitCode = tell(results) ? 0 : 1;

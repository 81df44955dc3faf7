/** `factory scenario lint|selftest|run`: holdout scenarios against a product. */
import { readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { CommandIo } from '../builder/tool.ts';
import { durationMs } from '../model/attribute.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { JsonObject } from '../model/json.ts';
import { type Discovered, discover } from '../scenario/discover.ts';
import { lintScenarios } from '../scenario/lint.ts';
import { sandboxHere } from '../scenario/machine.ts';
import type { ScenarioReport } from '../scenario/result.ts';
import { runScenarios } from '../scenario/run.ts';
import { helpersOf, productStarts } from '../scenario/starts.ts';
import { visibleFailure, withoutSealed } from '../scenario/visible.ts';
import type { Clock } from '../system/clock.ts';
import { isMissing } from '../system/files.ts';
import { programsOf } from '../system/programs.ts';
import { realReach } from '../system/reach.ts';
import { removeTree } from '../system/remove.ts';
import { makeTemporary, temporaryOf } from '../system/temporary.ts';
import { copyTree } from '../workspace/copy.ts';
import type { Io } from './io.ts';
import { refuse } from './refuse.ts';
import { scenarioNotes, scenarioTable } from './scenario-words.ts';

export type ScenarioIo = Io & CommandIo & { readonly clock: Clock; readonly signal: () => AbortSignal };
export type ScenarioFlags = {
  readonly app: string;
  readonly live?: boolean;
  readonly repeat?: number;
  readonly jobs?: number;
  readonly timeout?: string;
  readonly ifAny?: boolean;
  readonly isolation?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Default time limit of each phase of a scenario, in milliseconds. */
const defaultTimeout = 15 * 60_000;

/** Judges the product in `--app` by the scenarios of a folder. Exit codes: 0 all pass, 1 the product or a scenario fails,
 *  86 nothing but infrastructure does, 2 wrong flags or nothing to run, 130 interrupted. */
export async function scenarioRun(
  place: string,
  mode: 'selftest' | 'live',
  flags: ScenarioFlags,
  io: ScenarioIo,
): Promise<number> {
  const wrong = (message: string, fix: string): Promise<number> =>
    refuse([{ code: 'scenario', severity: 'error', message, fix }], io, flags).then(() => 2);
  const timeoutMs = timeLimit(flags.timeout ?? io.env['SCENARIO_TIMEOUT']);
  if (timeoutMs === undefined)
    return wrong(
      `${flags.timeout === undefined ? 'SCENARIO_TIMEOUT=' : '--timeout '}${flags.timeout ?? io.env['SCENARIO_TIMEOUT']} is no time`,
      'write 90s, 15m or 2h',
    );
  const folder = resolve(io.cwd, place);
  const found = await discover(folder).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (found === undefined || found.scenarios.length === 0) {
    const message =
      found === undefined ? `there is no folder ${place}` : `there are no scenarios in ${place}`;
    if (flags.ifAny === true) return nothingJudged(message, flags, io);
    return wrong(
      message,
      'name a folder with scripts such as login_user_scenarios.sh; with --if-any none is no mistake',
    );
  }
  const app = resolve(io.cwd, flags.app);
  const is = await stat(app).catch(() => undefined);
  if (is?.isDirectory() !== true)
    return wrong(
      is === undefined ? `there is no product in ${flags.app}` : `${flags.app} is no folder`,
      'pass the folder of the product: --app DIR',
    );
  const isolation = flags.isolation ?? (io.env['FACTORY_ISOLATION'] || 'auto');
  if (isolation !== 'auto' && isolation !== 'required')
    return wrong(`there is no isolation "${isolation}"`, 'write auto or required');
  const live = flags.live === true || (io.env['REQUIRE_LIVE'] ?? '1') === '1';
  const options = {
    app,
    mode,
    live,
    timeoutMs,
    repeat: flags.repeat ?? 1,
    jobs: flags.jobs ?? Math.min(4, availableParallelism()),
  };
  const signal = io.signal();
  // Before any product could change them.
  const texts = await textsBeside(folder);
  const { clock, env } = io;
  const sandbox = await sandboxHere(io.spawn, env, await holdoutFolders(folder));
  if (isolation === 'required') {
    const problems = await isolationProblems(found, place, sandbox.noSandbox);
    if (problems.length > 0) return refuse(problems, io, flags).then(() => 2);
  }
  const report = await runScenarios(found, options, {
    ...sandbox,
    clock,
    env,
    signal,
    programsOf,
    reach: realReach,
    copyProduct: (from, to, exclude) => copyTree(from, to, { exclude, whole: true }),
  });
  if (report === undefined) {
    io.err('interrupted: every scenario was ended\n');
    return 130;
  }
  await tell(report, texts, flags, io);
  return report.exit_code;
}

/** Why the scenarios cannot be isolated from the product. */
async function isolationProblems(
  { scenarios }: Discovered,
  place: string,
  noSandbox: string | undefined,
): Promise<readonly Diagnostic[]> {
  if (noSandbox !== undefined)
    return [
      {
        code: 'scenario',
        severity: 'error',
        message: `isolation=required, but no sandbox works here: ${noSandbox}`,
        fix: 'install bubblewrap or allow user namespaces, which it needs; or use isolation=auto',
      },
    ];
  const files = await Promise.all(scenarios.map(({ folder, name }) => helpersOf(folder, name)));
  const each = new Map(files.flat().map((file) => [file.name, file.text]));
  return [...each].flatMap(([name, text]) =>
    productStarts(name, text).map(({ line, text: start }) => ({
      code: 'scenario',
      severity: 'error' as const,
      message: `isolation=required, but ${place}: ${name}:${line} uses the product without APP_RUN: ${start}`,
      fix: 'write "$APP_RUN" PROGRAM ARGUMENTS…',
    })),
  );
}

/** The folder of the scenarios, by its name and its real path. */
async function holdoutFolders(place: string): Promise<readonly string[]> {
  const folder = (await stat(place)).isFile() ? dirname(place) : place;
  return [...new Set([folder, await realpath(folder)])];
}

async function tell(
  report: ScenarioReport,
  texts: readonly string[],
  flags: ScenarioFlags,
  io: ScenarioIo,
): Promise<void> {
  const output = outputOf(io);
  // Output of a node reaches the builder: it must not contain any text of the scenarios.
  const sealed = output === undefined ? [] : texts;
  if (output !== undefined) {
    const failures = report.results
      .filter((one) => one.failure_class === 'product')
      .map((one): JsonObject => ({ scenario: one.scenario, said: visibleFailure(one.output, texts) }));
    await writeFile(
      output,
      `${JSON.stringify({
        outcome: report.exit_code === 0 ? 'success' : 'fail',
        ...(report.failure_class === null
          ? { notes: scenarioNotes(report) }
          : {
              failure_reason: withoutSealed(scenarioNotes(report), sealed),
              failure_class: report.failure_class,
            }),
        context_updates: {
          'judge.status': report.status,
          'judge.class': report.failure_class ?? '',
          'judge.failures': failures,
          'judge.passed': report.results.filter(({ outcome }) => outcome === 'pass').length,
          'judge.total': report.results.length,
        },
      })}\n`,
    );
  }
  if (flags.json === true) {
    const results = report.results.map((one) => ({
      ...one,
      output: {
        stdout: withoutSealed(one.output.stdout, sealed),
        stderr: withoutSealed(one.output.stderr, sealed),
      },
    }));
    io.out(`${JSON.stringify({ ...report, results }, null, 2)}\n`);
  } else io.out(scenarioTable(report, sealed));
  if (report.failure_class !== null) io.err(`failure_class=${report.failure_class}\n`);
}

async function nothingJudged(why: string, flags: ScenarioFlags, io: ScenarioIo): Promise<number> {
  const notes = `${why}: nothing judged the product`;
  const report: ScenarioReport = {
    schema_version: 1,
    status: 'none',
    exit_code: 0,
    failure_class: null,
    results: [],
    passed_over: [],
  };
  const output = outputOf(io);
  if (output !== undefined) {
    const context_updates = {
      'judge.status': 'none',
      'judge.class': '',
      'judge.failures': [],
      'judge.passed': 0,
      'judge.total': 0,
    };
    await writeFile(
      output,
      `${JSON.stringify({ outcome: 'success', preferred_next_label: 'none', notes, context_updates })}\n`,
    );
  }
  io.out(flags.json === true ? `${JSON.stringify(report, null, 2)}\n` : `${notes}\n`);
  return 0;
}

/** The file that a pipeline's stage answers in. */
const outputOf = (io: ScenarioIo): string | undefined => {
  const file = io.env['FACTORY_OUTPUT'];
  return file === undefined || file === '' ? undefined : file;
};

/** Bytes of a file that can be a script. */
const longestText = 1024 * 1024;

/** The texts of all that lies in the folder of the scenarios, or in that of the one. */
async function textsBeside(place: string): Promise<readonly string[]> {
  const folder = (await stat(place)).isFile() ? join(place, '..') : place;
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const texts = await Promise.all(
    entries
      .filter((entry) => entry.isFile() || entry.isSymbolicLink())
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        // A link leads to a scenario's text as well as to a folder, or to nothing.
        const is = await stat(path).catch(() => undefined);
        return is?.isFile() !== true || is.size > longestText ? '' : readFile(path, 'utf8');
      }),
  );
  return texts.filter((text) => text !== '' && !text.includes('\0'));
}

/** Says what is wrong with the scripts of a folder, as `path:line: message` on standard output. Exit codes: 0 nothing,
 *  or warnings only, 1 errors or no scripts, 2 there is no such place. */
export async function scenarioLint(
  place: string,
  flags: { readonly json?: boolean; readonly color?: boolean },
  io: ScenarioIo,
): Promise<number> {
  const scratch = await makeTemporary(temporaryOf(io.env), 'scenario-lint');
  try {
    const linted = await lintScenarios(resolve(io.cwd, place), place, {
      spawn: io.spawn,
      env: io.env,
      scratch,
      signal: io.signal(),
    });
    const { findings, scripts } = linted;
    const code = scripts === 0 || findings.some(({ severity }) => severity === 'error') ? 1 : 0;
    if (flags.json === true) {
      io.out(`${JSON.stringify({ schema_version: 1, exit_code: code, scripts, findings }, null, 2)}\n`);
      return code;
    }
    for (const { path, line, severity, message } of findings)
      io.out(`${path}:${line}: ${severity === 'warning' ? 'warning: ' : ''}${message}\n`);
    if (scripts === 0) io.out(`${place}: no scenario scripts in this folder\n`);
    else if (findings.length === 0) io.out(`scenario scripts without findings: ${scripts}\n`);
    return code;
  } catch (error) {
    if (!isMissing(error)) throw error;
    const fix = 'name a folder of scenario scripts, or one of them';
    await refuse([{ code: 'scenario', severity: 'error', message: `there is no ${place}`, fix }], io, flags);
    return 2;
  } finally {
    await removeTree(scratch);
  }
}

/** Milliseconds; undefined for a word that is no time. */
function timeLimit(word: string | undefined): number | undefined {
  if (word === undefined || word.trim() === '') return defaultTimeout;
  const ms = durationMs(word) ?? (/^\d+$/.test(word.trim()) ? Number(word) * 1000 : undefined);
  return ms === undefined || ms <= 0 ? undefined : ms;
}

function count(word: string): number {
  const n = Number(word);
  if (!Number.isSafeInteger(n) || n < 1 || n > 1000)
    throw new InvalidArgumentError('a whole number from 1 to 1000 is wanted.');
  return n;
}

/** Registers `scenario` and its verbs; `io.exit` is given each verb's exit code. */
export function scenarioCommand(
  program: Command,
  io: ScenarioIo & { readonly exit: (code: number) => void },
): Command {
  const scenario = program.command('scenario').description('Accept or reject a product by holdout scenarios');
  scenario
    .command('lint <dir>')
    .description('Check scenario scripts')
    .option('--json', 'print findings as JSON')
    .option('--no-color', 'disable colors (also: NO_COLOR)')
    .action(async (dir, options) => io.exit(await scenarioLint(dir, options, io)));
  const verb = (name: string, what: string): Command =>
    scenario
      .command(name)
      .description(what)
      .requiredOption('--app <dir>', 'product directory; each scenario gets a copy')
      .option('--repeat <n>', 'run each scenario n times and report how often it passed', count)
      .option('--jobs <n>', 'scenarios to run in parallel (default: 4, or the number of processors)', count)
      .option('--timeout <duration>', 'time limit of each phase (default: SCENARIO_TIMEOUT, else 15m)')
      .option('--if-any', 'succeed if there are no scenarios')
      .option(
        '--isolation <mode>',
        'auto, or required: refuse to run without sandboxes that separate product and scenario (default: auto)',
      )
      .option('--json', 'print results as JSON')
      .option('--no-color', 'disable colors (also: NO_COLOR)');
  verb('selftest <dir>', 'Run the self-tests of the scenarios, without the product').action(
    async (dir, options) => io.exit(await scenarioRun(dir, 'selftest', options, io)),
  );
  verb('run <dir>', 'run each scenario by itself and then live against the product')
    .option('--live', 'run the live phase even with REQUIRE_LIVE=0')
    .action(async (dir, options) => io.exit(await scenarioRun(dir, 'live', options, io)));
  return scenario;
}

/** `factory scenario lint|selftest|run`: holdout scenarios against a product. */
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type Diagnostic, type Refusal, refused, wrong } from '../core/diagnostic.ts';
import { floorWords } from '../core/settings/graph.ts';
import { durationMs } from '../core/settings/types.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { isMissing } from '../platform/files/write.ts';
import { realReach } from '../platform/network.ts';
import { programsOf } from '../platform/process/table.ts';
import { type Discovered, discover } from '../scenarios/discover.ts';
import { openFloorCache } from '../scenarios/floor/cache.ts';
import type { PhaseHost } from '../scenarios/launch/product.ts';
import { lintScenarios } from '../scenarios/lint.ts';
import type { ScenarioReport } from '../scenarios/result.ts';
import { runScenarios } from '../scenarios/run-all.ts';
import { sandboxHere } from '../scenarios/sandbox.ts';
import { helpersOf, productStarts } from '../scenarios/starts.ts';
import { copyTree } from '../workspace/copy.ts';
import type { CliIo } from './io.ts';
import { isOfNode, reportScenarios, writeScenarioOutput } from './scenario-output.ts';
import type * as Strengths from './scenario-strength.ts';
import { type StrengthRequest, strengthRequest } from './strength-request.ts';
import type { VerbResult } from './verb.ts';

export type ScenarioFlags = {
  readonly app: string;
  readonly live?: boolean;
  readonly repeat?: number;
  readonly jobs?: number;
  readonly timeout?: string;
  readonly ifAny?: boolean;
  readonly isolation?: string;
  readonly floor?: string;
  readonly json?: boolean;
};

/** Default time limit of each phase of a scenario, in milliseconds. */
const defaultTimeout = 15 * 60_000;

const no = (message: string, fix: string): Refusal => refused('scenario', message, fix);

export const scenarioSelftest = (place: string, flags: ScenarioFlags, io: CliIo): Promise<VerbResult> =>
  judge(place, 'selftest', flags, io);
export const scenarioRun = (place: string, flags: ScenarioFlags, io: CliIo): Promise<VerbResult> =>
  judge(place, 'live', flags, io);

/** Judges the product in `--app` by the scenarios of a folder. Exit codes: 0 all pass, 1 the product or a scenario fails,
 *  86 nothing but infrastructure does, 130 interrupted. */
async function judge(
  place: string,
  mode: 'selftest' | 'live',
  flags: ScenarioFlags,
  io: CliIo,
): Promise<VerbResult> {
  const folder = resolve(io.cwd, place);
  const found = await discover(folder).catch(orMissing);
  if (found === undefined || found.scenarios.length === 0) return noScenarios(found, place, flags, io);
  const began = io.clock.monotonic();
  const settings = await settingsOf(flags, io);
  if ('problems' in settings) return settings;
  const request = strengthRequest(io);
  if (request !== undefined && 'problems' in request) return request;
  const { isolation, floor, ...options } = settings;
  const isPart = !isOfNode(io) && (await hasOthers(folder));
  const signal = io.signal();
  // Before any product could change them.
  const texts = await siblingTexts(folder);
  const { clock, env } = io;
  const sandbox = await sandboxHere(io.spawn, env, await holdoutFolders(folder));
  if (isolation === 'required') {
    const problems = await isolationProblems(found, place, sandbox.noSandbox);
    if (problems.length > 0) return { problems };
  }
  const host: PhaseHost = {
    ...{ ...sandbox, clock, env, signal, programsOf, reach: realReach },
    copyProduct: (from, to, exclude) => copyTree(from, to, { exclude, whole: true }),
  };
  const judged = await runScenarios(found, { ...options, mode, floor: { ...floor, isPart } }, host);
  const about = { ...options, cwd: io.cwd, scenarios: found.scenarios, jobs: flags.jobs, began };
  const isMeasured = mode === 'live' && request !== undefined;
  const report = isMeasured ? await measuredToo(judged, request, about, host) : judged;
  if (report === undefined) {
    io.err('interrupted: every scenario was ended\n');
    return 130;
  }
  await reportScenarios(report, texts, flags.json === true, io);
  return report.exit_code;
}

/** The report with the strength of scenarios that have passed. */
async function measuredToo(
  judged: ScenarioReport | undefined,
  request: StrengthRequest,
  ...[about, host]: StrengthPlace
): Promise<ScenarioReport | undefined> {
  if (judged?.status === 'pass') return (await strengths()).withStrength(judged, request, about, host);
  return judged?.status === 'none' ? withoutJudging(judged, request, 'no scenario ran live') : judged;
}

type StrengthPlace =
  Parameters<typeof Strengths.withStrength> extends [unknown, unknown, ...infer Rest] ? Rest : never;

/** What is needed to measure takes time to load. */
const strengths = (): Promise<typeof Strengths> => import('./scenario-strength.ts');

/** The report of a suite that has not judged the product: an error only where a strength is required. */
const withoutJudging = async (
  report: ScenarioReport,
  request: StrengthRequest | undefined,
  why: string,
): Promise<ScenarioReport> =>
  request?.required === undefined
    ? report
    : (await strengths()).withoutStrength(report, why, request.required);

/** Whether it is one scenario of several in its folder. */
async function hasOthers(place: string): Promise<boolean> {
  return (await stat(place)).isFile() && (await discover(dirname(place))).scenarios.length > 1;
}

export const orMissing = (error: unknown): undefined => {
  if (!isMissing(error)) throw error;
};

/** Milliseconds that a phase may take. */
export function scenarioTimeout(flag: string | undefined, env: CliIo['env']): number | Refusal {
  const [from, time] =
    flag === undefined ? ['SCENARIO_TIMEOUT=', env['SCENARIO_TIMEOUT']] : ['--timeout ', flag];
  return timeLimit(time) ?? no(`${from}${time} is no time`, 'write 90s, 15m or 2h');
}

async function settingsOf(flags: ScenarioFlags, { cwd, env }: CliIo) {
  const timeoutMs = scenarioTimeout(flags.timeout, env);
  if (typeof timeoutMs !== 'number') return timeoutMs;
  const app = resolve(cwd, flags.app);
  const is = await stat(app).catch(() => undefined);
  const what = is === undefined ? `there is no product in ${flags.app}` : `${flags.app} is no folder`;
  if (is?.isDirectory() !== true) return no(what, 'pass the folder of the product: --app DIR');
  const isolation = flags.isolation ?? (env['FACTORY_ISOLATION'] || 'auto');
  if (isolation !== 'auto' && isolation !== 'required')
    return no(`there is no isolation "${isolation}"`, 'write auto or required');
  const choice = flags.floor ?? (env['FACTORY_FLOOR'] || 'true');
  const word = floorWords.find((one) => one === choice);
  if (word === undefined) return no(`there is no floor "${choice}"`, `write ${floorWords.join(', ')}`);
  return {
    app,
    live: flags.live === true || (env['REQUIRE_LIVE'] ?? '1') === '1',
    timeoutMs,
    repeat: flags.repeat ?? 1,
    jobs: flags.jobs ?? Math.min(4, availableParallelism()),
    together: flags.jobs !== undefined,
    isolation,
    floor: { word, base: env['FACTORY_BASE'] || undefined, cache: openFloorCache(env) },
  };
}

/** Why the scenarios cannot be isolated from the product. */
async function isolationProblems(
  { scenarios }: Discovered,
  place: string,
  noSandbox: string | undefined,
): Promise<readonly Diagnostic[]> {
  if (noSandbox !== undefined)
    return no(
      `isolation=required, but no sandbox works here: ${noSandbox}`,
      'install bubblewrap or allow user namespaces, which it needs; or use isolation=auto',
    ).problems;
  const files = await Promise.all(scenarios.map(({ folder, name }) => helpersOf(folder, name)));
  const each = new Map(files.flat().map((file) => [file.name, file.text]));
  return [...each].flatMap(([name, text]) =>
    productStarts(name, text).map(({ line, text: start }) =>
      wrong(
        'scenario',
        `isolation=required, but ${place}: ${name}:${line} uses the product without APP_RUN: ${start}`,
        'write "$APP_RUN" PROGRAM ARGUMENTS…',
      ),
    ),
  );
}

/** The folder of the scenarios, by its name and its real path. */
export async function holdoutFolders(place: string): Promise<readonly string[]> {
  const folder = (await stat(place)).isFile() ? dirname(place) : place;
  return [...new Set([folder, await realpath(folder)])];
}

async function noScenarios(
  found: Discovered | undefined,
  place: string,
  flags: ScenarioFlags,
  io: CliIo,
): Promise<VerbResult> {
  const why = found === undefined ? `there is no folder ${place}` : `there are no scenarios in ${place}`;
  if (flags.ifAny !== true)
    return no(
      why,
      'name a folder with scripts such as login_user_scenarios.sh; with --if-any none is no mistake',
    );
  const request = strengthRequest(io);
  if (request !== undefined && 'problems' in request) return request;
  const notes = `${why}: nothing judged the product`;
  const none: ScenarioReport = {
    ...{ schema_version: 1, status: 'none', exit_code: 0, failure_class: null },
    ...{ results: [], passed_over: [], floor: null, strength: null },
  };
  const report = await withoutJudging(none, request, why);
  if (report.failure_class !== null) {
    await reportScenarios(report, [], flags.json === true, io);
    return report.exit_code;
  }
  await writeScenarioOutput(report, { outcome: 'success', preferred_next_label: 'none', notes }, [], io);
  io.out(flags.json === true ? `${JSON.stringify(report, null, 2)}\n` : `${notes}\n`);
  return 0;
}

/** Bytes of a file that can be a script. */
const longestText = 1024 * 1024;

/** The texts of all that lies in the folder of the scenarios, or in that of the one. */
async function siblingTexts(place: string): Promise<readonly string[]> {
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
  flags: { readonly json?: boolean },
  io: CliIo,
): Promise<VerbResult> {
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
    return no(`there is no ${place}`, 'name a folder of scenario scripts, or one of them');
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

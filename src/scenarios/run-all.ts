/** Runs all scenarios of a folder against one product, several at a time. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { named } from '../platform/files/disk-error.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makingFolder } from '../platform/process/cleanup-registry.ts';
import { type ScenarioClass, worst } from './classify.ts';
import { type Discovered, needsOf, type Scenario } from './discover.ts';
import { checkFloor, type FloorSettings, floorOff } from './floor/floor.ts';
import type { PhaseHost } from './launch/product.ts';
import { whyShared } from './network.ts';
import { pooled } from './pooled.ts';
import type { FloorReport, ScenarioExecution, ScenarioReport, ScenarioResult } from './result.ts';
import { type JudgeOptions, judgeOnce } from './run-one.ts';
import { copySource, makeRoom, type ProductCopy } from './source.ts';

export type ScenarioRunOptions = JudgeOptions & {
  /** How often each one runs. */
  readonly repeat: number;
  /** How many run at a time. */
  readonly jobs: number;
  /** Whether those that share the machine's network run at the same time too; else they run alone. */
  readonly together: boolean;
  /** What a suite that passes is shown besides. */
  readonly floor: FloorSettings;
};

/** Runs them all; undefined if the signal fired meanwhile. Results are in the order of the scenarios. */
export async function runScenarios(
  { scenarios, passedOver }: Discovered,
  options: ScenarioRunOptions,
  host: PhaseHost,
): Promise<ScenarioReport | undefined> {
  const folder = scenarios[0]?.folder;
  if (folder === undefined) throw new Error('Internal: there are no scenarios to run');
  const room = await makeRoom(host.env);
  const cleared = makingFolder(room);
  try {
    const source = await copySource(folder, join(room, `source-${randomBytes(8).toString('hex')}`), room);
    return await judgeAll({ scenarios, passedOver }, options, host, { room, source });
  } catch (error) {
    // Errors of parallel file operations do not always name a path.
    throw named(room, error);
  } finally {
    await removeTree(room);
    cleared();
  }
}

async function judgeAll(
  { scenarios, passedOver }: Discovered,
  options: ScenarioRunOptions,
  host: PhaseHost,
  place: { readonly room: string; readonly source: ProductCopy },
): Promise<ScenarioReport | undefined> {
  const carryOut = async (scenario: Scenario): Promise<Timed> => {
    const began = host.clock.monotonic();
    const first = await judgeOnce(scenario, options, host, place);
    // With several runs, a second one is not needed to recognise a flake.
    const again =
      options.repeat === 1 && isDoubtful(first) ? await judgeOnce(scenario, options, host, place) : undefined;
    return { scenario, first, again, took: host.clock.monotonic() - began };
  };
  const { signal } = host;
  const { parallel, alone } = await inGroups(scenarios, options, host, place.source.folder);
  const repeated = (some: readonly Scenario[]): readonly Scenario[] =>
    some.flatMap((scenario) => Array.from({ length: options.repeat }, () => scenario));
  const done = [
    ...(await pooled(repeated(parallel), { jobs: options.jobs, signal }, carryOut)),
    ...(await pooled(repeated(alone), { jobs: 1, signal }, carryOut)),
  ];
  if (host.signal.aborted) return undefined;
  const report = reportOf(scenarios, done, passedOver);
  if (report.status !== 'pass' || options.mode !== 'live') return report;
  if (options.floor.word === 'false') return { ...report, floor: floorOff };
  const passed = scenarios.map((scenario) => ({
    scenario,
    liveMs: Math.max(...done.map((one) => (one.scenario === scenario ? one.first.liveMs : 0))),
  }));
  // One that shares its network could meet itself.
  const jobs = alone.length === 0 ? options.jobs : 1;
  const floor = await checkFloor(passed, options.floor, { ...options, jobs }, host, place);
  return floor && withFloor(report, floor);
}

function reportOf(
  scenarios: readonly Scenario[],
  done: readonly Timed[],
  passedOver: readonly string[],
): ScenarioReport {
  const results = scenarios.map((scenario) =>
    resultOf(
      scenario,
      done.filter((one) => one.scenario === scenario),
    ),
  );
  const failures = results.flatMap((one) => one.failure_class ?? []);
  const decides = worst(failures);
  return {
    schema_version: 1,
    status:
      decides !== undefined ? 'fail' : results.every((one) => one.outcome === 'skipped') ? 'none' : 'pass',
    exit_code: exitCode(decides),
    failure_class: decides ?? null,
    results,
    passed_over: passedOver,
    floor: null,
    strength: null,
  };
}

/** The scenarios that may run in parallel, and those that may not: on a network that they share, a scenario could reach another
 *  one's server. */
async function inGroups(
  scenarios: readonly Scenario[],
  { together }: ScenarioRunOptions,
  host: PhaseHost,
  folder: string,
): Promise<{ readonly parallel: readonly Scenario[]; readonly alone: readonly Scenario[] }> {
  if (together) return { parallel: scenarios, alone: [] };
  const texts = await Promise.all(scenarios.map(({ name }) => readFile(join(folder, name), 'utf8')));
  const shares = (n: number): boolean => whyShared(needsOf(texts[n] ?? ''), host) !== undefined;
  return {
    parallel: scenarios.filter((_, n) => !shares(n)),
    alone: scenarios.filter((_, n) => shares(n)),
  };
}

/** A suite that could not have failed is a broken one. */
const withFloor = (report: ScenarioReport, floor: FloorReport): ScenarioReport =>
  floor.state === 'failed'
    ? { ...report, status: 'fail', exit_code: exitCode('scenario'), failure_class: 'scenario', floor }
    : { ...report, floor };

const exitCode = (decides: ScenarioClass | undefined): number =>
  decides === undefined ? 0 : decides === 'infra' ? 86 : 1;

type Timed = {
  readonly scenario: Scenario;
  readonly first: ScenarioExecution;
  readonly again: ScenarioExecution | undefined;
  readonly took: number;
};

/** Whether a second run could pass: after a failure that ran to its end, unless the scenario reported another class than
 *  `product`, or could not run at all. */
const isDoubtful = ({ verdict, evidence, cancelled }: ScenarioExecution): boolean =>
  verdict !== undefined &&
  !cancelled &&
  evidence.phase !== 'syntax' &&
  evidence.exit_code !== null &&
  ![86, 126, 127].includes(evidence.exit_code) &&
  (evidence.marker === null || evidence.marker === 'product') &&
  verdict.class !== 'infra';

function resultOf(scenario: Scenario, runs: readonly Timed[]): ScenarioResult {
  const judged = runs.map((one) => one.first);
  const again = runs[0]?.again;
  const passed = judged.filter((one) => one.outcome === 'pass').length;
  // The most important failure decides for all runs.
  const decides = worst(judged.flatMap((one) => one.verdict?.class ?? []));
  const speaks = judged.find((one) => one.verdict?.class === decides && decides !== undefined) ?? judged[0];
  if (speaks === undefined) throw new Error(`Internal: ${scenario.name} was never run`);
  // Failures of class `infra` now and then are no flake of the scenario.
  const flaky = again?.outcome === 'pass' || (passed > 0 && passed < judged.length && decides !== 'infra');
  const { mode, evidence, output } = speaks;
  return {
    scenario: scenario.name,
    mode,
    outcome: flaky ? 'flaky' : speaks.outcome,
    failure_class: flaky ? 'scenario' : (decides ?? null),
    evidence: {
      ...evidence,
      why: flaky ? `${evidence.why}, but another run in a clean copy passed` : evidence.why,
      rerun: again === undefined ? null : { outcome: again.outcome, exit_code: again.evidence.exit_code },
    },
    duration_ms: Math.round(runs.reduce((sum, one) => sum + one.took, 0)),
    output,
    runs: { total: judged.length, passed, rate: judged.length === 0 ? 0 : passed / judged.length },
  };
}

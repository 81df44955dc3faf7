/** Runs all scenarios of a folder against one product, several at a time. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { named } from '../platform/files/disk-error.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makingFolder } from '../platform/process/cleanup-registry.ts';
import { type ScenarioClass, worst } from './classify.ts';
import { type Discovered, needsOf, type Scenario } from './discover.ts';
import type { PhaseDoors } from './launch/product.ts';
import { whyShared } from './network.ts';
import type { ScenarioExecution, ScenarioReport, ScenarioResult } from './result.ts';
import { type JudgeOptions, judgeOnce } from './run-one.ts';
import { copySource, makeRoom, type ProductCopy } from './source.ts';

export type ScenarioRunOptions = JudgeOptions & {
  /** How often each one runs. */
  readonly repeat: number;
  /** How many run at a time. */
  readonly jobs: number;
  /** Whether those that share the machine's network run at the same time too; else they run alone. */
  readonly together: boolean;
};

/** Runs them all; undefined if the signal fired meanwhile. Results are in the order of the scenarios. */
export async function runScenarios(
  { scenarios, passedOver }: Discovered,
  options: ScenarioRunOptions,
  doors: PhaseDoors,
): Promise<ScenarioReport | undefined> {
  const folder = scenarios[0]?.folder;
  if (folder === undefined) throw new Error('Internal: there are no scenarios to run');
  const room = await makeRoom(doors.env);
  const cleared = makingFolder(room);
  try {
    const source = await copySource(folder, join(room, `source-${randomBytes(8).toString('hex')}`), room);
    return await judgeAll({ scenarios, passedOver }, options, doors, { room, source });
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
  doors: PhaseDoors,
  place: { readonly room: string; readonly source: ProductCopy },
): Promise<ScenarioReport | undefined> {
  const carryOut = async (scenario: Scenario): Promise<Timed> => {
    const began = doors.clock.monotonic();
    const first = await judgeOnce(scenario, options, doors, place);
    // With several runs, a second one is not needed to recognise a flake.
    const again =
      options.repeat === 1 && isDoubtful(first)
        ? await judgeOnce(scenario, options, doors, place)
        : undefined;
    return { scenario, first, again, took: doors.clock.monotonic() - began };
  };
  const { signal } = doors;
  const { parallel, alone } = await inGroups(scenarios, options, doors, place.source.folder);
  const repeated = (some: readonly Scenario[]): readonly Scenario[] =>
    some.flatMap((scenario) => Array.from({ length: options.repeat }, () => scenario));
  const done = [
    ...(await pooled(repeated(parallel), { jobs: options.jobs, signal }, carryOut)),
    ...(await pooled(repeated(alone), { jobs: 1, signal }, carryOut)),
  ];
  if (doors.signal.aborted) return undefined;
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
  };
}

/** The scenarios that may run in parallel, and those that may not: on a network that they share, a scenario could reach another
 *  one's server. */
async function inGroups(
  scenarios: readonly Scenario[],
  { together }: ScenarioRunOptions,
  doors: PhaseDoors,
  folder: string,
): Promise<{ readonly parallel: readonly Scenario[]; readonly alone: readonly Scenario[] }> {
  if (together) return { parallel: scenarios, alone: [] };
  const texts = await Promise.all(scenarios.map(({ name }) => readFile(join(folder, name), 'utf8')));
  const shares = (n: number): boolean => whyShared(needsOf(texts[n] ?? ''), doors) !== undefined;
  return {
    parallel: scenarios.filter((_, n) => !shares(n)),
    alone: scenarios.filter((_, n) => shares(n)),
  };
}

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

/** Runs the tasks, `jobs` at a time; the answers are in the tasks' order. None is started after the signal fired. */
async function pooled<T, R>(
  tasks: readonly T[],
  { jobs, signal }: { readonly jobs: number; readonly signal: AbortSignal },
  carryOut: (task: T) => Promise<R>,
): Promise<readonly R[]> {
  const answers: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < tasks.length && !signal.aborted; at = next++) {
      const task = tasks[at];
      if (task !== undefined) answers[at] = await carryOut(task);
    }
  };
  // Waits for all, also when one throws: no process may be left running.
  const ended = await Promise.allSettled(Array.from({ length: Math.min(jobs, tasks.length) }, worker));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return answers;
}

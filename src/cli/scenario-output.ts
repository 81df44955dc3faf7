/** What `factory scenario run` prints, and answers where it is the command of a node. */
import { readFile, writeFile } from 'node:fs/promises';
import type { JsonObject } from '../core/json.ts';
import { visibleFailure, withoutSealed } from '../core/policy/visible-failure.ts';
import { isolations } from '../core/records/result.ts';
import { strengthKey } from '../core/records/strength.ts';
import { isTooWeak } from '../core/strength.ts';
import type { ScenarioReport } from '../scenarios/result.ts';
import type { CliIo } from './io.ts';
import { scenarioNotes, scenarioTable } from './report/scenarios.ts';

/** Prints it; in a node of a run writes the node's outcome too. */
export async function reportScenarios(
  report: ScenarioReport,
  texts: readonly string[],
  isJson: boolean,
  io: CliIo,
): Promise<void> {
  const notes = scenarioNotes(report);
  // Output of a node reaches the builder: it must not contain any text of the scenarios.
  const sealed = outputOf(io) === undefined ? [] : texts;
  const { failure_class } = report;
  const outcome =
    failure_class === null
      ? { outcome: 'success', notes }
      : {
          outcome: 'fail',
          failure_reason: withoutSealed(notes, sealed),
          failure_class,
          ...(isTooWeak(report.strength) ? { preferred_next_label: 'too_weak' } : {}),
        };
  await writeScenarioOutput(report, outcome, texts, io);
  if (isJson) {
    const results = report.results.map((one) => ({
      ...one,
      output: {
        stdout: withoutSealed(one.output.stdout, sealed),
        stderr: withoutSealed(one.output.stderr, sealed),
      },
    }));
    io.out(`${JSON.stringify({ ...report, results }, null, 2)}\n`);
  } else io.out(scenarioTable(report, sealed));
  if (failure_class !== null) io.err(`failure_class=${failure_class}\n`);
}

/** Writes the answer of a pipeline's node. */
export async function writeScenarioOutput(
  { status, failure_class, results, floor, strength }: ScenarioReport,
  outcome: JsonObject,
  texts: readonly string[],
  io: CliIo,
): Promise<void> {
  const output = outputOf(io);
  if (output === undefined) return;
  const failures = results
    .filter((one) => one.failure_class === 'product')
    .map((one): JsonObject => ({ scenario: one.scenario, said: visibleFailure(one.output, texts) }));
  const held = results.flatMap(({ outcome, evidence }) => (outcome === 'pass' ? [evidence.isolation] : []));
  const weakest = isolations.findLast((one) => held.includes(one));
  const context_updates = {
    'judge.status': status,
    'judge.class': failure_class ?? '',
    'judge.failures': failures,
    'judge.passed': results.filter((one) => one.outcome === 'pass').length,
    'judge.total': results.length,
    'judge.floor': floor?.state ?? '',
    'judge.passed_before': floor?.passed_before ?? '',
    'judge.isolation': weakest ?? '',
    ...(strength === null && !(await hasStrength(io)) ? {} : { [strengthKey]: strength ?? '' }),
  };
  await writeFile(output, `${JSON.stringify({ ...outcome, context_updates })}\n`);
}

/** Whether the context has one, of an earlier product or suite. */
async function hasStrength({ env }: CliIo): Promise<boolean> {
  const context = env['FACTORY_CONTEXT'];
  const text = context === undefined ? '' : await readFile(context, 'utf8').catch(() => '');
  return text.includes(`"${strengthKey}"`);
}

const outputOf = ({ env }: Pick<CliIo, 'env'>): string | undefined => env['FACTORY_OUTPUT'] || undefined;

/** Whether this process is the command of a node. */
export const isOfNode = (io: Pick<CliIo, 'env'>): boolean => outputOf(io) !== undefined;

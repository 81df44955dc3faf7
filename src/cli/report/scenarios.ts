/** What people read of scenarios that were run. */
import { withoutSealed } from '../../core/policy/visible-failure.ts';
import type { ScenarioOutcome, ScenarioReport, ScenarioResult } from '../../scenarios/result.ts';

const signs: Readonly<Record<ScenarioOutcome, string>> = {
  pass: '✓',
  fail: '✗',
  flaky: '~',
  broken: '!',
  skipped: '-',
};

/** Lines shown of what a failing scenario printed. */
const tail = 20;

/** A line for each scenario, below a failure the end of what it printed, and the count. `sealed`: texts of which no line
 *  may be shown. */
export function scenarioTable(report: ScenarioReport, sealed: readonly string[]): string {
  const name = Math.max(...report.results.map((one) => one.scenario.length));
  const lines = report.results.flatMap((one) => [
    `${signs[one.outcome]} ${one.scenario.padEnd(name)}  ${one.mode.padEnd(8)}  ${one.outcome.padEnd(7)}  ${seconds(one.duration_ms)}${rate(one)}${reason(one)}`,
    ...(one.failure_class === null ? [] : printed(one, sealed)),
  ]);
  if (report.passed_over.length > 0)
    lines.push(`no scenarios by their names: ${report.passed_over.join(', ')}`);
  return `${[...lines, ...isolation(report), count(report)].join('\n')}\n`;
}

/** The passed scenarios that were not separated from the product. */
function isolation({ results }: ScenarioReport): readonly string[] {
  const weak = results.filter((one) => one.outcome === 'pass' && one.evidence.isolation !== 'launcher');
  const notes = new Set(weak.map((one) => one.evidence.isolation_note));
  return [...notes].map((note) => {
    const names = weak.filter((one) => one.evidence.isolation_note === note).map((one) => one.scenario);
    return `isolation: ${note}${names.length === results.length ? '' : ` (${names.join(', ')})`}`;
  });
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)}s`;
const rate = ({ runs }: ScenarioResult): string =>
  runs.total > 1 ? `  ${runs.passed} of ${runs.total}` : '';
const reason = ({ failure_class, outcome, evidence }: ScenarioResult): string =>
  failure_class !== null
    ? `  ${failure_class}: ${evidence.why}`
    : outcome === 'skipped'
      ? `  ${evidence.why}`
      : '';

function printed({ output }: ScenarioResult, sealed: readonly string[]): readonly string[] {
  return (['stdout', 'stderr'] as const).flatMap((stream) => {
    const lines = withoutSealed(output[stream], sealed)
      .split('\n')
      .filter((line) => line.trim() !== '');
    return lines.slice(-tail).map((line) => `    ${line}`);
  });
}

function count({ results }: ScenarioReport): string {
  const of = (outcome: ScenarioOutcome): number => results.filter((one) => one.outcome === outcome).length;
  const others = (['fail', 'flaky', 'broken', 'skipped'] as const).filter((outcome) => of(outcome) > 0);
  return [
    `${of('pass')} of ${results.length} scenario${results.length === 1 ? '' : 's'} pass`,
    ...others.map((outcome) => `${of(outcome)} ${outcome}`),
  ].join(', ');
}

const shared = ({ outcome, evidence }: ScenarioResult): readonly string[] =>
  outcome === 'pass' && evidence.isolation === 'none' ? ['product and scenario shared one user'] : [];

/** One line for records and routing. */
export function scenarioNotes(report: ScenarioReport): string {
  const bad = report.results.filter((one) => one.failure_class !== null);
  if (bad.length === 0) return [count(report), ...new Set(report.results.flatMap(shared))].join(', ');
  return `${count(report)}: ${bad.map((one) => `${one.scenario} (${one.failure_class}: ${one.evidence.why})`).join('; ')}`;
}

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

/** The passed scenarios that were not separated from the product, or had the machine's network. */
function isolation({ results }: ScenarioReport): readonly string[] {
  const passed = results.filter((one) => one.outcome === 'pass');
  const lines = (word: string, note: (one: ScenarioResult) => string | undefined): readonly string[] => {
    const notes = [...new Set(passed.flatMap((one) => note(one) ?? []))];
    return notes.map((said) => {
      const ones = passed.filter((one) => note(one) === said);
      return `${word}: ${said}${ones.length === results.length ? '' : ` (${namesOf(ones)})`}`;
    });
  };
  return [
    ...lines('isolation', ({ evidence: { isolation: held, isolation_note } }) =>
      held === 'launcher' ? undefined : isolation_note,
    ),
    ...lines('network', ({ evidence: { isolation: held, network, network_note } }) =>
      held === 'none' || network === 'private' ? undefined : network_note,
    ),
  ];
}

const namesOf = (results: readonly ScenarioResult[]): string => results.map((one) => one.scenario).join(', ');

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

/** What the passed scenarios were not separated from. */
function weaknesses({ results }: ScenarioReport): readonly string[] {
  const held = (isolation: ScenarioResult['evidence']['isolation']): readonly ScenarioResult[] =>
    results.filter(({ outcome, evidence }) => outcome === 'pass' && evidence.isolation === isolation);
  const partly = held('phase');
  return [
    ...(partly.length > 0 ? [`not started by APP_RUN only, so less isolated: ${namesOf(partly)}`] : []),
    ...(held('none').length > 0 ? ['product and scenario shared one user'] : []),
  ];
}

/** One line for records and routing. */
export function scenarioNotes(report: ScenarioReport): string {
  const bad = report.results.filter((one) => one.failure_class !== null);
  if (bad.length === 0) return [count(report), ...weaknesses(report)].join(', ');
  return `${count(report)}: ${bad.map((one) => `${one.scenario} (${one.failure_class}: ${one.evidence.why})`).join('; ')}`;
}

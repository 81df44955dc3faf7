/** What people read of scenarios that were run. */
import { countedItems } from '../../core/amounts.ts';
import { withoutSealed } from '../../core/policy/visible-failure.ts';
import type { FloorState } from '../../core/records/result.ts';
import { isTooWeak, strengthWords } from '../../core/strength.ts';
import type { FloorReport, ScenarioOutcome, ScenarioReport, ScenarioResult } from '../../scenarios/result.ts';

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
  const first = report.status === 'none' ? [`${unjudged(report)}\n`] : [];
  return `${[...first, ...lines, ...isolation(report), ...floorLines(report), ...strengthLines(report), `${count(report)}${butFailed(report)}`].join('\n')}\n`;
}

/** What helps where each scenario passes, but not the suite. */
function butFailed({ floor, strength }: ScenarioReport): string {
  if (isTooWeak(strength)) return `, but the suite has failed: ${strengthHelp}`;
  return floor === null || floor.reason === null
    ? ''
    : `, but the suite has failed: ${helpOfFloor[floor.reason]}`;
}

const strengthHelp = 'add scenarios, or compare more of what the product prints or writes';

/** How many mutants of the product the suite noticed, where that was asked for. */
const strengthLines = ({ strength }: ScenarioReport): readonly string[] =>
  strength === null ? [] : [strengthWords(strength), ...strength.left_out.map((one) => `left out: ${one}`)];

const helpOfFloor: Readonly<Record<NonNullable<FloorReport['reason']>, string>> = {
  judge_accepts_nothing: 'compare what the product prints or writes with what is right',
  work_not_asked_for: 'add a scenario that fails without this work',
};

/** Every scenario was skipped. */
const unjudged = ({ results }: ScenarioReport): string =>
  `nothing judged the product: ${results.length === 1 ? 'the only scenario was' : `all ${results.length} scenarios were`} skipped`;

/** What the suite made of products that do nothing, and how it was before the work. */
function floorLines({ floor, results }: ScenarioReport): readonly string[] {
  if (floor === null) return [];
  const { state, why, rejected_by, all } = floor;
  const named = Object.entries(rejected_by).flatMap(([product, names = []]) =>
    names.map((name) => ({ product, name })),
  );
  const each = results.flatMap(({ scenario }) => {
    const rejected = named.filter(({ name }) => name === scenario).map(({ product }) => product);
    return rejected.length === 0 ? [] : [`  ${scenario} rejects ${rejected.join(', ')}`];
  });
  const before = beforeWords(floor, results.length);
  return [
    `floor: ${floorWord[state]}${state === 'off' ? '' : `: ${why}`}`,
    ...(all ? each : []),
    ...(before === undefined ? [] : [before]),
    ...floor.warnings.map((warning) => `warning: ${warning}`),
  ];
}

const floorWord: Readonly<Record<FloorState, string>> = {
  held: 'held',
  failed: 'failed',
  not_checked: 'not checked',
  off: 'off',
};

const beforeWords = ({ passed_before }: FloorReport, total: number): string | undefined =>
  passed_before === null
    ? undefined
    : `${passed_before} of ${countedItems(total, 'scenario')} passed before the work`;

/** The passed scenarios that were not separated from the product, or had the machine's network. */
function isolation({ results }: ScenarioReport): readonly string[] {
  const passed = results.filter((one) => one.outcome === 'pass');
  const lines = (word: string, note: (one: ScenarioResult) => string | undefined): readonly string[] => {
    const notes = [...new Set(passed.flatMap((one) => note(one) ?? []))];
    return notes.map((noteText) => {
      const ones = passed.filter((one) => note(one) === noteText);
      return `${word}: ${noteText}${ones.length === results.length ? '' : ` (${namesOf(ones)})`}`;
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
  const { floor, results, status, strength } = report;
  const bad = results.filter((one) => one.failure_class !== null);
  if (bad.length > 0)
    return `${count(report)}: ${bad.map((one) => `${one.scenario} (${one.failure_class}: ${one.evidence.why})`).join('; ')}`;
  if (isTooWeak(strength))
    return `judge_too_weak: ${strengthWords(strength ?? undefined)} (${count(report)})`;
  if (status === 'none') return `${unjudged(report)}: ${results[0]?.evidence.why ?? ''}`;
  if (floor?.state === 'failed') return `${floor.why} (${count(report)})`;
  const before = floor === null ? undefined : beforeWords(floor, results.length);
  return [
    count(report),
    ...(floor === null ? [] : [`floor ${floorWord[floor.state]}`]),
    ...(strength === null ? [] : [strengthWords(strength)]),
    ...(before === undefined ? [] : [before]),
    ...(floor?.warnings ?? []),
    ...weaknesses(report),
  ].join(', ');
}

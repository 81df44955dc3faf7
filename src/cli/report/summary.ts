/** The summary of a run: a pure function of its result. */
import type { FailureCard } from '../../app/inspect/failure-card.ts';
import { signCharacter } from '../../app/inspect/states.ts';
import { aheadWords } from '../../core/ahead-words.ts';
import { countedItems, elapsedWords, localTime } from '../../core/amounts.ts';
import { failureBlock } from '../../core/failure-block.ts';
import { judgedWords } from '../../core/judged-words.ts';
import { suspensionWords } from '../../core/next-actions.ts';
import { isPaused, type PausedWord } from '../../core/outcome.ts';
import { hasSucceeded } from '../../core/overridden.ts';
import { giverWords } from '../../core/question-words.ts';
import { auditWords } from '../../core/records/audit.ts';
import { forkWords } from '../../core/records/names.ts';
import type { OverriddenFailure } from '../../core/records/question.ts';
import type { Evidence, EvidenceCommand, RunResult } from '../../core/records/result.ts';
import { actionRows, failureRows, outputRows } from './card.ts';
import { type Sheet, wrappedWords } from './fit.ts';
import { hintOf } from './hints.ts';
import { foreign, oneLine, type Paint, type TextRow as Row, rowsText, spentWords } from './run.ts';
import { statePaint } from './states.ts';

/** Indent of the texts of a summary. */
const column = ' '.repeat(12);

/** Summary of a run: result, cause of a failure, figures, paths and the next command. `card`: of a run that needs attention. */
export function summary(result: RunResult, paint: Paint, card?: FailureCard | null, sheet?: Sheet): string {
  const rows: readonly Row[] = [
    ...(result.status === 'failed' ? causeRows(result, card ?? undefined, paint) : []),
    ...(result.overridden ?? []).flatMap(overriddenRows),
    ...(isPaused(result.status) ? pausedRows(result.status) : []),
    ...workRows(result, paint),
    ...commitRows(result, paint),
    ...checkRows(result, paint),
    ...placeRows(result),
  ];
  // A suspended run has its fix above.
  const actions = isPaused(result.status) ? [] : (card?.actions ?? []);
  const head = headOf(result, paint);
  return [
    sheet === undefined ? head : wrappedWords(head, sheet.columns, '  '),
    ...rowsText([...rows, ...actionRows({ actions }, result.next)], paint, sheet),
  ].join('\n');
}

function headOf({ status, reason, elapsed_ms, wake_at, evidence }: RunResult, paint: Paint): string {
  const why = foreign(reason, column);
  const head = (text: string) => statePaint(status, paint)(`${signCharacter(status)} ${text}`);
  const but = evidence?.unjudged === undefined ? '' : paint.yellow(`, but ${evidence.unjudged}`);
  if (status === 'completed') return `${head(`success in ${elapsedWords(elapsed_ms)}`)}${but}`;
  if (status === 'overridden')
    return head(`overridden in ${elapsedWords(elapsed_ms)}: a success in spite of a failure`);
  if (status === 'paused_answer') return head(`suspended: ${why}`);
  if (isPaused(status)) return head(`suspended${wake_at === undefined ? '' : ` until ${wake_at}`}: ${why}`);
  return status === 'interrupted' ? head(`${why} after ${elapsedWords(elapsed_ms)}`) : head(`failed: ${why}`);
}

function causeRows(result: RunResult, card: FailureCard | undefined, paint: Paint): readonly Row[] {
  const { failed_node: node, failure_class } = result;
  const hint = hintOf(result);
  const cause: readonly Row[] =
    node === null
      ? []
      : [
          ['cause', `node ${node}${failure_class === null ? '' : ` (${failure_class})`}`],
          ...(card === undefined ? quotedRows(result.failure_output, paint) : failureRows(card, paint)),
          ['artifacts', `${result.run_dir}/${node}/`, 'path'],
        ];
  return [
    ...cause,
    ...(hint === undefined ? [] : [['hint', hint] as const]),
    ['time', elapsedWords(result.elapsed_ms)],
  ];
}

/** What later nodes were given of the output. */
function quotedRows(output: string, paint: Paint): readonly Row[] {
  const block = failureBlock(output);
  const excerpt = block === undefined ? null : { ...block, lines: [...block.lines], of: null, first: null };
  return outputRows({ excerpt, place: null }, paint);
}

/** The failure, and the answer that let the run continue. */
const overriddenRows = ({ node, visit, class: of, reason, answered }: OverriddenFailure): readonly Row[] => [
  ['failure', `${node}@${visit} (${of}): ${foreign(reason, column)}`],
  [
    'answer',
    `${answered.question}: ${oneLine(answered.answer, 200) || 'none'}, ${giverWords(answered)} at ${localTime(answered.at)}`,
  ],
];

const pausedRows = (status: PausedWord): readonly Row[] => [
  ['status', status],
  ['fix', suspensionWords[status]],
];

function workRows(
  { stages, failed_stages, retries, restarts = 0, branches, denied = [], spent }: RunResult,
  paint: Paint,
): readonly Row[] {
  const nodes = [
    `${stages}`,
    ...(failed_stages > 0 ? [`${failed_stages} failed on the way`] : []),
    ...(retries > 0 ? [countedItems(retries, 'retry', 'retries')] : []),
    ...(restarts > 0 ? [countedItems(restarts, 'restart')] : []),
  ];
  return [
    ['nodes', nodes.join(', ')],
    ...(branches === undefined ? [] : branchRows(branches)),
    ...denied.map(({ node, calls }): Row => {
      const what = `${node}: ${oneLine(calls.join(', '), 160)}`;
      return ['denied', paint.yellow(`${what} (its permissions did not allow it)`)];
    }),
    ...(spent.calls > 0 ? [['spent', spentWords(spent)] as const] : []),
  ];
}

const mostBranches = 5;

/** How many branches there were, and why those failed that did. */
function branchRows({ all, ended, latest }: NonNullable<RunResult['branches']>): readonly Row[] {
  const { completed, failed, cancelled } = ended;
  const counts = [
    [completed, 'completed'],
    [failed, 'failed'],
    [cancelled, 'cancelled'],
    [all - completed - failed - cancelled, 'not ended'],
  ] as const;
  const bad = latest.filter(({ status }) => status === 'failed');
  return [
    ['branches', counts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`])).join(', ')],
    ...bad
      .slice(0, mostBranches)
      .map(
        ({ id, class: of, reason }): Row => [
          '',
          `${id}${of === null ? '' : ` (${of})`}: ${oneLine(reason, 160)}`,
        ],
      ),
    ...(bad.length > mostBranches
      ? [['', `and ${bad.length - mostBranches} more that failed`] as const]
      : []),
  ];
}

function commitRows({ commits, ahead }: RunResult, paint: Paint): readonly Row[] {
  const early = ahead === undefined ? [] : [['orders', aheadWords(ahead)] as const];
  if (commits.length === 0) return early;
  const tried = commits.reduce((sum, commit) => sum + commit.attempts, 0);
  const made = commits.filter(({ commit }) => commit !== null).length;
  return [
    ...early,
    ['commits', `${made} in ${countedItems(tried, 'attempt')}`],
    ...commits.map(({ commit, subject, attempts }): Row => {
      const more = attempts > 1 ? paint.dim(` (${attempts} attempts)`) : '';
      return ['', `${commit === null ? '(no change)' : commit.slice(0, 10)} ${subject}${more}`];
    }),
  ];
}

function checkRows(result: RunResult, paint: Paint): readonly Row[] {
  const { proof, audit } = result;
  const rows: Row[] = [];
  if (proof !== null) {
    const nothing = 'nothing could be run: only that every promised file is there';
    const commands = proof.map((command) => oneLine(command, 80)).join(', ');
    rows.push(['proof', proof.length === 0 ? paint.yellow(nothing) : commands]);
  }
  if (audit !== undefined) {
    const colour = audit.errors > 0 ? paint.red : audit.warnings > 0 ? paint.yellow : String;
    rows.push(['audit', colour(auditWords(audit))]);
  }
  return [...rows, ...evidenceRows(result, paint)];
}

const placeRows = (result: RunResult): readonly Row[] => [
  ...(result.agent === 'none' ? [] : [['agent', result.agent] as const]),
  ...(result.forked_from === undefined ? [] : [['fork of', forkWords(result.forked_from)] as const]),
  ...(result.replay_of === undefined ? [] : [['replay of', result.replay_of] as const]),
  ['run', result.run_dir, 'path'],
  ['files', result.workspace, 'path'],
  ...(result.verify === undefined || result.exit_node === null
    ? []
    : [['check it', result.verify, 'command'] as const]),
];

/** What carries the verdict of a run that has ended. */
function evidenceRows({ status, evidence }: RunResult, paint: Paint): readonly Row[] {
  const succeeded = hasSucceeded(status);
  if (evidence === undefined || !(succeeded || status === 'failed')) return [];
  const { inputs } = evidence;
  const spec = inputs.variables['spec'];
  const named = [
    ...(spec === undefined ? [] : [`spec ${short(spec)}`]),
    `pipeline ${short(inputs.pipeline)}`,
  ];
  return [
    ...(succeeded ? [['checked', checkedWords(evidence, paint)] as const] : []),
    ...oldScenarios(evidence).map((words): Row => ['warning', paint.yellow(words)]),
    ...(evidence.unchecked_orders ?? []).map(
      (id): Row => [
        'warning',
        paint.yellow(
          `the only acceptance command of ${id} is true: nothing but the project's own tests checked it`,
        ),
      ],
    ),
    ...(evidence.unchanged_orders ?? []).map(
      (id): Row => ['warning', paint.yellow(`${id} changed no file (its notes have no line may_be_empty)`)],
    ),
    ...(evidence.outdated ?? []).map(({ work_order: id, command }): Row => {
      const what = oneLine(command, 80);
      return ['warning', paint.yellow(`an acceptance command of ${id} no longer succeeds: ${what}`)];
    }),
    ['evidence', `${named.join(', ')}, visits ${short(evidence.chain)}`],
  ];
}

const oldScenarios = ({ judged }: Evidence): readonly string[] =>
  judged !== undefined && judged.floor !== 'failed' && judged.passed_before === judged.total
    ? ['the scenarios did not ask for this work: all of them passed before it']
    : [];

const short = (hash: string): string => hash.slice(0, 12);

function checkedWords({ commands, more_commands: more, judged }: Evidence, paint: Paint): string {
  if (commands.length === 0) return paint.yellow('nothing was checked by a command');
  const good = (some: readonly EvidenceCommand[]) => some.filter(({ exit_code }) => exit_code === 0).length;
  const scenarios = commands.filter(({ what }) => what === 'scenario');
  const nodes = new Set(commands.map(({ node }) => node)).size;
  const passed = good(commands);
  return [
    `${passed === commands.length ? '' : `${passed} of `}${countedItems(commands.length, 'command')} of ${countedItems(nodes, 'node')} passed`,
    ...(more === 0 ? [] : [`${more} more are not listed`]),
    scenarios.length === 0
      ? 'no scenarios'
      : judged === undefined
        ? `of them ${countedItems(scenarios.length, 'scenario')}`
        : judgedWords(judged),
  ].join(', ');
}

/** Runs, nodes and causes on the screen: pure functions of what app/inspect reads. */
import { basename } from 'node:path';
import type { WhyReport } from '../../app/answers.ts';
import type { ExecutionGroup, ExecutionView } from '../../app/inspect/execution-shapes.ts';
import type { NodeTotals } from '../../app/inspect/nodes.ts';
import type { RunOverview } from '../../app/inspect/overview.ts';
import type { GivenAnswer } from '../../app/inspect/question-shapes.ts';
import type { RunRow } from '../../app/inspect/run-row.ts';
import type { NoteRow } from '../../app/inspect/shapes.ts';
import { lookOf, signCharacter } from '../../app/inspect/states.ts';
import { nextTryAt, stateOrWait, waitLine } from '../../app/inspect/wait-words.ts';
import { aheadWords } from '../../core/ahead-words.ts';
import { costWords, countedItems, elapsedWords, localTime, usdWords } from '../../core/amounts.ts';
import { isAgentType } from '../../core/graph.ts';
import { isPaused } from '../../core/outcome.ts';
import { giverWords, optionWords } from '../../core/question-words.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { forkWords } from '../../core/records/names.ts';
import { actionRows, failureRows, outputRows } from './card.ts';
import { type Sheet, wrappedWords } from './fit.ts';
import { columns, foreign, oneLine, type Paint, rowsText, spentWords, tableRow } from './run.ts';
import { stateCell, statePaint } from './states.ts';

type Status = RunRow['status'];

/** The headline, and the run that this one repeats or began with. */
export const storyOf = ({ headline, reason, status, replay_of, forked_from }: RunRow): string =>
  [
    replay_of === null ? '' : `replay of ${replay_of}`,
    forked_from === null || forked_from.run_id === replay_of ? '' : `fork of ${forkWords(forked_from)}`,
    isPaused(status) && status !== 'paused_answer' && reason !== '' ? `${headline}: ${reason}` : headline,
  ]
    .filter((words) => words !== '')
    .join('; ');

/** How a run stands, and the command to run next on a second line; `row` is undefined for a run that was removed meanwhile. */
export function runLine(head: string, row: RunRow | undefined): string {
  if (row === undefined) return `${head} removed`;
  const word = lookOf(stateOrWait(row.status, row.waiting)).word;
  const story = foreign(storyOf(row), '  ');
  const words = story.startsWith(word) ? story : `${word}${story === '' ? '' : `: ${story}`}`;
  return `${head} ${words}${row.next === '' ? '' : `\nnext: ${row.next}`}`;
}

/** The nodes of a run as a table of that width. */
export function nodeTable(rows: readonly NodeTotals[], paint: Paint, width: number): readonly string[] {
  const paid = rows.some(({ spent }) => spent.calls > 0);
  const retried = rows.some(({ retries }) => retries > 0);
  const cells = rows.map((row) => [
    row.node,
    row.type,
    String(row.visits),
    ...(retried ? [row.retries === 0 ? '' : String(row.retries)] : []),
    elapsedWords(row.took_ms),
    ...(paid ? [row.spent.calls === 0 ? '' : costWords(row.spent)] : []),
    [outcomeCell(row), waitWordsOf(row), row.failure_class ?? '', row.failure_reason]
      .filter((word) => word !== '')
      .join(' · '),
  ]);
  const head = [
    'node',
    'type',
    'times',
    ...(retried ? ['retries'] : []),
    'took',
    ...(paid ? ['cost'] : []),
    'latest',
  ];
  return columns([head, ...cells]).map((row, at) => {
    const shown = rows[at - 1];
    const outcome = shown && stateOrWait(shown.outcome, shown.waiting);
    const line = tableRow(row, width);
    return outcome === undefined
      ? paint.dim(line.text)
      : `${line.before}${statePaint(outcome, paint)(line.last)}`;
  });
}

/** `✓ success`, `◔ waiting` */
function outcomeCell({ outcome, waiting }: Pick<NodeTotals, 'outcome' | 'waiting'>): string {
  const shown = stateOrWait(outcome, waiting);
  return shown === 'waits' ? stateCell(shown) : `${signCharacter(shown)} ${shown}`;
}

const waitWordsOf = ({ waiting }: Pick<RunRow, 'waiting'>): string =>
  waiting === null ? '' : waitLine(waiting, nextTryAt(waiting));

/** Work orders and the parts next to them, each with its attempts and why the latest of them failed. */
export function orderTable(
  groups: readonly ExecutionGroup[],
  paint: Paint,
  width: number,
): readonly string[] {
  const cells = groups.map(({ id, kind, title, state, attempts, took_ms, commit }) => [
    `${signCharacter(state)} ${kind === 'order' ? id : title}`,
    attempts.length === 0 ? '' : countedItems(attempts.length, 'attempt'),
    took_ms === 0 ? '' : elapsedWords(took_ms),
    [
      ...(commit === null ? [] : [commit.slice(0, 10)]),
      ...(kind === 'order' ? [title] : []),
      ...(state === 'failed' ? [attempts.at(-1)?.why ?? ''] : []),
    ].join(' · '),
  ]);
  return columns(cells).map((row, at) => {
    const state = groups[at]?.state ?? 'waiting';
    return statePaint(state, paint)(tableRow(row, width).text);
  });
}

/** `note 2 by ada (page), branch a, waits for the next agent: use less ink` */
export const noteWords = ({ note, by, from, branch, used_by, text }: NoteRow): string =>
  [
    `note ${note} ${giverWords({ by, from })}`,
    ...(branch === null ? [] : [`, branch ${branch}`]),
    used_by === null ? ', waits for the next agent' : `, used by ${used_by}`,
    `: ${oneLine(text, 200)}`,
  ].join('');

/** What is known of a run that has no result, in the form of a summary. */
export function standingText(view: RunOverview, paint: Paint, sheet: Sheet | undefined): string {
  const { headline, progress, spent, steps } = view;
  const status = stateOrWait(view.status, view.waiting);
  const time =
    view.status === 'running'
      ? `for ${elapsedWords(view.elapsed_ms)}`
      : `after ${elapsedWords(view.elapsed_ms)}`;
  return [
    statePaint(
      status,
      paint,
    )(`${stateCell(status)} ${time}: ${foreign(withoutWord(headline, view.status), '  ')}`),
    ...rowsText(
      [
        ['nodes', `${steps}`],
        ...(progress === null ? [] : [['orders', progressWords(progress)] as const]),
        ...(view.ahead === null ? [] : [['', aheadWords(view.ahead)] as const]),
        ...(spent.calls === 0 ? [] : [['spent', spentWords(spent)] as const]),
        ...(view.agent === 'none' ? [] : [['agent', view.agent] as const]),
        ['run', view.run_dir, 'path'],
      ],
      paint,
      sheet,
    ),
  ].join('\n');
}

/** `crashed at check` follows the word `crashed`. */
const withoutWord = (headline: string, status: Status): string =>
  headline.startsWith(`${lookOf(status).word} `) ? headline.slice(lookOf(status).word.length + 1) : headline;

export const progressWords = ({ done, total, current }: NonNullable<RunRow['progress']>): string =>
  `${done} of ${total} done${current === null ? '' : `, ${current} is next`}`;

/** What a summary does not say: the prices, the sandbox, the holdout. */
export const settingRows = (
  { sandbox, not_enforced, holdout }: Manifest,
  spent: RunRow['spent'],
  prices: { readonly dated: string; readonly from: string },
): readonly (readonly [string, string])[] => [
  ...(spent.calls === 0
    ? []
    : [['prices', `of ${prices.dated} (${prices.from}), where an agent reports no cost`] as const]),
  ['sandbox', sandbox === undefined ? 'none' : `${sandbox.used} (${sandbox.why})`],
  ...(sandbox?.missing ?? not_enforced).map((one) => ['', `not enforced: ${one}`] as const),
  ...(holdout === undefined
    ? []
    : [
        [
          'sealed',
          `${holdout.paths.join(', ')}: ${countedItems(holdout.files, 'file')} from ${holdout.from === 'workdir' ? 'the workdir' : holdout.from}`,
        ] as const,
        ['', `sha256 ${holdout.sha256}`] as const,
      ]),
];

/** The cause in a few lines, what failed with its places, the files that show it, and what to do. */
export function causeText(cause: WhyReport, status: Status, paint: Paint, sheet: Sheet | undefined): string {
  const head = statePaint(status, paint)(`${stateCell(status)}: ${withoutWord(cause.headline, status)}`);
  const wrapped = (line: string): string =>
    sheet === undefined ? line : wrappedWords(line, sheet.columns, '    ');
  return [
    wrapped(head),
    ...cause.lines.map((line) => wrapped(`  ${line}`)),
    ...rowsText(
      [
        ...(cause.card === null ? [] : failureRows(cause.card, paint)),
        ...cause.evidence.map((path, at) => [at === 0 ? 'evidence' : '', path, 'path'] as const),
        ...actionRows({ actions: cause.card?.actions ?? [] }, cause.next),
      ],
      paint,
      sheet,
    ),
  ].join('\n');
}

/** `Approve, by ada on the page at 14:05`; of none the reason. */
const answerWords = (answer: GivenAnswer): string =>
  `${oneLine(answer.words, 400) || 'none'}, ${giverWords(answer)} at ${localTime(answer.at)}`;

/** The page of one execution. */
export function executionText(
  view: ExecutionView,
  folder: string,
  paint: Paint,
  sheet: Sheet | undefined,
): string {
  const label = view.label === view.node ? '' : `  ${paint.dim(view.label)}`;
  const state = stateOrWait(view.state, view.waiting);
  const word = state === 'waits' ? lookOf(state).word : state;
  const head = `${statePaint(state, paint)(`${signCharacter(state)} ${view.node}@${view.visit} ${word} in ${elapsedWords(view.took_ms)}`)}${label}`;
  const indent = ' '.repeat(12);
  const rows = [
    ...(view.waiting === null ? [] : [['waits', foreign(waitWordsOf(view), indent)] as const]),
    ...(view.reason === '' ? [] : [['reason', foreign(view.reason, indent)] as const]),
    ...(view.question === null ? [] : [['asked', foreign(view.question.text, indent)] as const]),
    ...(view.question?.options ?? []).map((option) => ['', oneLine(optionWords(option), 200)] as const),
    ...(view.human_answer === null ? [] : [['answer', answerWords(view.human_answer)] as const]),
    ...(view.class === null ? [] : [['class', view.class] as const]),
    ...(view.notes === '' ? [] : [['notes', foreign(view.notes, indent)] as const]),
    ...(view.group === 'run' ? [] : [['group', view.group] as const]),
    ...view.commands.map(
      ({ command, exit_code }, at) =>
        [
          at === 0 ? 'commands' : '',
          `${oneLine(command, 200)} ${exit_code === 0 ? '' : paint.red(`(exit ${exit_code ?? 'none'})`)}`.trimEnd(),
        ] as const,
    ),
    ...(view.attempts > 1
      ? [['attempts', `${view.attempts}, ${elapsedWords(view.waited_ms)} waited between them`] as const]
      : []),
    ...modelRows(view),
    ...changeRows(view),
    ...edgeRows(view, paint),
    ...(view.sandbox === null ? [] : [['sandbox', view.sandbox] as const]),
    ['files', folder, 'path'],
    [
      '',
      view.files
        .filter(({ bytes }) => bytes > 0)
        .map(({ name }) => name)
        .join(', '),
    ],
  ] as const;
  return [
    head,
    ...rowsText(
      rows.filter(([, text]) => text !== ''),
      paint,
      sheet,
    ),
    ...outputText(view, paint, sheet),
  ].join('\n');
}

function modelRows({
  usage,
  model_ms,
  cost_usd,
  type,
}: ExecutionView): readonly (readonly [string, string])[] {
  if (!isAgentType(type) || usage === null) return [];
  const tokens = (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
  const cost = cost_usd === null ? 'unknown cost' : usdWords(cost_usd);
  return [['model', `${usage.model}: ${tokens} tokens, ${cost}, ${elapsedWords(model_ms)}`]];
}

const mostPaths = 20;

function changeRows({ changes }: ExecutionView): readonly (readonly [string, string])[] {
  const paths = [
    ...changes.created.map((path) => `A ${path}`),
    ...changes.modified.map((path) => `M ${path}`),
    ...changes.deleted.map((path) => `D ${path}`),
  ];
  const more = paths.length - mostPaths;
  return [...paths.slice(0, mostPaths), ...(more > 0 ? [`and ${more} more`] : [])].map(
    (path, at) => [at === 0 ? 'changed' : '', oneLine(path, 200)] as const,
  );
}

/** The way that the run took, and why not the others. */
function edgeRows({ next, how, edges }: ExecutionView, paint: Paint): readonly (readonly [string, string])[] {
  const others = edges
    .filter(({ why_not }) => why_not !== '')
    .map(({ to, condition, why_not }) => {
      const named = condition === '' ? '' : ` (${oneLine(condition, 100)})`;
      return ['', paint.dim(`not ${to}: ${why_not}${named}`)] as const;
    });
  if (how === '') return [];
  const way = next === null ? how : `${next}: ${how}`;
  return [['then', oneLine(way, 200)] as const, ...others];
}

/** What failed, else the end of what was printed or answered. */
function outputText(view: ExecutionView, paint: Paint, sheet: Sheet | undefined): readonly string[] {
  if (view.failed !== null)
    return ['', 'what failed:', ...rowsText(outputRows(view.failed, paint), paint, sheet)];
  if (view.withheld)
    return ['', 'The output is not shown: it may contain the holdout, and the run is unfinished.'];
  const texts = view.answer === null ? view.output : [view.answer];
  return texts
    .filter(({ text }) => text.trim() !== '')
    .flatMap(({ name, text, bytes }) => {
      const lines = text.trimEnd().split('\n');
      const cut = lines.length > mostLines || bytes > Buffer.byteLength(text);
      return [
        '',
        `${basename(name)}${cut ? `, its last lines` : ''}:`,
        `  ${foreign(lines.slice(-mostLines).join('\n'), '  ')}`,
      ];
    });
}

const mostLines = 20;

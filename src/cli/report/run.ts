/** All words for people about a run: pure functions of events and results. */
import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';
import { signCharacter } from '../../app/inspect/states.ts';
import { aheadWords } from '../../core/ahead-words.ts';
import { countedItems, elapsedWords, localTime, usdWords } from '../../core/amounts.ts';
import { type Spent, tokensOf } from '../../core/budget/usage.ts';
import { failureLines } from '../../core/failure-excerpt.ts';
import { isPaused, type PausedWord } from '../../core/outcome.ts';
import { hasSucceeded } from '../../core/overridden.ts';
import { giverWords } from '../../core/question-words.ts';
import { auditWords } from '../../core/records/audit.ts';
import { forkWords } from '../../core/records/names.ts';
import type { OverriddenFailure } from '../../core/records/question.ts';
import type { Evidence, EvidenceCommand, RunResult } from '../../core/records/result.ts';
import { columnsOf } from './diagnostics.ts';
import { statePaint } from './states.ts';

export type Paint = ReturnType<typeof pc.createColors>;
export const painter = (colour: boolean): Paint => pc.createColors(colour);

/** Rows in columns: all cells but the last one padded, the room that these take, and the last. */
export function columns(rows: readonly (readonly string[])[]) {
  const widths = (rows[0] ?? [])
    .slice(0, -1)
    .map((_, at) => rows.reduce((most, row) => Math.max(most, columnsOf(row[at] ?? '')), 0));
  const used = widths.reduce((sum, wide) => sum + wide + 2, 0);
  return rows.map((row) => {
    const cells = widths.map((wide, at) => `${row[at] ?? ''}${' '.repeat(wide - columnsOf(row[at] ?? ''))}`);
    return { cells, used, last: row.at(-1) ?? '' };
  });
}

/** Without the colours of others, whose end may be missing, or which write in the colour of the ground; what could still
 *  be one is shown. */
const undyed = (text: string): string => text.replace(/\x1b\[[\d;]*m/g, '').replaceAll('\x1b', '\\u001b');

/** Text of nodes and models within our output: its later lines are indented so that none looks like one of ours. */
export const foreign = (text: string, indent: string): string =>
  // An expression for blanks before a line end would take minutes over a megabyte of blanks.
  undyed(text)
    .trim()
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join(`\n${indent}`);

/** Blanks made one, colours of others dropped, and cut to `most` characters. */
export const oneLine = (text: string, most: number): string => {
  const flat = undyed(text).replace(/\s+/g, ' ').trim();
  const characters = [...flat];
  return characters.length <= most ? flat : `${characters.slice(0, most - 1).join('')}…`;
};

/** The last words of a text on one line of at most `room` columns, without anything that a terminal would act on. */
export function tail(text: string, room: number): string {
  if (room < 12) return '';
  const flat = [...text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()];
  let from = flat.length;
  for (let left = room - 1; from > 0; from -= 1) {
    // Letters of some scripts, and pictures, take two columns.
    left -= (flat[from - 1]?.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1;
    if (left < 0) break;
  }
  return from === 0 ? flat.join('') : `…${flat.slice(from).join('').trimStart()}`;
}

/** A row of `columns`, its last cell cut to the width. */
export function tableRow(
  { cells, used, last }: ReturnType<typeof columns>[number],
  width: number,
): { readonly text: string; readonly before: string; readonly last: string } {
  const before = cells.map((cell) => `${cell}  `).join('');
  const shown = oneLine(last, Math.max(12, width - used));
  return { text: `${before}${shown}`.trimEnd(), before, last: shown };
}

/** Rows with a name and a text, as a summary has them. */
export const rowsText = (
  rows: readonly (readonly [name: string, text: string])[],
  paint: Paint,
): readonly string[] => rows.map(([name, text]) => `  ${paint.dim(name.padEnd(9))} ${text}`);

/** Indent of the texts of a summary. */
const column = ' '.repeat(12);

type Row = readonly [name: string, text: string];

/** Summary of a run: result, cause of a failure, figures, paths and the next command. */
export function summary(result: RunResult, paint: Paint): string {
  const rows: readonly Row[] = [
    ...(result.status === 'failed' ? failureRows(result) : []),
    ...(result.overridden ?? []).flatMap(overriddenRows),
    ...(isPaused(result.status) ? pausedRows(result.status) : []),
    ...workRows(result, paint),
    ...commitRows(result, paint),
    ...checkRows(result, paint),
    ...placeRows(result),
  ];
  const table = rowsText(rows, paint);
  const next = result.next === '' ? [] : [`  ${paint.dim('next'.padEnd(9))} ${paint.bold(result.next)}`];
  return [headOf(result, paint), ...table, ...next].join('\n');
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

function failureRows(result: RunResult): readonly Row[] {
  const { failed_node: node, failure_class } = result;
  const hint = hintOf(result);
  const cause: readonly Row[] =
    node === null
      ? []
      : [
          ['cause', `node ${node}${failure_class === null ? '' : ` (${failure_class})`}`],
          ...tellingLines(result.failure_output).map((line, at): Row => [at === 0 ? 'output' : '', line]),
          ['artifacts', `${result.run_dir}/${node}/`],
        ];
  return [
    ...cause,
    ...(hint === undefined ? [] : [['hint', hint] as const]),
    ['time', elapsedWords(result.elapsed_ms)],
  ];
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
  ['fix', fixes[status]],
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
  ['run', result.run_dir],
  ['files', result.workspace],
  ...(result.verify === undefined || result.exit_node === null ? [] : [['check it', result.verify] as const]),
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

/** `scenarios 5 of 5 (floor held), 3 of 5 passed before the work, isolation launcher`. */
function judgedWords({ passed, total, floor, passed_before, isolation }: NonNullable<Evidence['judged']>) {
  const held = floor === undefined ? '' : ` (floor ${floor.replace('_', ' ')})`;
  const before = passed_before === undefined ? '' : `, ${passed_before} of ${total} passed before the work`;
  const separated = isolation === undefined ? '' : `, isolation ${isolation}`;
  return `scenarios ${passed} of ${total}${held}${before}${separated}`;
}

const fixes: Readonly<Record<PausedWord, string>> = {
  paused_quota: 'wait: the command below waits and resumes (--now tries at once)',
  paused_outage: 'wait: the command below tries until the provider is back; without --wait it tries at once',
  paused_auth:
    'set the key (OPENAI_API_KEY) or the login of the agent program to one that is accepted, then resume',
  paused_disk: 'make room on that disk (files, or a larger quota), then resume',
  paused_wait: 'wait: the command below waits until then and resumes',
  paused_cap:
    'wait: the command below waits for the next day and resumes; or raise the cap (factory queue set), then resume',
  paused_answer: 'answer the question with the command below: the run then resumes',
  paused_billing: "see the plan and the billing of the key's account, then resume",
};

/** `1.23 USD (4 calls, 120k tokens), 2 calls of unknown cost`. */
export function spentWords(spent: Spent): string {
  const tokens = tokensOf(spent);
  const size =
    tokens >= 999_500
      ? `${Number((tokens / 1e6).toFixed(1))}M`
      : tokens >= 1e4
        ? `${Math.round(tokens / 1000)}k`
        : `${tokens}`;
  return [
    `${usdWords(spent.cost_usd)} (${countedItems(spent.calls, 'call')}, ${size} ${tokens === 1 ? 'token' : 'tokens'})`,
    ...(spent.unknown_cost > 0 ? [`${countedItems(spent.unknown_cost, 'call')} of unknown cost`] : []),
    ...(spent.cut > 0 ? [`${countedItems(spent.cut, 'call')} cut off`] : []),
  ].join(', ');
}

const linesOfStream = 4;

/** The lines of a failed node's output that say what failed, of each stream; without such lines the last ones. */
function tellingLines(output: string): readonly string[] {
  const streams: string[][] = [];
  for (const line of output.split(/\r?\n/)) {
    if (/^(?:stderr|stdout|\w+_stderr|verification):$/.test(line)) {
      streams.push([]);
      continue;
    }
    // Of a verification the reason has them.
    if (/^(?:command|exit_code): /.test(line)) continue;
    // Control sequences of a tool would move our cursor.
    const shown = stripVTControlCharacters(line)
      .replace(/\p{Cc}/gu, ' ')
      .trimEnd();
    if (shown !== '') streams.at(-1)?.push(shown.length > 200 ? `${shown.slice(0, 199)}…` : shown);
  }
  return streams.flatMap((lines) => {
    const telling = failureLines(lines.join('\n'), linesOfStream);
    return telling.length > 0 ? telling : lines.slice(-linesOfStream);
  });
}

/* Hints for common failures of a model, for the summary of a run. */

/** For failures to reach it or to get an answer. */
const hints: readonly (readonly [RegExp, string])[] = [
  // First, because the message of the server follows in the same text.
  [
    /" refused: |" answered nothing|content_filter/,
    'the model refused to answer: change the spec, or try another --model',
  ],
  [
    /quota|insufficient_quota/i,
    "the key's plan or budget is used up: see its billing, or set OPENAI_API_KEY to another key",
  ],
  [
    /too many requests|rate.?limit|\b429\b/i,
    'the server limits how often it is asked: wait a little and run the same command again',
  ],
  [
    /<!doctype|<html|\bHTML\b|content.type/i,
    'that is a web page, not a model API: set OPENAI_BASE_URL to the address of the API, which usually ends in /v1',
  ],
  [
    /cannot be reached|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|certificate/i,
    'check the network, and OPENAI_BASE_URL (unset: https://api.openai.com/v1)',
  ],
  [/the key was refused|\b401\b|\b403\b/i, 'set OPENAI_API_KEY to a key that may use this model'],
  [
    /was not found|\b404\b/i,
    'name a model of the server with --model NAME or FACTORY_MODEL; OPENAI_BASE_URL names the server (for one with chat completions only set openai.api=chat on the node)',
  ],
  [
    /was cut|in trouble|gave up|was silent|overloaded|\b5\d\d\b/i,
    'the server is overloaded or down: wait and run the same command again',
  ],
  [
    /within .* s\b|timed? ?out|timeout/i,
    'give it more time with timeout on the node, or wait and run the same command again',
  ],
  [
    /that is no response\b|without a body|ended before (?:the answer did|it was whole)/,
    'if OPENAI_BASE_URL is set, see that it names a model API (it usually ends in /v1); else run the same command again',
  ],
  [
    /does not accept the request/,
    'the server rejects this request: fix what it names, or try another --model or OPENAI_BASE_URL',
  ],
];

/** One line, or undefined if the reason needs no hint. */
export function hintOf({ status, exit_code, reason }: RunResult): string | undefined {
  if (status !== 'failed' || (exit_code !== 3 && exit_code !== 4)) return undefined;
  const known = exit_code === 3 ? hints.find(([words]) => words.test(reason))?.[1] : undefined;
  if (known !== undefined) return known;
  if (/larger than \d+ MiB|does not fit into (?:\d+|the) tokens/.test(reason))
    return 'ask for less in one answer: a smaller spec, or a prompt that says how long it may be';
  return exit_code === 3
    ? 'the model could not be reached: check OPENAI_BASE_URL, OPENAI_API_KEY and --model'
    : 'the model did not answer in the required form: run the same command again, or try another --model';
}

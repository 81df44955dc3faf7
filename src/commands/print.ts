/** All words for people about a run: pure functions of events and results. */
import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';
import { auditWords } from '../model/audit.ts';
import type { RunEvent } from '../model/event.ts';
import type { Evidence, EvidenceCommand } from '../model/evidence.ts';
import { unreachable } from '../model/json.ts';
import { toldReason } from '../model/outcome.ts';
import { isPaused, type PausedWord } from '../model/park.ts';
import { forkWords } from '../model/point.ts';
import type { RunResult } from '../model/result.ts';
import { type Spent, tokensOf } from '../model/spent.ts';
import { hintOf } from './hints.ts';

export type Paint = ReturnType<typeof pc.createColors>;
export const painter = (colour: boolean): Paint => pc.createColors(colour);

/** `1234` → `1.2s`, `61000` → `1m01s`. */
export function elapsedWords(ms: number): string {
  // What is left would be rounded up to 60.0s.
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
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

const plain = pc.createColors(false);

/** A line of `width` columns at most: `head` whole, of `rest` what fits behind it. */
function fitted(head: (paint: Paint) => string, rest: string, paint: Paint, width: number): string {
  const taken = [...head(plain)].length + 2;
  const room = width - 1 - taken;
  return rest === '' || room < 8 ? head(paint) : `${head(paint)}  ${oneLine(rest, room)}`;
}

/** One line of the live view, or nothing for events that people need not see. `clock` is the run's time so far, in
 *  milliseconds; `width` the terminal's columns. */
export function liveLine(event: RunEvent, clock: number, paint: Paint, width: number): string | undefined {
  const at = (p: Paint) => p.dim(elapsedWords(clock).padStart(7));
  switch (event.type) {
    case 'PipelineStarted':
      return `${event.resumed ? 'resuming' : 'starting'}${event.forked_from === undefined ? '' : ` from ${forkWords(event.forked_from)}`} with agent ${paint.bold(event.agent)}`;
    case 'StageStarted':
      return undefined;
    case 'StageRetrying':
      return fitted(
        (p) => `${at(p)} ${p.yellow('↻')} ${event.node_id}`,
        `again in ${elapsedWords(event.delay_ms)}: ${event.reason}`,
        paint,
        width,
      );
    case 'AgentActed':
      return undefined;
    case 'ReplayRan':
      return fitted(
        (p) => `${at(p)} ${p.yellow('↻')} ${event.node_id}`,
        `runs, the record does not fit: ${event.why}`,
        paint,
        width,
      );
    case 'ScenarioRerun':
      return fitted(
        (p) => `${at(p)} ${p.yellow('↻')} ${event.node_id}`,
        `run again in a clean copy: ${event.result === 'passed' ? 'passed' : `failed ${event.result}`}`,
        paint,
        width,
      );
    case 'GuardrailViolation':
      return fitted(
        (p) => `${at(p)} ${p.red('!')} ${event.node_id}`,
        `wrote outside its scope, put back: ${event.paths.join(', ')}`,
        paint,
        width,
      );
    case 'StageCompleted': {
      const again = event.visit > 1 ? ` #${event.visit}` : '';
      const word = event.outcome === 'success' ? '' : event.outcome;
      return fitted(
        (p) =>
          `${at(p)} ${p.green('✓')} ${event.node_id}${p.dim(`${again} ${elapsedWords(event.elapsed_ms)}`)}${word === '' ? '' : ` ${p.yellow(word)}`}`,
        event.notes,
        paint,
        width,
      );
    }
    case 'StageFailed': {
      const again = event.visit > 1 ? ` #${event.visit}` : '';
      return fitted(
        (p) =>
          `${at(p)} ${p.red('✗')} ${event.node_id}${p.dim(`${again} ${elapsedWords(event.elapsed_ms)}`)}`,
        event.failure_reason === '' ? 'failed' : toldReason(event.failure_reason, event.attribution),
        paint,
        width,
      );
    }
    case 'CheckpointSaved':
    case 'PipelineCompleted':
    case 'PipelineFailed':
    case 'PipelineInterrupted':
    case 'PipelineParked':
      return undefined;
    default:
      return unreachable(event);
  }
}

/** Indent of the texts of a summary. */
const column = ' '.repeat(12);

/** Summary of a run: result, cause of a failure, figures, paths and the next command. */
export function summary(result: RunResult, paint: Paint): string {
  const rows: [string, string][] = [];
  const reason = foreign(result.reason, column);
  const head =
    result.status === 'completed'
      ? paint.green(`✓ success in ${elapsedWords(result.elapsed_ms)}`)
      : isPaused(result.status)
        ? paint.yellow(
            `■ suspended${result.wake_at === undefined ? '' : ` until ${result.wake_at}`}: ${reason}`,
          )
        : result.status === 'interrupted'
          ? paint.yellow(`■ ${reason} after ${elapsedWords(result.elapsed_ms)}`)
          : paint.red(`✗ failed: ${reason}`);
  if (result.status === 'failed') {
    if (result.failed_node !== null) {
      rows.push([
        'cause',
        `node ${result.failed_node}${result.failure_class === null ? '' : ` (${result.failure_class})`}`,
      ]);
      for (const [i, line] of lastLines(result.failure_output).entries())
        rows.push([i === 0 ? 'output' : '', line]);
      rows.push(['artifacts', `${result.run_dir}/${result.failed_node}/`]);
    }
    const hint = hintOf(result);
    if (hint !== undefined) rows.push(['hint', hint]);
    rows.push(['time', elapsedWords(result.elapsed_ms)]);
  }
  const tried = result.commits.reduce((sum, commit) => sum + commit.attempts, 0);
  if (isPaused(result.status)) rows.push(['status', result.status], ['fix', fixes[result.status]]);
  rows.push([
    'nodes',
    [
      `${result.stages}`,
      ...(result.failed_stages > 0 ? [`${result.failed_stages} failed on the way`] : []),
      ...(result.retries > 0 ? [`${result.retries} ${result.retries === 1 ? 'retry' : 'retries'}`] : []),
    ].join(', '),
  ]);
  for (const { node, calls } of result.denied ?? [])
    rows.push([
      'denied',
      paint.yellow(`${node}: ${oneLine(calls.join(', '), 160)} (its permissions did not allow it)`),
    ]);
  if (result.spent.calls > 0) rows.push(['spent', spentWords(result.spent)]);
  if (result.commits.length > 0) {
    rows.push([
      'commits',
      `${result.commits.filter((c) => c.commit !== null).length} in ${tried} attempt${tried === 1 ? '' : 's'}`,
    ]);
    for (const { commit, subject, attempts } of result.commits) {
      rows.push([
        '',
        `${commit === null ? '(no change)' : commit.slice(0, 10)} ${subject}${attempts > 1 ? paint.dim(` (${attempts} attempts)`) : ''}`,
      ]);
    }
  }
  if (result.proof !== null) {
    rows.push([
      'proof',
      result.proof.length === 0
        ? paint.yellow('nothing could be run: only that every promised file is there')
        : result.proof.map((command) => oneLine(command, 80)).join(', '),
    ]);
  }
  if (result.audit !== undefined) {
    const words = auditWords(result.audit);
    rows.push([
      'audit',
      result.audit.errors > 0 ? paint.red(words) : result.audit.warnings > 0 ? paint.yellow(words) : words,
    ]);
  }
  rows.push(...evidenceRows(result, paint));
  if (result.agent !== 'none') rows.push(['agent', result.agent]);
  if (result.forked_from !== undefined) rows.push(['fork of', forkWords(result.forked_from)]);
  if (result.replay_of !== undefined) rows.push(['replay of', result.replay_of]);
  rows.push(['run', result.run_dir], ['files', result.workspace]);
  if (result.verify !== undefined && result.exit_node !== null) rows.push(['check it', result.verify]);
  const table = rows.map(([name, text]) => `  ${paint.dim(name.padEnd(9))} ${text}`);
  const next = result.next === '' ? [] : [`  ${paint.dim('next'.padEnd(9))} ${paint.bold(result.next)}`];
  return [head, ...table, ...next].join('\n');
}

/** What carries the verdict of a run that has ended. */
function evidenceRows({ status, evidence }: RunResult, paint: Paint): [string, string][] {
  if (evidence === undefined || (status !== 'completed' && status !== 'failed')) return [];
  const { inputs } = evidence;
  const spec = inputs.variables['spec'];
  const named = [
    ...(spec === undefined ? [] : [`spec ${short(spec)}`]),
    `pipeline ${short(inputs.pipeline)}`,
  ];
  return [
    ...(status === 'completed' ? [['checked', checkedWords(evidence, paint)] as [string, string]] : []),
    ...(evidence.unchecked_orders ?? []).map((id): [string, string] => [
      'warning',
      paint.yellow(
        `the only acceptance command of ${id} is true: nothing but the project's own tests checked it`,
      ),
    ]),
    ['evidence', `${named.join(', ')}, visits ${short(evidence.chain)}`],
  ];
}

const short = (hash: string): string => hash.slice(0, 12);

function checkedWords({ commands, more_commands: more, judged }: Evidence, paint: Paint): string {
  if (commands.length === 0) return paint.yellow('nothing was checked by a command');
  const good = (some: readonly EvidenceCommand[]) => some.filter(({ exit_code }) => exit_code === 0).length;
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  const scenarios = commands.filter(({ what }) => what === 'scenario');
  const nodes = new Set(commands.map(({ node }) => node)).size;
  const passed = good(commands);
  return [
    `${passed === commands.length ? '' : `${passed} of `}${count(commands.length, 'command')} of ${count(nodes, 'node')} passed`,
    ...(more === 0 ? [] : [`${more} more are not listed`]),
    scenarios.length === 0
      ? 'no scenarios'
      : judged === undefined
        ? `of them ${count(scenarios.length, 'scenario')}`
        : `scenarios ${judged.passed} of ${judged.total}`,
  ].join(', ');
}

const fixes: Readonly<Record<PausedWord, string>> = {
  paused_quota: 'wait: the command below waits and resumes (--now tries at once)',
  paused_outage: 'wait: the command below tries until the provider is back; without --wait it tries at once',
  paused_auth:
    'set the key (OPENAI_API_KEY) or the login of the agent program to one that is accepted, then resume',
  paused_billing: "see the plan and the billing of the key's account, then resume",
};

/** `1.23 USD (4 calls, 120k tokens), 2 calls of unknown cost`. */
export function spentWords(spent: Spent): string {
  const calls = (n: number) => `${n} ${n === 1 ? 'call' : 'calls'}`;
  const tokens = tokensOf(spent);
  const size =
    tokens >= 999_500
      ? `${Number((tokens / 1e6).toFixed(1))}M`
      : tokens >= 1e4
        ? `${Math.round(tokens / 1000)}k`
        : `${tokens}`;
  return [
    `${money(spent.cost_usd)} (${calls(spent.calls)}, ${size} ${tokens === 1 ? 'token' : 'tokens'})`,
    ...(spent.unknown_cost > 0 ? [`${calls(spent.unknown_cost)} of unknown cost`] : []),
    ...(spent.cut > 0 ? [`${calls(spent.cut)} cut off`] : []),
  ].join(', ');
}

/** `1.23 USD`; two significant digits for small sums. */
const money = (usd: number): string =>
  `${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : String(Number(usd.toPrecision(2)))} USD`;

const linesOfStream = 4;

/** The last lines that a failed node printed, of each stream. */
function lastLines(output: string): readonly string[] {
  const streams: string[][] = [];
  for (const line of output.split(/\r?\n/)) {
    if (/^(?:stderr|stdout|\w+_stderr|verification):$/.test(line)) {
      streams.push([]);
      continue;
    }
    // Control sequences of a tool would move our cursor.
    const shown = stripVTControlCharacters(line)
      .replace(/\p{Cc}/gu, ' ')
      .trimEnd();
    if (shown !== '') streams.at(-1)?.push(shown.length > 200 ? `${shown.slice(0, 199)}…` : shown);
  }
  return streams.flatMap((lines) => lines.slice(-linesOfStream));
}

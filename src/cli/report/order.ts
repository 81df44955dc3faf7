/** What `factory order run` and `run-all` print. */
import type { OrderResult } from '../../app/orders/land.ts';
import type { BatchProgress, BatchRefusal, BatchResult } from '../../app/orders/run-plan.ts';
import type { OrderRefusal } from '../../app/orders/types.ts';
import { raisedLimit } from '../../core/budget/limits.ts';
import { quoteWord } from '../../core/policy/words.ts';
import { pushCommand, pushFailure } from '../../git/push.ts';
import { invocationOf } from '../arguments.ts';
import type { OrderRunIo } from '../flags.ts';
import { paints } from '../io.ts';
import type { VerbResult } from '../verb.ts';
import type { ViewOptions } from './live.ts';
import { painter } from './run.ts';

type PrintOptions = ViewOptions & {
  readonly repo?: string;
  readonly runsdir?: string;
  readonly commitHash?: string;
  readonly json?: boolean;
};

export function progressOf(count: number, options: PrintOptions, io: OrderRunIo): BatchProgress {
  const out = options.json === true || options.quiet === true ? () => {} : io.out;
  return {
    begins: (number, name, title) => out(`[${number}/${count}] ${name}: ${title}\n`),
    skips: (commit) => out(`  already committed: ${commit.slice(0, 12)}\n`),
    ends: (result) => printResult(result, options, io),
  };
}

/** Prints the end of the command. */
export function printEnd(
  ended: OrderResult | OrderRefusal | BatchResult | BatchRefusal,
  options: PrintOptions,
  io: OrderRunIo,
): VerbResult {
  if ('problems' in ended) return 'orders' in ended ? { ...ended, more: { orders: ended.orders } } : ended;
  if (options.json === true) io.out(`${JSON.stringify({ schema_version: 1, ...ended }, null, 2)}\n`);
  if ('verdict' in ended) {
    if (options.json !== true) printResult(ended, options, io);
    if (ended.resumable || isUnfinished(ended.exit_code)) io.err(resumeLine(ended, options, io));
    return ended.exit_code;
  }
  const last = ended.orders.at(-1);
  if (options.json !== true && options.quiet !== true) {
    const isIdle = ended.orders.every((order) => order.skipped);
    const unchanged = ended.orders.filter((order) => !order.skipped && order.verdict === 'NO_CHANGE');
    if (ended.exit_code === 0 && isIdle) io.out('Nothing to do: every work order is committed already\n');
    else if (unchanged.length > 0 && (ended.exit_code === 0 || unchanged.length === ended.orders.length))
      io.out(
        `${batchWords(
          ended,
          unchanged.map(({ name }) => name),
        )}\n`,
      );
    else if (ended.exit_code === 0)
      io.out(`All ${ended.orders.length} work order(s) passed on ${ended.branch}\n`);
    else io.out(`Stopped ${whereStopped(last)} (exit code ${ended.exit_code})\n`);
  }
  if (!isUnfinished(ended.exit_code)) return ended.exit_code;
  // With --commit-hash the same command would start again from there.
  if (options.commitHash !== undefined && last?.skipped === false && last.exit_code !== 0)
    io.err(resumeLine(last, options, io));
  else io.err(`to resume: ${io.called?.again ?? 'run the same command again'}\n`);
  return ended.exit_code;
}

/** The end of a batch in which orders changed nothing. */
const batchWords = ({ orders, branch }: BatchResult, unchanged: readonly string[]): string =>
  [
    ...(unchanged.length === orders.length
      ? []
      : [`${orders.length - unchanged.length} of ${orders.length} work order(s) passed on ${branch}`]),
    `no file changed: ${unchanged.join(', ')}`,
  ].join('; ');

function whereStopped(last: BatchResult['orders'][number] | undefined): string {
  if (last === undefined) return 'before the first work order';
  return `${last.skipped || last.exit_code === 0 ? 'after' : 'at'} ${last.name}`;
}

/** Warnings of another run, whose interrupted landing was completed first. */
export function printInterrupted(result: OrderResult, options: PrintOptions, io: OrderRunIo): void {
  if (result.exit_code !== 0)
    io.err(
      `WARNING: the landing of run ${result.run_id} on "${result.branch}" was interrupted and could not be completed: ${result.reason}\n`,
    );
  printWarnings(result, options, io);
}

function printWarnings(result: OrderResult, options: PrintOptions, io: OrderRunIo): void {
  for (const note of result.notes) io.err(`WARNING: ${invocationOf(note, io.called?.program)}\n`);
  if (result.push !== null && !result.push.ok && result.push.remote !== '') {
    const command = pushCommand(options.repo ?? result.repo, result.push, result.branch);
    io.err(`WARNING: not pushed (${pushFailure(result.push.stderr)}); by hand: ${command}\n`);
  }
}

function printResult(result: OrderResult, options: PrintOptions, io: OrderRunIo): void {
  printWarnings(result, options, io);
  if (options.json === true) return;
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  const good = result.exit_code === 0;
  if (options.quiet !== true || !good) {
    const row = (name: string, text: string) => io.out(`  ${`${name}:`.padEnd(14)} ${text}\n`);
    row('Work order', result.work_order_id);
    row('Attempts', String(result.attempts));
    if (good) row('Branch', result.branch);
    if (result.commit !== null && good) row('Commit', result.commit.slice(0, 12));
    if (result.push?.remote === '') row('Pushed to', '(the repository has no remote)');
    if (result.push?.ok === true) row('Pushed to', result.push.remote);
    if (!good && result.stage !== null) row('Stage', result.stage);
    if (!good) row('Reason', result.reason);
    row('Artifacts', result.artifacts);
    row('Run', result.run_dir);
  }
  const notLanded = result.verdict === 'PASS' && !good;
  const isOpen = notLanded || result.verdict === 'ERROR' || result.verdict === 'NO_CHANGE';
  const colour = isOpen ? paint.yellow : good ? paint.green : paint.red;
  io.out(`  Verdict: ${colour(notLanded ? 'PASS, but not landed' : result.verdict)}\n`);
}

/** Interrupted or suspended. */
const isUnfinished = (code: number): boolean => code === 130 || code === 75;

function resumeLine(result: OrderResult, options: PrintOptions, { called }: OrderRunIo): string {
  const runs = options.runsdir === undefined ? '' : ` --runsdir ${quoteWord(options.runsdir)}`;
  const raised = raisedLimit(result.reason);
  const more = raised === undefined ? '' : ` ${raised}`;
  const command = `factory resume ${result.run_id}${runs}${more}`;
  return `to resume: ${invocationOf(command, called?.program)}\n`;
}

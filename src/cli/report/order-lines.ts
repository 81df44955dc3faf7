/** The work order that runs, on a terminal: its steps are folded into one line when it is done. Pure. */
import { countedItems, elapsedWords } from '../../core/amounts.ts';
import type { RunEvent } from '../../core/events.ts';
import type { DrawnWhere } from './branch-lines.ts';
import { columnsOf } from './diagnostics.ts';
import { nodeWords } from './events.ts';
import { oneLine, type Paint } from './run.ts';
import { stateSign } from './states.ts';

type WorkOrder = NonNullable<Extract<RunEvent, { type: 'StageCompleted' }>['work_order']>;
/** A line, cut to that many columns. */
type Line = (width: number) => string;
type Order = {
  readonly now: WorkOrder;
  readonly began: number;
  /** Of the steps of its attempt. */
  readonly steps: Line[];
  /** Why earlier attempts failed. */
  readonly failed: readonly Line[];
  /** The latest failure of its attempt. */
  failure: string;
};

/** Before the steps of a work order. */
export const indent = '  ';
/** Steps that are shown while it runs: the last ones. */
const mostSteps = 5;

export interface OrderLines {
  /** Takes note of an event that names a work order: the line of one that is done, with why earlier attempts failed, and whether an
   *  order or an attempt begins; undefined for any other event. */
  named(
    event: RunEvent,
    now: number,
    facts: DrawnWhere,
  ): { readonly lines: readonly string[]; readonly isNext: boolean } | undefined;
  /** Keeps the step of an event; answers whether it is shown with its order only. */
  takes(event: RunEvent, step: Line | undefined): boolean;
  /** Forgets the order; answers its lines, with its steps where `failed`. */
  left(failed: boolean, now: number, facts: DrawnWhere): readonly string[];
  /** The order that runs; undefined without one. */
  below(now: number, facts: DrawnWhere): readonly string[] | undefined;
}

/** `folded`: the steps of an order become one line when it is done. */
export function orderLines(folded: boolean): OrderLines {
  let order: Order | undefined;
  const head = (of: Order, state: Parameters<typeof stateSign>[0], now: number, facts: DrawnWhere) =>
    orderLine(of.now, { ...facts, took: now - of.began, sign: stateSign(state, facts.paint) });
  const shown = (lines: readonly Line[], width: number) => (folded ? lines.map((line) => line(width)) : []);
  return {
    named(event, now, facts) {
      if (event.type !== 'StageCompleted' || event.work_order === undefined) return undefined;
      const { work_order: change } = event;
      // A later step names an order that is done once more.
      if (change.done && order?.now.id !== change.id) return undefined;
      const isNext = change.attempt !== order?.now.attempt;
      const of = orderAfter(order, change, now, facts.paint);
      order = change.done ? undefined : of;
      return {
        isNext,
        lines: change.done ? [head(of, 'done', now, facts), ...shown(of.failed, facts.width)] : [],
      };
    },
    takes(event, step) {
      if (order === undefined || !('node_id' in event)) return false;
      if (event.type === 'StageFailed') order.failure = `${nodeWords(event)}: ${event.failure_reason}`;
      if (step !== undefined) order.steps.push((columns) => `${indent}${step(columns - indent.length)}`);
      return folded;
    },
    left(failed, now, facts) {
      const open = order;
      order = undefined;
      if (open === undefined) return [];
      return [
        head(open, failed ? 'failed' : 'interrupted', now, facts),
        ...shown([...open.failed, ...(failed ? open.steps : [])], facts.width),
      ];
    },
    below(now, facts) {
      if (order === undefined) return undefined;
      const { failed, steps } = order;
      const lines = [...failed.slice(-1), ...steps.slice(-mostSteps)];
      return [head(order, 'running', now, facts), ...shown(lines, facts.width)];
    },
  };
}

/** The order that a step names; of one that is tried again the last attempt is shown, and why those before it failed. */
function orderAfter(before: Order | undefined, now: WorkOrder, time: number, paint: Paint): Order {
  if (before?.now.id !== now.id) return { now, began: time, steps: [], failed: [], failure: '' };
  const { attempt } = before.now;
  if (now.attempt <= attempt) return { ...before, now };
  const { failure } = before;
  const latest = (width: number) => attemptLine(attempt, failure, paint, width);
  return {
    ...before,
    ...{ now, steps: [], failure: '' },
    failed: failure === '' ? before.failed : [...before.failed, latest],
  };
}

/** `            attempt 1: verify: tool_exit_code_1` */
function attemptLine(attempt: number, failure: string, paint: Paint, width: number): string {
  const head = `${' '.repeat(10)}${indent}attempt ${attempt}: `;
  return paint.dim(`${head}${oneLine(failure, Math.max(12, width - 1 - head.length))}`);
}

/** `  12.3s ✓ WO-01 Title  2 attempts  3.1s  abc1234`; the title is cut to what is left of the width. */
function orderLine(
  { id, title, index, count, attempt, done, commit }: WorkOrder,
  { took, clock, paint, width, sign }: DrawnWhere & { readonly took: number; readonly sign: string },
): string {
  const rest = [
    ...(done ? [] : [`${index} of ${count}`]),
    ...(attempt > 1 ? [done ? countedItems(attempt, 'attempt') : `attempt ${attempt}`] : []),
    elapsedWords(took),
    ...(done ? [commit?.slice(0, 7) ?? 'no change'] : []),
  ].join('  ');
  const room = width - 1 - 10 - columnsOf(id) - 1 - 2 - columnsOf(rest);
  const name = room < 8 ? '' : ` ${cutToColumns(oneLine(title, room), room)}`;
  return `${paint.dim(elapsedWords(clock).padStart(7))} ${sign} ${paint.bold(id)}${name}  ${paint.dim(rest)}`;
}

/** The beginning of a text that fits into that many columns. */
export function cutToColumns(text: string, room: number): string {
  if (columnsOf(text) <= room) return text;
  let left = room - 1;
  let fits = '';
  for (const character of text) {
    left -= columnsOf(character);
    if (left < 0) break;
    fits += character;
  }
  return `${fits}…`;
}

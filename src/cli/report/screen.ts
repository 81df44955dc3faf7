/** The live view of a run as lines: pure functions of its events and texts. */
import { stripVTControlCharacters } from 'node:util';
import { signCharacter } from '../../app/inspect/states.ts';
import { type Wait, waitInEvent } from '../../app/inspect/wait.ts';
import { nextTryIn, secondsWords, waitLine } from '../../app/inspect/wait-words.ts';
import { countedItems, elapsedWords } from '../../core/amounts.ts';
import type { RunEvent } from '../../core/events.ts';
import { branchLines, type DrawnWhere } from './branch-lines.ts';
import { columnsOf } from './diagnostics.ts';
import { liveLine, nodeWords } from './events.ts';
import { cutToColumns, indent, orderLines } from './order-lines.ts';
import { oneLine, type Paint, tail } from './run.ts';

export type ScreenOptions = {
  readonly paint: Paint;
  /** Print every line for good: nothing is folded. */
  readonly unfolded: boolean;
  /** Where the whole output of a node is; undefined if unknown. */
  readonly outputOf: (node: string, channel: Channel | undefined) => string | undefined;
};

type Channel = 'stdout' | 'stderr' | 'answer' | 'reasoning';

/** What a run shows. Times are milliseconds of one clock; `width` is that of the terminal in columns. */
export interface RunScreen {
  /** Lines to print for good. */
  event(event: RunEvent, now: number, width: number): readonly string[];
  text(node: string, text: string, channel: Channel): void;
  /** Lines below them, which the next call replaces: the work order that runs, with its nodes, how the branches stand, and the nodes
   *  that run. */
  below(now: number, width: number): readonly string[];
}

/** Milliseconds after which the place of a node's output is shown. */
const longMs = 10_000;
/** Characters of a running node's output that are kept. */
const mostKept = 4000;

/** Nodes that run at once and are shown. */
const mostRunning = 8;

type NodeEvent = Extract<RunEvent, { node_id: string }>;

type Running = {
  readonly node: string;
  readonly branch: string | undefined;
  /** With its branch. */
  readonly name: string;
  readonly visit: number;
  readonly began: number;
  readonly text: string;
  readonly channel: Channel | undefined;
  /** What it waits for, and until when by the clock of the screen. */
  readonly waits?: { readonly wait: Wait; readonly until: number } | undefined;
};
export function runScreen(options: ScreenOptions): RunScreen {
  const { paint, unfolded } = options;
  let began: number | undefined;
  const nodes = runningNodes(options);
  const branches = branchLines(!unfolded);
  const orders = orderLines(!unfolded);
  const sinceStart = (now: number) => now - (began ?? now);
  const factsAt = (now: number, width: number): DrawnWhere => ({ clock: sinceStart(now), paint, width });

  /** The lines of a work order and of branches that are not done when the run stops; of a failed run with their steps. */
  const left = (failed: boolean, now: number, width: number): readonly string[] => {
    nodes.clear();
    const more = branches.left(failed, now, factsAt(now, width));
    return [...orders.left(failed, now, factsAt(now, width)), ...more];
  };
  return {
    event(event, now, width) {
      if (event.type === 'PipelineStarted') began = now;
      began ??= now;
      nodes.event(event, now);
      const clock = sinceStart(now);
      const line = (columns: number) => liveLine(event, clock, paint, columns);
      const whole = line(width);
      const own = whole === undefined ? [] : [whole];
      const named = orders.named(event, now, factsAt(now, width));
      if (named !== undefined) {
        if (unfolded) return [...own, ...named.lines];
        // The line of the order stands for the steps that begin it, an attempt, or end it.
        if (named.isNext || named.lines.length > 0) return named.lines;
      }
      if (/^Pipeline[^S]/.test(event.type)) return left(event.type === 'PipelineFailed', now, width);
      const step = whole === undefined ? undefined : (columns: number) => line(columns) ?? '';
      const lines = branches.event(event, step, now, factsAt(now, width)) ?? own;
      return orders.takes(event, step) ? [] : lines;
    },
    text: nodes.text,
    below(now, width) {
      const facts = factsAt(now, width);
      const running = [...branches.summaries(facts), ...nodes.lines(now, sinceStart(now), width)];
      const order = orders.below(now, facts);
      return order === undefined ? running : [...order, ...running.map((line) => `${indent}${line}`)];
    },
  };
}

/** The nodes that run: one, and one for each branch. */
function runningNodes(options: ScreenOptions) {
  const nodes = new Map<string, Running>();
  /** In the order in which they came first, so that no line jumps. */
  const places = new Set<string>();
  const place = ({ branch }: { readonly branch?: string | undefined }): string => branch ?? '';
  const noteWait = (event: NodeEvent, now: number): void => {
    const at = place('branch' in event ? event : {});
    const known = nodes.get(at);
    if (known !== undefined) nodes.set(at, { ...known, waits: waitsAfter(event, now) });
  };
  return {
    clear: () => nodes.clear(),
    event(event: RunEvent, now: number): void {
      if (event.type === 'PipelineStarted') nodes.clear();
      if (event.type === 'StageCompleted' || event.type === 'StageFailed') nodes.delete(place(event));
      if ('node_id' in event) noteWait(event, now);
      if (event.type !== 'StageStarted') return;
      const { node_id: node, branch, visit } = event;
      places.add(place(event));
      nodes.set(place(event), {
        node,
        branch,
        name: nodeWords(event),
        visit,
        began: now,
        text: '',
        channel: undefined,
      });
    },
    text(id: string, text: string, channel: Channel): void {
      for (const [at, running] of nodes) {
        if (running.node !== id) continue;
        // Of the channel that spoke last.
        const before = running.channel === channel ? running.text : '';
        const kept = `${before}${text}`.slice(-mostKept);
        nodes.set(at, { ...running, text: kept, channel, waits: undefined });
      }
    },
    lines(now: number, clock: number, width: number): readonly string[] {
      const shown = [...places].flatMap((at) => nodes.get(at) ?? []).slice(0, mostRunning);
      const more = nodes.size - shown.length;
      const several = nodes.size > 1;
      return [
        ...shown.flatMap((running) => runningLines(running, now, clock, width, { ...options, several })),
        ...(more === 0 ? [] : [options.paint.dim(`${' '.repeat(10)}and ${countedItems(more, 'more node')}`)]),
      ];
    },
  };
}

function waitsAfter(event: NodeEvent, now: number): Running['waits'] {
  const wait = waitInEvent(event);
  if (wait?.until == null) return undefined;
  return { wait, until: now + Date.parse(wait.until) - Date.parse(wait.since) };
}

/** `  12.3s … verify #2 0.4s  its last words`, and of one that takes long where its whole output is, unless there are `several`. */
function runningLines(
  running: Running,
  now: number,
  clock: number,
  columns: number,
  { paint, outputOf, several }: ScreenOptions & { readonly several: boolean },
): readonly string[] {
  const { node, name, visit, began, channel } = running;
  const width = columns - indent.length - 1;
  const again = visit > 1 ? ` #${visit}` : '';
  const wait = waitingWords(running, now);
  const mark = wait === '' ? '…' : signCharacter('waits');
  const head = `${elapsedWords(clock).padStart(7)} ${mark} ${name}${again} ${elapsedWords(now - began)}`;
  const words = wait === '' ? latestWords(running, width - columnsOf(head) - 2) : wait;
  const place = now - began >= longMs && !several ? outputOf(node, channel) : undefined;
  return [
    paint.dim(cutToColumns(words === '' ? head : `${head}  ${words}`, width)),
    // Never cut: it is copied.
    ...(place === undefined ? [] : [paint.dim(`${' '.repeat(10)}output: ${place}`)]),
  ];
}

/** A wait with its countdown; empty where there is none, or it is over. */
function waitingWords({ waits }: Running, now: number): string {
  if (waits === undefined || waits.until <= now) return '';
  const until = new Date(waits.until).toISOString();
  return oneLine(waitLine(waits.wait, nextTryIn({ ...waits.wait, until }, now, secondsWords)), mostKept);
}

const latestWords = ({ text, channel }: Running, room: number): string =>
  channel === 'stdout' || channel === 'stderr' ? lastLine(text, room) : tail(text, room);

/** The last line that is not blank, without what a terminal would act on. */
function lastLine(text: string, room: number): string {
  if (room < 12) return '';
  const lines = stripVTControlCharacters(text).split(/[\r\n]/);
  return cutToColumns(
    oneLine((lines.findLast((line) => line.trim() !== '') ?? '').replace(/\p{C}/gu, ' '), room),
    room,
  );
}

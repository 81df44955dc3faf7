/** The branches of a run on a terminal: a line for each that has ended, and a summary of those that run. Pure. */
import { countedItems, elapsedWords } from '../../core/amounts.ts';
import type { RunEvent } from '../../core/events.ts';
import { branchEndWords } from '../../core/records/fork.ts';
import { oneLine, type Paint } from './run.ts';
import { stateSign } from './states.ts';

type Started = Extract<RunEvent, { type: 'ParallelStarted' }>;
type Ended = Extract<RunEvent, { type: 'BranchCompleted' }>;
/** A line of a step, cut to that many columns. */
type Step = (width: number) => string;
/** `words`: what its latest step has said. */
type Branch = { readonly began: number; readonly steps: Step[]; words: string };
type Fork = Started & { readonly ended: Map<string, Ended['status']> };

/** The time since the run began, and the terminal. */
export type DrawnWhere = { readonly clock: number; readonly paint: Paint; readonly width: number };

export interface BranchLines {
  /** Takes note of an event; answers the lines to print instead of the one that it has by itself, or undefined where that one is printed. */
  event(
    event: RunEvent,
    own: Step | undefined,
    now: number,
    facts: DrawnWhere,
  ): readonly string[] | undefined;
  /** A line for each node whose branches run. */
  summaries(facts: DrawnWhere): readonly string[];
  /** Forgets all branches; answers the lines of those that have not ended, with their steps where `failed`. */
  left(failed: boolean, now: number, facts: DrawnWhere): readonly string[];
}

const indent = '  ';

/** `folded`: the steps of a branch become one line when it ends. */
export function branchLines(folded: boolean): BranchLines {
  const forks = new Map<string, Fork>();
  const branches = new Map<string, Branch>();

  const ended = (event: Ended, now: number, facts: DrawnWhere): readonly string[] => {
    const { branch: id, status } = event;
    const branch = branches.get(id);
    branches.delete(id);
    for (const fork of forks.values()) if (fork.branches.includes(id)) fork.ended.set(id, status);
    const steps = folded ? (branch?.steps ?? []) : [];
    const [only] = steps;
    if (only !== undefined && steps.length === 1 && status !== 'cancelled') return [only(facts.width)];
    const head = branchLine(id, branch, event, now, facts);
    return status === 'failed' ? [head, ...indented(steps, facts.width)] : [head];
  };
  /** Lines of a branch within another one are steps of that one. */
  const placed = (id: string, lines: readonly string[]): readonly string[] => {
    const outer = [...forks.values()].find((fork) => fork.branches.includes(id))?.branch;
    const branch = folded && outer !== undefined ? branches.get(outer) : undefined;
    if (branch === undefined) return lines;
    branch.steps.push(...lines.map((line) => () => line));
    return [];
  };
  return {
    event(event, own, now, facts) {
      switch (event.type) {
        case 'ParallelStarted':
          forks.set(event.node_id, { ...event, ended: new Map() });
          return undefined;
        case 'ParallelCompleted':
          forks.delete(event.node_id);
          return undefined;
        case 'BranchStarted':
          // The first node of an interrupted branch begins once more.
          if (!branches.has(event.branch)) branches.set(event.branch, { began: now, steps: [], words: '' });
          return undefined;
        case 'BranchCompleted':
          return placed(event.branch, ended(event, now, facts));
        case 'BranchParked':
          return [parkedLine(event, facts)];
        case 'StageCompleted':
        case 'StageFailed': {
          const branch = event.branch === undefined ? undefined : branches.get(event.branch);
          if (branch === undefined || own === undefined) return undefined;
          branch.words = event.type === 'StageCompleted' ? event.notes : event.failure_reason;
          branch.steps.push(own);
          return folded ? [] : undefined;
        }
        default:
          return undefined;
      }
    },
    summaries: (facts) =>
      [...forks.values()]
        .filter(({ call }) => call === undefined)
        .map((fork) => summaryLine(fork, branches, facts)),
    left(failed, now, facts) {
      const open = [...branches];
      branches.clear();
      forks.clear();
      if (!folded) return [];
      return open
        .filter(([, { steps }]) => steps.length > 0)
        .flatMap(([id, branch]) => [
          branchLine(id, branch, undefined, now, facts),
          ...(failed ? indented(branch.steps, facts.width) : []),
        ]);
    },
  };
}

const indented = (steps: readonly Step[], width: number): readonly string[] =>
  steps.map((step) => `${indent}${step(width - indent.length)}`);

const states = { completed: 'success', failed: 'fail', cancelled: 'cancelled' } as const;

/** `  12.3s ✓ tests 3 nodes  9.8s  12 passed`; `end` is undefined for one that the end of the run has stopped. */
function branchLine(
  id: string,
  branch: Branch | undefined,
  end: Ended | undefined,
  now: number,
  { clock, paint, width }: DrawnWhere,
): string {
  const sign = stateSign(end === undefined ? 'interrupted' : states[end.status], paint);
  const count = branch?.steps.length ?? 0;
  const facts = [
    ...(count === 0 ? [] : [countedItems(count, 'node')]),
    ...(branch === undefined ? [] : [elapsedWords(now - branch.began)]),
  ].join('  ');
  const start = `${elapsedWords(clock).padStart(7)}   ${id} ${facts}`;
  const words = end?.status === 'completed' ? (branch?.words ?? '') : (end?.reason ?? '');
  const story = [
    ...(end?.status === 'cancelled' ? ['cancelled'] : []),
    ...(words === '' ? [] : [words]),
  ].join(': ');
  const room = width - 3 - [...start].length;
  const rest = story === '' || room < 8 ? '' : `  ${oneLine(story, room)}`;
  return `${paint.dim(elapsedWords(clock).padStart(7))} ${sign} ${id}${facts === '' ? '' : ` ${paint.dim(facts)}`}${rest}`;
}

function parkedLine(
  { branch, status, reason }: Extract<RunEvent, { type: 'BranchParked' }>,
  { clock, paint, width }: DrawnWhere,
): string {
  const room = Math.max(8, width - 14 - [...branch].length);
  return `${paint.dim(elapsedWords(clock).padStart(7))} ${stateSign(status, paint)} ${branch}  ${oneLine(reason, room)}`;
}

/** `  12.3s … review  5 branches: 2 running, 2 completed, 1 failed` */
function summaryLine(
  { node_id, branches: all, ended }: Fork,
  open: ReadonlyMap<string, Branch>,
  { clock, paint, width }: DrawnWhere,
): string {
  const running = all.filter((id) => open.has(id)).length;
  const among = (status: Ended['status']) => [...ended.values()].filter((one) => one === status).length;
  const counts = [
    [running, 'running'],
    ...branchEndWords.map((status) => [among(status), status] as const),
    [all.length - running - ended.size, 'waiting for a slot'],
  ] as const;
  const words = counts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`])).join(', ');
  const line = `${elapsedWords(clock).padStart(7)} … ${node_id}  ${countedItems(all.length, 'branch', 'branches')}: ${words}`;
  return paint.dim(line.slice(0, width - 1));
}

/** What a run did on its map: states and counts of nodes and edges, and where a reader begins. Pure. */
import type { ExecutionRow } from '../../../app/inspect/execution-shapes.ts';
import type { GraphView } from '../../../app/inspect/graph-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import type { Wait } from '../../../app/inspect/wait.ts';
import { leftOf, nextTryIn, stateOrWait, waitWords } from '../../../app/inspect/wait-words.ts';
import type { GraphMap } from '../../../app/picture/map-shape.ts';
import { ranWords } from '../../../app/picture/ran-words.ts';
import { textWidth } from '../../../app/picture/text.ts';
import { countedItems } from '../../../core/amounts.ts';
import { countdownText } from './format.ts';

export type NodePiece = GraphMap['nodes'][number];
export type EdgePiece = GraphMap['edges'][number];
type NodeView = GraphView['nodes'][number];

export interface NodeMark {
  readonly state: NodeView['state'] | 'waits';
  /** The second line of its card, as much as there is room for. */
  readonly details: string;
  /** The same, whole. */
  readonly words: string;
  /** What it waits for, and until when; empty where it does not wait. */
  readonly wait: string;
}

/** When marks are put on; milliseconds. */
export interface MarkTime {
  readonly now: number;
  /** Since the run was read. */
  readonly sinceMs: number;
}

/** As in the pictures of the server. */
const detailsSize = 12;

/** The node of a pipeline by the id of an execution, which for an item of a list or in a call of one has its number. */
export const plainId = (id: string): string => id.replace(/\.\d+(?=\.|$)/g, '');

/** Whether a node of the map stands for this node of the run. */
export const represents = ({ of }: Pick<NodePiece, 'of'>, node: string): boolean =>
  of.includes(node) || of.includes(plainId(node));

/** What each node of the map shows. */
export function nodeMarks(run: RunView, map: GraphMap, time: MarkTime): ReadonlyMap<string, NodeMark> {
  const views = new Map(
    [run.graph, ...run.graph.children].flatMap(({ nodes }) => nodes.map((one) => [one.id, one])),
  );
  const latest = latestIn(run, map);
  const orders = new Set(run.graph.folds.flatMap(({ id, kind }) => (kind === 'orders' ? [id] : [])));
  return new Map(
    map.nodes.flatMap((node) => {
      const view = views.get(node.id);
      if (node.leads !== null || view === undefined) return [];
      const last = latest.get(node.id);
      const isLoop = node.opens !== null && orders.has(node.opens);
      const waiting = last?.waiting ?? null;
      const lines = isLoop ? orderLines(run, last, time.now) : nodeLines(node, view, last, time);
      const mark: NodeMark = {
        state: stateOrWait(isLoop ? (last?.state ?? 'none') : view.state, waiting),
        details: fitting(lines, node.room),
        words: lines[0] ?? '',
        wait: waiting === null ? '' : waitParts(waiting, time.now).join(', '),
      };
      return [[node.id, mark] as const];
    }),
  );
}

/** The execution that a node of the map shows: the latest of those that run, else of those that wait or were interrupted, else of all. */
export function latestIn(run: RunView, map: Pick<GraphMap, 'nodes'>): ReadonlyMap<string, ExecutionRow> {
  const owner = new Map(map.nodes.flatMap(({ id, of }) => of.map((one) => [one, id] as const)));
  const latest = new Map<string, ExecutionRow>();
  for (const row of run.executions) {
    const id = owner.get(row.node) ?? owner.get(plainId(row.node));
    if (id === undefined) continue;
    const before = latest.get(id);
    if (before === undefined || urgencyOf(row) >= urgencyOf(before)) latest.set(id, row);
  }
  return latest;
}

const urgencyOf = (row: ExecutionRow): number =>
  !isOpen(row) ? 0 : row.state === 'running' && row.waiting === null ? 2 : 1;

const isOpen = ({ state }: ExecutionRow): boolean =>
  state === 'running' || state === 'suspended' || state === 'interrupted';

/** What a node may show, the longest line first. */
function nodeLines(
  node: NodePiece,
  view: NodeView,
  last: ExecutionRow | undefined,
  { now, sinceMs }: MarkTime,
): readonly string[] {
  const isInner =
    node.opens !== null && last !== undefined && last.node !== node.id && last.state !== 'success';
  const inner = isInner ? shortId(last.node, node.id) : '';
  const begin = [node.about, inner].filter((one) => one !== '');
  if (last?.waiting != null) return waitLines(begin, [inner].filter(Boolean), last.waiting, now);
  const runs = last?.state === 'running';
  const parts = [...begin, ...ranWords({ ...view, took_ms: view.took_ms + (runs ? sinceMs : 0) })];
  return parts.map((_, at) => parts.slice(0, parts.length - at).join(' · '));
}

/** `look` for `call.2.look` in `call`. */
const shortId = (id: string, call: string): string => plainId(id).slice(call.length + 1) || id;

/** `WO-03, attempt 2, verify`; when none is at work, how many are done. */
function orderLines({ groups }: RunView, last: ExecutionRow | undefined, now: number): readonly string[] {
  const orders = groups.filter(({ kind }) => kind === 'order');
  const group = orders.find(({ id }) => id === last?.group);
  if (last !== undefined && group !== undefined && group.state !== 'done') {
    const line = [group.id, `attempt ${group.attempts.at(-1)?.number ?? 1}`, last.node].join(', ');
    return last.waiting === null ? [line] : waitLines([line], [group.id], last.waiting, now);
  }
  if (orders.length === 0) return last === undefined ? [] : [last.node];
  const done = orders.filter(({ state }) => state === 'done').length;
  return [`${done} of ${countedItems(orders.length, 'work order')}`];
}

/** `rate limited, attempt 2 of 5`, `next try in 41 s`. */
const waitParts = (wait: Wait, now: number): readonly string[] =>
  [waitWords(wait), nextTryIn(wait, now, countdownText)].filter((one) => one !== '');

/** Of a node that waits: the time that is left stays longest. `begin`: what the line begins with; `short`: where there is little room. */
function waitLines(
  begin: readonly string[],
  short: readonly string[],
  wait: Wait,
  now: number,
): readonly string[] {
  const left = wait.until === null ? undefined : leftOf(wait.until, now);
  const brief = left === undefined ? waitWords(wait) : left === 0 ? 'now' : `in ${countdownText(left)}`;
  const next = nextTryIn(wait, now, countdownText) || brief;
  return [
    [...begin, waitParts(wait, now).join(', ')],
    [...begin, next],
    [...begin, brief],
    [...short, next],
    [...short, brief],
    [brief],
  ].map((parts) => parts.join(' · '));
}

/** The first of the lines that has room; the last in any case. */
const fitting = (lines: readonly string[], room: number): string =>
  lines.find((line) => textWidth(line, detailsSize) <= room) ?? lines.at(-1) ?? '';

/** How often each edge of the map was taken. */
export function takenCounts({ graph }: RunView, map: GraphMap): readonly number[] {
  const key = ({ from, to, condition }: EdgePiece['parts'][number]): string =>
    JSON.stringify([from, to, condition]);
  const parts = [graph, ...graph.children];
  const counts = new Map(parts.flatMap(({ edges }) => edges.map((edge) => [key(edge), edge.taken] as const)));
  const ran = new Map(
    parts.flatMap(({ nodes }) => nodes.map(({ id, executions }) => [id, executions] as const)),
  );
  return map.edges.map((edge) =>
    edge.parts.length === 0
      ? (ran.get(edge.to) ?? 0)
      : edge.parts.reduce((sum, part) => sum + (counts.get(key(part)) ?? 0), 0),
  );
}

/** The node of the run that a reader looks for first, and why: what failed, waits or runs. */
export function firstLook(run: RunView): { readonly node: string; readonly words: string } | undefined {
  const open = run.executions.findLast(isOpen);
  if (run.status === 'running')
    return (
      open && { node: open.node, words: `${open.waiting === null ? 'Running' : 'Waiting'}: ${open.node}` }
    );
  const question = run.question?.id.replace(/@\d+$/, '');
  if (question !== undefined) return { node: question, words: `Waiting: ${question}` };
  if (open !== undefined)
    return {
      node: open.node,
      words: `${open.state === 'suspended' ? 'Waiting' : 'Interrupted'}: ${open.node}`,
    };
  if (run.failed_node !== null && run.status !== 'completed')
    return { node: run.failed_node, words: `Failed: ${run.failed_node}` };
  return undefined;
}

/** The executions that took an edge of the map, the latest first. */
export function takenBy(run: RunView, { parts }: Pick<EdgePiece, 'parts'>): readonly ExecutionRow[] {
  const ends = new Set(parts.map(({ from, to }) => JSON.stringify([from, to])));
  const isOne = ({ node, next }: ExecutionRow): boolean =>
    next !== null &&
    (ends.has(JSON.stringify([node, next])) || ends.has(JSON.stringify([plainId(node), plainId(next)])));
  return run.executions.filter(isOne).reverse();
}

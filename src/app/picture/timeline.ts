/** A run as a timeline: a lane for each node, a bar for each execution. */
import { costWords, elapsedWords, usdWords } from '../../core/amounts.ts';
import type { ExecutionGroup, ExecutionRow } from '../inspect/execution-shapes.ts';
import type { RunView } from '../inspect/shapes.ts';
import { lookOf } from '../inspect/states.ts';
import {
  axisMarks,
  type Timeline,
  type TimelineBar,
  type TimelineLane,
  type TimeSpan,
  timelineOf,
} from '../inspect/timeline.ts';
import { nextTryAt, stateOrWait, waitLine } from '../inspect/wait-words.ts';
import { coordinate, framed, type LegendEntry, type Picture, sign, svgText } from './frame.ts';
import { colours, kindLook, outlineOf } from './marks.ts';
import { cutToWidth, escaped, textWidth } from './text.ts';

const columns = { label: 215, plot: 780, total: 115 } as const;
const lane = { height: 26, bar: 14 } as const;
const axis = 24;
/** A shorter bar could not be seen. */
const leastBar = 2.5;

/** An SVG text. Each execution is a group with `data-execution="NODE@VISIT"` and its state as a class. */
export function timeline(run: RunView, picture: Picture = {}): string {
  const time = timelineOf(run.executions);
  const orders = run.groups.filter(({ kind }) => kind === 'order');
  const top = axis + (orders.length === 0 ? 0 : lane.height);
  const height = top + time.lanes.length * lane.height;
  const content = [
    ...grid(time, height),
    ...(orders.length === 0 ? [] : orderLane(orders, time)),
    ...time.lanes.flatMap((one, at) => laneMarks(one, top + at * lane.height, time)),
    ...time.pauses.map((pause) => cutMark(pause, time, height)),
    ...time.lanes.flatMap(({ bars }) => bars.map((bar) => restartMark(bar, time, height))),
  ];
  return framed({
    ...picture,
    ...{ name: `Timeline of ${run.title}`, content, height, legend: legendOf(run.executions) },
    width: columns.label + columns.plot + columns.total,
  });
}

const xOf = ({ at }: Timeline, time: number): number => columns.label + at(time) * columns.plot;
const middleOf = (time: Timeline, { from, to }: TimeSpan): number => (xOf(time, from) + xOf(time, to)) / 2;

/** Points between two marks of the axis. */
const apart = 80;

const grid = (time: Timeline, height: number): readonly string[] =>
  axisMarks(time, columns.plot / apart)
    .map((mark) => ({ x: xOf(time, mark), words: tickWords(mark - time.from) }))
    // The words of a mark next to a pause would lie on those of the pause.
    .filter(({ x }) => time.pauses.every((pause) => Math.abs(x - middleOf(time, pause)) >= apart / 2))
    .map(({ x, words }) =>
      [
        `<path class="grid" d="M${coordinate(x)} ${axis - 6}V${coordinate(height)}" fill="none" stroke="${colours.line[0]}" stroke-width="0.5" stroke-dasharray="1 3"/>`,
        svgText([x, axis - 11], 10, words, `class="details" text-anchor="middle" fill="${colours.quiet[0]}"`),
      ].join(''),
    );

/** `0`, `0.5s`, `15s`, `2m`, `1m30s`, `3h`, `3h05m`. */
export function tickWords(ms: number): string {
  if (ms === 0) return '0';
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))}s`;
  const whole = Math.round(ms / 1000);
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number): string => String(value).padStart(2, '0');
  const after = seconds === 0 ? '' : `${two(seconds)}s`;
  if (hours === 0) return `${minutes}m${after}`;
  return minutes === 0 && seconds === 0 ? `${hours}h` : `${hours}h${two(minutes)}m${after}`;
}

/** The work orders above the nodes, each attempt with its name. */
function orderLane(orders: readonly ExecutionGroup[], time: Timeline): readonly string[] {
  const named = new Map(
    time.lanes.flatMap(({ bars }) => bars.map((bar) => [nameOf(bar.execution), bar] as const)),
  );
  const title = svgText([0, axis + 17], 12, 'Work orders', `class="label" fill="${colours.ink[0]}"`);
  const attempts = orders.flatMap((order) =>
    order.attempts.map(({ state, executions, number: count, why }) => {
      const own = executions.flatMap((name) => named.get(name) ?? []);
      if (own.length === 0) return '';
      const from = xOf(time, Math.min(...own.map((bar) => bar.from)));
      const to = xOf(time, Math.max(...own.map((bar) => bar.to)));
      const look = outlineOf(state === 'failed' ? 'fail' : state === 'running' ? 'running' : 'success');
      const width = Math.max(to - from, leastBar);
      const words = [
        `${order.id}${count > 1 ? ` (${count})` : ''}`,
        order.id,
        order.id.replace(/^WO-/, ''),
      ].find((one) => textWidth(one, 9) <= width - 6);
      const facts = [
        `${order.id} ${order.title}`,
        `attempt ${count}: ${state}`,
        ...(why === '' ? [] : [why]),
      ];
      return [
        `<g class="order node ${state === 'failed' ? 'fail' : state === 'running' ? 'running' : 'success'}"><title>${escaped(facts.join('\n'))}</title>`,
        `<rect class="outline" x="${coordinate(from)}" y="${axis + 4}" width="${coordinate(width)}" height="${lane.height - 8}" rx="3" fill="${colours[look.paper][0]}" stroke="${colours[look.line][0]}"/>`,
        words === undefined
          ? ''
          : svgText([from + 4, axis + 17], 10, words, `class="label" fill="${colours.ink[0]}"`),
        '</g>',
      ].join('');
    }),
  );
  return [title, ...attempts];
}

function laneMarks({ label, type, bars }: TimelineLane, top: number, time: Timeline): readonly string[] {
  const rows = bars.map(({ execution }) => execution);
  const middle = top + lane.height / 2;
  const spent = rows.reduce((sum, { took_ms }) => sum + took_ms, 0);
  const cost_usd = rows.reduce((sum, row) => sum + (row.cost_usd ?? 0), 0);
  const unknown_cost = rows.filter((row) => row.cost_usd === null).length;
  const total = [
    ...(bars.length > 1 ? [`×${bars.length}`] : []),
    elapsedWords(spent),
    ...(cost_usd > 0 ? [costWords({ cost_usd, unknown_cost })] : []),
  ].join(' · ');
  const right = columns.label + columns.plot;
  return [
    `<path class="grid" d="M0 ${coordinate(top)}H${right + columns.total}" fill="none" stroke="${colours.line[0]}" stroke-width="0.4"/>`,
    `<svg class="icon" x="0" y="${coordinate(middle - 7)}" width="14" height="14" viewBox="0 0 16 16" color="${colours.quiet[0]}">${kindLook(type ?? 'parallel').icon}</svg>`,
    svgText(
      [20, middle + 4],
      12,
      cutToWidth(label, columns.label - 34, 12),
      `class="label" fill="${colours.ink[0]}"`,
    ),
    ...bars.map((bar) => barMarks(bar, middle, time)),
    svgText(
      [right + columns.total, middle + 4],
      10,
      total,
      `class="details" text-anchor="end" fill="${colours.quiet[0]}"`,
    ),
  ];
}

/** One execution: its attempts, of each the share of model calls; the waits between them; a sign if it did not succeed. */
function barMarks(bar: TimelineBar, middle: number, time: Timeline): string {
  const top = middle - lane.bar / 2;
  const rect = (from: number, to: number, attributes: string, share: readonly [number, number] = [0, 1]) => {
    const x = xOf(time, from);
    const width = Math.max(xOf(time, to) - x, leastBar);
    return `<rect x="${coordinate(x)}" y="${coordinate(top + share[0] * lane.bar)}" width="${coordinate(width)}" height="${coordinate((share[1] - share[0]) * lane.bar)}" ${attributes}/>`;
  };
  const { execution, attempts, waits, model } = bar;
  const state = stateOrWait(execution.state, execution.waiting);
  return [
    `<g class="bar ${state}" data-execution="${escaped(nameOf(execution))}"><title>${escaped(factsOf(execution))}</title>`,
    ...attempts.flatMap(({ from, to }) => [
      ...(model < 1 ? [rect(from, to, `class="work" fill="${colours.work[0]}"`)] : []),
      ...(model > 0 ? [rect(from, to, `class="model" fill="${colours.model[0]}"`, [1 - model, 1])] : []),
    ]),
    ...waits.map(({ from, to }) =>
      rect(from, to, `class="wait" fill="url(#hatch)" stroke="${colours.quiet[0]}" stroke-width="0.5"`),
    ),
    ...(state === 'success'
      ? []
      : [
          rect(
            bar.from,
            bar.to,
            `class="edge-of-bar" fill="none" stroke="${colours[outlineOf(state).line][0]}" stroke-width="1.5"`,
          ),
          // At its upper corner, where it covers no other bar.
          sign(state, [Math.max(xOf(time, bar.to) - 6, xOf(time, bar.from) - 3), top - 6], 11),
        ]),
    '</g>',
  ].join('');
}

const nameOf = ({ node, visit }: ExecutionRow): string => `${node}@${visit}`;

function factsOf(row: ExecutionRow): string {
  const { node, label, state, waiting, took_ms, attempts, waited_ms, model_ms, cost_usd, reason } = row;
  return [
    `${nameOf(row)}${label === node ? '' : ` ${label}`}: ${lookOf(stateOrWait(state, waiting)).word}`,
    ...(waiting === null ? [] : [waitLine(waiting, nextTryAt(waiting))]),
    `time: ${elapsedWords(took_ms)}`,
    ...(model_ms > 0 ? [`model: ${elapsedWords(model_ms)}`] : []),
    ...(attempts > 1 ? [`attempts: ${attempts}`] : []),
    ...(waited_ms > 0 ? [`waited: ${elapsedWords(waited_ms)}`] : []),
    ...(cost_usd === null || cost_usd === 0 ? [] : [`cost: ${usdWords(cost_usd)}`]),
    ...(reason === '' ? [] : [reason]),
  ].join('\n');
}

/** A pause that is cut short, with its length. */
function cutMark(pause: TimeSpan, time: Timeline, height: number): string {
  const x = middleOf(time, pause);
  const length = elapsedWords(pause.to - pause.from);
  const zigzag = `M${coordinate(x - 3)} ${axis - 2}${'l6 6l-6 6'.repeat(Math.floor((height - axis) / 12) + 1)}`;
  return [
    `<g class="cut"><title>${escaped(`no execution for ${length}`)}</title>`,
    `<path d="${zigzag}" class="grid" fill="none" stroke="${colours.line[0]}"/>`,
    svgText(
      [x, axis - 11],
      10,
      length,
      `class="details" text-anchor="middle" font-style="italic" fill="${colours.quiet[0]}"`,
    ),
    '</g>',
  ].join('');
}

/** The end of a round, after an execution whose edge restarts the run. */
function restartMark({ execution, to }: TimelineBar, time: Timeline, height: number): string {
  if (execution.restart === undefined) return '';
  const title = `restart ${execution.restart}: after ${nameOf(execution)}, at ${execution.next}`;
  return `<g class="restart"><title>${escaped(title)}</title><path d="M${coordinate(xOf(time, to))} ${axis - 6}V${coordinate(height)}" class="condition-mark" fill="none" stroke="${colours.quiet[0]}"/></g>`;
}

function legendOf(rows: readonly ExecutionRow[]): readonly LegendEntry[] {
  const box =
    (attributes: string) =>
    ([x, y]: readonly [number, number]) =>
      `<rect x="${coordinate(x)}" y="${coordinate(y + 3)}" width="16" height="10" ${attributes}/>`;
  const states = new Set(
    rows.map(({ state, waiting }) => stateOrWait(state, waiting)).filter((state) => state !== 'success'),
  );
  const waited = rows.some(({ waits, pauses }) => waits.length + pauses.length > 0);
  return [
    ...(rows.some(({ model_ms }) => model_ms > 0)
      ? [{ mark: box(`class="model" fill="${colours.model[0]}"`), words: 'model calls' }]
      : []),
    { mark: box(`class="work" fill="${colours.work[0]}"`), words: 'programs and the rest' },
    ...(waited
      ? [
          {
            mark: box(`class="wait" fill="url(#hatch)" stroke="${colours.quiet[0]}" stroke-width="0.5"`),
            words: 'wait',
          },
        ]
      : []),
    ...[...states].map((state) => ({
      mark: (at: readonly [number, number]) => sign(state, at),
      words: lookOf(state).word,
    })),
  ];
}

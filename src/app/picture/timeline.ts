/** A run as a timeline: a lane for each node, a bar for each execution. */
import { costWords, elapsedWords, usdWords } from '../../core/amounts.ts';
import type { ExecutionGroup, ExecutionRow, RunView } from '../inspect/shapes.ts';
import { lookOf } from '../inspect/states.ts';
import { coordinate, framed, type LegendEntry, type Picture, sign, svgText } from './frame.ts';
import { colours, kindLook, outlineOf } from './marks.ts';
import { cutToWidth, escaped, textWidth } from './text.ts';
import { type TimeScale, type TimeSpan, ticks, timeScale } from './time-scale.ts';

const columns = { label: 215, plot: 780, total: 115 } as const;
const lane = { height: 26, bar: 14 } as const;
const axis = 24;
/** A shorter bar could not be seen. */
const leastBar = 2.5;

type Bar = ExecutionRow & TimeSpan;

/** An SVG text. Each execution is a group with `data-execution="NODE@VISIT"` and its state as a class. */
export function timeline(run: RunView, picture: Picture = {}): string {
  const bars = run.executions.map((row): Bar => {
    const from = Date.parse(row.began_at);
    return { ...row, from, to: row.ended_at === null ? from + row.took_ms : Date.parse(row.ended_at) };
  });
  const scale = timeScale(bars, columns.plot);
  const nodes = [...new Set(bars.map(({ node }) => node))];
  const lanes = nodes.map((node) => bars.filter((bar) => bar.node === node));
  const orders = run.groups.filter(({ kind }) => kind === 'order');
  const top = axis + (orders.length === 0 ? 0 : lane.height);
  const height = top + lanes.length * lane.height;
  const content = [
    ...grid(scale, height),
    ...(orders.length === 0 ? [] : orderLane(orders, bars, scale)),
    ...lanes.flatMap((row, at) => laneMarks(row, top + at * lane.height, scale)),
    ...scale.cuts.map((cut) => cutMark(cut, scale, height)),
  ];
  return framed({
    ...picture,
    ...{ name: `Timeline of ${run.title}`, content, height, legend: legendOf(bars) },
    width: columns.label + columns.plot + columns.total,
  });
}

const xOf = (scale: TimeScale, time: number): number => columns.label + scale.x(time);

const grid = (scale: TimeScale, height: number): readonly string[] =>
  ticks(scale, 80).map(({ x, words }) => {
    const at = columns.label + x;
    return [
      `<path class="grid" d="M${coordinate(at)} ${axis - 6}V${coordinate(height)}" fill="none" stroke="${colours.line[0]}" stroke-width="0.5" stroke-dasharray="1 3"/>`,
      svgText([at, axis - 11], 10, words, `class="details" text-anchor="middle" fill="${colours.quiet[0]}"`),
    ].join('');
  });

/** The work orders above the nodes, each attempt with its name. */
function orderLane(
  orders: readonly ExecutionGroup[],
  bars: readonly Bar[],
  scale: TimeScale,
): readonly string[] {
  const named = new Map(bars.map((bar) => [`${bar.node}@${bar.visit}`, bar]));
  const title = svgText([0, axis + 17], 12, 'Work orders', `class="label" fill="${colours.ink[0]}"`);
  const attempts = orders.flatMap((order) =>
    order.attempts.map(({ state, executions, number: count, why }) => {
      const own = executions.flatMap((name) => named.get(name) ?? []);
      if (own.length === 0) return '';
      const from = xOf(scale, Math.min(...own.map((bar) => bar.from)));
      const to = xOf(scale, Math.max(...own.map((bar) => bar.to)));
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

function laneMarks(bars: readonly Bar[], top: number, scale: TimeScale): readonly string[] {
  const [first] = bars;
  if (first === undefined) return [];
  const middle = top + lane.height / 2;
  const spent = bars.reduce((sum, { took_ms }) => sum + took_ms, 0);
  const cost_usd = bars.reduce((sum, bar) => sum + (bar.cost_usd ?? 0), 0);
  const unknown_cost = bars.filter((bar) => bar.cost_usd === null).length;
  const total = [
    ...(bars.length > 1 ? [`×${bars.length}`] : []),
    elapsedWords(spent),
    ...(cost_usd > 0 ? [costWords({ cost_usd, unknown_cost })] : []),
  ].join(' · ');
  const right = columns.label + columns.plot;
  return [
    `<path class="grid" d="M0 ${coordinate(top)}H${right + columns.total}" fill="none" stroke="${colours.line[0]}" stroke-width="0.4"/>`,
    `<svg class="icon" x="0" y="${coordinate(middle - 7)}" width="14" height="14" viewBox="0 0 16 16" color="${colours.quiet[0]}">${kindLook(first.type).icon}</svg>`,
    svgText(
      [20, middle + 4],
      12,
      cutToWidth(first.label, columns.label - 34, 12),
      `class="label" fill="${colours.ink[0]}"`,
    ),
    ...bars.map((bar) => barMarks(bar, middle, scale)),
    svgText(
      [right + columns.total, middle + 4],
      10,
      total,
      `class="details" text-anchor="end" fill="${colours.quiet[0]}"`,
    ),
  ];
}

/** One execution: its attempts, of each the share of model calls; the waits between them; a sign if it did not succeed. */
function barMarks(bar: Bar, middle: number, scale: TimeScale): string {
  const top = middle - lane.bar / 2;
  const rect = (from: number, to: number, attributes: string, share: readonly [number, number] = [0, 1]) => {
    const x = xOf(scale, from);
    const width = Math.max(xOf(scale, to) - x, leastBar);
    return `<rect x="${coordinate(x)}" y="${coordinate(top + share[0] * lane.bar)}" width="${coordinate(width)}" height="${coordinate((share[1] - share[0]) * lane.bar)}" ${attributes}/>`;
  };
  const { worked, waits } = partsOf(bar);
  const working = worked.reduce((sum, { from, to }) => sum + to - from, 0);
  const model = working === 0 ? 0 : Math.min(1, bar.model_ms / working);
  const look = outlineOf(bar.state);
  const calm = bar.state === 'success';
  return [
    `<g class="bar ${bar.state}" data-execution="${escaped(`${bar.node}@${bar.visit}`)}"><title>${escaped(factsOf(bar))}</title>`,
    ...worked.flatMap(({ from, to }) => [
      ...(model < 1 ? [rect(from, to, `class="work" fill="${colours.work[0]}"`)] : []),
      ...(model > 0 ? [rect(from, to, `class="model" fill="${colours.model[0]}"`, [1 - model, 1])] : []),
    ]),
    ...waits.map(({ from, to }) =>
      rect(from, to, `class="wait" fill="url(#hatch)" stroke="${colours.quiet[0]}" stroke-width="0.5"`),
    ),
    ...(calm
      ? []
      : [
          rect(
            bar.from,
            bar.to,
            `class="edge-of-bar" fill="none" stroke="${colours[look.line][0]}" stroke-width="1.5"`,
          ),
          // At its upper corner, where it covers no other bar.
          sign(bar.state, [Math.max(xOf(scale, bar.to) - 6, xOf(scale, bar.from) - 3), top - 6], 11),
        ]),
    '</g>',
  ].join('');
}

/** When it worked and when it waited. */
function partsOf({ from, to, waits }: Bar): { worked: readonly TimeSpan[]; waits: readonly TimeSpan[] } {
  const pauses = waits.map(({ at, ms }) => {
    const began = Math.min(Math.max(Date.parse(at), from), to);
    return { from: began, to: Math.min(began + ms, to) };
  });
  const starts = [from, ...pauses.map((pause) => pause.to)];
  const ends = [...pauses.map((pause) => pause.from), to];
  return {
    worked: starts.map((start, at) => ({ from: start, to: Math.max(ends[at] ?? to, start) })),
    waits: pauses,
  };
}

function factsOf(bar: Bar): string {
  const { node, visit, label, state, took_ms, attempts, waited_ms, model_ms, cost_usd, reason } = bar;
  return [
    `${node}@${visit}${label === node ? '' : ` ${label}`}: ${lookOf(state).word}`,
    `time: ${elapsedWords(took_ms)}`,
    ...(model_ms > 0 ? [`model: ${elapsedWords(model_ms)}`] : []),
    ...(attempts > 1 ? [`attempts: ${attempts}`] : []),
    ...(waited_ms > 0 ? [`waited: ${elapsedWords(waited_ms)}`] : []),
    ...(cost_usd === null || cost_usd === 0 ? [] : [`cost: ${usdWords(cost_usd)}`]),
    ...(reason === '' ? [] : [reason]),
  ].join('\n');
}

/** A pause that is cut short, with its length. */
function cutMark({ from, to }: TimeSpan, scale: TimeScale, height: number): string {
  const x = (xOf(scale, from) + xOf(scale, to)) / 2;
  const zigzag = `M${coordinate(x - 3)} ${axis - 2}${'l6 6l-6 6'.repeat(Math.floor((height - axis) / 12) + 1)}`;
  return [
    `<g class="cut"><title>${escaped(`no execution for ${elapsedWords(to - from)}`)}</title>`,
    `<path d="${zigzag}" class="grid" fill="none" stroke="${colours.line[0]}"/>`,
    svgText(
      [x, axis - 11],
      10,
      elapsedWords(to - from),
      `class="details" text-anchor="middle" font-style="italic" fill="${colours.quiet[0]}"`,
    ),
    '</g>',
  ].join('');
}

function legendOf(bars: readonly Bar[]): readonly LegendEntry[] {
  const box =
    (attributes: string) =>
    ([x, y]: readonly [number, number]) =>
      `<rect x="${coordinate(x)}" y="${coordinate(y + 3)}" width="16" height="10" ${attributes}/>`;
  const states = new Set(bars.map(({ state }) => state).filter((state) => state !== 'success'));
  const waited = bars.some(({ waits }) => waits.length > 0);
  return [
    ...(bars.some(({ model_ms }) => model_ms > 0)
      ? [{ mark: box(`class="model" fill="${colours.model[0]}"`), words: 'model calls' }]
      : []),
    { mark: box(`class="work" fill="${colours.work[0]}"`), words: 'programs and the rest' },
    ...(waited
      ? [
          {
            mark: box(`class="wait" fill="url(#hatch)" stroke="${colours.quiet[0]}" stroke-width="0.5"`),
            words: 'wait between attempts',
          },
        ]
      : []),
    ...[...states].map((state) => ({
      mark: (at: readonly [number, number]) => sign(state, at),
      words: lookOf(state).word,
    })),
  ];
}

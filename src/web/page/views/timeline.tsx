/** The timeline of a run: a lane for each node, a bar for each execution; dragging zooms into a time. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ExecutionRow } from '../../../app/inspect/execution-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import {
  axisMarks,
  type Timeline,
  type TimelineBar,
  type TimeSpan,
  timelineOf,
} from '../../../app/inspect/timeline.ts';
import { nextTryAt, stateOrWait, waitLine } from '../../../app/inspect/wait-words.ts';
import { countedItems, usdWords } from '../../../core/amounts.ts';
import { giverWords } from '../../../core/question-words.ts';
import { now } from '../clock.ts';
import { executionPath, selectedExecution } from '../selection.ts';
import { clockTime, durationText, exactTime, tokensText } from '../text/format.ts';
import { barParts, type LaneItem, laneItems } from '../text/lanes.ts';
import { Shape } from './icon.tsx';

/** A part of the axis, 0 to 1. */
type Part = TimeSpan;

const all: Part = { from: 0, to: 1 };

export function TimelinePanel({ run }: { run: RunView }) {
  const shown = useSignal<Part>(all);
  const pointed = useSignal<ExecutionRow | null>(null);
  if (run.executions.length === 0) return <p class="loading">Nothing has been executed.</p>;
  const timeline = timelineOf(run.executions, isLive(run) ? now.value : undefined);
  return (
    <div class="timeline">
      <p class="legend">
        <span class="key part-model" /> model <span class="key part-tool" /> tools and the rest{' '}
        <span class="key part-wait" /> wait
        <span class="grow" />
        {shown.value !== all && (
          <button
            type="button"
            class="small"
            onClick={() => {
              shown.value = all;
            }}
          >
            Whole run
          </button>
        )}
      </p>
      <Plot run={run} timeline={timeline} shown={shown} pointed={pointed} />
      <p class="figures" aria-live="off">
        {pointed.value === null ? (
          <span class="quiet">Point at a bar for its figures. Drag to zoom.</span>
        ) : (
          figures(pointed.value)
        )}
      </p>
    </div>
  );
}

/** Whether its end is now: it runs, or waits while it is suspended. */
const isLive = ({ status, waiting }: RunView): boolean => status === 'running' || waiting !== null;

interface PlotProps {
  readonly run: RunView;
  readonly timeline: Timeline;
  readonly shown: { value: Part };
  readonly pointed: { value: ExecutionRow | null };
}

function Plot({ run, timeline, shown, pointed }: PlotProps) {
  const plot = useRef<HTMLDivElement>(null);
  const chosen = useSignal<Part | null>(null);
  const { from, to } = shown.value;
  const place = (time: number) => ((timeline.at(time) - from) / (to - from)) * 100;
  const drag = (event: PointerEvent) => {
    const edge = plot.current?.getBoundingClientRect();
    if (edge === undefined || event.button !== 0) return;
    const at = (x: number) => Math.min(1, Math.max(0, (x - edge.left) / edge.width));
    const start = at(event.clientX);
    const move = ({ clientX }: PointerEvent) => {
      const end = at(clientX);
      chosen.value = { from: Math.min(start, end), to: Math.max(start, end) };
    };
    const end = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', end);
      const part = chosen.value;
      chosen.value = null;
      if (part === null || part.to - part.from < 0.01) return;
      shown.value = { from: from + part.from * (to - from), to: from + part.to * (to - from) };
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end);
  };
  const lanes = timeline.lanes.map(({ id, label, type, bars }) => ({
    id,
    label: type === null ? `Branch ${label}` : label,
    bars: bars.filter((bar) => timeline.at(bar.to) >= from && timeline.at(bar.from) <= to),
  }));
  return (
    <div class="plot">
      <Axis timeline={timeline} shown={shown.value} place={place} />
      <div class="lanes">
        <ul class="lane-names">
          {lanes.map(({ id, label }) => (
            <li key={id} title={label}>
              {id}
            </li>
          ))}
        </ul>
        <div ref={plot} class="bars" onPointerDown={drag}>
          {timeline.pauses.map((gap) => (
            <span
              key={gap.from}
              class="idle"
              title={`Nothing ran for ${durationText(gap.to - gap.from)}`}
              style={{ left: `${place(gap.from)}%`, width: `${place(gap.to) - place(gap.from)}%` }}
            />
          ))}
          <ul>
            {lanes.map(({ id, bars }) => (
              <li key={id} class="lane">
                {laneItems(bars, timeline.at, (to - from) / 500).map((item) => (
                  <Item
                    key={item[0] && nameOf(item[0].execution)}
                    {...{ run, item, place, pointed, shown, timeline }}
                  />
                ))}
              </li>
            ))}
          </ul>
          {chosen.value !== null && (
            <span
              class="chosen"
              style={{
                left: `${chosen.value.from * 100}%`,
                width: `${(chosen.value.to - chosen.value.from) * 100}%`,
              }}
            />
          )}
        </div>
      </div>
    </div>
  );
}

function Axis({ timeline, shown, place }: { timeline: Timeline; shown: Part; place: Place }) {
  const part = { from: timeline.timeAt(shown.from), to: timeline.timeAt(shown.to) };
  return (
    <div class="axis" aria-hidden="true">
      <div>
        {axisMarks(timeline, 8, part).map((mark) => (
          <span key={mark} style={{ left: `${place(mark)}%` }} title={clockTime(iso(mark))}>
            {durationText(mark - timeline.from)}
          </span>
        ))}
      </div>
    </div>
  );
}

const nameOf = ({ node, visit }: ExecutionRow): string => `${node}@${visit}`;
const iso = (time: number): string => new Date(time).toISOString();

type Place = (time: number) => number;

/** A bar, or a button that zooms to the time of several. */
function Item({
  item,
  timeline,
  shown,
  ...rest
}: Pick<PlotProps, 'run' | 'pointed' | 'shown' | 'timeline'> & { item: LaneItem; place: Place }) {
  const [first] = item;
  const last = item.at(-1);
  if (first === undefined || last === undefined) return null;
  if (item.length === 1) return <BarLink bar={first} {...rest} />;
  const failed = item.filter(({ execution }) => execution.state === 'fail').length;
  const words = `${item.length} executions of ${first.execution.node}${failed > 0 ? `, ${failed} failed` : ''}: zoom in`;
  const zoom = () => {
    const [from, to] = [timeline.at(first.from), timeline.at(last.to)];
    const edge = (to - from) / 2;
    shown.value = { from: Math.max(0, from - edge), to: Math.min(1, to + edge) };
  };
  return (
    <button
      type="button"
      class={`bar-link dense tone-${failed > 0 ? 'bad' : 'good'}`}
      aria-label={words}
      title={words}
      style={{
        left: `${rest.place(first.from)}%`,
        width: `${rest.place(last.to) - rest.place(first.from)}%`,
      }}
      onClick={zoom}
    />
  );
}

function BarLink({
  run,
  bar,
  place,
  pointed,
}: Pick<PlotProps, 'run' | 'pointed'> & { bar: TimelineBar; place: Place }) {
  const { execution, from, to } = bar;
  const { node, visit } = execution;
  const state = stateOrWait(execution.state, execution.waiting);
  const width = place(to) - place(from);
  const within = (time: number) => (to === from ? 0 : ((time - from) / (to - from)) * 100);
  const selected = selectedExecution.value;
  const here = selected?.node === node && selected.visit === visit;
  const point = () => {
    pointed.value = execution;
  };
  const element = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (here) element.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [here]);
  return (
    <a
      ref={element}
      href={executionPath(run.run_id, node, visit)}
      class={`bar-link tone-${lookOf(state).tone}`}
      aria-label={figures(execution)}
      aria-current={here ? 'true' : undefined}
      draggable={false}
      style={{ left: `${place(from)}%`, width: `${width}%` }}
      onPointerEnter={point}
      onFocus={point}
    >
      {barParts(bar).map((part) => (
        <span
          key={part.from}
          class={`part-${part.kind}`}
          style={{ left: `${within(part.from)}%`, width: `${within(part.to) - within(part.from)}%` }}
        />
      ))}
      <Shape state={state} />
    </a>
  );
}

/** All figures of an execution in one line. */
function figures(row: ExecutionRow): string {
  const { usage, human_answer: answer } = row;
  return [
    `${row.node}@${row.visit} ${lookOf(stateOrWait(row.state, row.waiting)).word}`,
    ...(row.waiting === null ? [] : [waitLine(row.waiting, nextTryAt(row.waiting))]),
    durationText(row.took_ms),
    ...(row.model_ms > 0 ? [`model ${durationText(row.model_ms)}`] : []),
    ...(row.waited_ms > 0 ? [`waited ${durationText(row.waited_ms)}`] : []),
    ...(row.attempts > 1 ? [countedItems(row.attempts, 'attempt')] : []),
    ...(usage === null
      ? []
      : [
          `${tokensText(usage.input_tokens)} in, ${tokensText(usage.output_tokens)} out`,
          usdWords(row.cost_usd),
        ]),
    `from ${exactTime(row.began_at)}`,
    ...(answer === null
      ? []
      : [`answered ${giverWords(answer)} at ${exactTime(answer.at)}: ${answer.words}`]),
    ...(row.reason === '' ? [] : [row.reason]),
  ].join(' · ');
}

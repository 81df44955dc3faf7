/** The list of runs: those that need attention first. */
import { computed, effect, signal, useComputed } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { RunRow } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { costWords, localTime } from '../../../core/amounts.ts';
import { slowNow } from '../clock.ts';
import { addKeys } from '../keys.ts';
import { connection } from '../live.ts';
import { go } from '../place.ts';
import { runs, runsAt, watchRuns } from '../store.ts';
import { pathOf } from '../text/address.ts';
import { type RunFilter, runFilters, runSections, runsLike } from '../text/run-list.ts';
import { NoRuns } from './empty.tsx';
import { Shape } from './icon.tsx';
import { Ago, Elapsed } from './parts.tsx';
import { SummaryPanel } from './summary.tsx';

const query = new URLSearchParams(location.search);
const search = signal(query.get('q') ?? '');
const filter = signal<RunFilter>(runFilters.find((one) => one === query.get('only')) ?? 'all');
const selected = signal<string | null>(null);
/** The side panel is open: it shows the selected run. */
const panel = signal(false);

const found = computed(() => runsLike(runs.value ?? [], filter.value, search.value));
const sections = computed(() => runSections(found.value, slowNow.value));
const order = computed(() => sections.value.flatMap((section) => section.runs));

const addressOfRun = (run: string): string => pathOf({ view: 'run', run, tab: 'graph' });

export function Runs() {
  useEffect(watchRuns, []);
  useEffect(() => {
    document.title = 'Runs · factory';
  }, []);
  useEffect(() => effect(keepInAddress), []);
  useEffect(keepFocus);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => addKeys(keysOf(box)), []);
  if (runs.value === null) return connection.value === null ? <p class="loading">Reading the runs…</p> : null;
  if (runs.value.length === 0) return <NoRuns />;
  return (
    <div class={panel.value ? 'runs with-panel' : 'runs'}>
      <section aria-label="Runs">
        <h1 class="hidden">Runs</h1>
        <Filters box={box} />
        {sections.value.map(({ title, runs: some }) => (
          <Section key={title} title={title} rows={some} />
        ))}
        {order.value.length === 0 && <p class="loading">No run matches. Clear the search or the filter.</p>}
      </section>
      {panel.value && <Panel />}
    </div>
  );
}

function keepInAddress(): void {
  const kept = new URLSearchParams();
  if (search.value !== '') kept.set('q', search.value);
  if (filter.value !== 'all') kept.set('only', filter.value);
  if (location.pathname === '/') history.replaceState(history.state, '', kept.size > 0 ? `/?${kept}` : '/');
}

/** The row that has the focus; one that moves to another section is drawn anew, and gets it back. */
let focused: string | null = null;

function keepFocus(): void {
  if (focused !== null && document.activeElement === document.body)
    rowOf(focused)?.focus({ preventScroll: true });
}

const rowOf = (run: string): HTMLElement | null => document.querySelector(`[data-row="${CSS.escape(run)}"]`);

const keysOf = (box: { readonly current: HTMLInputElement | null }) => ({
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Enter: () => (selected.value === null ? false : go(addressOfRun(selected.value))),
  '/': () => box.current?.focus(),
  Escape: () => {
    if (document.activeElement === box.current) {
      search.value = '';
      box.current?.blur();
    } else panel.value = false;
  },
});

function move(step: number): void {
  const ids = order.value.map((run) => run.run_id);
  const at = selected.value === null ? -1 : ids.indexOf(selected.value);
  const next = ids[at < 0 ? 0 : Math.min(ids.length - 1, Math.max(0, at + step))];
  if (next === undefined) return;
  selected.value = next;
  rowOf(next)?.focus();
}

function Filters({ box }: { box: { current: HTMLInputElement | null } }) {
  return (
    <search class="filters">
      <input
        ref={box}
        type="search"
        placeholder="Search runs"
        aria-label="Search runs"
        aria-keyshortcuts="/"
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value;
        }}
      />
      <fieldset class="choices">
        <legend class="hidden">Show</legend>
        {runFilters.map((one) => (
          <label key={one}>
            <input
              type="radio"
              name="filter"
              checked={filter.value === one}
              onChange={() => {
                filter.value = one;
              }}
            />
            <span>{one === 'attention' ? 'needs attention' : one}</span>
          </label>
        ))}
      </fieldset>
      <span class="quiet" role="status">
        {found.value.length === runs.value?.length
          ? `${found.value.length} runs`
          : `${found.value.length} of ${runs.value?.length} runs`}
      </span>
    </search>
  );
}

function Section({ title, rows }: { title: string; rows: readonly RunRow[] }) {
  return (
    <section class="runs-section">
      <h2>
        {title} <span class="number quiet">{rows.length}</span>
        <Counts rows={rows} />
      </h2>
      <ul>
        {rows.map((run) => (
          <Row key={run.run_id} run={run} />
        ))}
      </ul>
    </section>
  );
}

/** How many of each state, where a section has several. */
function Counts({ rows }: { rows: readonly RunRow[] }) {
  const counts = new Map<string, { readonly status: RunRow['status']; count: number }>();
  for (const { status } of rows) {
    const { word } = lookOf(status);
    counts.set(word, { status, count: (counts.get(word)?.count ?? 0) + 1 });
  }
  if (counts.size < 2) return null;
  return (
    <span class="counts">
      {[...counts].map(([word, { status, count }]) => (
        <span key={word} title={`${count} ${word}`}>
          <Shape state={status} /> <span class="number">{count}</span>
          <span class="hidden"> {word}</span>
        </span>
      ))}
    </span>
  );
}

function Row({ run }: { run: RunRow }) {
  const here = useComputed(() => selected.value === run.run_id).value;
  const first = useComputed(() => selected.value === null && order.value[0]?.run_id === run.run_id).value;
  const select = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    // On a phone there is no room for the panel: the run opens.
    if (matchMedia('(max-width: 720px)').matches) return;
    event.preventDefault();
    if (here && panel.value && event.detail > 1) go(addressOfRun(run.run_id));
    selected.value = run.run_id;
    panel.value = true;
  };
  return (
    <li>
      <a
        href={addressOfRun(run.run_id)}
        class="run-row"
        data-row={run.run_id}
        aria-current={here ? 'true' : undefined}
        tabIndex={here || first ? 0 : -1}
        onClick={select}
        onFocus={() => {
          selected.value = run.run_id;
          focused = run.run_id;
        }}
        onBlur={(event) => {
          // A row that is removed with the focus in it has no next element either, but is not in the page any more.
          if (event.currentTarget.isConnected && event.relatedTarget !== null) focused = null;
        }}
      >
        <Shape state={run.status} />
        <span class="hidden">{lookOf(run.status).word}: </span>
        <span class="headline" title={run.headline}>
          {run.headline || lookOf(run.status).word}
        </span>
        <span class="title" title={run.pipeline}>
          {run.title}
        </span>
        <span class="at" title={run.at_node ?? ''}>
          {run.delivered === true ? 'delivered' : (run.at_node ?? '')}
        </span>
        <span class="progress number">{progressText(run)}</span>
        <Elapsed ms={run.elapsed_ms} received={runsAt.value} runs={run.status === 'running'} />
        <span class="number cost">{costWords(run.spent)}</span>
        {run.wake_at === null ? (
          <span class="when quiet">
            <Ago time={run.ended_at ?? run.started_at} />
          </span>
        ) : (
          <Wakes at={run.wake_at} />
        )}
      </a>
    </li>
  );
}

/** When a suspended run can resume: short, so that the column has room for it; its title is whole. */
function Wakes({ at }: { readonly at: string }) {
  const time = localTime(at, new Date(slowNow.value));
  return (
    <span class="when quiet" title={`resumes at ${time}`}>
      until {time.replace(/^\d{4}-/, '')}
    </span>
  );
}

function progressText({ progress }: RunRow): string {
  if (progress === null) return '';
  return progress.current === null
    ? `${progress.done} of ${progress.total}`
    : `${progress.current} of ${progress.total}`;
}

function Panel() {
  const run = runs.value?.find(({ run_id }) => run_id === selected.value);
  if (run === undefined) return null;
  return (
    <aside class="panel" aria-label={`Summary of ${run.title}`}>
      <SummaryPanel
        run={run}
        close={() => {
          panel.value = false;
        }}
      />
    </aside>
  );
}

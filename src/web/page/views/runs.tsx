/** The list of runs: those that need attention first. */
import { effect } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { runFilters } from '../../../app/inspect/run-filters.ts';
import type { RunRow } from '../../../app/inspect/run-row.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { countedItems } from '../../../core/amounts.ts';
import { addKeys } from '../keys.ts';
import { connection } from '../live.ts';
import { go } from '../place.ts';
import { entry, filter, foundRuns, move, panel, search, sections, selected } from '../run-choice.ts';
import { runs, runsToRead, watchRuns } from '../run-feed.ts';
import { NoRuns } from './empty.tsx';
import { Shape } from './icon.tsx';
import { addressOfRun, keepFocus, RunHeads, RunLine } from './run-row.tsx';
import { SeenRows } from './seen-rows.tsx';
import { SummaryPanel } from './summary.tsx';

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
        {sections.value.length > 0 && <RunHeads />}
        {sections.value.map(({ title, runs: some }) => (
          <Section key={title} title={title} rows={some} />
        ))}
        {foundRuns.value.length === 0 && (
          <p class="loading">No run matches. Clear the search or the filter.</p>
        )}
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
        {countText()}
      </span>
    </search>
  );
}

function countText(): string {
  const all = runs.value?.length;
  const found = foundRuns.value.length;
  if (runsToRead.value !== null) return `reading ${runsToRead.value} runs: ${found} so far`;
  return found === all ? countedItems(found, 'run') : `${found} of ${all} runs`;
}

function Section({ title, rows }: { title: string; rows: readonly RunRow[] }) {
  const ids = useMemo(() => rows.map(({ run_id }) => run_id), [rows]);
  return (
    <section class="runs-section">
      <h2>
        {title}{' '}
        <span class="number quiet">
          {rows.length}
          {runsToRead.value !== null && ' so far'}
        </span>
        <Counts rows={rows} />
      </h2>
      <SeenRows ids={ids} kept={entry.value} row={(at) => rows[at] && <RunLine run={rows[at]} />} />
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

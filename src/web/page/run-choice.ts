/** Which runs of the list are shown, in which order, and which one is selected. */
import { computed, signal } from '@preact/signals';
import { type RunFilter, runFilters, runsLike } from '../../app/inspect/run-filters.ts';
import { slowNow } from './clock.ts';
import { runs } from './run-feed.ts';
import { runSections } from './text/run-list.ts';

const query = new URLSearchParams(location.search);
export const search = signal(query.get('q') ?? '');
export const filter = signal<RunFilter>(runFilters.find((one) => one === query.get('only')) ?? 'all');
export const selected = signal<string | null>(null);
/** The side panel is open: it shows the selected run. */
export const panel = signal(false);

export const foundRuns = computed(() => runsLike(runs.value ?? [], filter.value, search.value));
export const sections = computed(() => runSections(foundRuns.value, slowNow.value));
const order = computed(() => sections.value.flatMap((section) => section.runs));
const places = computed(() => new Map(order.value.map(({ run_id }, at) => [run_id, at])));

/** The row that the Tab key comes to. */
export const entry = computed(() => {
  const at = selected.value;
  return at !== null && places.value.has(at) ? at : order.value[0]?.run_id;
});

/** The selected row is to get the focus once it is drawn. */
export const wantsFocus = { now: false };

/** Selects the row so many places further. */
export function move(step: number): void {
  const all = order.value;
  const at = places.value.get(selected.value ?? '') ?? -1;
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))];
  if (next === undefined) return;
  wantsFocus.now = true;
  if (next.run_id === selected.value) drawnRow(next.run_id)?.focus();
  selected.value = next.run_id;
}

/** The row of a run, if it is drawn. */
export const drawnRow = (run: string): HTMLElement | null =>
  document.querySelector(`[data-row="${CSS.escape(run)}"]`);

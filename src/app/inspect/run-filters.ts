/** Which runs of a list are asked for. Pure. */
import type { RunRow } from './shapes.ts';

export const runFilters = ['all', 'attention', 'running', 'completed', 'failed', 'suspended'] as const;
export type RunFilter = (typeof runFilters)[number];

/** The mark at which a page of a list ends: when a run was started, and its id. */
export const pageMark = /^[^~]*~.+$/;

const passes: Readonly<Record<RunFilter, (run: RunRow) => boolean>> = {
  all: () => true,
  attention: (run) => run.needs_attention,
  running: (run) => run.status === 'running',
  completed: (run) => run.status === 'completed' || run.status === 'overridden',
  failed: (run) => ['failed', 'crashed', 'interrupted', 'unreadable'].includes(run.status),
  suspended: (run) => run.status.startsWith('paused'),
};

/** The runs that a filter and all words of a search leave; the same list if that is all. */
export function runsLike(runs: readonly RunRow[], filter: RunFilter, search: string): readonly RunRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (filter === 'all' && words.length === 0) return runs;
  return runs.filter((run) => passes[filter](run) && words.every((word) => searchedText(run).includes(word)));
}

/** Of each row once: a list is searched at every key. */
const texts = new WeakMap<RunRow, string>();

function searchedText(run: RunRow): string {
  const known = texts.get(run);
  if (known !== undefined) return known;
  const text = [run.title, run.headline, run.pipeline, run.status, run.run_id, run.at_node ?? '']
    .join('\n')
    .toLowerCase();
  texts.set(run, text);
  return text;
}

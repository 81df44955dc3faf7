/** Which runs of a list are asked for. Pure. */
import type { RunRow } from './run-row.ts';
import { lookOf } from './states.ts';
import { stateOrWait, waitWords } from './wait-words.ts';

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
  const text = factsOf(run)
    .filter((one) => one != null && one !== '')
    .join('\n')
    .toLowerCase();
  texts.set(run, text);
  return text;
}

/** Everything that a row shows as text, and what it is called by. */
function factsOf(run: RunRow): readonly (string | null | undefined)[] {
  const { waiting, forked_from, replay_of, progress, questions } = run;
  return [
    ...[run.title, run.headline, run.reason, run.pipeline, run.run_id, run.at_node, run.failed_node],
    ...[run.status, lookOf(stateOrWait(run.status, waiting)).word],
    ...(waiting === null ? [] : [waitWords(waiting), waiting.cause]),
    ...(forked_from === null ? [] : ['fork', forked_from.run_id, forked_from.node]),
    ...(replay_of === null ? [] : ['replay', replay_of]),
    ...(progress?.current == null ? [] : [progress.current]),
    ...questions.map(({ text }) => text),
    ...(run.delivered === true ? ['delivered'] : []),
    ...(run.dismissed ? ['dismissed'] : []),
  ];
}

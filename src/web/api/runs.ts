/** The server, the list of runs and its changes, and one run. */
import type { RunList } from '../../app/answers.ts';
import { inspectRun } from '../../app/inspect/run.ts';
import { runPage, unfinishedPage } from '../../app/inspect/run-pages.ts';
import type { RunRow } from '../../app/inspect/run-row.ts';
import { inspectWhy } from '../../app/inspect/why.ts';
import { agentNames } from '../../core/contracts/agent.ts';
import { packageVersion } from '../../platform/package.ts';
import { realOrSame } from '../../workspace/roots.ts';
import { offeredActs, rowMessage } from '../served-runs.ts';
import { eventStream, message } from '../sse.ts';
import { type Handlers, refusal, type Web } from '../web.ts';

export const runsApi: Pick<Handlers, 'server' | 'runs' | 'runsStream' | 'run' | 'why'> = {
  server: async ({ web }) => ({
    version: packageVersion(),
    folder: web.cwd,
    roots: web.roots.filter((root) => realOrSame(root) === root),
    runs_dir: web.runsDir,
    read_only: web.readOnly,
    agents: [...agentNames],
  }),
  runs: async ({ web, query }) => {
    const { limit, after, only, q } = query;
    const isFirst = after === undefined && only === 'all' && q === '';
    const unfinished = isFirst ? await unfinishedList(web, limit) : undefined;
    if (unfinished !== undefined) return unfinished;
    // A further page belongs to the list that the first one was taken from.
    const rows = await (after === undefined ? web.runs.rows() : web.runs.latest());
    return runPage(web.runsDir, rows, query);
  },
  runsStream: async ({ web, query, request }) =>
    eventStream((signal) => listChanges(web, query.limit, signal), web, request),
  run: async ({ web, run }) => {
    const view = await inspectRun(run.dir, web);
    return 'problems' in view ? refusal(view) : { ...view, acts: offeredActs(view, web) };
  },
  why: async ({ web, run }) => {
    const why = await inspectWhy(run.dir, web);
    return 'problems' in why ? refusal(why) : why;
  },
};

/** The first page while the server reads the runs for the first time; undefined later, and where all runs are asked for. */
async function unfinishedList(web: Web, limit: number | undefined): Promise<RunList | undefined> {
  if (limit === undefined) return undefined;
  const newest = await web.runs.newest();
  return newest && unfinishedPage(web.runsDir, newest, limit);
}

/** The list, then each row that changes. */
async function* listChanges(
  web: Web,
  limit: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const watch = web.runs.watch();
  try {
    const unfinished = await unfinishedList(web, limit);
    if (unfinished !== undefined) yield message('runs', unfinished);
    const first = await web.runs.latest();
    if (unfinished === undefined) yield listText(web, first, limit);
    const shown = new Map(unfinished?.runs.map((row) => [row.run_id, row]));
    // Of what the first look has found, the list or its next pages have the same rows.
    const known = first.filter((row) => (shown.get(row.run_id) ?? row) === row);
    for (let sent = new Set(known); !signal.aborted; sent = new Set()) {
      await watch.changed(signal);
      const text = rowTexts(web, watch.take(), sent);
      if (text !== '') yield text;
    }
  } finally {
    watch.close();
  }
}

/** Texts of lists, by how many rows they show: those who connect at the same time share them. */
const listTexts = new WeakMap<readonly RunRow[], Map<number | undefined, string>>();

function listText({ runsDir }: Web, rows: readonly RunRow[], limit: number | undefined): string {
  const made = listTexts.get(rows) ?? new Map<number | undefined, string>();
  listTexts.set(rows, made);
  const text =
    made.get(limit) ??
    message(
      'runs',
      runPage(runsDir, rows, { only: 'all', q: '', ...(limit === undefined ? {} : { limit }) }),
    );
  made.set(limit, text);
  return text;
}

function rowTexts({ runs }: Web, names: readonly string[], sent: ReadonlySet<RunRow>): string {
  let all = '';
  for (const run_id of names) {
    const row = runs.find(run_id);
    if (row === undefined) all += message('gone', { run_id });
    else if (!sent.has(row)) all += rowMessage(row);
  }
  return all;
}

/** The server, the list of runs and its changes, and one run. */

import { inspectRun } from '../../app/inspect/run.ts';
import { runList } from '../../app/inspect/run-list.ts';
import type { RunRow } from '../../app/inspect/shapes.ts';
import { inspectWhy } from '../../app/inspect/why.ts';
import { agentNames } from '../../core/contracts/agent.ts';
import { packageVersion } from '../../platform/package.ts';
import { eventStream, message } from '../sse.ts';
import { type Handlers, refusal, servedRun, type Web } from '../web.ts';

/** Milliseconds between two looks at the list. */
const lookMs = 1000;

export const runsApi: Pick<Handlers, 'server' | 'runs' | 'runsStream' | 'run' | 'why'> = {
  server: async ({ web }) => ({
    version: packageVersion(),
    folder: web.cwd,
    runs_dir: web.runsDir,
    read_only: web.readOnly,
    agents: [...agentNames],
  }),
  runs: async ({ web }) => runList(web.runsDir, await servedRows(web)),
  runsStream: async ({ web, request }) => eventStream((signal) => listChanges(web, signal), web, request),
  run: async ({ web, run }) => {
    const view = await inspectRun(run.dir, web);
    return 'problems' in view ? refusal(view) : { ...view, ...servedActs(view, web) };
  },
  why: async ({ web, run }) => {
    const why = await inspectWhy(run.dir, web);
    return 'problems' in why ? refusal(why) : why;
  },
};

/** A row as this server offers it: a read-only one offers no acts. */
export const servedActs = (
  { acts }: Pick<RunRow, 'acts'>,
  { readOnly }: Pick<Web, 'readOnly'>,
): Pick<RunRow, 'acts'> => ({
  acts: readOnly ? [] : acts,
});

async function servedRows(web: Web): Promise<readonly RunRow[]> {
  const rows = (await web.runs.rows()).filter((row) => servedRun(web, row.run_id) !== undefined);
  return rows.map((row) => ({ ...row, ...servedActs(row, web) }));
}

/** Equal for two rows that differ only in the time that the run has taken. */
export const rowIdentity = (row: RunRow): string => JSON.stringify({ ...row, elapsed_ms: 0 });

/** The list, then each row that changes. */
async function* listChanges(web: Web, signal: AbortSignal): AsyncGenerator<string> {
  const first = await servedRows(web);
  const known = new Map(first.map((row) => [row.run_id, rowIdentity(row)]));
  yield message('runs', runList(web.runsDir, first));
  for (let took = 0; !signal.aborted; ) {
    // Of thousands of runs the reading alone would keep a processor busy.
    await web.clock.sleep(Math.max(lookMs, 10 * took), signal);
    const began = web.clock.monotonic();
    const rows = await servedRows(web);
    took = web.clock.monotonic() - began;
    const gone = new Set(known.keys());
    for (const row of rows) {
      const is = rowIdentity(row);
      gone.delete(row.run_id);
      if (known.get(row.run_id) === is) continue;
      known.set(row.run_id, is);
      yield message('run', row);
    }
    for (const run_id of gone) {
      known.delete(run_id);
      yield message('gone', { run_id });
    }
  }
}

/** Runs for the loop, of which nothing is real but their records. */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { ContentStore } from '../../src/contents/store.ts';
import { bundledPrices } from '../../src/core/budget/prices.ts';
import { kind, type NodeKind } from '../../src/core/contracts/node-kind.ts';
import type { Graph } from '../../src/core/graph.ts';
import type { Outcome } from '../../src/core/outcome.ts';
import type { RunState } from '../../src/core/records/checkpoint.ts';
import { layout } from '../../src/core/records/layout.ts';
import { executableAttributes } from '../../src/core/settings/node.ts';
import { withFlags } from '../../src/core/settings/typing.ts';
import { openCostLedger } from '../../src/engine/cost-ledger.ts';
import { budget } from '../../src/engine/layers/budget.ts';
import { executeHere } from '../../src/engine/layers/index.ts';
import { type Execute, surrounded } from '../../src/engine/layers/layer.ts';
import { retry } from '../../src/engine/layers/retry.ts';
import type { Run } from '../../src/engine/run-context.ts';
import { openRun } from '../../src/run/open-run.ts';
import { openRunJournal, startJournal } from '../../src/run/run-journal.ts';
import { openViewFile } from '../../src/run/view-file.ts';
import type { Snapshots } from '../../src/workspace/snapshot.ts';
import { defaultCaps } from '../support/caps.ts';
import { freshState } from '../support/graph.ts';

/** A kind of node that ends as `outcome` says. */
export const work = (outcome: () => Outcome): NodeKind =>
  kind({
    type: 'tool',
    does: 'Ends as the test says.',
    shapes: ['parallelogram'],
    ids: [],
    executable: true,
    attributes: executableAttributes,
    run: async () => outcome(),
  });

/** Attempts that are made as `attempt` says, with their limits and retries. */
export const attempts = (attempt: Execute): Execute => surrounded([budget, retry], attempt);

/** A run in `dir` of which nothing is real but its records; `saved` receives every saved state. */
export async function prepared(
  dir: string,
  graph: Graph,
  more: {
    kinds: readonly NodeKind[];
    /** Default the real layers. */
    execute?: Execute;
    snapshots?: Snapshots;
    run?: Partial<Run>;
    saved?: (state: RunState) => void;
    /** The lines of the journal that a killed process has left: the run continues after them. */
    left?: string;
  },
): Promise<Run & { close(): Promise<void> }> {
  const at = layout(dir);
  await mkdir(at.workspace, { recursive: true });
  const clock = { now: () => new Date(0), monotonic: () => 0, sleep: async () => {} };
  const options = { runId: 'r1', epoch: 1, sync: false };
  const first = [...graph.nodes.keys()][0] ?? '';
  // A test may prepare several runs in one directory.
  await rm(at.journal, { force: true });
  if (more.left !== undefined) await writeFile(at.journal, more.left);
  else
    await startJournal(dir, 'r1', {
      type: 'Start',
      at: freshState(first).at,
      next_node: first,
      context: {},
      origins: {},
      snapshot: 's0',
      manifest_sha256: '',
    });
  const history = openRun(dir).history();
  if (!history.ok) throw new Error(history.why);
  const { completed_nodes: _none, ...state } = history.checkpoint;
  const view = (path: string) => openViewFile(path, options, history.lines).view;
  const [events, trace] = [view(at.events), view(at.trace)];
  const journal = await openRunJournal(dir, options, history);
  return {
    graph: withFlags(graph, { max_visits: 8 }),
    runId: 'r1',
    runDir: dir,
    workspace: at.workspace,
    start: 's0',
    clock,
    spawn: { run: async () => ({ kind: 'exited', code: 0 }) },
    env: {},
    envPass: [],
    marker: 'm',
    processMarker: 'm',
    epoch: 1,
    factoryBin: '/nowhere',
    node: 'node',
    variables: {},
    prompts: {},
    inputFiles: [],
    schema: () => Promise.resolve(undefined),
    agentFor: () => undefined,
    historyEnv: {},
    watcher: { event: () => {}, streamed: () => {}, output: () => {}, spent: () => {} },
    log: () => {},
    kinds: more.kinds,
    execute: more.execute ?? executeHere,
    snapshots: more.snapshots ?? noSnapshots,
    state,
    snapshot: { id: state.snapshot ?? '', tree: new Map() },
    caps: { ...defaultCaps, max_steps: 25 },
    past: {
      history() {
        const read = openRun(dir).history();
        if (!read.ok) throw new Error(read.why);
        return read;
      },
      withoutNames: (text) => text.replaceAll(dir, '<run>'),
    },
    costs: openCostLedger([], bundledPrices, async () => {}),
    events,
    trace,
    journal: {
      note: (line) => journal.note(line),
      mark: () => journal.mark(),
      viewed: () => journal.viewed(),
      commit: async (line, before, view) => {
        const after = await journal.commit(line, before, view);
        if (line.type === 'Visit') more.saved?.(structuredClone(after));
        return after;
      },
    },
    signal: new AbortController().signal,
    stopAfter: undefined,
    ...more.run,
    close: async () => {
      for (const one of [events, trace, journal]) await one.close();
    },
  };
}

/** Snapshots of an empty workspace. */
export const noSnapshots: Snapshots = {
  store: new ContentStore(''),
  take: async (since) => since ?? { id: 's0', tree: new Map() },
  load: async () => ({ id: 's0', tree: new Map() }),
  keepTree: async (tree) => ({ id: 's0', tree }),
  restore: async () => {},
  read: async () => Buffer.alloc(0),
  async *pieces() {},
  copyIn: async () => ({ files: 0, skipped: [], outsideLinks: [] }),
  strays: () => [],
  ofFolder: () => noSnapshots,
  checkout: async () => new Map(),
};

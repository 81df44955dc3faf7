/** Opens the cost ledger of a run, and the budget that a nested run shares with the run that started it. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parsePrices, pricesOf, pricesVariable } from '../../core/budget/prices.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import { nextNodes } from '../../core/fork.ts';
import type { Graph } from '../../core/graph.ts';
import { own } from '../../core/json.ts';
import type { Checkpoint } from '../../core/records/checkpoint.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { CallRecord } from '../../core/records/visit.ts';
import type { Caps } from '../../core/settings/limits.ts';
import { sha256 } from '../../core/sha256.ts';
import { type CostLedger, openCostLedger } from '../../engine/cost-ledger.ts';
import { collectNestedSpending, sharedBudget } from '../../engine/shared-budget.ts';
import { readFailure } from '../../platform/files/write.ts';
import type { RunJournal } from '../../run/run-journal.ts';
import type { Host } from '../types.ts';

export type RunBudget = {
  readonly costs: CostLedger;
  /** The run's limits, reduced to the remaining budget of the run that started it. */
  readonly caps: Caps;
  close(): Promise<void>;
};

/** Opens the ledger with the calls in the journal, and adds what nested runs of an interrupted node have spent. */
export async function openRunBudget(
  runDir: string,
  journal: Pick<RunJournal, 'note'>,
  run: {
    readonly calls: readonly CallRecord[];
    readonly manifest: Pick<Manifest, 'run_id' | 'prices'> & Partial<Pick<Manifest, 'agent'>>;
    readonly loaded: Checkpoint;
    readonly resumed: boolean;
    readonly caps: Caps;
    readonly watching?: Parameters<typeof openCostLedger>[3];
  },
  host: Pick<Host, 'clock' | 'env'>,
): Promise<RunBudget> {
  const { manifest, loaded, resumed } = run;
  const at = layout(runDir);
  let shared: Awaited<ReturnType<typeof sharedBudget>>;
  const unreported: CallRecord[] = [];
  let opened = false;
  const note = (record: CallRecord) => {
    journal.note(record);
    if (!opened) unreported.push(record);
    return shared?.tell(record);
  };
  const costs = openCostLedger(run.calls, pricesOf(manifest), note, run.watching);
  // Spending of nested runs of interrupted nodes counts.
  for (const { node, branch } of resumed ? nextNodes(loaded) : []) {
    const visit = (own(loaded.visits, node) ?? 0) + 1;
    const stamp = { at: host.clock.now().toISOString(), node, visit, attempt: 1 };
    await collectNestedSpending(
      at.node(node),
      { ...stamp, ...(branch === undefined ? {} : { branch }) },
      costs,
    );
  }
  shared = await sharedBudget(
    host.env,
    run.caps,
    { spent: costs.run(), elapsedMs: loaded.elapsed_ms, prices: costs.prices },
    manifest.run_id,
  );
  opened = true;
  for (const record of unreported) await shared?.tell(record);
  return {
    costs,
    caps: shared?.caps ?? run.caps,
    close: async () => shared?.close(),
  };
}

/** The prices of a run: a file that a flag, the environment or the pipeline names, in addition to the bundled table. */
type Kept = NonNullable<Manifest['prices']>;

/** Reads the first file named by `--prices`, `FACTORY_PRICES` (both relative to `cwd`) or the graph attribute `prices`
 *  (relative to the pipeline's file); undefined where none is named. */
export async function readPriceFile(
  graph: Graph | undefined,
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<{ readonly kept: Kept | undefined } | Refusal> {
  const variable = env[pricesVariable]?.trim() ?? '';
  const named = graph?.settings.prices;
  const [path, by] =
    flag !== undefined
      ? [resolve(cwd, flag), '--prices']
      : variable !== ''
        ? [resolve(cwd, variable), pricesVariable]
        : graph !== undefined && named !== undefined
          ? [resolve(cwd, dirname(graph.file), named), 'the graph attribute prices']
          : [undefined, ''];
  if (path === undefined) return { kept: undefined };
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const problem = {
      code: 'prices',
      severity: 'error' as const,
      message: `${by} names ${path}, which cannot be read: ${readFailure(error)}`,
      fix: 'name a price file; without one the bundled list prices are used',
    };
    const span = by.startsWith('the') ? graph?.attrs.get('prices')?.valueSpan : undefined;
    return {
      problems: [
        span === undefined || graph === undefined
          ? problem
          : { ...problem, place: { file: graph.file, span } },
      ],
    };
  }
  const parsed = parsePrices(path, text);
  if ('diagnostics' in parsed) return { problems: parsed.diagnostics };
  return { kept: { path, sha256: sha256(text), table: parsed.prices } };
}

/** What calls have cost, by the prices of a run with this manifest. */
export const costsIn = (
  calls: Iterable<CallRecord>,
  manifest: Pick<Manifest, 'prices' | 'agent'>,
): CostLedger => openCostLedger(calls, pricesOf(manifest), () => {});

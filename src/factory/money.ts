/** Opens the cost ledger of a run, and the budget that a nested run shares with the run that started it. */
import { type Books, openBooks } from '../engine/books.ts';
import type { Caps } from '../engine/caps.ts';
import { pricesOf } from '../engine/price-file.ts';
import { gather, sharedBudget } from '../engine/shared-budget.ts';
import type { CallRecord } from '../model/call-record.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { own } from '../model/own.ts';
import type { RunJournal } from '../store/run-journal.ts';
import type { Doors } from './types.ts';

export type Money = {
  readonly books: Books;
  /** The run's limits, reduced to the remaining budget of the run that started it. */
  readonly caps: Caps;
  close(): Promise<void>;
};

/** Opens the ledger with the calls in the journal, and adds what nested runs of an interrupted node have spent. */
export async function openMoney(
  runDir: string,
  journal: Pick<RunJournal, 'note'>,
  run: {
    readonly calls: readonly CallRecord[];
    readonly manifest: Pick<Manifest, 'run_id' | 'prices'>;
    readonly loaded: Checkpoint;
    readonly resumed: boolean;
    readonly caps: Caps;
  },
  doors: Pick<Doors, 'clock' | 'env'>,
): Promise<Money> {
  const { manifest, loaded, resumed } = run;
  const at = layout(runDir);
  let shared: Awaited<ReturnType<typeof sharedBudget>>;
  const unreported: CallRecord[] = [];
  let opened = false;
  const books = openBooks(run.calls, pricesOf(manifest), (record) => {
    journal.note(record);
    if (!opened) unreported.push(record);
    return shared?.tell(record);
  });
  // Spending of nested runs of the interrupted node counts.
  const cut = loaded.next_node;
  if (resumed && cut !== null)
    await gather(
      at.node(cut),
      {
        schema_version: 1,
        at: doors.clock.now().toISOString(),
        node: cut,
        visit: (own(loaded.visits, cut) ?? 0) + 1,
        attempt: 1,
      },
      books,
    );
  shared = await sharedBudget(
    doors.env,
    run.caps,
    { spent: books.run(), elapsedMs: loaded.elapsed_ms, prices: books.prices },
    manifest.run_id,
  );
  opened = true;
  for (const record of unreported) await shared?.tell(record);
  return {
    books,
    caps: shared?.caps ?? run.caps,
    close: async () => shared?.close(),
  };
}

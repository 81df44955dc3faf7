/** Opens the cost ledger of a run, and the budget that a nested run shares with the run that started it. */
import { type Books, callRecords, openBooks } from '../engine/books.ts';
import type { Caps } from '../engine/caps.ts';
import { pricesOf } from '../engine/price-file.ts';
import { gather, sharedBudget } from '../engine/shared-budget.ts';
import type { CallRecord } from '../model/call-record.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { Mark } from '../model/mark.ts';
import { own } from '../model/own.ts';
import type { Prices } from '../model/prices.ts';
import { type Journal, openJournal, readRecords } from '../store/journal.ts';
import { scan } from '../store/journal-read.ts';
import type { Doors } from './types.ts';

type JournalOptions = { readonly runId: string; readonly epoch: number };

export type Money = {
  readonly books: Books;
  /** The run's limits, reduced to the remaining budget of the run that started it. */
  readonly caps: Caps;
  /** The hash of `calls.jsonl`; undefined where there is none. */
  mark(): Mark | undefined;
  close(): Promise<void>;
};

/** Opens the ledger with the records of `calls.jsonl`, and adds what nested runs of an interrupted node have spent. */
export async function openMoney(
  runDir: string,
  options: JournalOptions,
  run: {
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
  const books = await booksOf(at.calls, options, pricesOf(manifest), (record) => {
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
    mark: () => books.mark(),
    async close() {
      await books.close();
      await shared?.close();
    },
  };
}

/** The run's ledger; its file is created with the first call. */
async function booksOf(
  path: string,
  options: JournalOptions,
  prices: Prices,
  report: (record: CallRecord) => Promise<void> | undefined,
): Promise<Books & { mark(): Mark | undefined; close(): Promise<void> }> {
  const { records } = await readRecords(path);
  const before = (await scan(path)).chain.mark();
  let journal: Journal | undefined;
  const books = openBooks(callRecords(records), prices, async (record) => {
    journal ??= await openJournal(path, options);
    journal.append(record);
    await journal.flush();
    await report(record);
  });
  const mark = () => journal?.marks().flushed ?? before;
  return Object.assign(books, {
    mark: () => (mark().records === 0 ? undefined : mark()),
    close: async () => journal?.close(),
  });
}

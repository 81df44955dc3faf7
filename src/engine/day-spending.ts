/** What a run has spent on which day, by the records of its calls. */
import { DayLedger, type DaySpend, type SpentCall } from '../core/budget/day-spend.ts';
import { type Prices, pricesOf } from '../core/budget/prices.ts';
import type { Usage } from '../core/budget/usage.ts';
import type { JournalLine } from '../core/records/journal.ts';
import { runIdForm } from '../core/records/names.ts';
import { limitRecorded } from '../core/settings/limits.ts';
import type { JournaledSpend } from '../fleet/day-spend.ts';
import { openRun } from '../run/open-run.ts';
import { type CallWatch, openCostLedger } from './cost-ledger.ts';

type Change = (ledger: DayLedger) => void;

/** Keeps what a run's calls have done, for the days of any time zone. */
export class RunSpending implements CallWatch {
  private readonly changes: Change[] = [];
  private known: { readonly zone: string; readonly ledger: DayLedger } | undefined;

  /** `countsItself`: whether a nested run of this id is a run of the same folder, so that its own file or journal has its calls. */
  constructor(
    private readonly prices: Prices,
    private readonly countsItself: (run: string) => boolean,
  ) {}

  /** The ledger of days that `dayOf` names; `zone` tells when they are others. */
  ledger(zone: string, dayOf: (at: Date) => string): DayLedger {
    if (this.known?.zone === zone) return this.known.ledger;
    const ledger = new DayLedger(this.prices, dayOf);
    for (const change of this.changes) change(ledger);
    this.known = { zone, ledger };
    return ledger;
  }

  made(branch: string | undefined, at: string, soFar: Usage | undefined): void {
    this.add((ledger) => void ledger.made(branch, at, soFar));
  }

  ended(branch: string | undefined, call: SpentCall): void {
    this.add((ledger) => ledger.ended(branch, call));
  }

  reported(run: string, call: SpentCall): void {
    if (!this.countsItself(run)) this.add((ledger) => ledger.reported(call));
  }

  private add(change: Change): void {
    this.changes.push(change);
    if (this.known !== undefined) change(this.known.ledger);
  }
}

/** How many of the calls in a journal, from the first on, are those of a run that this one was forked from: copied lines end with a
 *  line of the first owner that no run which began itself has. */
export function copiedCalls(lines: readonly JournalLine[]): number {
  const [first] = lines;
  const end = lines.findIndex(({ type, epoch }) => type === 'Resumed' && epoch === first?.epoch);
  return lines.slice(0, Math.max(0, end)).filter(({ type }) => type.startsWith('Call')).length;
}

/** Whether a nested run is one of these runs; `exists` is asked for the folder of the run. */
export const isRunHere =
  (exists: (run: string) => boolean) =>
  (run: string): boolean =>
    runIdForm.test(run) && exists(run);

/** What the journal of a run says of its spending; undefined where the run cannot be read. A call without an end counts by what was
 *  sent and reported. */
export async function journaledSpend(
  runDir: string,
  dayOf: (at: Date) => string,
  exists: (run: string) => boolean,
): Promise<JournaledSpend | undefined> {
  const reader = openRun(runDir);
  const history = reader.history();
  if (!history.ok) return undefined;
  const read = await reader.manifest();
  if (!read.ok) return undefined;
  const { manifest } = read;
  const prices = pricesOf(manifest);
  const watch = new RunSpending(prices, isRunHere(exists));
  openCostLedger(history.calls, prices, () => {}, { watch, copied: copiedCalls(history.lines) });
  const ledger = watch.ledger('', dayOf);
  const days: ReadonlyMap<string, DaySpend> = ledger.spent();
  const allows = limitRecorded(manifest.caps, 'unknown_cost') === 'allow';
  return {
    labels: manifest.labels ?? [],
    days,
    models: ledger.byModel(),
    ...(allows ? { unknown_cost: 'allow' } : {}),
  };
}

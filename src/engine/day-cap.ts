/** The caps per day over all runs of a runs folder, asked before each call of a model. The run reserves what the call costs at least,
 *  then reads what all runs have spent and reserved; above a cap it withdraws, and is suspended until the next day. */
import { join } from 'node:path';
import {
  capVerdict,
  type DayCap,
  dayCapsOf,
  goesFirst,
  hasSpent,
  type RunSpend,
  reachedWords,
} from '../core/budget/day-caps.ts';
import {
  amountOf,
  type DayLedger,
  difference,
  type MoneyAndTokens,
  noMoney,
  sumOf,
} from '../core/budget/day-spend.ts';
import type { Prices } from '../core/budget/prices.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { type Day, dayAt, dayName } from '../core/days.ts';
import type { QueueSettings } from '../core/settings/queue.ts';
import { DayBook, writeSpendFile } from '../fleet/day-spend.ts';
import { settingsReader } from '../fleet/settings.ts';
import { isFull } from '../platform/files/disk-error.ts';
import { Superseded } from '../platform/files/fence.ts';
import { isFolder } from '../platform/files/read.ts';
import { systemWords } from '../platform/files/write.ts';
import type { CallGate, CallRefusal, GatedCall } from './call-gate.ts';
import { isRunHere, journaledSpend, RunSpending } from './day-spending.ts';

export type DayCapRun = {
  readonly runsDir: string;
  readonly runId: string;
  /** Of the owner. */
  readonly epoch: number;
  readonly labels: readonly string[];
  readonly prices: Prices;
  readonly clock: Clock;
  /** Whether the run allows calls of unknown cost. */
  readonly allows: () => boolean;
  readonly warn: (message: string) => void;
};

type Branch = string | undefined;
type Refused = Pick<CallRefusal, 'reason'>;

/** Milliseconds between two looks at what others ask for, and how long they may hold back a call. */
const contestMs = 5;
const longestContestMs = 60_000;

export class DayCapGate implements CallGate {
  /** Receives each call of the run by its cost ledger. */
  readonly spending: RunSpending;
  private readonly settings: ReturnType<typeof settingsReader>;
  private readonly book: DayBook;
  /** What calls under way of each branch cost at least. */
  private readonly reserved = new Map<Branch, { readonly day: Day; readonly amount: MoneyAndTokens }>();
  private day: Day | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly run: DayCapRun) {
    const { runsDir, prices, clock } = run;
    const exists = (id: string) => isFolder(join(runsDir, id));
    this.spending = new RunSpending(prices, isRunHere(exists));
    this.settings = settingsReader(runsDir);
    this.book = new DayBook(runsDir, clock, (dir, dayOf) => journaledSpend(dir, dayOf, exists));
  }

  before(call: GatedCall, signal: AbortSignal): Promise<CallRefusal | undefined> {
    return this.alone(() => this.ask(call, signal));
  }

  async after({ stamp }: Pick<GatedCall, 'stamp'>): Promise<void> {
    await this.alone(async () => {
      const ended = this.reserved.get(stamp.branch);
      this.reserved.delete(stamp.branch);
      // The call is over, and the journal has what it cost: a disk that is full does not undo it.
      if (ended !== undefined) await this.write(ended.day).catch((error: unknown) => this.warnOf(error));
    });
  }

  /** Brings the run's file of today up to date; also after an owner that was killed. */
  async nested(): Promise<void> {
    await this.alone(async () => {
      const read = this.settings();
      if (read.kind !== 'set') return;
      const day = this.today(read.settings);
      if (!hasSpent(this.spendOn(day))) return;
      await this.write(day).catch((error: unknown) => this.warnOf(error));
    });
  }

  private warnOf(error: unknown): void {
    if (error instanceof Superseded) throw error;
    this.run.warn(`the spending of the day cannot be recorded: ${systemWords(error)}`);
  }

  /** One after the other: branches of the run share its file. */
  private alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work);
    this.last = done.catch(() => {});
    return done;
  }

  private async ask(call: GatedCall, signal: AbortSignal): Promise<CallRefusal | undefined> {
    const read = this.settings();
    if (read.kind === 'none') return undefined;
    if (read.kind === 'unreadable') return { class: 'config', reason: `${read.why}; ${read.fix}` };
    const caps = dayCapsOf(read.settings, this.run.labels);
    const unpriced = this.unpriced(call, caps);
    if (unpriced !== undefined) return { class: 'config', ...unpriced };
    try {
      return await this.granted(call, read.settings, caps, signal);
    } catch (error) {
      if (error instanceof Superseded || isFull(error)) throw error;
      return {
        class: 'config',
        reason: `the spending of the day cannot be recorded, so its caps cannot be held: ${systemWords(error)}`,
      };
    }
  }

  /** Asks until the answer is final. */
  private async granted(
    call: GatedCall,
    settings: QueueSettings,
    caps: readonly DayCap[],
    signal: AbortSignal,
  ): Promise<CallRefusal | undefined> {
    const { clock, runId } = this.run;
    const began = clock.monotonic();
    const isLong = () => clock.monotonic() - began > longestContestMs;
    while (!signal.aborted) {
      const { day, has, asks } = await this.turnOf(call, settings);
      await this.write(day, asks);
      const read = caps.length === 0 ? [] : await this.book.runs(day, runId);
      const others = isLong() ? read.map(withAsksReserved) : read;
      const own = this.spendOn(day, asks);
      const verdict = capVerdict(own, others, caps);
      if (verdict.kind === 'granted') this.reserved.set(call.stamp.branch, { day, amount: sumOf(has, asks) });
      if (verdict.kind !== 'contested' || verdict.stepsBack) await this.write(day);
      if (verdict.kind === 'granted') return undefined;
      if (verdict.kind === 'reached')
        return {
          class: 'budget',
          reason: reachedWords(verdict, day),
          park: { kind: 'cap', wakeAtMs: day.end },
        };
      do await clock.sleep(contestMs, signal);
      while (verdict.stepsBack && !isLong() && !signal.aborted && (await this.mustWait(own, day)));
    }
    await this.write(this.today(settings));
    return undefined;
  }

  private async mustWait(own: RunSpend, day: Day): Promise<boolean> {
    return (await this.book.runs(day, this.run.runId)).some((other) => goesFirst(other, own));
  }

  /** The day on which the call is made, what is reserved for its task, and what it asks for. What the task has used on an earlier day
   *  is spent on that one. */
  private async turnOf(call: GatedCall, settings: QueueSettings) {
    const { branch } = call.stamp;
    const day = this.today(settings);
    const before = this.reserved.get(branch);
    const has = before?.day === day ? before.amount : noMoney;
    const asks = difference(this.needs(call, day), has);
    this.reserved.set(branch, { day, amount: has });
    if (before !== undefined && before.day !== day) await this.write(before.day);
    return { day, has, asks };
  }

  /** What the call, or the task so far with its next call, costs on this day at least. */
  private needs({ stamp, next, used }: GatedCall, day: Day): MoneyAndTokens {
    const earlier = this.ledgerOf(day).made(stamp.branch, this.run.clock.now().toISOString(), used);
    const input = { cost_usd: next.costUsd ?? 0, tokens: next.tokens };
    return difference(sumOf(amountOf(used, this.run.prices), input), earlier);
  }

  private unpriced({ next }: GatedCall, caps: readonly DayCap[]): Refused | undefined {
    const cap = caps.find(({ name }) => name === 'max_cost_usd_day');
    if (cap === undefined || next.costUsd !== null || this.run.allows()) return undefined;
    return {
      reason: `max_cost_usd_day: there is no price for the model "${next.model.slice(0, 100)}", so a cap of ${cap.limit} USD a day cannot be held; give the model a price (--prices FILE, FACTORY_PRICES), or allow calls of unknown cost with unknown_cost=allow on the graph or --unknown-cost allow`,
    };
  }

  private today({ time_zone }: QueueSettings): Day {
    const now = this.run.clock.now();
    const ms = now.getTime();
    if (this.day?.zone !== time_zone || ms < this.day.start || ms >= this.day.end)
      this.day = dayAt(now, time_zone);
    return this.day;
  }

  private ledgerOf({ zone }: Day): DayLedger {
    return this.spending.ledger(zone, (at) => dayName(at, zone));
  }

  /** What the run has spent and reserved on the day. */
  private spendOn(day: Day, asks?: MoneyAndTokens): RunSpend {
    const { runId, labels, allows } = this.run;
    const reserved = [...this.reserved.values()].filter((one) => one.day === day);
    return {
      ...{ run_id: runId, labels, spent: this.ledgerOf(day).on(day.name) },
      reserved: reserved.reduce((sum, { amount }) => sumOf(sum, amount), noMoney),
      ...(asks === undefined ? {} : { asks }),
      ...(allows() ? { unknown_cost: 'allow' } : {}),
    };
  }

  private async write(day: Day, asks?: MoneyAndTokens): Promise<void> {
    const { runsDir, epoch } = this.run;
    const { labels, ...spend } = this.spendOn(day, asks);
    const about = { schema_version: 1, day: day.name, time_zone: day.zone, epoch } as const;
    await writeSpendFile(runsDir, { ...about, ...spend, labels: [...labels] });
  }
}

/** The same run as if it had got what it asks for. */
const withAsksReserved = ({ asks = noMoney, ...run }: RunSpend): RunSpend => ({
  ...run,
  reserved: sumOf(run.reserved, asks),
});

/** What a run has spent on each day: a call counts to the day in which it was made. Pure. */
import * as z from 'zod';
import { once } from '../once.ts';
import { costOf, leastCostOf, type Prices } from './prices.ts';
import { type Spent, tokensIn, tokensOf, type Usage } from './usage.ts';

const amount = once(() => z.number().nonnegative());

export const moneyAndTokensSchema = once(() => z.object({ cost_usd: amount(), tokens: amount() }));
export type MoneyAndTokens = Readonly<z.infer<ReturnType<typeof moneyAndTokensSchema>>>;

export const daySpendSchema = once(() =>
  moneyAndTokensSchema().extend({
    unknown_cost: amount().describe('Calls whose cost is not known: `cost_usd` is a lower bound'),
    unknown_tokens: amount().describe('Calls that did not report their tokens'),
  }),
);
export type DaySpend = Readonly<z.infer<ReturnType<typeof daySpendSchema>>>;

export const noMoney: MoneyAndTokens = { cost_usd: 0, tokens: 0 };
export const noSpend: DaySpend = { ...noMoney, unknown_cost: 0, unknown_tokens: 0 };

/** Without the errors of binary sums; never below zero. */
const exact = (usd: number): number => Math.max(0, Math.round(usd * 1e10) / 1e10);

export const exactSum = (amounts: readonly number[]): number => exact(amounts.reduce((a, b) => a + b, 0));

export const sumOf = (a: MoneyAndTokens, b: MoneyAndTokens): MoneyAndTokens => ({
  cost_usd: exact(a.cost_usd + b.cost_usd),
  tokens: a.tokens + b.tokens,
});

export const difference = (a: MoneyAndTokens, b: MoneyAndTokens): MoneyAndTokens => ({
  cost_usd: exact(a.cost_usd - b.cost_usd),
  tokens: Math.max(0, a.tokens - b.tokens),
});

/** What a usage amounts to at least. */
export const amountOf = (usage: Usage | undefined, prices: Prices): MoneyAndTokens =>
  usage === undefined
    ? noMoney
    : { cost_usd: costOf(usage, prices) ?? leastCostOf(usage, prices), tokens: tokensIn(usage) };

/** By how much a sum of calls has grown. */
const growth = (before: Spent, after: Spent): DaySpend => ({
  cost_usd: exact(after.cost_usd - before.cost_usd),
  tokens: tokensOf(after) - tokensOf(before),
  unknown_cost: after.unknown_cost - before.unknown_cost,
  unknown_tokens: after.unknown_tokens - before.unknown_tokens,
});

/** A call that has not ended: the day of its latest request, and what of it counts to earlier days. */
type OpenCall = { readonly day: string; readonly counted: MoneyAndTokens };

/** A call that has ended: the run's sum was `before`, and is `after`. */
export type SpentCall = {
  readonly at: string;
  /** Empty if unknown. */
  readonly model: string;
  readonly before: Spent;
  readonly after: Spent;
};

/** What was spent by day, as YYYY-MM-DD, and model. */
export type SpendByModel = ReadonlyMap<string, ReadonlyMap<string, DaySpend>>;

/** Follows the calls of a run and gives what they spend to days. Of a task with many calls each counts to its own day. */
export class DayLedger {
  private readonly days = new Map<string, DaySpend>();
  private readonly models = new Map<string, Map<string, DaySpend>>();
  private readonly open = new Map<string | undefined, OpenCall>();

  constructor(
    private readonly prices: Prices,
    private readonly dayOf: (at: Date) => string,
  ) {}

  /** By day, as YYYY-MM-DD; calls that have not ended are left out. */
  spent(): ReadonlyMap<string, DaySpend> {
    return this.days;
  }

  byModel(): SpendByModel {
    return this.models;
  }

  on(day: string): DaySpend {
    return this.days.get(day) ?? noSpend;
  }

  /** A call of the branch is made; in a task with many calls another one, after it has used `soFar`. Answers what of the task counts
   *  to earlier days. */
  made(branch: string | undefined, at: string, soFar: Usage | undefined): MoneyAndTokens {
    const day = this.dayOf(new Date(at));
    const open = this.open.get(branch) ?? { day, counted: noMoney };
    let { counted } = open;
    if (open.day !== day) {
      counted = amountOf(soFar, this.prices);
      this.add(open.day, soFar?.model ?? '', difference(counted, open.counted));
    }
    this.open.set(branch, { day, counted });
    return counted;
  }

  /** The call of the branch has ended. */
  ended(branch: string | undefined, { at, model, before, after }: SpentCall): void {
    const open = this.open.get(branch);
    this.open.delete(branch);
    const grown = growth(before, after);
    const { day = this.dayOf(new Date(at)), counted = noMoney } = open ?? {};
    this.add(day, model, { ...grown, ...difference(grown, counted) });
  }

  /** A nested run has reported a call. */
  reported({ at, model, before, after }: SpentCall): void {
    this.add(this.dayOf(new Date(at)), model, growth(before, after));
  }

  private add(day: string, model: string, more: Partial<DaySpend> & MoneyAndTokens): void {
    const ofDay = this.models.get(day) ?? new Map<string, DaySpend>();
    this.models.set(day, ofDay.set(model, grownBy(ofDay.get(model) ?? noSpend, more)));
    this.days.set(day, grownBy(this.on(day), more));
  }
}

/** `sum` with `more`. */
export const grownBy = (sum: DaySpend, more: Partial<DaySpend> & MoneyAndTokens): DaySpend => ({
  ...sumOf(sum, more),
  unknown_cost: sum.unknown_cost + (more.unknown_cost ?? 0),
  unknown_tokens: sum.unknown_tokens + (more.unknown_tokens ?? 0),
});

/** What a run has spent: every call of a model is recorded before it is made and when it has ended, so that an
 *  interruption loses none. */
import type { SpentCall } from '../core/budget/day-spend.ts';
import { costOf, leastCostOf, type Prices, priceOf } from '../core/budget/prices.ts';
import { nothingSpent, type Spent, tokensIn, type Usage, withCall } from '../core/budget/usage.ts';
import { own, put } from '../core/json.ts';
import type { CallRecord } from '../core/records/visit.ts';

type Started = Extract<CallRecord, { type: 'CallStarted' }>;
type CallProgress = Extract<CallRecord, { type: 'CallTold' }>;
type Ended = Extract<CallRecord, { type: 'CallEnded' }>;
export type Stamp = Pick<Started, 'at' | 'node' | 'visit' | 'attempt' | 'branch'>;

/** What calls that have not ended have sent and used, at least: it counts as spent before another call is made. */
export type Reserved = { readonly usd: number; readonly tokens: number };

/** How a call ended. `cut`: by a signal or an outage, with the usage known so far; `untold`: its cost is unknown. */
export type CallEnd =
  | { readonly ended: 'told' | 'cut'; readonly usage: Usage }
  | { readonly ended: 'untold' | 'free' | 'cut'; readonly usage: null };

/** Is called with each record that counts. */
export interface CallWatch {
  /** A call of the branch is made, or another one of its task, which has used `soFar`. */
  made(branch: string | undefined, at: string, soFar: Usage | undefined): void;
  /** The open call of the branch has ended, or was interrupted. */
  ended(branch: string | undefined, call: SpentCall): void;
  /** A nested run has reported a call. */
  reported(run: string, call: SpentCall): void;
}

export interface CostLedger {
  readonly prices: Prices;
  /** Of the whole run, resumes included. */
  run(): Spent;
  of(node: string): Spent;
  /** Models that answered and have no price. */
  unpriced(): readonly string[];
  /** For the calls under way in other branches than this one; in the whole run at most one call of a branch is. */
  reserved(branch: string | undefined): Reserved;
  begin(stamp: Stamp, call: Pick<Started, 'agent' | 'model' | 'input_tokens' | 'unseen'>): Promise<void>;
  /** Records the usage of the branch's open call so far, and `sends` further input tokens that are on their way. */
  progress(stamp: Stamp, usage: Usage, sends: number): Promise<void>;
  /** Records the end of the branch's open call; answers its usage with its cost. */
  end(stamp: Stamp, how: CallEnd): Promise<Usage | undefined>;
  /** Records a call of a nested run, once. */
  take(record: Ended & { readonly run: string; readonly told: string }): Promise<void>;
}

/** Opens the ledger with the records there are. `write` puts a record into the journal; `watch` is called for each record, also for
 *  those, except `copied` ones. */
export const openCostLedger = (
  records: Iterable<CallRecord>,
  prices: Prices,
  write: (record: CallRecord) => Promise<void> | void,
  watching?: { readonly watch: CallWatch; readonly copied: number },
): CostLedger => new CallLedger(records, prices, write, watching);

class CallLedger implements CostLedger {
  private whole = nothingSpent;
  private readonly nodes: Record<string, Spent> = {};
  private readonly withoutPrice = new Set<string>();
  /** Calls of nested runs that are recorded. */
  private readonly nested = new Set<string>();
  /** By branch: there a call is made after another. */
  private readonly open = new Map<string | undefined, Open>();
  private watch: CallWatch | undefined;

  constructor(
    records: Iterable<CallRecord>,
    readonly prices: Prices,
    private readonly write: (record: CallRecord) => Promise<void> | void,
    watching: { readonly watch: CallWatch; readonly copied: number } | undefined,
  ) {
    let number = 0;
    for (const record of records) {
      if (number++ === watching?.copied) this.watch = watching.watch;
      this.count(record);
    }
    this.watch = watching?.watch;
    for (const call of this.open.values()) this.interrupted(call);
    this.open.clear();
  }

  run(): Spent {
    return this.whole;
  }

  of(node: string): Spent {
    return own(this.nodes, node) ?? nothingSpent;
  }

  unpriced(): readonly string[] {
    return [...this.withoutPrice].filter((model) => model !== '');
  }

  reserved(branch: string | undefined): Reserved {
    let [usd, tokens] = [0, 0];
    for (const [of, call] of this.open) {
      if (of === branch) continue;
      const usage = leastOf(call);
      usd += costOf(usage, this.prices) ?? leastCostOf(usage, this.prices);
      tokens += tokensIn(usage);
    }
    return { usd, tokens };
  }

  begin(stamp: Stamp, call: Parameters<CostLedger['begin']>[1]): Promise<void> {
    return this.add({ ...stamp, type: 'CallStarted', ...call });
  }

  async take(record: Parameters<CostLedger['take']>[0]): Promise<void> {
    if (!this.nested.has(record.told)) await this.add(record);
  }

  progress(stamp: Stamp, usage: Usage, sends: number): Promise<void> {
    return this.add({ ...stamp, type: 'CallTold', usage, sends });
  }

  async end(stamp: Stamp, { ended, usage: reported }: CallEnd): Promise<Usage | undefined> {
    const usage =
      ended === 'told' || ended === 'free' ? reported : known(reported, ended, this.open.get(stamp.branch));
    const cost = usage === null ? null : costOf(usage, this.prices);
    const record: Ended = {
      ...stamp,
      type: 'CallEnded',
      ended,
      // The cost of a call without a complete report is unknown, but its known part has been spent.
      usage: usage === null ? null : { ...usage, cost_usd: cost ?? usage.cost_usd },
      cost_usd: cost,
    };
    await this.add(record);
    return record.usage ?? undefined;
  }

  private async add(record: CallRecord): Promise<void> {
    this.count(record);
    await this.write(record);
  }

  private count(record: CallRecord): void {
    const { branch } = record;
    const open = this.open.get(branch);
    if (record.type === 'CallStarted') {
      if (open !== undefined) this.interrupted(open);
      this.open.set(branch, { started: record });
      this.watch?.made(branch, record.at, undefined);
    } else if (record.type === 'CallTold') {
      if (open === undefined) return;
      this.open.set(branch, { ...open, progress: record });
      this.watch?.made(branch, record.at, record.usage);
    } else {
      const before = this.whole;
      this.countEnd(record);
      const model = record.usage?.model ?? open?.started.model ?? '';
      const call = { at: record.at, model, before, after: this.whole };
      if (record.run === undefined) this.watch?.ended(branch, call);
      else this.watch?.reported(record.run, call);
    }
  }

  /** An engine that was killed has not recorded how the call ended. */
  private interrupted(call: Open): void {
    const before = this.whole;
    this.cutOff(call);
    const { branch, at } = call.started;
    this.watch?.ended(branch, { at, model: leastOf(call).model, before, after: this.whole });
  }

  private countEnd(record: Ended): void {
    if (record.told !== undefined) this.nested.add(record.told);
    const cut = record.run === undefined ? this.open.get(record.branch) : undefined;
    if (record.run === undefined) this.open.delete(record.branch);
    if (record.ended === 'free') return;
    if (record.ended === 'cut' && record.usage === null && cut !== undefined) {
      this.cutOff(cut);
      return;
    }
    // The price may have been unknown when the record was written.
    const usd = record.cost_usd ?? (record.usage === null ? null : costOf(record.usage, this.prices));
    this.spend(record.node, record.usage, usd, record.ended === 'cut');
  }

  private cutOff(call: Open): void {
    const usage = leastOf(call);
    this.spend(call.started.node, usage, costOf(usage, this.prices), true);
  }

  private spend(node: string, usage: Usage | null, usd: number | null, cut: boolean): void {
    const cost = { usd, least: usd ?? (usage === null ? 0 : leastCostOf(usage, this.prices)) };
    this.whole = withCall(this.whole, usage, cost, cut);
    put(this.nodes, node, withCall(this.of(node), usage, cost, cut));
    if (usd !== null || usage === null || usage.cost_usd !== null) return;
    if (priceOf(this.prices, usage.model, usage.provider) === undefined) this.withoutPrice.add(usage.model);
  }
}

/** A call that has begun, with its latest progress. */
type Open = { readonly started: Started; readonly progress?: CallProgress };

/** Lower bound of the usage of an interrupted call: what was sent and reported. */
function leastOf({ started, progress }: Open): Usage {
  const usage = progress?.usage ?? {
    model: started.model ?? '',
    input_tokens: started.input_tokens,
    output_tokens: 0,
    cost_usd: null,
  };
  const sends = progress?.sends ?? 0;
  return {
    ...usage,
    input_tokens: sends === 0 ? usage.input_tokens : (usage.input_tokens ?? 0) + sends,
    cost_usd: sends === 0 ? usage.cost_usd : null,
    ...(started.unseen === true ? { incomplete: true as const } : {}),
  };
}

/** Usage of a call without a complete report: what it reported at its end, or its progress if that is more. */
function known(reported: Usage | null, ended: CallEnd['ended'], open: Open | undefined): Usage | null {
  if (open === undefined || (open.progress === undefined && (reported !== null || ended === 'untold')))
    return reported;
  const least = leastOf(open);
  if (reported !== null && tokensIn(reported) >= tokensIn(least)) return reported;
  const whole = ended === 'cut' && reported?.incomplete !== true;
  return whole ? least : { ...least, incomplete: true };
}

/** Calls of nested runs, each as it ended; one without an end was interrupted. */
export function endedCalls(records: Iterable<{ readonly run: string; readonly call: CallRecord }>): Ended[] {
  // By run and branch of it.
  const open = new Map<string, Open & { readonly run: string }>();
  const ended: Ended[] = [];
  const cutOff = (key: string): void => {
    const call = open.get(key);
    if (call === undefined) return;
    const { at, node, visit, attempt } = call.started;
    const [stamp, usage] = [{ at, node, visit, attempt }, leastOf(call)];
    ended.push({ ...stamp, type: 'CallEnded', ended: 'cut', usage, cost_usd: null, run: call.run });
    open.delete(key);
  };
  for (const { run, call } of records) {
    const { branch, ...withoutBranch } = call;
    const key = branch === undefined ? run : `${run} ${branch}`;
    const openCall = open.get(key);
    if (call.type === 'CallStarted') {
      cutOff(key);
      open.set(key, { started: call, run });
    } else if (call.type === 'CallTold') {
      if (openCall !== undefined) open.set(key, { ...openCall, progress: call });
    } else {
      // The end of a call of a nested run does not end the open call.
      if (call.run === undefined) open.delete(key);
      ended.push({ ...(withoutBranch as Ended), run });
    }
  }
  for (const key of [...open.keys()]) cutOff(key);
  return ended;
}

/** Tokens of a text, roughly: four bytes each. */
export const estimatedTokens = (prompt: string): number => Math.ceil(Buffer.byteLength(prompt) / 4);

/** Cost of `tokens` of input in USD, null where the model has no price. */
export function inputCost(prices: Prices, model: string, tokens: number): number | null {
  const price = priceOf(prices, model);
  return price === undefined ? null : (tokens * price.input) / 1e6;
}

/** What a run has spent: every call of a model is written down before it is made and when it has ended, so that no
 *  interruption forgets one. */
import { CallRecord } from '../model/call-record.ts';
import type { JsonObject } from '../model/json.ts';
import { own, put } from '../model/own.ts';
import { costOf, type Prices, priceOf } from '../model/prices.ts';
import { nothingSpent, type Spent, type Usage, withCall } from '../model/spent.ts';

type Started = Extract<CallRecord, { type: 'CallStarted' }>;
type Ended = Extract<CallRecord, { type: 'CallEnded' }>;
export type Stamp = Pick<Started, 'schema_version' | 'at' | 'node' | 'visit' | 'attempt'>;

/** How a call ended. `cut`: by a signal, with what is known of it; `untold`: it may have cost anything. */
export type CallEnd =
  | { readonly ended: 'told' | 'cut'; readonly usage: Usage }
  | { readonly ended: 'untold' | 'free' | 'cut'; readonly usage: null };

export interface Books {
  readonly prices: Prices;
  /** Of the whole run, resumes included. */
  run(): Spent;
  of(node: string): Spent;
  /** Settles when it is on the disk that the call begins. */
  begin(stamp: Stamp, call: Pick<Started, 'agent' | 'model' | 'input_tokens'>): Promise<void>;
  /** Answers the usage with its cost, where there is any. */
  end(stamp: Stamp, how: CallEnd): Promise<Usage | undefined>;
  /** A call that another run has made for this one. */
  take(record: Ended & { readonly run: string }): Promise<void>;
}

/** Opens the books of a run upon the records there are. `write` puts a record on the disk. */
export function openBooks(
  records: Iterable<CallRecord>,
  prices: Prices,
  write: (record: CallRecord) => Promise<void>,
): Books {
  let whole = nothingSpent;
  const nodes: Record<string, Spent> = {};
  let open: Started | undefined;
  const add = (node: string, usage: Usage | null, usd: number | null, cut: boolean): void => {
    whole = withCall(whole, usage, usd, cut);
    put(nodes, node, withCall(own(nodes, node) ?? nothingSpent, usage, usd, cut));
  };
  /** A call that was cut off has cost at least what was sent. */
  const cutOff = ({ node, model, input_tokens }: Started): void => {
    const usage: Usage = { model: model ?? '', input_tokens, output_tokens: 0, cost_usd: null };
    add(node, usage, costOf(usage, prices), true);
  };
  const take = (record: CallRecord): void => {
    if (record.type === 'CallStarted') {
      if (open !== undefined) cutOff(open);
      open = record;
      return;
    }
    const started = record.run === undefined ? open : undefined;
    if (record.run === undefined) open = undefined;
    if (record.ended === 'free') return;
    if (record.ended === 'cut' && record.usage === null && started !== undefined) {
      cutOff(started);
      return;
    }
    // Prices that were not known then may be known now.
    const usd = record.cost_usd ?? (record.usage === null ? null : costOf(record.usage, prices));
    add(record.node, record.usage, usd, record.ended === 'cut');
  };
  for (const record of records) take(record);
  if (open !== undefined) cutOff(open);
  open = undefined;
  return {
    prices,
    run: () => whole,
    of: (node) => own(nodes, node) ?? nothingSpent,
    async begin(stamp, call) {
      const record: Started = { ...stamp, type: 'CallStarted', ...call };
      take(record);
      await write(record);
    },
    async take(record) {
      take(record);
      await write(record);
    },
    async end(stamp, { ended, usage }) {
      const cost = usage === null ? null : costOf(usage, prices);
      const record: Ended = {
        ...stamp,
        type: 'CallEnded',
        ended,
        usage: usage === null ? null : { ...usage, cost_usd: cost },
        cost_usd: cost,
      };
      take(record);
      await write(record);
      return record.usage ?? undefined;
    },
  };
}

/** The records among lines of `calls.jsonl`; others are passed over. */
export const callRecords = (lines: Iterable<JsonObject>): CallRecord[] =>
  [...lines].flatMap((line) => CallRecord.safeParse(line).data ?? []);

/** Tokens of a text, roughly: four bytes each. */
export const estimatedTokens = (prompt: string): number => Math.ceil(Buffer.byteLength(prompt) / 4);

/** What `tokens` of input would cost, null where the price is not known. */
export function inputCost(prices: Prices, model: string, tokens: number): number | null {
  const price = priceOf(prices, model);
  return price === undefined ? null : (tokens * price.input) / 1e6;
}

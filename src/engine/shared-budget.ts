/** A budget that a run shares with the runs that its stages start: what is left is told to them, and they tell what they
 *  spend. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { CallRecord } from '../model/call-record.ts';
import type { Json } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import { Parked, parkKinds, pausedBy } from '../model/park.ts';
import { bundledPrices, leastCostOf, type PriceFile, type Prices } from '../model/prices.ts';
import { sha256 } from '../model/sha256.ts';
import { type Spent, tokensIn, tokensOf, type Usage } from '../model/spent.ts';
import { type Journal, openJournal, readRecords } from '../store/journal.ts';
import { lines } from '../store/journal-read.ts';
import { removeNow, systemWords, writeJson } from '../system/files.ts';
import { readPlain, readSome } from '../system/read.ts';
import { type Books, endedCalls, type Stamp } from './books.ts';
import type { Caps, SpendCaps } from './caps.ts';
import type { Refusal } from './casting.ts';
import { maskedValue } from './masked.ts';
import { pricesVariable } from './price-file.ts';

/** The variable that names the file. */
export const budgetVariable = 'FACTORY_BUDGET';
const budgetName = 'budget.json';
const pricesName = 'prices.json';
const spentName = 'spent.jsonl';
const parkedName = 'parked.json';

export const budgetFile = (nodeDir: string): string => join(nodeDir, budgetName);

/** What a stage's environment says of the money: the budget, and the prices of the run where somebody gave it any. The
 *  file that was named may lie out of a stage's sight, or have changed since the run began. */
export const moneyWords = (nodeDir: string, prices: Prices): Readonly<Record<string, string>> => ({
  [budgetVariable]: budgetFile(nodeDir),
  ...(prices.from === bundledPrices.from ? {} : { [pricesVariable]: join(nodeDir, pricesName) }),
});

/** Writes down by which prices a stage's own runs count; the bundled ones they have themselves. */
export async function sharePrices(nodeDir: string, prices: Prices): Promise<void> {
  if (prices.from === bundledPrices.from) return;
  const given = [...prices.models].filter(([model, price]) => bundledPrices.models.get(model) !== price);
  const file: z.input<typeof PriceFile> = {
    format: 'factory-prices/1',
    dated: prices.dated,
    models: Object.fromEntries(given),
  };
  await writeJson(join(nodeDir, pricesName), file);
}

const left = z.number().nonnegative().nullable().describe('Null without a limit');
const Budget = z.object({
  schema_version: z.literal(1),
  usd: left,
  tokens: left,
  ms: left,
  unknown_cost: z.enum(['stop', 'allow']),
});

/** Writes down what a stage's own runs may spend. Without any limit there is nothing to write. */
export async function share(
  nodeDir: string,
  caps: Caps,
  nodeCaps: SpendCaps,
  spent: { readonly run: Spent; readonly node: Spent; readonly wallLeftMs: number },
): Promise<void> {
  const least = (...each: (number | undefined)[]): number | null => {
    const told = each.flatMap((one) => one ?? []);
    return told.length === 0 ? null : Math.max(0, Math.min(...told));
  };
  const rest = (cap: number | undefined, used: number) => (cap === undefined ? undefined : cap - used);
  const budget: z.infer<typeof Budget> = {
    schema_version: 1,
    usd: least(rest(caps.maxCostUsd, spent.run.cost_usd), rest(nodeCaps.maxCostUsd, spent.node.cost_usd)),
    tokens: least(rest(caps.maxTokens, tokensOf(spent.run)), rest(nodeCaps.maxTokens, tokensOf(spent.node))),
    ms: Number.isFinite(spent.wallLeftMs) ? Math.max(0, Math.round(spent.wallLeftMs)) : null,
    unknown_cost: caps.unknownTokens === 'stop' ? 'stop' : (caps.unknownCost ?? 'stop'),
  };
  if (budget.usd === null && budget.tokens === null && budget.ms === null) return;
  await writeJson(budgetFile(nodeDir), budget);
}

/** Takes over what the runs of a stage have spent, once: also where an engine was killed amid it. */
export async function gather(
  nodeDir: string,
  stamp: Stamp,
  books: Books,
  mask: (text: string) => string = (text) => text,
): Promise<void> {
  const path = join(nodeDir, spentName);
  // Few stages start runs, and every stage is asked.
  if (!existsSync(path)) return;
  // A folder of that name says nothing.
  const { records } = statSync(path).isFile() ? await readRecords(path) : { records: [] };
  const calls = records.flatMap((record) => callOf(maskedValue(record as Json, mask)));
  // The same lines tell of the same calls, in the same order.
  const told = sha256(JSON.stringify(records[0] ?? null)).slice(0, 16);
  for (const [n, call] of endedCalls(calls).entries())
    await books.take({ ...call, ...stamp, run: call.run ?? '', told: `${told}.${n + 1}` });
  removeNow(path);
}

const Teller = z.object({ run_id: z.string() });

function callOf(record: unknown): readonly { readonly run: string; readonly call: CallRecord }[] {
  const read = CallRecord.safeParse(record);
  return read.success ? [{ run: Teller.safeParse(record).data?.run_id ?? '', call: read.data }] : [];
}

const isWhole = (usage: Usage | null): boolean =>
  usage !== null && usage.input_tokens !== null && usage.output_tokens !== null && usage.incomplete !== true;

/** What the stage's runs have told by now that a run's own books do not have: all that was told before it began or went
 *  on, and what the others tell since. Asked before each call, so it is read anew only when there is more of it. */
function toldBeside(path: string, runId: string, prices: Prices, unknownCost: Caps['unknownCost']) {
  let before: number | undefined;
  let bytes = 0;
  let gone = { usd: 0, tokens: 0 };
  const read = () => {
    const is = statSync(path, { throwIfNoEntry: false });
    const size = is?.isFile() === true ? is.size : 0;
    if (before !== undefined && size === bytes) return gone;
    bytes = size;
    const calls =
      size === 0 ? [] : [...lines(path)].flatMap((line) => callOf(fromJson(line.bytes.toString())));
    before ??= calls.length;
    const others = calls.filter(({ run }, n) => n < (before ?? 0) || run !== runId);
    gone = { usd: 0, tokens: 0 };
    for (const { ended, usage, cost_usd } of endedCalls(others)) {
      if (ended === 'free') continue;
      // What is on its way counts by what it has sent; what has ended and told nothing may have been anything.
      const anything = ended !== 'cut' && unknownCost !== 'allow' ? Number.POSITIVE_INFINITY : undefined;
      const least =
        usage === null ? { usd: 0, tokens: 0 } : { usd: leastCostOf(usage, prices), tokens: tokensIn(usage) };
      gone.usd += cost_usd ?? anything ?? least.usd;
      gone.tokens += isWhole(usage) ? least.tokens : (anything ?? least.tokens);
    }
    return gone;
  };
  read();
  return read;
}

/** The outcome of a stage that failed because a run of its own waits (exit code 75): what that waits for, the stage does. */
export async function waitingWithin(nodeDir: string, outcome: Outcome): Promise<Outcome> {
  const path = join(nodeDir, parkedName);
  if (!existsSync(path)) return outcome;
  const text = await readSome(path, 1024 * 1024);
  removeNow(path);
  if (outcome.status !== 'fail' || outcome.exitCode !== 75) return outcome;
  const read = z.string().transform(fromJson).pipe(Parked).safeParse(text);
  if (!read.success) return outcome;
  const { status, node, reason, wake_at } = read.data;
  const kind = parkKinds.find((one) => pausedBy(one) === status) ?? 'quota';
  const wakeAtMs = Date.parse(wake_at ?? '');
  return {
    ...outcome,
    class: kind === 'quota' ? 'infra' : 'config',
    reason: `a run that it started is parked: ${node}: ${reason}`,
    park: { kind, within: true, ...(Number.isNaN(wakeAtMs) ? {} : { wakeAtMs }) },
  };
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Given = { readonly path: string; readonly budget: z.infer<typeof Budget> | undefined };

/** What the environment says a run may spend, before anything of it is made; undefined where it says nothing. A file that
 *  is not there sets no limit, but its folder is where the run tells what it spends. */
export function budgetGiven(env: Readonly<Record<string, string | undefined>>): Given | Refusal | undefined {
  const path = env[budgetVariable]?.trim() ?? '';
  if (path === '') return undefined;
  const wrong = (why: string): Refusal => ({
    problems: [
      {
        code: 'budget',
        severity: 'error',
        message: `${budgetVariable} names ${path}, ${why}`,
        fix: `unset ${budgetVariable}: a stage sets it for the runs that it starts itself; limits are set by --max-cost-usd, --max-tokens and --max-wall`,
      },
    ],
  });
  try {
    if (!statSync(dirname(path)).isDirectory()) return wrong('which lies in no folder');
    accessSync(dirname(path), constants.W_OK);
    const read = readPlain(path);
    if (read.kind === 'none') return wrong(`which ${read.why}`);
    if (read.kind === 'missing') return { path, budget: undefined };
    const { data } = z.string().transform(fromJson).pipe(Budget).safeParse(read.text);
    return data === undefined ? wrong('which is no budget of a stage') : { path, budget: data };
  } catch (error) {
    return wrong(`which cannot be used: ${systemWords(error)}`);
  }
}

/** The other end: this run's limits with those of the stage that started it, and where it tells what it spends. */
export async function sharedBudget(
  env: Readonly<Record<string, string | undefined>>,
  own: Caps,
  soFar: { readonly spent: Spent; readonly elapsedMs: number; readonly prices: Prices },
  runId: string,
): Promise<
  | {
      readonly caps: Caps;
      tell(record: CallRecord): Promise<void>;
      close(): Promise<void>;
    }
  | undefined
> {
  const given = budgetGiven(env);
  if (given === undefined) return undefined;
  // It was sound right before the run began.
  if ('problems' in given) throw new Error(given.problems[0]?.message);
  const { path, budget } = given;
  const spentFile = join(dirname(path), spentName);
  const beside = toldBeside(spentFile, runId, soFar.prices, budget?.unknown_cost);
  const least = (cap: number | undefined, rest: number | null | undefined, used: number, gone = 0) =>
    rest == null ? cap : Math.min(cap ?? Number.POSITIVE_INFINITY, used + Math.max(0, rest - gone));
  // A limit of the stage's is held as its own run holds it, whatever the runs within would let pass.
  const unknown = (limit: number | null | undefined) =>
    budget?.unknown_cost === 'stop' && limit !== null ? 'stop' : (own.unknownCost ?? budget?.unknown_cost);
  let journal: Journal | undefined;
  return {
    caps: {
      ...own,
      // Several runs of one stage, also side by side, have one budget between them.
      get maxCostUsd() {
        return least(own.maxCostUsd, budget?.usd, soFar.spent.cost_usd, beside().usd);
      },
      get maxTokens() {
        return least(own.maxTokens, budget?.tokens, tokensOf(soFar.spent), beside().tokens);
      },
      maxWallMs: least(own.maxWallMs, budget?.ms, soFar.elapsedMs),
      unknownCost: unknown(budget?.usd),
      unknownTokens: unknown(budget?.tokens),
    },
    async tell(record) {
      journal ??= await openJournal(spentFile, { runId, epoch: 1 });
      journal.append(record);
      await journal.flush();
    },
    close: async () => journal?.close(),
  };
}

/** Tells the stage that started this run, if one did, what the run waits for: now, or still. */
export async function parkAbove(
  env: Readonly<Record<string, string | undefined>>,
  parked: Parked,
): Promise<void> {
  const given = budgetGiven(env);
  if (given !== undefined && !('problems' in given))
    await writeJson(join(dirname(given.path), parkedName), parked);
}

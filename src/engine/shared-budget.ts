/** The budget that a run shares with nested runs, which its nodes start: they read what is left of it and report what they
 *  spend, through files in the node directory. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import type { SpendCaps } from '../core/budget/limits.ts';
import {
  bundledPrices,
  leastCostOf,
  type Prices,
  type priceFileSchema,
  pricesVariable,
} from '../core/budget/prices.ts';
import { type Spent, tokensIn, tokensOf } from '../core/budget/usage.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { type Json, jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import {
  endsByTime,
  type Outcome,
  type Park,
  parkedSchema,
  parkKinds,
  pausedBy,
  type SuspendedRun,
} from '../core/outcome.ts';
import { maskedValue } from '../core/policy/mask.ts';
import { type CallRecord, callRecordSchema } from '../core/records/visit.ts';
import type { Caps } from '../core/settings/limits.ts';
import { sha256 } from '../core/sha256.ts';
import { readPlain, readSome } from '../platform/files/read.ts';
import { removeNow, systemWords, writeJson } from '../platform/files/write.ts';
import { type Journal, openJournal } from '../run/journal.ts';
import { readRecords } from '../run/journal-read.ts';
import { type CostLedger, endedCalls, type Stamp } from './cost-ledger.ts';

/** The variable that names the file of the remaining budget. */
const budgetVariable = 'FACTORY_BUDGET';
const budgetName = 'budget.json';
const pricesName = 'prices.json';
const spentName = 'spent.jsonl';
const parkedName = 'parked.json';

export const budgetFile = (nodeDir: string): string => join(nodeDir, budgetName);

/** Variables for a node's programs: the remaining budget and, where the run has a price file, its prices. The original
 *  file may be hidden from the node, or have changed since the start. */
export const moneyWords = (nodeDir: string, prices: Prices): Readonly<Record<string, string>> => ({
  [budgetVariable]: budgetFile(nodeDir),
  ...(prices.from === bundledPrices.from ? {} : { [pricesVariable]: join(nodeDir, pricesName) }),
});

/** Writes the prices for nested runs; they have the bundled ones. */
export async function sharePrices(nodeDir: string, prices: Prices): Promise<void> {
  if (prices.from === bundledPrices.from) return;
  const given = [...prices.models].filter(([model, price]) => bundledPrices.models.get(model) !== price);
  const file: z.input<ReturnType<typeof priceFileSchema>> = {
    format: 'factory-prices/1',
    dated: prices.dated,
    models: Object.fromEntries(given),
  };
  await writeJson(join(nodeDir, pricesName), file);
}

const left = once(() => z.number().nonnegative().nullable().describe('Null without a limit'));
const budgetSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    usd: left(),
    tokens: left(),
    ms: left(),
    unknown_cost: z.enum(['stop', 'allow']),
  }),
);

/** Writes what nested runs may spend; nothing without a limit. */
export async function share(
  nodeDir: string,
  caps: Caps,
  nodeCaps: SpendCaps,
  spent: { readonly run: Spent; readonly node: Spent; readonly wallLeftMs: number },
): Promise<void> {
  const least = (...each: (number | undefined)[]): number | null => {
    const limits = each.flatMap((one) => one ?? []);
    return limits.length === 0 ? null : Math.max(0, Math.min(...limits));
  };
  const rest = (cap: number | undefined, used: number) => (cap === undefined ? undefined : cap - used);
  const budget: z.infer<ReturnType<typeof budgetSchema>> = {
    schema_version: 1,
    usd: least(rest(caps.max_cost_usd, spent.run.cost_usd), rest(nodeCaps.max_cost_usd, spent.node.cost_usd)),
    tokens: least(
      rest(caps.max_tokens, tokensOf(spent.run)),
      rest(nodeCaps.max_tokens, tokensOf(spent.node)),
    ),
    ms: Number.isFinite(spent.wallLeftMs) ? Math.max(0, Math.round(spent.wallLeftMs)) : null,
    unknown_cost: caps.unknown_cost ?? 'stop',
  };
  if (budget.usd === null && budget.tokens === null && budget.ms === null) return;
  await writeJson(budgetFile(nodeDir), budget);
}

/** Records what nested runs have spent, each call once, also after a kill in the middle of it. */
export async function collectNestedSpending(
  nodeDir: string,
  stamp: Stamp,
  costs: CostLedger,
  mask: (text: string) => string = (text) => text,
): Promise<void> {
  const path = join(nodeDir, spentName);
  if (!existsSync(path)) return;
  const { records } = statSync(path).isFile() ? await readRecords(path) : { records: [] };
  const calls = records.flatMap((record) => callOf(maskedValue(record as Json, mask)));
  // The same lines give the same ids, so that a repeated read records no call twice.
  const id = sha256(JSON.stringify(records[0] ?? null)).slice(0, 16);
  for (const [n, call] of endedCalls(calls).entries())
    await costs.take({ ...call, ...stamp, run: call.run ?? '', told: `${id}.${n + 1}` });
  removeNow(path);
}

const sourceSchema = once(() => z.object({ run_id: z.string() }));

function callOf(record: unknown): readonly { readonly run: string; readonly call: CallRecord }[] {
  const read = callRecordSchema().safeParse(record);
  return read.success ? [{ run: sourceSchema().safeParse(record).data?.run_id ?? '', call: read.data }] : [];
}

/** What earlier nested runs of the node have spent, and this run before a resume: its budget is the rest. A call without a
 *  known cost may have used all of it. */
async function spentBefore(path: string, prices: Prices, unknown_cost: Caps['unknown_cost']) {
  const records = statSync(path, { throwIfNoEntry: false })?.isFile()
    ? (await readRecords(path)).records
    : [];
  const sum = { usd: 0, tokens: 0 };
  for (const { ended, usage, cost_usd } of endedCalls(records.flatMap(callOf))) {
    if (ended === 'free') continue;
    const isUnknown = ended !== 'cut' && unknown_cost !== 'allow';
    const isWhole = usage !== null && usage.input_tokens !== null && usage.output_tokens !== null;
    sum.usd +=
      cost_usd ?? (isUnknown ? Number.POSITIVE_INFINITY : usage === null ? 0 : leastCostOf(usage, prices));
    sum.tokens +=
      isUnknown && (!isWhole || usage.incomplete === true)
        ? Number.POSITIVE_INFINITY
        : usage === null
          ? 0
          : tokensIn(usage);
  }
  return sum;
}

/** The outcome of a node whose nested run is suspended (exit code 75): the node waits for the same. */
export async function waitingWithin(nodeDir: string, outcome: Outcome): Promise<Outcome> {
  const path = join(nodeDir, parkedName);
  if (!existsSync(path)) return outcome;
  const text = await readSome(path, 1024 * 1024);
  removeNow(path);
  if (outcome.status !== 'fail' || outcome.exitCode !== 75) return outcome;
  const read = z.string().transform(jsonIn).pipe(parkedSchema()).safeParse(text);
  if (!read.success) return outcome;
  const { status, node, reason, wake_at } = read.data;
  const kind = parkKinds.find((one) => pausedBy(one) === status) ?? 'quota';
  const wakeAtMs = Date.parse(wake_at ?? '');
  return {
    ...outcome,
    class: endsByTime(status) ? 'infra' : 'config',
    reason: `a nested run is suspended: ${node}: ${reason}`,
    park: { kind, within: true, ...timeOf(wakeAtMs, endsByTime(status)) },
  };
}

/** A run that waits for something that ends, and has no time, needs a person. */
const timeOf = (wakeAtMs: number, ends: boolean): Pick<Park, 'wakeAtMs' | 'untimed'> =>
  Number.isNaN(wakeAtMs) ? (ends ? { untimed: true } : {}) : { wakeAtMs };

type Given = { readonly path: string; readonly budget: z.infer<ReturnType<typeof budgetSchema>> | undefined };

/** The budget that the environment gives a run; undefined where it gives none. A missing file sets no limit, but the run
 *  still reports its spending into its directory. */
export function budgetGiven(env: Readonly<Record<string, string | undefined>>): Given | Refusal | undefined {
  const path = env[budgetVariable]?.trim() ?? '';
  if (path === '') return undefined;
  const wrong = (why: string): Refusal => ({
    problems: [
      {
        code: 'budget',
        severity: 'error',
        message: `${budgetVariable} names ${path}, ${why}`,
        fix: `unset ${budgetVariable}, which is set for nested runs; set limits with --max-cost-usd, --max-tokens and --max-wall`,
      },
    ],
  });
  try {
    if (!statSync(dirname(path)).isDirectory()) return wrong('which is not in a directory');
    accessSync(dirname(path), constants.W_OK);
    const read = readPlain(path);
    if (read.kind === 'none') return wrong(`which ${read.why}`);
    if (read.kind === 'missing') return { path, budget: undefined };
    const { data } = z.string().transform(jsonIn).pipe(budgetSchema()).safeParse(read.text);
    return data === undefined ? wrong('which is not a budget file') : { path, budget: data };
  } catch (error) {
    return wrong(`which cannot be used: ${systemWords(error)}`);
  }
}

/** A nested run's limits, combined with its budget, and a writer for what it spends. */
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
  // Checked before the run started.
  if ('problems' in given) throw new Error(given.problems[0]?.message);
  const { path, budget } = given;
  const spentFile = join(dirname(path), spentName);
  const before = await spentBefore(spentFile, soFar.prices, budget?.unknown_cost);
  const least = (cap: number | undefined, rest: number | null | undefined, used: number, gone = 0) =>
    rest == null ? cap : Math.min(cap ?? Number.POSITIVE_INFINITY, used + Math.max(0, rest - gone));
  let journal: Journal | undefined;
  return {
    caps: {
      ...own,
      max_cost_usd: least(own.max_cost_usd, budget?.usd, soFar.spent.cost_usd, before.usd),
      max_tokens: least(own.max_tokens, budget?.tokens, tokensOf(soFar.spent), before.tokens),
      max_wall: least(own.max_wall, budget?.ms, soFar.elapsedMs),
      unknown_cost: budget?.unknown_cost === 'stop' ? 'stop' : (own.unknown_cost ?? budget?.unknown_cost),
    },
    async tell(record) {
      journal ??= await openJournal(spentFile, { runId, epoch: 1 });
      journal.append({ schema_version: 1, ...record });
    },
    close: async () => journal?.close(),
  };
}

/** Reports to the node that started this run, if one did, what the suspended run waits for. */
export async function parkAbove(
  env: Readonly<Record<string, string | undefined>>,
  parked: SuspendedRun,
): Promise<void> {
  const given = budgetGiven(env);
  if (given !== undefined && !('problems' in given))
    await writeJson(join(dirname(given.path), parkedName), parked);
}

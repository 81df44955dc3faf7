/** A budget that a run shares with the runs that its stages start: what is left is told to them, and they tell what they
 *  spend. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { CallRecord } from '../model/call-record.ts';
import type { Outcome } from '../model/outcome.ts';
import { Parked, parkKinds, pausedBy } from '../model/park.ts';
import { sha256 } from '../model/sha256.ts';
import { type Spent, tokensOf } from '../model/spent.ts';
import { type Journal, openJournal, readRecords } from '../store/journal.ts';
import { removeNow, systemWords, writeJson } from '../system/files.ts';
import { readPlain, readSome } from '../system/read.ts';
import { type Books, endedCalls, type Stamp } from './books.ts';
import type { Caps, SpendCaps } from './caps.ts';
import type { Refusal } from './casting.ts';

/** The variable that names the file. */
export const budgetVariable = 'FACTORY_BUDGET';
const budgetName = 'budget.json';
const spentName = 'spent.jsonl';
const parkedName = 'parked.json';

export const budgetFile = (nodeDir: string): string => join(nodeDir, budgetName);

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
    unknown_cost: caps.unknownCost ?? 'stop',
  };
  if (budget.usd === null && budget.tokens === null && budget.ms === null) return;
  await writeJson(budgetFile(nodeDir), budget);
}

/** Takes over what the runs of a stage have spent, once: also where an engine was killed amid it. */
export async function gather(nodeDir: string, stamp: Stamp, books: Books): Promise<void> {
  const path = join(nodeDir, spentName);
  // Few stages start runs, and every stage is asked.
  if (!existsSync(path)) return;
  // A folder of that name says nothing.
  const { records } = statSync(path).isFile() ? await readRecords(path) : { records: [] };
  const calls = records.flatMap((record) => {
    const read = CallRecord.safeParse(record);
    const run = typeof record['run_id'] === 'string' ? record['run_id'] : '';
    return read.success ? [{ run, call: read.data }] : [];
  });
  // The same lines tell of the same calls, in the same order.
  const told = sha256(JSON.stringify(records[0] ?? null)).slice(0, 16);
  for (const [n, call] of endedCalls(calls).entries())
    await books.take({ ...call, ...stamp, run: call.run ?? '', told: `${told}.${n + 1}` });
  removeNow(path);
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
  soFar: { readonly spent: Spent; readonly elapsedMs: number },
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
  const least = (cap: number | undefined, rest: number | null | undefined, used: number) =>
    rest == null ? cap : Math.min(cap ?? Number.POSITIVE_INFINITY, used + rest);
  let journal: Journal | undefined;
  return {
    caps: {
      ...own,
      maxCostUsd: least(own.maxCostUsd, budget?.usd, soFar.spent.cost_usd),
      maxTokens: least(own.maxTokens, budget?.tokens, tokensOf(soFar.spent)),
      maxWallMs: least(own.maxWallMs, budget?.ms, soFar.elapsedMs),
      ...(budget?.unknown_cost === 'allow' ? { unknownCost: 'allow' as const } : {}),
    },
    async tell(record) {
      journal ??= await openJournal(join(dirname(path), spentName), { runId, epoch: 1 });
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

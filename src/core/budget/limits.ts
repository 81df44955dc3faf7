/** Limits on executions, time, money and tokens. They count across resumes. */
import type { Caps } from '../settings/limits.ts';
import { type AttributeType, durationMs } from '../settings/types.ts';
import { type Spent, tokensOf } from './usage.ts';

type NodeFacts = {
  readonly id: string;
  readonly max_visits: number;
  readonly visits: number;
  /** The latest restart of the run, since when its executions are counted. */
  readonly restart?: number | undefined;
  readonly max_wall?: number | undefined;
  /** Milliseconds of all its executions so far. */
  readonly elapsedMs?: number;
};

/** Why a limit forbids the next execution. */
export type LimitHit = {
  readonly reason: string;
  /** The limit is not that of the whole run: in a branch it ends only the branch. */
  readonly ofBranch?: true;
};

/** A limit of the whole run, where one is reached. */
export const ofRun = (reason: string | undefined): LimitHit | undefined =>
  reason === undefined ? undefined : { reason };

/** The limit that forbids one more execution of `node`, or undefined. */
export function capHit(
  caps: Pick<Caps, 'max_steps' | 'max_wall'>,
  node: NodeFacts,
  run: { readonly steps: number; readonly elapsedMs: number },
): LimitHit | undefined {
  if (node.visits >= node.max_visits) {
    const since = node.restart === undefined ? '' : ` since restart ${node.restart}`;
    const reason = `max_visits: node "${node.id}" ran ${node.visits} times${since}, and its limit is ${node.max_visits} (max_visits on the node, default_max_visits on the graph, --max-visits)`;
    return { reason, ofBranch: true };
  }
  if (run.steps >= caps.max_steps) {
    const reason = `max_steps: the run made ${run.steps} steps, and its limit is ${caps.max_steps} (max_steps on the graph, --max-steps)`;
    return { reason };
  }
  if (caps.max_wall !== undefined && run.elapsedMs >= caps.max_wall) {
    const [took, limit] = inOneUnit(run.elapsedMs, caps.max_wall);
    return {
      reason: `max_wall: the run took ${took}, and its limit is ${limit} (max_wall on the graph, --max-wall)`,
    };
  }
  if (node.max_wall !== undefined && (node.elapsedMs ?? 0) >= node.max_wall) {
    const [took, limit] = inOneUnit(node.elapsedMs ?? 0, node.max_wall);
    const reason = `max_wall: node "${node.id}" took ${took}, and its limit is ${limit} (max_wall on the node)`;
    return { reason, ofBranch: true };
  }
  return undefined;
}

/** The flag that resumes a run which one of these limits has ended, with the limit doubled until the amounts in the reason
 *  are below it. Undefined for other reasons, and for a limit of a node, which is raised in the pipeline. */
export function raisedLimit(reason: string): string | undefined {
  const found = /^max_\w+: (.*) its limit is ([\d.]+)((?:m?s)?)\b.*(--max-[a-z-]+)\)$/.exec(reason);
  if (found === null) return reason.endsWith(allowUnknown) ? '--unknown-cost allow' : undefined;
  const [, spent = '', limit, unit = '', flag] = found;
  const amounts = [...spent.matchAll(/(?: (?:ran|made|took|spent|about)|,) ([\d.]+)/g)];
  const needs = amounts.reduce((sum, [, amount]) => sum + Number(amount), 0);
  let raised = (Number(limit) || needs) * 2;
  while (raised > 0 && raised <= needs) raised *= 2;
  return raised > 0 ? `${flag} ${Number(raised.toFixed(6))}${unit}` : undefined;
}

/** A time and its limit as a flag takes them, without fractions: in seconds where the limit is a whole number of them. */
const inOneUnit = (tookMs: number, limitMs: number): readonly [string, string] =>
  limitMs % 1000 === 0
    ? [`${Math.round(tookMs / 1000)}s`, `${limitMs / 1000}s`]
    : [`${Math.round(tookMs)}ms`, `${limitMs}ms`];

/** Limits on money and tokens, of the run or of one node. */
export type SpendCaps = Pick<Caps, 'max_cost_usd' | 'max_tokens'>;

/** The next call, by an estimate of its input alone. `costUsd` is null where the model has no price, undefined where the
 *  backend reports costs or nothing is known. */
export type NextCall = {
  readonly tokens: number;
  readonly costUsd: number | null | undefined;
  readonly model: string;
};

/** Limits and spending of the run or of the node named. `unpriced`: models that answered and have no price. */
export type Limited = {
  readonly node?: string;
  readonly caps: SpendCaps;
  readonly spent: Spent;
  readonly unpriced?: readonly string[];
  /** What calls under way in other branches have sent and used. */
  readonly underWay?: { readonly usd: number; readonly tokens: number };
};

/** Why a limit on money or tokens is reached, or undefined. Without `next`: whether more was spent than allowed. With it:
 *  whether that call may be made, leaving `kept` of the limits untouched. */
export function spendHit(
  limited: Limited,
  unknown_cost: Caps['unknown_cost'],
  next?: NextCall,
  kept: { readonly usd: number; readonly tokens: number } = { usd: 0, tokens: 0 },
): string | undefined {
  const { max_cost_usd, max_tokens } = limited.caps;
  const passes = unknown_cost === 'allow';
  if (max_cost_usd !== undefined) {
    const hit = passes ? undefined : unknownCostHit(limited, money(max_cost_usd), next);
    const cost = next === undefined ? undefined : (next.costUsd ?? 0);
    const over = limitHit(
      limited,
      'max_cost_usd',
      max_cost_usd,
      limited.spent.cost_usd,
      cost,
      { kept: kept.usd, underWay: limited.underWay?.usd ?? 0 },
      money,
    );
    if (hit !== undefined || over !== undefined) return hit ?? over;
  }
  if (max_tokens === undefined) return undefined;
  const limit = tokens(max_tokens);
  if (limited.spent.unknown_tokens > 0 && !passes)
    return `max_tokens: ${calls(limited.spent.unknown_tokens)} did not report their tokens, so a limit of ${limit} cannot be held; ${allowUnknown}`;
  return limitHit(
    limited,
    'max_tokens',
    max_tokens,
    tokensOf(limited.spent),
    next?.tokens,
    { kept: kept.tokens, underWay: limited.underWay?.tokens ?? 0 },
    tokens,
  );
}

function unknownCostHit(
  { spent, unpriced = [] }: Limited,
  limit: string,
  next?: NextCall,
): string | undefined {
  if (spent.unknown_cost > 0) {
    const models =
      unpriced.length === 0 ? '' : ` (no price for ${unpriced.slice(0, 5).map(quoted).join(', ')})`;
    const fix =
      spent.unknown_tokens > 0
        ? `${calls(spent.unknown_tokens)} did not report their tokens: ${allowUnknown}`
        : givePrice;
    return `max_cost_usd: the cost of ${calls(spent.unknown_cost)} is unknown${models}, so a limit of ${limit} cannot be held; ${fix}`;
  }
  if (next?.costUsd !== null) return undefined;
  return `max_cost_usd: there is no price for the model ${quoted(next.model)}, so a limit of ${limit} cannot be held; ${givePrice}`;
}

function limitHit(
  { node }: Limited,
  key: 'max_cost_usd' | 'max_tokens',
  limit: number,
  has: number,
  next: number | undefined,
  { kept, underWay }: { readonly kept: number; readonly underWay: number },
  words: (amount: number) => string,
): string | undefined {
  const who = node === undefined ? 'the run' : `node "${node}"`;
  const where =
    node === undefined ? `${key} on the graph, --${key.replaceAll('_', '-')}` : `${key} on the node`;
  if (has > limit)
    return `${key}: ${who} has spent ${words(has)}, and its limit is ${words(limit)} (${where})`;
  const left = limit - kept - has - underWay;
  if (next === undefined || (left > 0 && next <= left)) return undefined;
  const reserved = kept > 0 ? `, ${words(kept)} are reserved for verification` : '';
  const others = underWay > 0 ? `, calls in other branches use at least about ${words(underWay)}` : '';
  return `${key}: ${who} has spent ${words(has)}${others}, the next call would send about ${words(next)}${reserved}, and its limit is ${words(limit)} (${where})`;
}

const allowUnknown =
  'allow calls of unknown cost with unknown_cost=allow on the graph or --unknown-cost allow';
const givePrice = `give the model a price (--prices FILE, FACTORY_PRICES), or ${allowUnknown}`;
const quoted = (model: string): string => `"${model.slice(0, 100)}"`;
const calls = (n: number): string => (n === 1 ? '1 call' : `${n} calls`);
const tokens = (n: number): string => `${n} tokens`;

/** Exact to a millionth. */
const money = (usd: number): string => `${Number(usd.toFixed(6))} USD`;

/** The part of a run's limits that is reserved for verification: `20%`, `0.2`, or amounts such as `0.50usd, 20000tokens,
 *  10m`. */
export type Reserve = {
  /** Applies to every limit without an amount here. */
  readonly fraction?: number;
  readonly usd?: number;
  readonly tokens?: number;
  readonly ms?: number;
};

/** The attribute's type. */
export const reserve = (): AttributeType<Reserve> => ({
  wants: 'a part such as 20% or 0.2, or amounts such as "0.50usd, 20000tokens, 10m"',
  example: '20%',
  read(value) {
    const found: { -readonly [K in keyof Reserve]: Reserve[K] } = {};
    for (const word of value.text.split(',').map((part) => part.trim().toLowerCase())) {
      const part = partOf(word);
      if (part === undefined)
        return { ok: false, why: `has "${word}", which is neither a part nor an amount` };
      const [key] = Object.keys(part);
      if (key !== undefined && key in found) return { ok: false, why: `says it twice ("${word}")` };
      Object.assign(found, part);
    }
    return { ok: true, value: found };
  },
});

function partOf(word: string): Reserve | undefined {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(word)?.[1];
  if (percent !== undefined) return Number(percent) < 100 ? { fraction: Number(percent) / 100 } : undefined;
  const usd = /^(?:\$\s*(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*usd)$/.exec(word);
  if (usd !== null) return { usd: Number(usd[1] ?? usd[2]) };
  const tokens = /^(\d+(?:\.\d+)?)(k?)\s*tokens?$/.exec(word);
  if (tokens !== null) return { tokens: Number(tokens[1]) * (tokens[2] === 'k' ? 1000 : 1) };
  if (/^0?\.\d+$|^0$/.test(word)) return { fraction: Number(word) };
  const ms = durationMs(word);
  return ms === undefined ? undefined : { ms };
}

/** The reserved amounts of these limits. */
export function keptOf(
  kept: Reserve | undefined,
  caps: Pick<Caps, 'max_cost_usd' | 'max_tokens' | 'max_wall'>,
): { readonly usd: number; readonly tokens: number; readonly ms: number } {
  const fraction = kept?.fraction ?? 0;
  return {
    usd: kept?.usd ?? (caps.max_cost_usd ?? 0) * fraction,
    tokens: Math.round(kept?.tokens ?? (caps.max_tokens ?? 0) * fraction),
    ms: Math.round(kept?.ms ?? (caps.max_wall ?? 0) * fraction),
  };
}

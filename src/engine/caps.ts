/** The limits that end a run which would go on for ever, or cost too much. They count across resumes. */
import { type Spent, tokensOf } from '../model/spent.ts';

export type Caps = {
  readonly maxSteps: number;
  /** In place of what nodes and graph say. */
  readonly maxVisits?: number;
  /** Milliseconds of running time; undefined for none. */
  readonly maxWallMs: number | undefined;
  /** Milliseconds for each command of a verification and each model call; undefined for the stage's own. */
  readonly commandTimeoutMs?: number | undefined;
  readonly maxCostUsd?: number | undefined;
  /** Input and output together. */
  readonly maxTokens?: number | undefined;
  /** Whether a cost that nobody knows passes under a limit. Default `stop`. */
  readonly unknownCost?: 'stop' | 'allow' | undefined;
  /** The same of tokens, where another word counts for them: the limits of the run above are held as that run says. */
  readonly unknownTokens?: 'stop' | 'allow' | undefined;
  /** Milliseconds that a run waits for a quota by itself; for more it parks. Default 2 minutes. */
  readonly parkAfterMs?: number | undefined;
  /** Whether a run parks at a rate limit of which nobody says how long it lasts. Default true. */
  readonly parkUnsaid?: boolean | undefined;
};

export const defaultCaps = { maxSteps: 10_000, maxVisits: 50, parkAfterMs: 120_000 } as const;

type NodeFacts = {
  readonly id: string;
  readonly maxVisits: number;
  readonly visits: number;
  readonly maxWallMs?: number | undefined;
  /** Milliseconds of all its visits so far. */
  readonly elapsedMs?: number;
};

/** Why the run may not make one more visit of `node`, or undefined when it may. */
export function capHit(
  caps: Caps,
  node: NodeFacts,
  run: { readonly steps: number; readonly elapsedMs: number },
): string | undefined {
  if (node.visits >= node.maxVisits) {
    return `max_visits: node "${node.id}" was visited ${node.visits} times, and its limit is ${node.maxVisits} (max_visits on the node, default_max_visits on the graph, --max-visits)`;
  }
  if (run.steps >= caps.maxSteps) {
    return `max_steps: the run made ${run.steps} steps, and its limit is ${caps.maxSteps} (max_steps on the graph, --max-steps)`;
  }
  if (caps.maxWallMs !== undefined && run.elapsedMs >= caps.maxWallMs) {
    const [took, limit] = inOneUnit(run.elapsedMs, caps.maxWallMs);
    return `max_wall: the run took ${took}, and its limit is ${limit} (max_wall on the graph, --max-wall)`;
  }
  if (node.maxWallMs !== undefined && (node.elapsedMs ?? 0) >= node.maxWallMs) {
    const [took, limit] = inOneUnit(node.elapsedMs ?? 0, node.maxWallMs);
    return `max_wall: node "${node.id}" took ${took}, and its limit is ${limit} (max_wall on the node)`;
  }
  return undefined;
}

/** The flag with which a run goes on that one of these limits has ended: it doubles the limit until the run, with the call
 *  that was to come, is below it, and what the run has come to where nothing was allowed. Undefined for any other reason, and for a limit of a node, which only its pipeline can
 *  raise. */
export function raisedLimit(reason: string): string | undefined {
  const found = /^max_\w+: (.*) its limit is ([\d.]+)((?:m?s)?)\b([^()]*)\([^()]*(--max-[a-z-]+)\)$/.exec(
    reason,
  );
  if (found === null) return undefined;
  const [, told = '', limit, unit = '', kept = '', flag] = found;
  const amounts = `${told}${kept}`.matchAll(/ (?:visited|made|took|spent|about|with) ([\d.]+)/g);
  const needs = [...amounts].reduce((sum, [, amount]) => sum + Number(amount), 0);
  let raised = (Number(limit) || needs) * 2;
  while (raised > 0 && raised <= needs) raised *= 2;
  return raised > 0 ? `${flag} ${Number(raised.toFixed(6))}${unit}` : undefined;
}

/** A time and its limit as a flag takes them, which has no fractions: in seconds where the limit is whole ones. */
const inOneUnit = (tookMs: number, limitMs: number): readonly [string, string] =>
  limitMs % 1000 === 0
    ? [`${Math.round(tookMs / 1000)}s`, `${limitMs / 1000}s`]
    : [`${Math.round(tookMs)}ms`, `${limitMs}ms`];

/** Limits on money and tokens, of the run or of one node. */
export type SpendCaps = Pick<Caps, 'maxCostUsd' | 'maxTokens' | 'unknownTokens'>;

/** The call that is about to be made: its input alone, by an estimate. `costUsd` is null where its price is not known,
 *  undefined where its backend will tell or nothing can be said. */
export type NextCall = {
  readonly tokens: number;
  readonly costUsd: number | null | undefined;
  readonly model: string;
};

/** Whose limits are looked at: the run's, or those of the node named. `unpriced`: the models of calls that have no price. */
export type Purse = {
  readonly node?: string;
  readonly caps: SpendCaps;
  readonly spent: Spent;
  readonly unpriced?: readonly string[];
};

/** Why a purse is empty, or undefined. Without `next`: whether more was spent than allowed. With it: whether that call
 *  may be made, leaving `kept` of the limits untouched. */
export function spendHit(
  { node, caps, spent, unpriced = [] }: Purse,
  unknownCost: Caps['unknownCost'],
  next?: NextCall,
  kept: { readonly usd: number; readonly tokens: number } = { usd: 0, tokens: 0 },
): string | undefined {
  const who = node === undefined ? 'the run' : `node "${node}"`;
  const where = (key: string) =>
    node === undefined ? `${key} on the graph, --${key.replaceAll('_', '-')}` : `${key} on the node`;
  const told = (key: string, has: string, limit: string) =>
    `${key}: ${who} has spent ${has}, and its limit is ${limit} (${where(key)})`;
  const would = (key: string, has: string, needs: string, limit: string, rest: string) =>
    `${key}: ${who} has spent ${has}, the next call would send about ${needs}, and its limit is ${limit}${rest} (${where(key)})`;
  const reserve = (amount: string, is: number) => (is > 0 ? ` with ${amount} kept for verification` : '');
  const passes = unknownCost === 'allow';
  if (caps.maxCostUsd !== undefined) {
    const limit = money(caps.maxCostUsd);
    if (spent.unknown_cost > 0 && !passes)
      return `max_cost_usd: the cost of ${calls(spent.unknown_cost)} is not known${noPrice(unpriced)}, so a limit of ${limit} cannot be held; ${spent.unknown_tokens > 0 ? silent(spent.unknown_tokens) : mend}`;
    if (spent.cost_usd > caps.maxCostUsd) return told('max_cost_usd', money(spent.cost_usd), limit);
    if (next !== undefined) {
      if (next.costUsd === null && !passes)
        return `max_cost_usd: there is no price for the model "${next.model}", so a limit of ${limit} cannot be held; ${mend}`;
      const left = caps.maxCostUsd - kept.usd - spent.cost_usd;
      if (left <= 0 || (next.costUsd ?? 0) > left)
        return would(
          'max_cost_usd',
          money(spent.cost_usd),
          money(next.costUsd ?? 0),
          limit,
          reserve(money(kept.usd), kept.usd),
        );
    }
  }
  if (caps.maxTokens !== undefined) {
    const has = tokensOf(spent);
    const limit = `${caps.maxTokens} tokens`;
    if (spent.unknown_tokens > 0 && (caps.unknownTokens ?? unknownCost) !== 'allow')
      return `max_tokens: ${calls(spent.unknown_tokens)} did not tell what was used, so a limit of ${limit} cannot be held; ${pass}`;
    if (has > caps.maxTokens) return told('max_tokens', `${has} tokens`, limit);
    if (next !== undefined) {
      const left = caps.maxTokens - kept.tokens - has;
      if (left <= 0 || next.tokens > left)
        return would(
          'max_tokens',
          `${has} tokens`,
          `${next.tokens}`,
          limit,
          reserve(`${kept.tokens}`, kept.tokens),
        );
    }
  }
  return undefined;
}

const pass =
  'an agent that cannot tell its tokens, such as a command or a program that was cut off, may work under a limit with unknown_cost=allow on the graph or --unknown-cost allow';
/** A price is of no use where there is nothing to multiply it with. */
const silent = (n: number): string => `${calls(n)} did not tell what was used: ${pass}`;
const mend =
  'give the model a price (--prices FILE, FACTORY_PRICES), or let it pass with unknown_cost=allow on the graph or --unknown-cost allow';

const mostNamed = 5;
/** A server may answer by a model of another name than it was asked for. */
const noPrice = (models: readonly string[]): string =>
  models.length === 0
    ? ''
    : ` (there is no price for the model ${models
        .slice(0, mostNamed)
        .map((model) => `"${model.slice(0, 100)}"`)
        .join(', ')}${models.length > mostNamed ? ', …' : ''}, which answered)`;

const calls = (n: number): string => (n === 1 ? '1 call' : `${n} calls`);

/** Exact to a millionth. */
const money = (usd: number): string => `${Number(usd.toFixed(6))} USD`;

/** The limits on money, tokens and waiting as the manifest has them; only what was said. */
export const spendCapsOf = ({ maxCostUsd, maxTokens, unknownCost, parkAfterMs }: Caps) => ({
  ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
  ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
  ...(unknownCost === undefined ? {} : { unknown_cost: unknownCost }),
  ...(parkAfterMs === undefined ? {} : { park_after_ms: parkAfterMs }),
});

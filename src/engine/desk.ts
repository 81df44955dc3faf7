/** Checks the limits before each model call of an execution, and records what it spends. */
import type { Agent, AgentReport, AgentTask } from '../agents/agent.ts';
import type { Json } from '../model/json.ts';
import { costOf, leastCostOf } from '../model/prices.ts';
import { type Spent, tokensOf, type Usage, withCall } from '../model/spent.ts';
import type { Clock } from '../system/clock.ts';
import { type Books, type CallEnd, estimatedTokens, inputCost, type Stamp } from './books.ts';
import { type Caps, defaultCaps, type Limited, type NextCall, type SpendCaps, spendHit } from './caps.ts';
import { maskedValue } from './masked.ts';
import { gather, moneyWords, share, sharePrices } from './shared-budget.ts';

export type DeskSetting = {
  readonly books: Books;
  readonly caps: Caps;
  /** The node's own limits. */
  readonly nodeCaps: SpendCaps;
  /** The part of the run's limits that is reserved for verification. */
  readonly kept: { readonly usd: number; readonly tokens: number; readonly ms: number };
  /** Milliseconds left of the run's time limit; infinite without one. */
  readonly wallLeft: () => number;
  readonly node: string;
  readonly visit: number;
  readonly clock: Pick<Clock, 'now'>;
};

type Mask = (text: string) => string;
const plain: Mask = (text) => text;

export interface Desk {
  /** Wraps an agent: its calls are checked against the limits and recorded. A call that a limit forbids is a failure of
   *  class `budget`. Agents of a list are wrapped one by one. `mask` removes secrets from reported usage. */
  paying(agent: Agent, attempt: number, mask?: Mask): Agent;
  /** Writes the remaining budget and the prices for nested runs into the node directory. */
  share(nodeDir: string): Promise<void>;
  /** Environment variables with the paths of these files. */
  words(nodeDir: string): Readonly<Record<string, string>>;
  /** Records what nested runs have spent. */
  gather(nodeDir: string, attempt: number, mask?: Mask): Promise<void>;
  /** Set when a limit of the run or the node is reached: the reason that ends the run. */
  readonly stop: string | undefined;
}

export function openDesk(at: DeskSetting): Desk {
  const { books, caps, node } = at;
  let stop: string | undefined;
  const refused = (reason: string): AgentReport => ({
    kind: 'failed',
    class: 'budget',
    reason,
    unbilled: true,
  });
  const nextCall = (agent: Agent, model: string | undefined, tokens: number): NextCall => ({
    tokens,
    costUsd:
      model === undefined || agent.tellsCost === true ? undefined : inputCost(books.prices, model, tokens),
    model: model ?? '',
  });
  /** The limits of node and run; `used`: by the call that is open. */
  const limits = (used?: Usage): { readonly own: Limited; readonly run: Limited } => {
    const soFar = (spent: Spent): Spent =>
      used === undefined ? spent : withCall(spent, used, priced(used, books));
    const open = used === undefined || costOf(used, books.prices) !== null ? [] : [used.model];
    const unpriced = [...new Set([...books.unpriced(), ...open])];
    const own = { node, caps: at.nodeCaps, spent: soFar(books.of(node)), unpriced };
    return { own, run: { caps, spent: soFar(books.run()), unpriced } };
  };
  /** Why the call may not be made. A limit ends the run (`stop`), the reserve does not. */
  const forbidden = ({ own, run }: ReturnType<typeof limits>, next: NextCall): string | undefined => {
    stop = spendHit(own, caps.unknownCost, next) ?? spendHit(run, caps.unknownCost, next);
    return stop ?? spendHit(run, caps.unknownCost, next, at.kept);
  };

  const stampOf = (attempt: number): Stamp => ({
    schema_version: 1,
    at: at.clock.now().toISOString(),
    node,
    visit: at.visit,
    attempt,
  });
  return {
    async share(nodeDir) {
      await sharePrices(nodeDir, books.prices);
      await share(nodeDir, caps, at.nodeCaps, {
        run: books.run(),
        node: books.of(node),
        wallLeftMs: at.wallLeft(),
      });
    },
    words: (nodeDir) => moneyWords(nodeDir, books.prices),
    gather: (nodeDir, attempt, mask) => gather(nodeDir, stampOf(attempt), books, mask),
    paying: paid,
    get stop() {
      return stop;
    },
  };

  /** The budget for an agent that makes many calls in one task: the ledger has none of them before the task ends. */
  function budgetOf(
    agent: Agent,
    task: AgentTask,
    told: (used: Usage, sends: number) => Promise<boolean>,
  ): Pick<AgentTask, 'budget' | 'used'> {
    if (agent.free === true) return {};
    return {
      used: (usage) => void told(usage, 0),
      async budget(used, sends) {
        const { own, run } = limits(used);
        const next = nextCall(agent, used?.model ?? agent.modelFor?.(task) ?? '', sends);
        const empty = forbidden({ own, run }, next);
        if (empty !== undefined) return { empty };
        if (used !== undefined && !(await told(used, sends)))
          return { empty: 'its usage cannot be recorded' };
        const left = [
          (own.caps.maxTokens ?? Number.POSITIVE_INFINITY) - tokensOf(own.spent),
          (caps.maxTokens ?? Number.POSITIVE_INFINITY) - at.kept.tokens - tokensOf(run.spent),
        ];
        const least = Math.min(...left);
        return { tokens: Number.isFinite(least) ? least : undefined };
      },
    };
  }

  function paid(agent: Agent, attempt: number, mask: Mask = plain): Agent {
    if (agent.each !== undefined) return agent.each((one) => paid(one, attempt, mask));
    const clean = (usage: Usage) => maskedValue(usage as Json, mask) as unknown as Usage;
    const stamp = () => stampOf(attempt);
    const work = async (task: AgentTask, signal: AbortSignal): Promise<AgentReport> => {
      if (agent.free !== true) {
        const tokens = estimatedTokens(task.prompt);
        const model = agent.modelFor?.(task);
        const reason = forbidden(limits(), nextCall(agent, model, tokens)) ?? wallReserve(at);
        if (reason !== undefined) return refused(reason);
        const { unseen } = agent;
        await books.begin(stamp(), {
          agent: agent.name,
          model: model ?? null,
          input_tokens: tokens,
          ...(unseen === undefined ? {} : { unseen }),
        });
      }
      const told = progressOf((usage, sends) => books.told(stamp(), clean(usage), sends));
      const budget = budgetOf(agent, task, told.tell);
      const said = await agent.work({ ...allowing(task, caps), ...budget }, signal);
      const report = said.usage === undefined ? said : { ...said, usage: clean(said.usage) };
      await told.end();
      const how = endOf(agent, report);
      if (how === undefined) return report;
      const priced = await books.end(stamp(), how);
      if (priced === undefined) return report;
      return { ...report, usage: priced };
    };
    return { ...agent, work };
  }
}

const priced = (usage: Usage, { prices }: Books) => {
  const usd = costOf(usage, prices);
  return { usd, least: usd ?? leastCostOf(usage, prices) };
};

/** Writes the progress of a call, one record after the other. */
function progressOf(write: (usage: Usage, sends: number) => Promise<void>) {
  let writing = Promise.resolve();
  return {
    /** Answers whether it is written; `end` rejects with the reason why it is not. */
    tell(usage: Usage, sends: number): Promise<boolean> {
      writing = writing.then(() => write(usage, sends));
      return writing.then(
        () => true,
        () => false,
      );
    },
    end: () => writing,
  };
}

/** Hands an agent the run's settings for unknown costs and for waiting. */
const allowing = (task: AgentTask, { unknownCost, parkAfterMs, parkPassing }: Caps): AgentTask => ({
  ...(parkPassing === false ? {} : { outageMs: parkAfterMs ?? defaultCaps.parkAfterMs }),
  ...task,
  ...(unknownCost === 'allow' ? { attributes: { unknown_cost: 'allow', ...task.attributes } } : {}),
  ...(parkAfterMs === undefined ? {} : { parkAfterMs }),
});

/** Why no call may be made in the time that is reserved for verification. */
function wallReserve({ kept, wallLeft }: DeskSetting): string | undefined {
  if (kept.ms === 0 || wallLeft() > kept.ms) return undefined;
  const seconds = (ms: number) => `${Math.max(0, Math.round(ms / 1000))}s`;
  return `max_wall: ${seconds(wallLeft())} of the run's time are left, and ${seconds(kept.ms)} are reserved for verification (verify_reserve)`;
}

/** How the ledger records the end of a call; undefined where no call began. */
function endOf(agent: Agent, report: AgentReport): CallEnd | undefined {
  if (report.usage !== undefined) {
    return { ended: report.kind === 'cancelled' ? 'cut' : 'told', usage: report.usage };
  }
  if (agent.free === true) return undefined;
  if (report.kind === 'cancelled') return { ended: 'cut', usage: null };
  if (report.unbilled === true) return { ended: 'free', usage: null };
  // A connection that broke before any answer is like a call that was interrupted: what was sent counts.
  const isOutage = report.kind === 'failed' && report.park?.kind === 'outage';
  return { ended: isOutage ? 'cut' : 'untold', usage: null };
}

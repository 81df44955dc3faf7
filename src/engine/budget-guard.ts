/** Checks the limits before each model call of an execution, and records what it spends. */
import {
  type Limited,
  type LimitHit,
  type NextCall,
  ofRun,
  type SpendCaps,
  spendHit,
} from '../core/budget/limits.ts';
import { costOf, leastCostOf } from '../core/budget/prices.ts';
import { type Spent, tokensOf, type Usage, withCall } from '../core/budget/usage.ts';
import type { Agent, AgentReport, AgentTask } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Json } from '../core/json.ts';
import { maskedValue } from '../core/policy/mask.ts';
import type { Caps } from '../core/settings/limits.ts';
import { type CallGate, type CallRefusal, type GatedCall, refusalOf, taskForAgent } from './call-gate.ts';
import {
  type CallEnd,
  type CostLedger,
  estimatedTokens,
  inputCost,
  type Reserved,
  type Stamp,
} from './cost-ledger.ts';
import { collectNestedSpending, moneyWords, share, sharePrices } from './shared-budget.ts';

export type BudgetSetting = {
  readonly costs: CostLedger;
  readonly caps: Caps;
  /** The node's own limits. */
  readonly nodeCaps: SpendCaps;
  /** The part of the run's limits that is reserved for verification. */
  readonly kept: { readonly usd: number; readonly tokens: number; readonly ms: number };
  /** Milliseconds left of the run's time limit; infinite without one. */
  readonly wallLeft: () => number;
  readonly node: string;
  readonly visit: number;
  readonly branch?: string | undefined;
  readonly clock: Pick<Clock, 'now'>;
  /** Asked before each call that the limits allow, in this order. */
  readonly gates?: readonly CallGate[];
};

type Mask = (text: string) => string;
const plain: Mask = (text) => text;

export interface BudgetGuard {
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
  readonly stop: LimitHit | undefined;
}

export const openBudgetGuard = (at: BudgetSetting): BudgetGuard => new CallDesk(at);

class CallDesk implements BudgetGuard {
  private stopped: LimitHit | undefined;

  constructor(private readonly at: BudgetSetting) {}

  get stop(): LimitHit | undefined {
    return this.stopped;
  }

  async share(nodeDir: string): Promise<void> {
    const { costs, caps, nodeCaps, node, wallLeft } = this.at;
    await sharePrices(nodeDir, costs.prices);
    await share(nodeDir, caps, nodeCaps, {
      run: costs.run(),
      node: costs.of(node),
      wallLeftMs: wallLeft(),
    });
  }

  words(nodeDir: string): Readonly<Record<string, string>> {
    return moneyWords(nodeDir, this.at.costs.prices);
  }

  async gather(nodeDir: string, attempt: number, mask?: Mask): Promise<void> {
    const { costs, gates = [] } = this.at;
    const before = costs.run();
    await collectNestedSpending(nodeDir, this.stampOf(attempt), costs, mask);
    if (costs.run() !== before) for (const gate of gates) await gate.nested?.();
  }

  paying(agent: Agent, attempt: number, mask: Mask = plain): Agent {
    if (agent.each !== undefined) return agent.each((one) => this.paying(one, attempt, mask));
    return { ...agent, work: (task, signal) => this.work(agent, task, signal, attempt, mask) };
  }

  private async work(
    agent: Agent,
    task: AgentTask,
    signal: AbortSignal,
    attempt: number,
    mask: Mask,
  ): Promise<AgentReport> {
    if (agent.free === true) return this.carryOut({ agent, task, attempt }, signal, mask);
    const call = { agent, task, attempt };
    const report = (await this.begin(call, signal)) ?? (await this.carryOut(call, signal, mask));
    for (const gate of this.at.gates ?? [])
      await gate.after?.({ agent, task, stamp: this.stampOf(attempt) }, report);
    return report;
  }

  private async carryOut(call: OpenCall, signal: AbortSignal, mask: Mask): Promise<AgentReport> {
    const { agent, task, attempt } = call;
    const { costs, caps } = this.at;
    const stamp = () => this.stampOf(attempt);
    const clean = (usage: Usage) => maskedValue(usage as Json, mask) as unknown as Usage;
    const onProgress = progressOf((usage, sends) => costs.progress(stamp(), clean(usage), sends));
    const budget = this.budgetOf(call, onProgress.tell, signal);
    const watched = taskForAgent(this.at.gates ?? [], call, { ...allowing(task, caps), ...budget });
    const workReport = await agent.work(watched, signal);
    const report =
      workReport.usage === undefined ? workReport : { ...workReport, usage: clean(workReport.usage) };
    await onProgress.end();
    const how = endOf(agent, report);
    const priced = how === undefined ? undefined : await costs.end(stamp(), how);
    return priced === undefined ? report : { ...report, usage: priced };
  }

  /** Records the start of a call; the report of one that a limit forbids. */
  private async begin(call: OpenCall, signal: AbortSignal): Promise<AgentReport | undefined> {
    const { agent, task } = call;
    // The file of a program's session says little of what it sends.
    const before = agent.unseen === true ? '' : (task.thread?.before ?? '');
    const tokens = estimatedTokens(before + task.prompt);
    const model = agent.modelFor?.(task);
    const next = this.nextCall(agent, model, tokens);
    let refused = this.overLimit(next);
    if (refused === undefined && this.isGated)
      // Calls of other branches may have begun while the gates were asked.
      refused = (await this.atGates(call, next, signal)) ?? this.overLimit(next);
    if (refused !== undefined) return refused;
    const { unseen } = agent;
    await this.at.costs.begin(this.stampOf(call.attempt), {
      agent: agent.name,
      model: model ?? null,
      input_tokens: tokens,
      ...(unseen === undefined ? {} : { unseen }),
    });
    return undefined;
  }

  private overLimit(next: NextCall): AgentReport | undefined {
    const reason = this.forbidden(this.limits(), next) ?? wallReserve(this.at);
    return reason === undefined ? undefined : { kind: 'failed', class: 'budget', reason, unbilled: true };
  }

  /** The report of a call that the gates forbid. */
  private async atGates(
    call: OpenCall,
    next: NextCall,
    signal: AbortSignal,
  ): Promise<AgentReport | undefined> {
    const refused = await this.refusal(call, { next }, signal);
    if (refused !== undefined) return { kind: 'failed', ...refused, unbilled: true };
    return signal.aborted ? { kind: 'cancelled' } : undefined;
  }

  private get isGated(): boolean {
    return (this.at.gates ?? []).length > 0;
  }

  /** What the gates say of the call. */
  private refusal(
    { agent, task, attempt }: OpenCall,
    { next, used }: Pick<GatedCall, 'next' | 'used'>,
    signal: AbortSignal,
  ): Promise<CallRefusal | undefined> {
    const call = { agent, task, stamp: this.stampOf(attempt), next, used };
    return refusalOf(this.at.gates ?? [], call, signal);
  }

  /** The budget for an agent that makes many calls in one task: the ledger has none of them before the task ends. */
  private budgetOf(
    call: OpenCall,
    record: (used: Usage, sends: number) => Promise<boolean>,
    signal: AbortSignal,
  ): Pick<AgentTask, 'budget' | 'used'> {
    const { agent, task } = call;
    if (agent.free === true) return {};
    const { caps, kept } = this.at;
    return {
      used: (usage) => void record(usage, 0),
      budget: async (used, sends) => {
        const next = this.nextCall(agent, used?.model ?? agent.modelFor?.(task) ?? '', sends);
        const before = this.forbidden(this.limits(used), next);
        if (before !== undefined) return { empty: before };
        if (this.isGated) {
          const refused = await this.refusal(call, { next, used }, signal);
          if (refused !== undefined) return emptyBy(refused);
        }
        const { own, run } = this.limits(used);
        const empty = this.isGated ? this.forbidden({ own, run }, next) : undefined;
        if (empty !== undefined) return { empty };
        if (used !== undefined && !(await record(used, sends)))
          return { empty: 'its usage cannot be recorded' };
        const left = [
          (own.caps.max_tokens ?? Number.POSITIVE_INFINITY) - tokensOf(own.spent),
          (caps.max_tokens ?? Number.POSITIVE_INFINITY) -
            kept.tokens -
            tokensOf(run.spent) -
            run.underWay.tokens,
        ];
        const least = Math.min(...left);
        return { tokens: Number.isFinite(least) ? least : undefined };
      },
    };
  }

  private nextCall(agent: Agent, model: string | undefined, tokens: number): NextCall {
    const isKnown = model === undefined || agent.tellsCost === true;
    const costUsd = isKnown ? undefined : inputCost(this.at.costs.prices, model, tokens);
    return { tokens, costUsd, model: model ?? '' };
  }

  /** The limits of node and run; `used`: by the call that is open. */
  private limits(used?: Usage): Limits {
    const { costs, caps, node, nodeCaps, branch } = this.at;
    const soFar = (spent: Spent): Spent =>
      used === undefined ? spent : withCall(spent, used, priced(used, costs));
    const open = used === undefined || costOf(used, costs.prices) !== null ? [] : [used.model];
    const unpriced = [...new Set([...costs.unpriced(), ...open])];
    const own = { node, caps: nodeCaps, spent: soFar(costs.of(node)), unpriced };
    const underWay = costs.reserved(branch);
    return { own, run: { caps, spent: soFar(costs.run()), unpriced, underWay } };
  }

  /** Why the call may not be made. A limit ends the run (`stop`), the reserve does not. */
  private forbidden({ own, run }: Limits, next: NextCall): string | undefined {
    const { caps, kept } = this.at;
    const ofNode = spendHit(own, caps.unknown_cost, next);
    this.stopped =
      ofNode === undefined
        ? ofRun(spendHit(run, caps.unknown_cost, next))
        : { reason: ofNode, ofBranch: true };
    return this.stopped?.reason ?? spendHit(run, caps.unknown_cost, next, kept);
  }

  private stampOf(attempt: number): Stamp {
    const { clock, node, visit, branch } = this.at;
    return {
      ...{ at: clock.now().toISOString(), node, visit, attempt },
      ...(branch === undefined ? {} : { branch }),
    };
  }
}

const emptyBy = ({ reason, ...why }: CallRefusal) => ({ empty: reason, ...why });

type OpenCall = Pick<GatedCall, 'agent' | 'task'> & { readonly attempt: number };

type Limits = { readonly own: Limited; readonly run: Limited & { readonly underWay: Reserved } };

const priced = (usage: Usage, { prices }: CostLedger) => {
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
const allowing = (task: AgentTask, { unknown_cost, park_after, park_passing }: Caps): AgentTask => ({
  ...(park_passing === false ? {} : { outageMs: park_after }),
  ...task,
  ...(unknown_cost === 'allow' ? { uncounted: true } : {}),
  park_after,
});

/** Why no call may be made in the time that is reserved for verification. */
function wallReserve({ kept, wallLeft }: BudgetSetting): string | undefined {
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

/** What all runs of a runs folder share, asked before each call of a model: whether its account is on hold, what the caps of the
 *  day leave. */
import type { NextCall } from '../core/budget/limits.ts';
import type { Usage } from '../core/budget/usage.ts';
import type { Agent, AgentReport, AgentTask } from '../core/contracts/agent.ts';
import type { FailureClass, Park } from '../core/outcome.ts';
import type { Stamp } from './cost-ledger.ts';

/** A call that is about to be made. */
export type GatedCall = {
  readonly agent: Agent;
  readonly task: AgentTask;
  readonly stamp: Stamp;
  /** By an estimate of its input. */
  readonly next: NextCall;
  /** What its task has used so far, in one that makes many calls. */
  readonly used?: Usage | undefined;
};

/** Why a call is not made, and what the run is suspended for; without `park` the node fails. */
export type CallRefusal = {
  readonly class: FailureClass;
  readonly reason: string;
  readonly park?: Park;
  /** The model's provider is the cause. */
  readonly model?: 'api';
};

export interface CallGate {
  /** Settles when the call may be made, or with the reason why not; at once when `signal` fires. Asked before each call of a task that
   *  makes many, once for a session of an agent program, and not for agents that cost nothing. */
  before(call: GatedCall, signal: AbortSignal): Promise<CallRefusal | undefined>;
  /** What the agent is given, so that the gate sees what comes of the calls. */
  watching?(call: Pick<GatedCall, 'agent' | 'task'>, task: AgentTask): AgentTask;
  /** The task whose calls were asked for has ended, and its costs are recorded. Also where no call was made. */
  after?(call: Pick<GatedCall, 'agent' | 'task' | 'stamp'>, report: AgentReport): Promise<void>;
  /** Nested runs of a node have reported what they have spent, and it is recorded. */
  nested?(): Promise<void>;
}

/** What the agent is given where gates watch its calls. */
export const taskForAgent = (
  gates: readonly CallGate[],
  call: Pick<GatedCall, 'agent' | 'task'>,
  task: AgentTask,
): AgentTask => gates.reduce((watched, gate) => gate.watching?.(call, watched) ?? watched, task);

/** Asks the gates in order; the first refusal counts. */
export async function refusalOf(
  gates: readonly CallGate[],
  call: GatedCall,
  signal: AbortSignal,
): Promise<CallRefusal | undefined> {
  for (const gate of gates) {
    const refusal = await gate.before(call, signal);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

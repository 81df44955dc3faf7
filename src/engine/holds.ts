/** Looks at the hold of an account before each model call, and after the call makes, moves or ends it. */
import type { Usage } from '../core/budget/usage.ts';
import type { AgentReport, AgentTask, CallWait } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Hold } from '../core/records/hold.ts';
import { type Holds, holdId } from '../fleet/holds.ts';
import type { CallGate, CallRefusal, GatedCall } from './call-gate.ts';

export type HoldGateSetting = {
  readonly holds: Holds;
  readonly clock: Clock;
  readonly park_after: number;
  /** A person resumes the run before its time: the first call does not look. */
  readonly early: boolean;
  /** This process has waited for that long, in milliseconds since 1970: a clock that was set back meanwhile makes no wait longer. */
  readonly waitedUntil: number | undefined;
  /** Removes secrets from what a provider said. */
  readonly mask: (text: string) => string;
};

/** Milliseconds between two looks for the result of the call that goes first. */
const lookMs = 500;

/** Milliseconds without a refusal of that call after which the others go too: a model may think for long, and a limit refuses at once. */
const patienceMs = 120_000;

/** The calls of a task. */
type AccountCalls = {
  readonly account: Pick<Hold, 'id' | 'agent' | 'endpoint' | 'model'>;
  count: number;
  /** Milliseconds waited between them. */
  waitedMs: number;
  /** The reset of the hold in spite of which a call was made, in milliseconds since 1970. */
  under: number | undefined;
  /** That call goes first. */
  trial: string | undefined;
  /** Of a wait within a call. */
  noting: Promise<void>;
};

export const holdGate = (at: HoldGateSetting): CallGate => new HoldGate(at);

class HoldGate implements CallGate {
  readonly #at: HoldGateSetting;
  readonly #tasks = new WeakMap<AgentTask, AccountCalls>();
  #early: boolean;

  constructor(at: HoldGateSetting) {
    this.#at = at;
    this.#early = at.early;
  }

  async before(call: GatedCall, signal: AbortSignal): Promise<CallRefusal | undefined> {
    const calls = this.#callsOf(call);
    if (calls === undefined) return undefined;
    calls.count += 1;
    if (this.#early) {
      this.#early = false;
      calls.under = resetOf(this.#at.holds.read(calls.account.id));
      return undefined;
    }
    return this.#look(call.task, calls, signal);
  }

  /** Waits until the call may be made, or says why it may not. A first call is left to the run, which waits outside of the attempt. */
  async #look(task: AgentTask, calls: AccountCalls, signal: AbortSignal): Promise<CallRefusal | undefined> {
    const { holds, clock, park_after, waitedUntil } = this.#at;
    const patience = Math.min(patienceMs, (task.timeoutMs ?? Number.POSITIVE_INFINITY) / 2);
    let before: { readonly other: number; readonly since: number } | undefined;
    while (!signal.aborted) {
      const hold = holds.read(calls.account.id);
      if (hold === undefined) return undefined;
      const reset = resetOf(hold) ?? 0;
      const left = reset <= (waitedUntil ?? 0) ? 0 : reset - clock.now().getTime();
      if (left > 0) {
        const refusal = refusalUnder(hold);
        if (calls.count === 1) {
          task.log('info', 'no call is made: its account is on hold', { until: hold.until, by: hold.by });
          return { ...refusal, park: { ...refusal.park, held: true } };
        }
        if (calls.waitedMs + left > park_after) return refusal;
        calls.waitedMs += left;
        task.waits?.({ attempt: 1, cause: 'rate_limit', reason: hold.reason, delayMs: left });
        await clock.sleep(left, signal);
        continue;
      }
      if (calls.trial !== undefined) return undefined;
      const claimed = await holds.claim(hold);
      if ('trial' in claimed) calls.trial = claimed.trial;
      else if (before?.other !== claimed.other) before = { ...claimed, since: clock.monotonic() };
      if (
        calls.trial !== undefined ||
        (before !== undefined && clock.monotonic() - before.since >= patience)
      ) {
        calls.under = reset;
        return undefined;
      }
      await clock.sleep(lookMs, signal);
    }
    return undefined;
  }

  /** The task, whose first sign of an answer ends the hold: a session may take an hour. */
  watching(call: Pick<GatedCall, 'agent' | 'task'>, task: AgentTask): AgentTask {
    const calls = this.#tasks.get(call.task);
    if (calls === undefined) return task;
    const watched: AgentTask = {
      ...task,
      waits: (wait) => {
        this.#met(calls, wait);
        task.waits?.(wait);
      },
    };
    const answered = () => this.#answered(calls);
    const acted: AgentTask['acted'] = (action) => {
      answered();
      task.acted(action);
    };
    const used = (usage: Usage) => {
      if ((usage.output_tokens ?? 0) > 0) answered();
      task.used?.(usage);
    };
    // A program also passes on as text that its provider has refused it.
    if (call.agent.unseen === true) return { ...watched, acted, used };
    const onText: AgentTask['onText'] = (text, channel) => {
      answered();
      task.onText?.(text, channel);
    };
    return { ...watched, acted, used, onText };
  }

  async after({ task }: Pick<GatedCall, 'task'>, report: AgentReport): Promise<void> {
    const calls = this.#tasks.get(task);
    if (calls === undefined) return;
    this.#tasks.delete(task);
    await calls.noting;
    const reset = resetIn(report);
    if (reset !== undefined) await this.#set(calls, reset, report.kind === 'failed' ? report.reason : '');
    else if (isAnswer(report)) this.#answered(calls);
    if (calls.trial !== undefined) this.#at.holds.release(calls.trial);
  }

  #callsOf({ agent, task }: GatedCall): AccountCalls | undefined {
    const known = this.#tasks.get(task);
    const account = known === undefined ? agent.accountFor?.(task) : undefined;
    if (account === undefined) return known;
    const { endpoint, model } = account;
    const calls = {
      account: { id: holdId(agent.name, account), agent: agent.name, endpoint, model },
      ...{ count: 0, waitedMs: 0, under: undefined, trial: undefined, noting: Promise.resolve() },
    };
    this.#tasks.set(task, calls);
    return calls;
  }

  /** The agent waits itself for the reset, and its next request goes first. */
  #met(calls: AccountCalls, { resetMs, reason }: CallWait): void {
    if (resetMs === undefined) return;
    const { holds } = this.#at;
    calls.noting = calls.noting.then(async () => {
      await this.#set(calls, resetMs, reason);
      const hold = holds.read(calls.account.id);
      if (hold === undefined) return;
      calls.under = resetOf(hold) ?? 0;
      if (calls.trial !== undefined) holds.release(calls.trial);
      const claimed = await holds.claim(hold);
      calls.trial = 'trial' in claimed ? claimed.trial : undefined;
    });
  }

  async #set({ account, under }: AccountCalls, untilMs: number, reason: string): Promise<void> {
    const { holds, clock, mask } = this.#at;
    if (untilMs <= clock.now().getTime()) return;
    await holds.set({ ...account, untilMs, under, reason: mask(reason) });
  }

  #answered(calls: AccountCalls): void {
    if (calls.under === undefined) return;
    this.#at.holds.remove(calls.account.id, calls.under);
    calls.under = undefined;
  }
}

const resetOf = (hold: Hold | undefined): number | undefined => hold && Date.parse(hold.until);

/** As the provider would refuse it. */
const refusalUnder = (hold: Hold): CallRefusal & Required<Pick<CallRefusal, 'park'>> => ({
  class: 'infra',
  reason: hold.reason,
  model: 'api',
  park: { kind: 'quota', wakeAtMs: Date.parse(hold.until) },
});

/** When the quota is available again that failed the call; undefined where it was no quota, or no time was named. */
function resetIn(report: AgentReport): number | undefined {
  if (report.kind !== 'failed' || report.park?.kind !== 'quota' || report.park.held === true)
    return undefined;
  return report.park.within === true ? undefined : report.park.wakeAtMs;
}

/** Whether a model has answered. */
const isAnswer = (report: AgentReport): boolean =>
  report.kind === 'finished' || report.kind === 'answered' || (report.usage?.output_tokens ?? 0) > 0;

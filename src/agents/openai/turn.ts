/** One prompt to its answer: tried with more room when the answer does not fit, and told as a report when there is none. */
import type { AgentReport, AgentTask } from '../agent.ts';
import type { Request } from './client.ts';
import { mostOutputTokens } from './defaults.ts';
import type { Exchange } from './ending.ts';
import type { Failed } from './failure.ts';
import type { Watch } from './watch.ts';

export type Answer = Extract<Exchange, { kind: 'answer' }>;
export type Settled =
  | { readonly answer: Answer }
  /** `status` is the server's, where it refused. */
  | { readonly report: AgentReport; readonly status?: number };

export type TurnDeps = {
  readonly task: AgentTask;
  readonly watch: Watch;
  readonly idleMs: number;
  /** One way of asking, with its tries. */
  readonly ask: (request: Request) => Promise<Exchange>;
  /** Told of every exchange that has an end. */
  readonly note: (ended: Exchange) => void;
  /** Whether an answer that does not fit gets one more try with twice the room. */
  readonly mayGrow?: boolean;
};

/** Twice the tokens, as far as that goes. */
const raised = (budget: number): number => Math.max(budget, Math.min(budget * 2, mostOutputTokens));

export async function settled(first: Request, deps: TurnDeps): Promise<Settled> {
  const { task, watch, ask, note } = deps;
  const stop = (text: string) =>
    watch.stopped === undefined
      ? undefined
      : { report: stopReport(watch.stopped, task, first, deps.idleMs, text) };
  let short: Failed | undefined;
  for (let request = first; ; request = { ...request, budget: raised(request.budget) }) {
    const before = stop('');
    if (before !== undefined) return before;
    const ended = await ask(request);
    note(ended);
    const after = stop(ended.text);
    if (after !== undefined) return after;
    const response = ended.text === '' ? {} : { response: ended.text };
    switch (ended.kind) {
      case 'answer':
        return { answer: ended };
      case 'unusable':
        return {
          report: { kind: 'failed', class: 'agent', reason: ended.reason, model: ended.model, ...response },
        };
      case 'short': {
        const reason = `the answer of "${request.model}" does not fit into ${request.budget} tokens`;
        const failed: Failed = { kind: 'failed', class: 'agent', reason, model: 'api', ...response };
        if (short !== undefined || deps.mayGrow === false || raised(request.budget) === request.budget)
          return { report: failed };
        short = failed;
        continue;
      }
      case 'pending':
        throw new Error('Internal: an answer in the background was left there');
      case 'trouble': {
        const { report, status } = ended.trouble;
        // A model whose budget cannot be raised that far says so; what the user needs to hear is the first problem.
        if (short !== undefined && status === 400) {
          const reason = `${short.reason}, and ${request.budget} are refused: ${report.reason}`;
          return { report: { ...short, reason } };
        }
        return { report: { ...report, ...response }, ...(status === undefined ? {} : { status }) };
      }
    }
  }
}

/** Why a call was stopped, with what of an answer had arrived. */
export function stopReport(
  stopped: NonNullable<Watch['stopped']>,
  task: AgentTask,
  { shown }: Pick<Request, 'shown'>,
  idleMs: number,
  text: string,
): AgentReport {
  if (stopped === 'cancelled') return { kind: 'cancelled' };
  const reason =
    stopped === 'timeout'
      ? `no whole answer from ${shown} within ${seconds(task.timeoutMs ?? 0)} (the node's timeout)`
      : `${shown} was silent for ${seconds(idleMs)}`;
  return {
    kind: 'failed',
    class: 'timeout',
    reason,
    model: 'api',
    ...(text === '' ? {} : { response: text }),
  };
}

const seconds = (ms: number): string => `${ms / 1000} s`;

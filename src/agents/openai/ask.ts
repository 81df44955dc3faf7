/** One prompt to its answer, over whichever API the server has: asked again without what it refuses, and once with more
 *  room when the answer does not fit. */
import type { AgentReport, AgentTask, FailedReport } from '../../core/contracts/agent.ts';
import type { ServerApi } from '../../core/model-server.ts';
import type { ModelResponse } from './answer.ts';
import { askAnthropic } from './anthropic.ts';
import { askChat } from './chat.ts';
import { type KnownServer, learnedRefusals, type SpokenApi, sentParts } from './known.ts';
import type { RefusedParts, Request } from './request.ts';
import { askResponses } from './responses.ts';
import { mostOutputTokens } from './settings.ts';
import type { Watch } from './watch.ts';

export type ModelAnswer = Extract<ModelResponse, { kind: 'answer' }>;
/** `tooLong`: the server refused since the conversation is; `noPath`: it has no such API; `heard`: it has, and refused. */
export type AskResult =
  | { readonly answer: ModelAnswer }
  | {
      readonly report: AgentReport;
      readonly tooLong?: true;
      readonly noPath?: true;
      readonly heard?: true;
    };

export type AskDeps = {
  readonly task: Pick<AgentTask, 'onText' | 'log' | 'timeoutMs'>;
  readonly watch: Watch;
  readonly api: ServerApi;
  /** What calls of this agent have learned about the server. */
  readonly known: KnownServer;
  /** What the server has refused during this task, or before. */
  readonly refused: RefusedParts;
  /** Called with every exchange that has ended. */
  readonly note: (ended: ModelResponse) => void;
  /** Whether an answer that does not fit gets one more try with twice the room. */
  readonly mayGrow?: boolean;
};

/** Asks over the API that the node names, or that the server turns out to have. */
export async function ask(request: Request, deps: AskDeps): Promise<AskResult> {
  const { api, known } = deps;
  const chosen = api === 'auto' ? known.api : api;
  if (chosen === 'chat' || chosen === 'anthropic') return askWith(chosen, request, deps);
  const got = await askWith('responses', request, deps);
  if ('answer' in got) known.api ??= 'responses';
  if ('answer' in got || chosen !== undefined || got.noPath !== true) return got;
  const other = await askWith('chat', request, deps);
  if ('answer' in other || other.heard === true) known.api = 'chat';
  // A server that has neither: the first refusal names the wrong address or model.
  return 'report' in other && other.noPath === true ? got : other;
}

const larger = (budget: number): number => Math.max(budget, Math.min(budget * 2, mostOutputTokens));

async function askWith(api: SpokenApi, first: Request, deps: AskDeps): Promise<AskResult> {
  const { task, watch, mayGrow = true } = deps;
  let short: FailedReport | undefined;
  for (let request = first; ; request = { ...request, budget: larger(request.budget) }) {
    if (watch.stopped !== undefined) return { report: stopReport(watch.stopped, task, request) };
    const ended = await askOnce(api, request, deps);
    if (ended.kind === 'answer') return { answer: ended };
    const response = ended.text === '' ? {} : { response: ended.text };
    if (watch.stopped !== undefined) {
      const report = stopReport(watch.stopped, task, request);
      return { report: report.kind === 'failed' ? { ...report, ...response } : report };
    }
    if (ended.kind === 'pending') throw new Error('Internal: a background response was not polled');
    if (ended.kind === 'unusable') {
      const { reason, model } = ended;
      return { report: { kind: 'failed', class: 'agent', reason, model, ...response } };
    }
    if (ended.kind === 'trouble') {
      const { report, status, tooLong, noPath } = ended.trouble;
      // The model has no more room; the first problem is that the answer did not fit.
      if (short !== undefined && status === 400) {
        const reason = `${short.reason}, and ${request.budget} are refused: ${report.reason}`;
        return { report: { ...short, reason } };
      }
      return {
        report: { ...report, ...response },
        ...(noPath === true ? { noPath } : status === undefined ? {} : { heard: true }),
        ...(tooLong === undefined ? {} : { tooLong }),
      };
    }
    const reason = `the answer of "${request.model}" does not fit into ${request.budget} tokens`;
    const failed: FailedReport = { kind: 'failed', class: 'agent', reason, model: 'api', ...response };
    if (short !== undefined || !mayGrow || larger(request.budget) === request.budget)
      return { report: failed };
    short = failed;
  }
}

const askBy = { responses: askResponses, chat: askChat, anthropic: askAnthropic };

async function askOnce(api: SpokenApi, request: Request, deps: AskDeps): Promise<ModelResponse> {
  const { task, watch, refused, note, known } = deps;
  const noted = (ended: ModelResponse): ModelResponse => {
    const got = ofProvider(ended, request);
    note(got);
    return got;
  };
  const call = { watch, onText: task.onText, refused, passed: noted };
  for (;;) {
    const got = noted(await askBy[api](request, call));
    if (got.kind !== 'trouble') learnedRefusals(known, request, refused, task);
    const sent = sentParts(api, request, refused);
    const part = got.kind === 'trouble' ? got.trouble.refuses?.find((one) => sent.has(one)) : undefined;
    if (part === undefined) return got;
    refused.add(part);
  }
}

/** An exchange whose usage says by whose prices it counts, where the server has some. */
function ofProvider(ended: ModelResponse, { server: { provider, prices } }: Request): ModelResponse {
  if (ended.usage === undefined || prices === undefined) return ended;
  return { ...ended, usage: { ...ended.usage, provider } };
}

/** Why a call was stopped. */
export function stopReport(
  stopped: NonNullable<Watch['stopped']>,
  task: Pick<AgentTask, 'timeoutMs'>,
  { shown, idleMs }: Pick<Request, 'shown' | 'idleMs'>,
): AgentReport {
  if (stopped === 'cancelled') return { kind: 'cancelled' };
  const reason =
    stopped === 'timeout'
      ? `no whole answer from ${shown} within ${(task.timeoutMs ?? 0) / 1000} s (the node's timeout)`
      : `${shown} was silent for ${idleMs / 1000} s`;
  return { kind: 'failed', class: 'timeout', reason, model: 'api' };
}

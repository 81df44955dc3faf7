/** Two short questions to a server: what it and one of its models can do. */
import type { Usage } from '../../core/budget/usage.ts';
import type { FailedReport } from '../../core/contracts/agent.ts';
import type { Clock } from '../../core/contracts/clock.ts';
import type { ModelServer, ServerAccess } from '../../core/model-server.ts';
import { type AskDeps, type AskResult, ask } from './ask.ts';
import type { KnownServer, SpokenApi } from './known.ts';
import { maskFor } from './mask.ts';
import type { Request } from './request.ts';
import { openaiDefaults, showURL } from './settings.ts';
import { type Watch, watchCall } from './watch.ts';

/** `unclear`: the second question found no answer at all. `why`: the words of the server. */
export type ServerProbe = {
  readonly api: SpokenApi;
  readonly schema: 'kept' | 'not kept' | 'refused';
  readonly streaming: boolean;
  readonly tools: 'called' | 'not called' | 'refused' | 'unclear';
  readonly why: string | undefined;
  /** What the first question used; undefined where the server does not count. */
  readonly usage: Usage | undefined;
};

/** A model on this machine may have to be loaded first. */
const probeMs = 120_000;

/** Enough for a model that thinks before it says a word. */
const budget = 4_000;

const schema = {
  name: 'ready',
  schema: {
    type: 'object',
    properties: { word: { type: 'string' } },
    required: ['word'],
    additionalProperties: false,
  },
};
const tool = {
  name: 'report',
  description: 'Takes a word.',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
};

/** Asks once with a schema and once with a tool, without retries. No message has the key. Never rejects for what the server does. */
export async function probeServer({
  server,
  access,
  model,
  clock,
}: {
  readonly server: ModelServer;
  readonly access: ServerAccess;
  readonly model: string;
  readonly clock: Clock;
}): Promise<ServerProbe | { readonly failed: FailedReport }> {
  const shown = showURL(server.baseURL);
  const mask = maskFor(server, access);
  const watch = watchCall(clock, new AbortController().signal, probeMs);
  let events = 0;
  const request: Request = {
    ...{ ...openaiDefaults, server, access, model, clock, shown, budget, schema },
    ...{ effort: undefined, temperature: undefined, prompt: 'Say the word "ready".' },
    ...{ maxRetries: 0, idleMs: probeMs, pollMs: 1_000, pollDeadlineMs: probeMs },
    record: ({ kind }) => {
      if (kind === 'request') events = 0;
      if (kind === 'event') events += 1;
    },
  };
  const deps = depsFor(server, watch);
  try {
    const first = await ask(request, deps);
    if ('report' in first) return { failed: failureOf(first, watch, shown, mask) };
    const { text, usage } = first.answer;
    const streaming = events > 1;
    const isRefused = deps.refused.has('schema');
    const second = await ask(toolQuestion(request), deps);
    return {
      ...{ streaming, usage, api: spokenBy(server, deps.known) },
      schema: isRefused ? 'refused' : isReady(text) ? 'kept' : 'not kept',
      ...toolsIn(second, () => failureOf(second, watch, shown, mask)),
    };
  } finally {
    watch.end();
  }
}

const depsFor = (server: ModelServer, watch: Watch): AskDeps => ({
  task: { log: () => {} },
  ...{ watch, api: server.api, known: { refused: new Map() }, refused: new Set(), mayGrow: false },
  note: () => {},
});

const spokenBy = ({ api }: ModelServer, known: KnownServer): SpokenApi =>
  api === 'auto' ? (known.api ?? 'responses') : api;

const toolQuestion = ({ schema: _, ...request }: Request): Request => ({
  ...request,
  schema: undefined,
  prompt: 'Call the tool "report" with the word "ready".',
  talk: { instructions: 'Use the tool that you are given.', turns: [], tools: [tool] },
});

/** Whether the answer has the form of the schema, which its prompt does not mention. */
function isReady(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'word' in value && typeof value.word === 'string';
  } catch {
    return false;
  }
}

function toolsIn(got: AskResult, failure: () => FailedReport): Pick<ServerProbe, 'tools' | 'why'> {
  if ('answer' in got) {
    const isCalled = got.answer.calls?.some(({ name }) => name === tool.name) === true;
    return { tools: isCalled ? 'called' : 'not called', why: undefined };
  }
  const { class: kind, reason: why } = failure();
  return { tools: kind === 'config' ? 'refused' : kind === 'agent' ? 'not called' : 'unclear', why };
}

/** Why a question has no answer. */
function failureOf(
  got: AskResult,
  watch: Watch,
  shown: string,
  mask: (text: string) => string,
): FailedReport {
  if (watch.stopped !== undefined)
    return {
      ...{ kind: 'failed', class: 'timeout', model: 'api' },
      reason: `no whole answer from ${shown} within ${probeMs / 60_000} minutes`,
    };
  if (!('report' in got) || got.report.kind !== 'failed')
    throw new Error('Internal: a probe that has not failed has no reason');
  return { ...got.report, reason: mask(got.report.reason) };
}

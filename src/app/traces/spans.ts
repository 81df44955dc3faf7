/** Spans of a run, its executions and its model calls, from the lines of the journal. They carry facts and no texts. Pure.
 *  Names of model calls: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ */
import { type Spent, tokensOf, type Usage } from '../../core/budget/usage.ts';
import { providerOfModel } from '../../core/providers.ts';
import type { LineFacts, VisitFacts } from '../../core/records/journal.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { sha256 } from '../../core/sha256.ts';

type AttributeValue = string | number | boolean | null | undefined;

/** A span as OTLP spells it in JSON. */
export type TraceSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly SpanAttribute[];
  readonly status: { readonly code: number; readonly message?: string };
};
type SpanAttribute = {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number | boolean>>;
};

const kinds = { internal: 1, client: 3 } as const;
const states = { unset: 0, error: 2 } as const;

/** A call that has begun, and when. */
export type StartedCall = Extract<LineFacts, { type: 'CallStarted' }>;
type EndedCall = Extract<LineFacts, { type: 'CallEnded' }>;
export type TracedCall = { readonly started: StartedCall; readonly ended: EndedCall };

/** Ids by hash: a run that is resumed, or sent again, keeps them. */
const idOf = (text: string, bytes: number): string => sha256(text).slice(0, 2 * bytes);
const traceOf = (runId: string): string => idOf(`factory run ${runId}`, 16);
const rootOf = (runId: string): string => idOf(`factory run ${runId} root`, 8);

/** Nanoseconds since 1970. */
const nanos = (at: string): string => `${BigInt(Date.parse(at)) * 1_000_000n}`;

/** Attributes that have a value, as OTLP spells them. */
export const attributesOf = (values: Readonly<Record<string, AttributeValue>>): readonly SpanAttribute[] =>
  Object.entries(values).flatMap(([key, value]) =>
    value === undefined || value === null || value === '' ? [] : [{ key, value: spelled(value) }],
  );

function spelled(value: string | number | boolean): SpanAttribute['value'] {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** The span of an execution and those of its calls. `began`: when it began. */
export function executionSpans(
  { run_id: runId, agent }: Pick<Manifest, 'run_id' | 'agent'>,
  line: VisitFacts,
  began: string,
  calls: readonly TracedCall[],
): readonly TraceSpan[] {
  const { node, visit, outcome } = line;
  const [only, ...others] = Object.keys(agent.servers ?? {});
  const of = {
    ...{ runId, parent: idOf(`${traceOf(runId)} ${node}@${visit}`, 8) },
    onlyServer: others.length === 0 ? only : undefined,
  };
  const failed = outcome.status === 'fail';
  return [
    {
      ...{ traceId: traceOf(runId), spanId: of.parent, parentSpanId: rootOf(runId) },
      ...{ name: node, kind: kinds.internal },
      ...{ startTimeUnixNano: nanos(began), endTimeUnixNano: nanos(line.at) },
      attributes: attributesOf({
        'factory.run.id': runId,
        'factory.node.id': node,
        'factory.node.type': line.node_type,
        'factory.node.visit': visit,
        'factory.node.outcome': outcome.status,
        'factory.node.failure_class': failed ? outcome.class : undefined,
        'factory.node.next': line.next_node,
        'factory.branch.id': line.branch,
        'factory.replayed': line.replayed === undefined ? undefined : true,
        'error.type': failed ? outcome.class : undefined,
      }),
      status: failed ? { code: states.error, message: outcome.class } : { code: states.unset },
    },
    ...calls.map((call) => callSpan(call, of)),
  ];
}

/** A request to a model, or the session of an agent program, which makes further requests itself. */
function callSpan(
  { started, ended }: TracedCall,
  {
    runId,
    parent,
    onlyServer,
  }: { readonly runId: string; readonly parent: string; readonly onlyServer: string | undefined },
): TraceSpan {
  const isProgram = started.unseen === true;
  const operation = isProgram ? 'invoke_agent' : 'chat';
  const model = started.model ?? undefined;
  const cut = ended.ended === 'cut';
  const asked = started.agent === 'openai' ? (ended.usage?.provider ?? onlyServer) : undefined;
  const provider = asked ?? (model === undefined ? undefined : providerOfModel(model));
  const seed = `${parent} ${started.attempt} ${started.at} ${started.agent}`;
  return {
    ...{ traceId: traceOf(runId), spanId: idOf(seed, 8), parentSpanId: parent },
    ...{ name: [operation, isProgram ? started.agent : model].filter(Boolean).join(' '), kind: kinds.client },
    ...{ startTimeUnixNano: nanos(started.at), endTimeUnixNano: nanos(ended.at) },
    attributes: attributesOf({
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': provider && (conventional[provider] ?? provider),
      'gen_ai.agent.name': started.agent,
      'gen_ai.request.model': model,
      ...usageAttributes(ended.usage),
      'factory.cost_usd': ended.cost_usd,
      'factory.attempt': started.attempt,
      'error.type': cut ? 'interrupted' : undefined,
    }),
    status: cut ? { code: states.error, message: 'interrupted' } : { code: states.unset },
  };
}

/** Providers that the conventions name otherwise. */
const conventional: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
};

const usageAttributes = (usage: Usage | null): Record<string, AttributeValue> => ({
  'gen_ai.response.model': usage?.model,
  'gen_ai.usage.input_tokens': usage?.input_tokens,
  'gen_ai.usage.output_tokens': usage?.output_tokens,
  'gen_ai.usage.cache_read.input_tokens': usage?.cached_input_tokens,
});

/** The span of a run that has ended: all others are below it. */
export function runSpan(
  manifest: Pick<Manifest, 'run_id' | 'started_at' | 'pipeline_path' | 'factory_version' | 'forked_from'>,
  end: {
    readonly at: string;
    readonly status: string;
    readonly code: number;
    readonly spent?: Spent | undefined;
  },
): TraceSpan {
  const { run_id: runId, started_at, pipeline_path } = manifest;
  const failed = end.code !== 0;
  return {
    ...{ traceId: traceOf(runId), spanId: rootOf(runId) },
    ...{ name: `run ${pipeline_path.replace(/^.*[\\/]/, '')}`, kind: kinds.internal },
    ...{ startTimeUnixNano: nanos(started_at), endTimeUnixNano: nanos(end.at) },
    attributes: attributesOf({
      'factory.run.id': runId,
      'factory.run.status': end.status,
      'factory.run.exit_code': end.code,
      'factory.run.forked_from': manifest.forked_from?.run_id,
      'factory.calls': end.spent?.calls,
      'factory.cost_usd': end.spent?.cost_usd,
      'factory.tokens': end.spent === undefined ? undefined : tokensOf(end.spent),
      'factory.version': manifest.factory_version,
    }),
    status: failed ? { code: states.error, message: end.status } : { code: states.unset },
  };
}

/** Where spans are sent, by the variables of OpenTelemetry (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). Pure. */
import type { Environment } from '../../core/contracts/process.ts';
import { otelPairs } from '../../core/otel-pairs.ts';

export type TraceTarget = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Attributes of the resource that all spans belong to. */
  readonly resource: Readonly<Record<string, string>>;
};

const defaultTimeoutMs = 10_000;

const wordIn = (env: Environment, name: string): string | undefined => env[name]?.trim() || undefined;

/** Undefined if no endpoint is set, or if traces are switched off; `why`: nothing can be sent there. */
export function traceTarget(env: Environment): TraceTarget | { readonly why: string } | undefined {
  const own = (name: string): string | undefined =>
    wordIn(env, `OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? wordIn(env, `OTEL_EXPORTER_OTLP_${name}`);
  const exporter = wordIn(env, 'OTEL_TRACES_EXPORTER');
  const isOff = wordIn(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none';
  const url = isOff ? undefined : endpointIn(env);
  if (url === undefined) return undefined;
  const headers = pairsIn(own('HEADERS'));
  const why = endpointProblem(url) ?? headersProblem(headers);
  if (why !== undefined) return { why };
  if (own('PROTOCOL') === 'grpc')
    return { why: 'OTEL_EXPORTER_OTLP_PROTOCOL is grpc: only http/json is supported' };
  const timeout = Number(own('TIMEOUT') ?? defaultTimeoutMs);
  return {
    url,
    headers,
    timeoutMs: timeout > 0 ? timeout : defaultTimeoutMs,
    resource: {
      ...pairsIn(wordIn(env, 'OTEL_RESOURCE_ATTRIBUTES')),
      'service.name':
        wordIn(env, 'OTEL_SERVICE_NAME') ??
        pairsIn(wordIn(env, 'OTEL_RESOURCE_ATTRIBUTES'))['service.name'] ??
        'factory',
    },
  };
}

/** The endpoint of traces is used unchanged; the general one is the base of its path. */
function endpointIn(env: Environment): string | undefined {
  const [traces, base] = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].map((name) =>
    wordIn(env, name),
  );
  return traces ?? base?.replace(/\/*(?=[?#]|$)/, '/v1/traces');
}

/** What is wrong, without the text itself: it may be a secret, and the library that sends it would print it. */
function endpointProblem(url: string): string | undefined {
  const { protocol, username, password } = URL.canParse(url)
    ? new URL(url)
    : { protocol: '', username: '', password: '' };
  if (!/^https?:$/.test(protocol)) return 'OTEL_EXPORTER_OTLP_ENDPOINT is no http or https address';
  return username === '' && password === ''
    ? undefined
    : 'OTEL_EXPORTER_OTLP_ENDPOINT has a user or a password: name a header in OTEL_EXPORTER_OTLP_HEADERS instead';
}

function headersProblem(headers: Readonly<Record<string, string>>): string | undefined {
  const isSendable = ([name, value]: [string, string]) =>
    /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
  return Object.entries(headers).every(isSendable)
    ? undefined
    : 'OTEL_EXPORTER_OTLP_HEADERS has a name or a value that a header cannot have';
}

const pairsIn = (text = ''): Readonly<Record<string, string>> => Object.fromEntries(otelPairs(text));

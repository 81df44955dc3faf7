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

/** A variable of the exporter, that of traces first; its name is said where its value cannot be used. */
type Setting = { readonly name: string; readonly value: string };

function settingIn(env: Environment, name: string): Setting | undefined {
  for (const one of [`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`]) {
    const value = wordIn(env, one);
    if (value !== undefined) return { name: one, value };
  }
  return undefined;
}

/** Undefined if no endpoint is set, or if traces are switched off; `why`: nothing can be sent there. */
export function traceTarget(env: Environment): TraceTarget | { readonly why: string } | undefined {
  const isOff =
    wordIn(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true' ||
    wordIn(env, 'OTEL_TRACES_EXPORTER') === 'none';
  const endpoint = isOff ? undefined : endpointIn(env);
  if (endpoint === undefined) return undefined;
  const headers = settingIn(env, 'HEADERS');
  const why =
    endpointProblem(endpoint) ?? headersProblem(headers) ?? protocolProblem(settingIn(env, 'PROTOCOL'));
  if (why !== undefined) return { why };
  const timeout = Number(settingIn(env, 'TIMEOUT')?.value ?? defaultTimeoutMs);
  const resource = pairsIn(wordIn(env, 'OTEL_RESOURCE_ATTRIBUTES'));
  return {
    url: endpoint.value,
    headers: pairsIn(headers?.value),
    timeoutMs: timeout > 0 ? timeout : defaultTimeoutMs,
    resource: {
      ...resource,
      'service.name': wordIn(env, 'OTEL_SERVICE_NAME') ?? resource['service.name'] ?? 'factory',
    },
  };
}

/** The endpoint of traces is used unchanged; the general one is the base of its path. */
function endpointIn(env: Environment): Setting | undefined {
  const found = settingIn(env, 'ENDPOINT');
  if (found === undefined || found.name.includes('TRACES')) return found;
  return { ...found, value: found.value.replace(/\/*(?=[?#]|$)/, '/v1/traces') };
}

/* What is wrong, without the value itself: it may be a secret, and the library that sends it would print it. */

function endpointProblem({ name, value }: Setting): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return `${name} is no http or https address`;
  return url.username === '' && url.password === ''
    ? undefined
    : `${name} has a user or a password: name a header in OTEL_EXPORTER_OTLP_HEADERS instead`;
}

function headersProblem(headers: Setting | undefined): string | undefined {
  const isSendable = ([name, value]: [string, string]) =>
    /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
  return Object.entries(pairsIn(headers?.value)).every(isSendable)
    ? undefined
    : `${headers?.name} has a name or a value that a header cannot have`;
}

const protocolProblem = (protocol: Setting | undefined): string | undefined =>
  protocol?.value === 'grpc' ? `${protocol.name} is grpc: only http/json is supported` : undefined;

const pairsIn = (text = ''): Readonly<Record<string, string>> => Object.fromEntries(otelPairs(text));

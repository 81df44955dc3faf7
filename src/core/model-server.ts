/** Servers of models: what a provider's server is, which are built in, and what requests to one take from variables. Pure. */
import type { Price } from './budget/prices.ts';
import type { Environment } from './contracts/process.ts';

/** The APIs that the agent `openai` speaks; `auto`: the one that the server turns out to have. */
export const serverApis = ['responses', 'chat', 'anthropic', 'auto'] as const;
export type ServerApi = (typeof serverApis)[number];

/** A provider's server. It holds no secrets, so that it can be recorded: those are read where a request is sent. */
export type ModelServer = {
  readonly provider: string;
  readonly baseURL: string;
  readonly api: ServerApi;
  /** The variable that has its key; undefined for a server that asks for none. */
  readonly keyVariable: string | undefined;
  /** By name. `${VARIABLE}` in a value is replaced where a request is sent. */
  readonly headers: Readonly<Record<string, string>>;
  /** All models that it has; the first one is asked where none is named. Undefined where the list is unknown. */
  readonly models?: readonly string[];
  /** By model. */
  readonly prices?: Readonly<Record<string, Price>>;
};

/** A server whose address the user may still have to give. */
export type ServerDraft = Omit<ModelServer, 'baseURL'> & { readonly baseURL: string | undefined };

const draft = (
  provider: string,
  baseURL: string | undefined,
  api: ServerApi,
  keyVariable?: string,
): [string, ServerDraft] => [provider, { provider, baseURL, api, keyVariable, headers: {} }];

/** The built-in providers. Of Azure each resource has its own address, which ends in `/openai/v1/`. */
export const builtInServers: ReadonlyMap<string, ServerDraft> = new Map([
  draft('openai', 'https://api.openai.com/v1', 'auto', 'OPENAI_API_KEY'),
  draft('gemini', 'https://generativelanguage.googleapis.com/v1beta/openai/', 'chat', 'GEMINI_API_KEY'),
  draft('anthropic', 'https://api.anthropic.com', 'anthropic', 'ANTHROPIC_API_KEY'),
  draft('openrouter', 'https://openrouter.ai/api/v1', 'chat', 'OPENROUTER_API_KEY'),
  draft('mistral', 'https://api.mistral.ai/v1', 'chat', 'MISTRAL_API_KEY'),
  draft('azure', undefined, 'auto', 'AZURE_OPENAI_API_KEY'),
  draft('ollama', 'http://127.0.0.1:11434/v1', 'auto'),
  draft('vllm', 'http://127.0.0.1:8000/v1', 'auto'),
  draft('lmstudio', 'http://127.0.0.1:1234/v1', 'auto'),
]);

/** The server of the provider `openai`: OPENAI_BASE_URL names another one that speaks its API. */
export function openaiServer(
  env: Environment,
  server: ServerDraft | undefined = builtInServers.get('openai'),
): ModelServer {
  if (server?.baseURL === undefined) throw new Error('Internal: no server of openai is built in');
  return { ...server, baseURL: env['OPENAI_BASE_URL']?.trim() || server.baseURL };
}

const placeholder = /\$\{([A-Za-z_]\w*)\}/g;

/** The variables that requests to a server need: its key's, and those in its headers. */
export const variablesToAsk = ({
  keyVariable,
  headers,
}: Pick<ModelServer, 'keyVariable' | 'headers'>): readonly string[] => [
  ...new Set([
    ...(keyVariable === undefined ? [] : [keyVariable]),
    ...Object.values(headers).flatMap((text) => [...text.matchAll(placeholder)].map(([, name = '']) => name)),
  ]),
];

/** What requests to a server carry: its key, empty for none, and its headers. `hidden`: the values of variables among them. */
export type ServerAccess = {
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly hidden: readonly string[];
};

/** The access to a server with the variables of `env`; one that is not set is empty. */
export function accessTo(
  server: Pick<ModelServer, 'keyVariable' | 'headers'>,
  env: Environment,
): ServerAccess {
  const valueIn = (name: string): string => env[name]?.trim() ?? '';
  return {
    apiKey: server.keyVariable === undefined ? '' : valueIn(server.keyVariable),
    headers: Object.fromEntries(
      Object.entries(server.headers).map(([name, text]) => [
        name,
        text.replace(placeholder, (_, variable: string) => valueIn(variable)),
      ]),
    ),
    hidden: variablesToAsk(server)
      .map(valueIn)
      .filter((value) => value !== ''),
  };
}

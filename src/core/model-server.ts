/** Servers of models: what a provider's server is, which are built in, and what requests to one take from variables. Pure. */
import { atLeast, type Price, priceOf, pricesOf } from './budget/prices.ts';
import type { Environment } from './contracts/process.ts';
import { own } from './json.ts';
import type { ServerEntry } from './records/project.ts';

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

/** What is wrong with the address of a server; its text is not repeated, it may hold a password. */
export function addressProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is not a URL';
  const { protocol, username, password } = new URL(text);
  if (!/^https?:$/.test(protocol)) return 'is neither http nor https';
  return username === '' && password === ''
    ? undefined
    : 'has a user name or password, which requests cannot have';
}

/** The user's own file with providers, as messages name it. */
export const userFileName = '~/.config/factory/factory.json';

/** How providers are called. */
export const providerName = /^[a-z0-9][a-z0-9._-]*$/;

type ServerEntries = Readonly<Record<string, ServerEntry>>;

export type ModelServers = ReadonlyMap<string, ServerDraft>;

/** The built-in providers with what the files say: the user's word counts before that of a project, which has neither address
 *  nor key. */
export function serversWith(user: ServerEntries = {}, project: ServerEntries = {}): ModelServers {
  const all = new Map(builtInServers);
  for (const entries of [project, user])
    for (const [provider, entry] of Object.entries(entries)) {
      const priced = entries === user ? entry.prices : notLowered(provider, entry, own(user, provider));
      const before = all.get(provider) ?? draft(provider, undefined, 'auto')[1];
      const { base_url: baseURL = before.baseURL, key: keyVariable = before.keyVariable, ...more } = entry;
      const prices = { ...before.prices, ...priced };
      all.set(provider, {
        ...{ ...before, ...more, baseURL, keyVariable },
        ...(Object.keys(prices).length === 0 ? {} : { prices }),
      });
    }
  return all;
}

/** The prices that a project gives: one below what the user or factory knows would hide costs from the limits of the user. */
function notLowered(
  provider: string,
  { prices = {} }: ServerEntry,
  ofUser: ServerEntry = {},
): ModelServer['prices'] {
  const known = pricesOf({ agent: { servers: { [provider]: ofUser } } });
  return Object.fromEntries(
    Object.entries(prices).map(([model, price]) => {
      const least = priceOf(known, model, provider);
      return [model, least === undefined ? price : atLeast(price, least)];
    }),
  );
}

/** The address that the environment gives the provider `openai`, if it does. */
const addressIn = (env: Environment): string | undefined => env['OPENAI_BASE_URL']?.trim() || undefined;

/** Whether the user has given the provider `openai` a server of another one: its models have any names. */
export function hasOtherServer(env: Environment): boolean {
  const address = addressIn(env);
  return address !== undefined && !/^https:\/\/api\.openai\.com(?:\/|$)/i.test(address);
}

/** The server of a provider; undefined where it is unknown or has no address. */
export function serverOf(servers: ModelServers, provider: string, env: Environment): ModelServer | undefined {
  const known = servers.get(provider);
  const baseURL = (provider === 'openai' ? addressIn(env) : undefined) ?? known?.baseURL;
  return known === undefined || baseURL === undefined ? undefined : { ...known, baseURL };
}

/** The server of the provider `openai` where no file says anything. */
export function openaiServer(env: Environment, servers: ModelServers = builtInServers): ModelServer {
  const server = serverOf(servers, 'openai', env);
  if (server === undefined) throw new Error('Internal: no server of openai is built in');
  return server;
}

/** The provider that a model's name begins with, and its name there; undefined for any other name. */
export function modelOfProvider(
  servers: ModelServers,
  name: string,
): { readonly provider: string; readonly model: string } | undefined {
  const at = name.indexOf('/');
  const provider = name.slice(0, Math.max(at, 0)).toLowerCase();
  const model = name.slice(at + 1);
  return servers.has(provider) && model !== '' ? { provider, model } : undefined;
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

/** The access to a server with the variables of `env`. A key, or a header, of which one is not set is empty. */
export function accessTo(
  server: Pick<ModelServer, 'keyVariable' | 'headers'>,
  env: Environment,
): ServerAccess {
  const valueIn = (name: string): string => env[name]?.trim() ?? '';
  const filled = (text: string): string => {
    const names = [...text.matchAll(placeholder)].map(([, name = '']) => name);
    return names.some((name) => valueIn(name) === '')
      ? ''
      : text.replace(placeholder, (_, name: string) => valueIn(name));
  };
  return {
    apiKey: server.keyVariable === undefined ? '' : valueIn(server.keyVariable),
    headers: Object.fromEntries(Object.entries(server.headers).map(([name, text]) => [name, filled(text)])),
    hidden: variablesToAsk(server)
      .map(valueIn)
      .filter((value) => value !== ''),
  };
}

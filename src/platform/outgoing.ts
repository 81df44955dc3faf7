/** The way out: each HTTP request of factory itself is sent here, through the proxy that the environment names. */
import { isLoopback } from '../core/policy/loopback.ts';

type Dispatch = (options: object, handler: unknown) => boolean;
type Dispatcher = { readonly dispatch: Dispatch };

/** As `fetch`. `patient`: without limits of time, which the caller has its own of. Requests to this machine never go to a proxy. */
export async function outgoing(
  input: string | URL | Request,
  init: RequestInit = {},
  { patient = false } = {},
): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const proxy = isHere(url.hostname) ? undefined : await proxyAgent(process.env);
  const inner = proxy ?? (patient ? globalDispatcher() : undefined);
  if (inner === undefined) return fetch(input, init);
  // Of a dispatcher's many methods fetch uses this one.
  const dispatcher = patient ? { dispatch: unlimited(inner) } : inner;
  const sent = fetch(input, { ...init, dispatcher } as RequestInit);
  return proxy === undefined ? sent : sent.catch((error: unknown) => rethrown(error, url));
}

/** The proxy stands between a request and its server: it is down, it refuses, or its variable is wrong. */
export class ProxyTrouble extends Error {
  readonly kind: 'down' | 'refusal' | 'variable';
  constructor(message: string, kind: ProxyTrouble['kind']) {
    super(message);
    this.kind = kind;
  }
}

/** Throws what fetch has thrown, in words of ours where the proxy has answered in place of the server. */
function rethrown(error: unknown, { href }: URL): never {
  const root = rootCause(error);
  const message = root instanceof Error ? root.message : '';
  const status = /^Proxy (?:response|Authentication Required) \((\d{3})\)/.exec(message)?.[1];
  if (status === undefined) throw error;
  const proxy = `the proxy of ${proxyFor(href, process.env)}`;
  if (status === '407') throw new ProxyTrouble(`${proxy} asks for another user or password (407)`, 'refusal');
  if (status === '403') throw new ProxyTrouble(`${proxy} refuses the way to this server (403)`, 'refusal');
  throw new ProxyTrouble(`${proxy} answers ${status}`, 'down');
}

/** The innermost cause, which says more than `fetch failed`. */
export function rootCause(error: unknown): unknown {
  let root = error;
  for (let depth = 0; depth < 10 && root instanceof Error && root.cause instanceof Error; depth += 1)
    root = root.cause;
  return root;
}

/** Node's fetch gives up on a body that is silent for five minutes, and a model may think longer. */
const unlimited =
  (inner: Dispatcher): Dispatch =>
  (options, handler) =>
    inner.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);

/** The one that fetch uses by itself; without it (another runtime) fetch keeps its limits. */
function globalDispatcher(): Dispatcher | undefined {
  // Reading any part of fetch loads it, which sets the dispatcher.
  if (typeof Headers !== 'function') return undefined;
  const known: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'));
  return typeof known === 'object' && known !== null && 'dispatch' in known
    ? (known as Dispatcher)
    : undefined;
}

/** A host that no proxy knows: this machine, by any name that is reserved for it. */
const isHere = (host: string): boolean => isLoopback(host) || /^(?:.+\.)?localhost\.?$/i.test(host);

/** What keeps requests to this URL from being sent: a wrong variable of any proxy does, except for this machine. */
export const proxyProblemOf = (url: string, env: Variables): string | undefined =>
  isHere(new URL(url).hostname) ? undefined : proxyProblem(env);

type Variables = Readonly<Record<string, string | undefined>>;

/** The proxies that the variables name; the lower-case name wins, as in curl. */
const proxiesIn = (env: Variables) => {
  const named = (name: string) =>
    [name.toLowerCase(), name].find((one) => (env[one]?.trim() ?? '') !== '') ?? '';
  const [http, https] = [named('HTTP_PROXY'), named('HTTPS_PROXY')];
  return { http, https, none: env[named('NO_PROXY')]?.trim() ?? '' };
};

/** What is wrong with the proxies that the variables name, without their text, which may hold a password; undefined if nothing is. */
export function proxyProblem(env: Variables): string | undefined {
  const { http, https } = proxiesIn(env);
  for (const name of [http, https]) {
    const text = env[name]?.trim();
    if (text === undefined) continue;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
      return `${name} is no address of a proxy: write it like http://host:port`;
  }
  return undefined;
}

/** The variable that names the proxy of a request to this URL; undefined where it goes directly. Exceptions of NO_PROXY aside. */
export function proxyFor(url: string, env: Variables): string | undefined {
  const { protocol, hostname } = new URL(url);
  if (isHere(hostname)) return undefined;
  const { http, https } = proxiesIn(env);
  return (protocol === 'https:' && https !== '' ? https : http) || undefined;
}

let made: { readonly of: string; readonly agent: Promise<Dispatcher> } | undefined;

/** One for the process, so that connections are used again. */
async function proxyAgent(env: Variables): Promise<Dispatcher | undefined> {
  const { http, https, none } = proxiesIn(env);
  if (http === '' && https === '') return undefined;
  const problem = proxyProblem(env);
  if (problem !== undefined) throw new ProxyTrouble(problem, 'variable');
  const [httpProxy, httpsProxy] = [env[http]?.trim() ?? '', env[https]?.trim() ?? ''];
  const of = JSON.stringify([httpProxy, httpsProxy, none]);
  if (made?.of !== of)
    made = {
      of,
      // Many proxies let tunnels only to port 443: a plain request is given to them whole.
      agent: import('./proxy-agent.ts').then(
        ({ EnvHttpProxyAgent }) =>
          new EnvHttpProxyAgent({ httpProxy, httpsProxy, noProxy: none, proxyTunnel: false }) as Dispatcher,
      ),
    };
  return made.agent;
}

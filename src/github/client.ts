/** Requests to GitHub: retried where that is safe, unchanged answers by their ETags, all pages of a list. */
import type { Clock } from '../core/contracts/clock.ts';
import { shortText } from '../core/diagnostic.ts';
import { isObject, mostGivenLevels, parseJson } from '../core/json.ts';
import { isLoopback } from '../core/policy/loopback.ts';
import type { HttpAnswer, HttpSend } from '../platform/http.ts';
import { GitHubError, type GitHubTrouble } from './error.ts';
import { limitedUntil, queryLimitedUntil } from './limit.ts';
import type { GitHubServer } from './server.ts';

export type GitHubHost = {
  readonly clock: Clock;
  readonly send: HttpSend;
  readonly signal: AbortSignal;
  /** Answers of earlier commands. */
  readonly kept?: AnswerStore;
};

/** Answers with their ETags: one that has not changed costs nothing of the limit, and is not sent again. */
export interface AnswerStore {
  get(url: string): KeptAnswer | undefined;
  set(url: string, answer: KeptAnswer): Promise<void>;
}
export type KeptAnswer = {
  readonly etag: string;
  readonly body: unknown;
  /** The URL of the next page. */
  readonly next?: string | undefined;
};

/** All of it rejects with a `GitHubError`. Paths begin with a slash; of full URLs only those of the same origin are asked. */
export interface GitHub {
  readonly server: GitHubServer;
  get(path: string): Promise<unknown>;
  /** The items of all pages; `items` finds them where a page is no list. */
  pages(path: string, items?: (page: unknown) => unknown): Promise<readonly unknown[]>;
  /** The end of a log, which another server has; undefined where it cannot be had. */
  logEnd(path: string): Promise<string | undefined>;
  /** A request that changes something: after an `outage` it may or may not have. Then nothing repeats it but `changeOnce`. */
  change(method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, body: object): Promise<unknown>;
  /** `data` of a GraphQL query that changes nothing. */
  query(text: string, variables: Readonly<Record<string, string | number | null>>): Promise<unknown>;
  /** Changes something once: `look` finds what an earlier attempt may have changed. After an outage both are done again. */
  changeOnce<Found, Result>(
    look: (attempt: number) => Promise<Found>,
    act: (found: Found) => Promise<Result>,
  ): Promise<Result>;
}

const timeoutMs = 30_000;
const mostBytes = 32 * 1024 * 1024;
/** How often something is tried. */
const mostAttempts = 4;
const mostRedirects = 3;
/** A list of more pages than that is endless. */
const mostPages = 400;

export function gitHub(server: GitHubServer, host: GitHubHost): GitHub {
  const urlOf = (path: string): string => (path.startsWith('/') ? `${server.api}${path}` : path);
  const sent = (request: Sent) => sendOnce(server, host, request);
  const again = <T>(one: () => Promise<T>): Promise<T> => afterOutages(host, () => Promise.resolve(), one);
  const page = (path: string) => readPage(server, host, urlOf(path), (request) => again(() => sent(request)));
  return {
    server,
    get: async (path) => (await page(path)).body,
    async pages(path, items = (body) => body) {
      const all: unknown[] = [];
      let next: string | undefined = path;
      for (let count = 0; next !== undefined; count++) {
        const one: Page = await page(next);
        const list = items(one.body);
        if (!Array.isArray(list) || count >= mostPages) throw notTheApi(`GET ${shownPath(server, next)}`);
        all.push(...(list as readonly unknown[]));
        next = one.next;
      }
      return all;
    },
    async logEnd(path) {
      const answer = await again(() => sent({ method: 'GET', url: urlOf(path) }));
      if (answer.status < 300) return answer.body.slice(-logBytes);
      return logAt(server, host, answer.header('location'));
    },
    async change(method, path, body) {
      const answer = await sent({ method, url: urlOf(path), body });
      return answer.body === '' ? undefined : jsonOf(answer, `${method} ${path}`);
    },
    async query(text, variables) {
      const request = { method: 'POST', url: server.graphql, body: { query: text, variables } };
      return again(async () => dataOf(await sent(request), host.clock.now()));
    },
    changeOnce: (look, act) => afterOutages(host, look, act),
  };
}

async function afterOutages<Found, Result>(
  { clock, signal }: Pick<GitHubHost, 'clock' | 'signal'>,
  look: (attempt: number) => Promise<Found>,
  act: (found: Found) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    const found = await look(attempt);
    try {
      return await act(found);
    } catch (error) {
      const isOutage = error instanceof GitHubError && error.trouble.kind === 'outage';
      if (!isOutage || attempt + 1 >= mostAttempts) throw error;
    }
    await clock.sleep(1000 * 2 ** attempt, signal);
  }
}

type Sent = {
  readonly method: string;
  readonly url: string;
  readonly body?: object;
  readonly etag?: string | undefined;
};
type Page = { readonly body: unknown; readonly next?: string | undefined };

/** One request with its answer of 2xx, 304 or a redirect; all else is thrown. */
async function sendOnce(server: GitHubServer, host: GitHubHost, request: Sent): Promise<HttpAnswer> {
  const { method, url, body, etag } = request;
  const what = `${method} ${shownPath(server, url)}`;
  if (new URL(url).origin !== new URL(server.api).origin)
    throw rejected(`GitHub names an address of another server: ${new URL(url).origin}`, 0);
  const answer = await host.send({
    ...{ method, url, timeoutMs, mostBytes, signal: host.signal },
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${server.token}`,
      'user-agent': 'factory',
      'x-github-api-version': '2022-11-28',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(etag === undefined ? {} : { 'if-none-match': etag }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (host.signal.aborted) throw new GitHubError(`interrupted: ${what}`, { kind: 'interrupted' });
  if ('unreachable' in answer)
    throw new GitHubError(`${server.api} cannot be reached: ${answer.unreachable}`, { kind: 'outage' });
  const { status } = answer;
  if (status < 400 && (status < 300 || status === 304 || method === 'GET')) return answer;
  throw failureOf(answer, what, host.clock.now());
}

/** Bytes of a log that are kept, and that are read. */
const logBytes = 64 * 1024;
const mostLogBytes = 128 * 1024 * 1024;

/** A log is the only thing of another server that is read: its address is signed, so it is sent without the token, and no further
 *  redirect is followed. */
async function logAt(
  { api }: GitHubServer,
  host: GitHubHost,
  location: string | undefined,
): Promise<string | undefined> {
  if (location === undefined || !URL.canParse(location)) return undefined;
  const url = new URL(location);
  const isHere = isLoopback(url.hostname) && isLoopback(new URL(api).hostname);
  if (!(url.protocol === 'https:' || (url.protocol === 'http:' && isHere))) return undefined;
  const answer = await host.send({
    ...{ method: 'GET', url: url.href, headers: { 'user-agent': 'factory' } },
    ...{ timeoutMs, mostBytes: mostLogBytes, tailBytes: logBytes, signal: host.signal },
  });
  if (host.signal.aborted) throw new GitHubError('interrupted: a log', { kind: 'interrupted' });
  return 'unreachable' in answer || answer.status !== 200 ? undefined : answer.body;
}

/** What an answer says that is none of success. */
function failureOf(answer: HttpAnswer, what: string, now: Date): GitHubError {
  const { status } = answer;
  const until = limitedUntil(answer, now);
  if (until !== undefined) return limited(until);
  const words = `GitHub answers ${status} to ${what}${apiMessage(answer)}`;
  const trouble: GitHubTrouble =
    status >= 500
      ? { kind: 'outage' }
      : status === 401
        ? { kind: 'token' }
        : status === 403 || status === 404 || status === 410 || status === 451
          ? { kind: 'access', status }
          : { kind: 'rejected', status };
  const why = status === 401 ? ': it does not take the token, which may have expired' : '';
  return new GitHubError(`${words}${why}`, trouble);
}

const limited = (until: Date): GitHubError =>
  new GitHubError('GitHub asks to wait: too many requests', { kind: 'limit', until });
const rejected = (message: string, status: number): GitHubError =>
  new GitHubError(message, { kind: 'rejected', status });

/** The message of the API, which is not ours. */
function apiMessage({ body }: HttpAnswer): string {
  try {
    const value = parseJson(body, mostGivenLevels);
    if (!isObject(value) || typeof value['message'] !== 'string') return '';
    const errors: readonly unknown[] = Array.isArray(value['errors']) ? value['errors'] : [];
    const more = errors.flatMap((one) =>
      isObject(one) && typeof one['message'] === 'string' ? [one['message']] : [],
    );
    return ` (${shortText([value['message'], ...more].join(': '), 300)})`;
  } catch {
    return '';
  }
}

/** One page: the kept answer where GitHub says that it has not changed. */
async function readPage(
  server: GitHubServer,
  host: GitHubHost,
  from: string,
  again: (request: Sent) => Promise<HttpAnswer>,
): Promise<Page> {
  let url = from;
  for (let redirects = 0; ; redirects++) {
    const kept = host.kept?.get(url);
    const answer = await again({ method: 'GET', url, etag: kept?.etag });
    if (answer.status === 304 && kept !== undefined) return kept;
    const what = `GET ${shownPath(server, url)}`;
    if (answer.status >= 300) {
      const to = answer.header('location');
      if (to === undefined || redirects >= mostRedirects || !URL.canParse(to, url)) throw notTheApi(what);
      // A renamed repository; another origin is refused, as everywhere.
      url = new URL(to, url).href;
      continue;
    }
    const page = { body: jsonOf(answer, what), next: nextIn(answer.header('link')) };
    const etag = answer.header('etag');
    // A full last page stays the same when another one begins.
    const isFull = Array.isArray(page.body) && page.body.length >= perPage(url);
    if (etag !== undefined && !(isFull && page.next === undefined))
      await host.kept?.set(url, { ...page, etag });
    return page;
  }
}

const perPage = (url: string): number => Number(new URL(url).searchParams.get('per_page') ?? 30);

/** The next page that a `Link` header names. */
const nextIn = (link = ''): string | undefined =>
  /<([^>]*)>\s*;[^,]*?\brel="?next"?/.exec(link)?.[1] ?? undefined;

function jsonOf({ body, status }: HttpAnswer, what: string): unknown {
  try {
    return parseJson(body, mostGivenLevels);
  } catch {
    throw notTheApi(`${what} (${status})`);
  }
}

/** An answer that is not that of the API: it comes from another server. */
export const notTheApi = (what: string): GitHubError =>
  rejected(`the answer to ${what} is not one of the GitHub API: GITHUB_API_URL may name another server`, 0);

function dataOf(answer: HttpAnswer, now: Date): unknown {
  const value = jsonOf(answer, 'POST /graphql');
  if (!isObject(value)) throw notTheApi('POST /graphql');
  const errors: readonly unknown[] = Array.isArray(value['errors']) ? value['errors'] : [];
  const [first] = errors.filter(isObject);
  if (first === undefined) return value['data'];
  const until = queryLimitedUntil(answer, first, now);
  if (until !== undefined) throw limited(until);
  const words = String(first['message']);
  const message = `GitHub answers to a query: ${shortText(words, 300)}`;
  // Its own failures and timeouts have no type, and often status 200.
  if (/^something went wrong\b/i.test(words)) throw new GitHubError(message, { kind: 'outage' });
  if (first['type'] === 'FORBIDDEN') throw new GitHubError(message, { kind: 'access', status: 403 });
  if (first['type'] !== 'NOT_FOUND') throw rejected(message, 200);
  // The repository is there, the thing in it is gone: deleted, or transferred.
  const isThere = isObject(value['data']) && isObject(value['data']['repository']);
  throw new GitHubError(message, { kind: 'access', status: isThere ? 410 : 404 });
}

const shownPath = ({ api }: GitHubServer, url: string): string =>
  shortText(url.startsWith(api) ? url.slice(api.length) : new URL(url).pathname, 200);

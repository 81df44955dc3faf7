/** Node's fetch, but of a server that says "elsewhere" no further than makes sense: left alone it follows twenty times, and
 *  makes of a prompt that is handed in a look at what there is. */
import { showURL } from './defaults.ts';

/** The server has no answer, only another address. */
export class Elsewhere extends Error {}

const mostSteps = 5;

export async function followed(
  ...[first, init = {}]: Parameters<typeof globalThis.fetch>
): Promise<Response> {
  let url = first instanceof Request ? first.url : String(first);
  let headers = new Headers(init.headers);
  const seen = new Set([url]);
  for (;;) {
    const response = await globalThis.fetch(url, { ...init, headers, redirect: 'manual' });
    const next = nextOf(response, url);
    if (next === undefined) return response;
    await response.body?.cancel();
    const { status } = response;
    const elsewhere = (why: string) =>
      new Elsewhere(`${why} (${status} to ${showURL(next)}): set OPENAI_BASE_URL to where the API answers`);
    const keeps = status === 307 || status === 308 || (init.method ?? 'GET').toUpperCase() === 'GET';
    if (!keeps || !isAskable(next)) throw elsewhere('takes no prompt and leads elsewhere');
    if (seen.has(next) || seen.size > mostSteps) throw elsewhere('leads on and on');
    seen.add(next);
    if (new URL(next).origin !== new URL(url).origin) headers = withoutKey(headers);
    url = next;
  }
}

/** Whether fetch takes such an address: it refuses one with a user's name. */
function isAskable(next: string): boolean {
  const { protocol, username, password } = new URL(next);
  return /^https?:$/.test(protocol) && username === '' && password === '';
}

function nextOf({ status, headers }: Response, url: string): string | undefined {
  const location = headers.get('location') ?? '';
  if (![301, 302, 303, 307, 308].includes(status) || location === '') return undefined;
  if (!URL.canParse(location, url)) return undefined;
  const next = new URL(location, url);
  next.hash = '';
  return next.href;
}

/** Who is somebody else gets no key of ours. */
function withoutKey(headers: Headers): Headers {
  const others = new Headers(headers);
  for (const name of ['authorization', 'api-key', 'cookie']) others.delete(name);
  return others;
}

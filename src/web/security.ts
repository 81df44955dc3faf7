/** Who may ask: the token, the names of this server, the origin of a request; and headers that bind the browser. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { problem } from './web.ts';

export type Access = {
  readonly token: string;
  /** The address that the server listens on, unchanged from `--host`. */
  readonly host: string;
  /** Known once the server listens. */
  readonly port: () => number;
  /** The origin under which a proxy or a tunnel offers this server, such as `https://ci.example.org`. */
  readonly publicUrl?: string | undefined;
  /** The name of this machine, which a server on all addresses also answers to. */
  readonly machine: string;
};

export const newToken = (): string => randomBytes(32).toString('base64url');

/** Why a token that a user chose is refused, or undefined. */
export const tokenProblem = (token: string): string | undefined =>
  /^[A-Za-z0-9._~-]{16,200}$/.test(token)
    ? undefined
    : 'a token has 16 to 200 letters, digits, ".", "_", "~" or "-"';

/** The origin of an address without a path; undefined for anything else. */
export function publicOrigin(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { origin, protocol, pathname, search, hash, username } = new URL(url);
  const isPlain = pathname === '/' && search === '' && hash === '' && username === '';
  return (protocol === 'https:' || protocol === 'http:') && isPlain ? origin : undefined;
}

const loopback = ['127.0.0.1', 'localhost', '[::1]'];
const everywhere = ['0.0.0.0', '::', '[::]'];

/** How an address is written in a URL. */
export const inUrl = (host: string): string =>
  host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;

/** Whether the header `Host` names this server. A page of another site whose name was pointed at this machine has its own
 *  name there. The end of a tunnel (`ssh -L`) is a loopback address with another port. */
export function isOurHost(given: string | undefined, { host, port, machine, publicUrl }: Access): boolean {
  const [, name = '', at = '80'] = /^(\[[0-9a-f:.]+\]|[^:\s]+)(?::(\d+))?$/i.exec(given ?? '') ?? [];
  const lower = name.toLowerCase();
  if (loopback.includes(lower)) return true;
  if (publicUrl !== undefined && given?.toLowerCase() === new URL(publicUrl).host) return true;
  if (name === '' || Number(at) !== port()) return false;
  if (lower === inUrl(host).toLowerCase()) return true;
  const isAddress = /^\d{1,3}(?:\.\d{1,3}){3}$/.test(lower) || lower.startsWith('[');
  return everywhere.includes(host) && (isAddress || lower === machine.toLowerCase());
}

/** Compares without giving away by its time how much is right. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}

/** Cookies are shared by all ports of a machine, so that the name has the port. */
const cookieName = ({ port }: Access): string => `factory_${port()}`;

type Way = 'bearer' | 'cookie';

const bearerToken = (c: Context): string | undefined =>
  /^Bearer +(\S+)$/i.exec(c.req.header('Authorization') ?? '')?.[1];

/** How the request proves that it may ask, if it does. */
function wayIn(c: Context, access: Access): Way | undefined {
  const header = bearerToken(c);
  if (header !== undefined) return isSame(header, access.token) ? 'bearer' : undefined;
  const cookie = getCookie(c, cookieName(access));
  return cookie !== undefined && isSame(cookie, access.token) ? 'cookie' : undefined;
}

/** Whether a page of another origin caused the request. Other ports of this machine are other origins, although browsers send
 *  them the same cookies. */
function isForeign(c: Context, way: Way, { publicUrl }: Access): boolean {
  const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
  const site = c.req.header('Sec-Fetch-Site');
  if (site !== undefined && site !== 'same-origin' && !(isRead && site === 'none')) return true;
  const origin = c.req.header('Origin');
  if (origin !== undefined) return origin !== publicUrl && origin !== `http://${c.req.header('Host')}`;
  return !isRead && way === 'cookie';
}

/** Requests under another name are refused. */
export const ourHostOnly =
  (access: Access): MiddlewareHandler =>
  async (c, next) => {
    if (isOurHost(c.req.header('Host'), access)) return next();
    return problem(
      403,
      'forbidden',
      'the header Host does not name this server',
      'use the address that factory serve printed; behind a proxy, start it with --public-url',
    );
  };

/** The header with the token of a notice, which answers one question of one run. */
export const answerTokenHeader = 'X-Factory-Answer-Token';

/** Of the API: no token, no answer. `mayAnswer`: whether a run has given out the token of a notice. */
export const withTokenOnly =
  (access: Access, mayAnswer: (run: string, token: string) => boolean): MiddlewareHandler =>
  async (c, next) => {
    const way = wayIn(c, access) ?? (isNotice(c, mayAnswer) ? 'bearer' : undefined);
    if (way === undefined)
      return problem(
        401,
        'unauthorized',
        'no token, or a wrong one',
        'open the address that factory serve printed, or send Authorization: Bearer TOKEN',
        { 'WWW-Authenticate': 'Bearer' },
      );
    if (isForeign(c, way, access))
      return problem(
        403,
        'forbidden',
        'the request comes from a page at another address',
        'use the page of this server; behind a proxy, start it with --public-url and the address of that page',
      );
    return next();
  };

/** Of a server for programs only: the token in the header, else no answer. */
export const bearerOnly =
  (token: string): MiddlewareHandler =>
  async (c, next) => {
    const given = bearerToken(c);
    if (given !== undefined && isSame(given, token)) return next();
    return problem(401, 'unauthorized', 'no token, or a wrong one', 'send Authorization: Bearer TOKEN', {
      'WWW-Authenticate': 'Bearer',
    });
  };

/** Whether the request answers a question with the token of a notice. */
function isNotice(c: Context, mayAnswer: (run: string, token: string) => boolean): boolean {
  const token = c.req.header(answerTokenHeader);
  const [, run] = /^\/api\/v1\/runs\/([^/]+)\/answer$/.exec(c.req.path) ?? [];
  return c.req.method === 'POST' && run !== undefined && token !== undefined && mayAnswer(run, token);
}

/** `GET /…?token=TOKEN`: the token becomes a cookie, and the address loses it. */
export const tokenExchange =
  (access: Access): MiddlewareHandler =>
  async (c, next) => {
    const given = c.req.query('token');
    if (given === undefined || c.req.method !== 'GET') return next();
    if (!isSame(given, access.token))
      return c.text(
        'The token in this address is wrong: open the address that factory serve printed.\n',
        401,
      );
    setCookie(c, cookieName(access), access.token, {
      ...{ path: '/', httpOnly: true, sameSite: 'Strict', maxAge: 30 * 24 * 3600 },
      secure: access.publicUrl?.startsWith('https:') === true,
    });
    const url = new URL(c.req.url);
    url.searchParams.delete('token');
    // A path that begins with two slashes would name another server.
    return c.redirect(`/${url.pathname.replace(/^[/\\]+/, '')}${url.search}`, 303);
  };

const policy = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
  ...[
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ],
].join('; ');

/** Of a picture that is opened by itself: nothing in it runs. */
export const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

const always: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

export const boundHeaders: MiddlewareHandler = async (c, next) => {
  await next();
  for (const [name, value] of Object.entries(always)) c.res.headers.set(name, value);
  if (!c.res.headers.has('Content-Security-Policy')) c.res.headers.set('Content-Security-Policy', policy);
  if (!c.res.headers.has('Cache-Control')) c.res.headers.set('Cache-Control', 'no-store');
};

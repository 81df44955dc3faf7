/** Which GitHub is asked, and with which token: by the environment. */
import { resolve } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { isLoopback } from '../core/policy/loopback.ts';
import { type Plain, readPlain } from '../platform/files/read.ts';
import { readFailure } from '../platform/files/write.ts';

export type GitHubServer = {
  /** Without a slash at its end. The token is sent to this origin only. */
  readonly api: string;
  readonly graphql: string;
  /** The host of repositories; undefined for a server on this machine, which may stand for any. */
  readonly host: string | undefined;
  readonly token: string;
};

const publicApi = 'https://api.github.com';
const no = (message: string, fix: string): Refusal => refused('github', message, fix);

export function gitHubServer(env: Environment, cwd: string): GitHubServer | Refusal {
  const place = apiPlace(env['GITHUB_API_URL']?.trim() || publicApi);
  if ('problems' in place) return place;
  const token = tokenOf(env, cwd);
  return typeof token === 'object' ? token : { ...place, token };
}

function apiPlace(typed: string): Omit<GitHubServer, 'token'> | Refusal {
  const fix = `for example ${publicApi}, or https://HOST/api/v3 of a server of your own`;
  if (!URL.canParse(typed)) return no('GITHUB_API_URL is not a URL', fix);
  const url = new URL(typed);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return no('GITHUB_API_URL must have no user, password, query or fragment', fix);
  const isHere = isLoopback(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isHere))
    return no('GITHUB_API_URL is not https: the token could be read on its way', fix);
  const api = url.href.replace(/\/+$/, '');
  // A server of one's own has its two APIs next to each other.
  const graphql = api.endsWith('/api/v3') ? `${api.slice(0, -'/v3'.length)}/graphql` : `${api}/graphql`;
  const host = isHere ? undefined : url.hostname.replace(/^api\.(?=github\.com$|.*\.ghe\.com$)/, '');
  return { api, graphql, host };
}

function tokenOf(env: Environment, cwd: string): string | Refusal {
  const given = env['GITHUB_TOKEN']?.trim() ?? '';
  const file = env['GITHUB_TOKEN_FILE']?.trim() ?? '';
  const fix = 'set GITHUB_TOKEN, or GITHUB_TOKEN_FILE to a file with the token';
  if (given === '' && file === '') return no('no token for GitHub', fix);
  const token = given === '' ? tokenIn(resolve(cwd, file)) : given;
  if (typeof token === 'object') return no(`GITHUB_TOKEN_FILE ${file} ${token.why}`, fix);
  // A header takes no other characters, and what is wrong with it must not show it.
  return /^[\x21-\x7e]+$/.test(token) ? token : no('the token for GitHub is not one word of ASCII', fix);
}

function tokenIn(path: string): string | { readonly why: string } {
  const read = readFileOf(path);
  if (read.kind === 'missing') return { why: 'is missing' };
  if (read.kind === 'none') return read;
  const token = read.text.trim();
  return token === '' ? { why: 'is empty' } : token;
}

function readFileOf(path: string): Plain {
  try {
    return readPlain(path, 64 * 1024);
  } catch (error) {
    return { kind: 'none', why: readFailure(error) };
  }
}

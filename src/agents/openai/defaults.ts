/** What holds where nobody says otherwise, and what a key looks like: all that choosing this agent needs of it. */

/** Most tokens that an answer is given room for: a whole doubling would be refused by every model whose room ends at
 *  65,536. */
export const mostOutputTokens = 65_000;

export const openaiDefaults = {
  baseURL: 'https://api.openai.com/v1',
  model: 'gpt-5.2',
  maxOutputTokens: 64_000,
  mostOutputTokens,
  maxRetries: 2,
  maxWaitMs: 60_000,
  idleMs: 2_400_000,
  lullMs: 10_000,
  pollMs: 5_000,
  pollDeadlineMs: 2_400_000,
  maxAnswerBytes: 10 * 1024 * 1024,
  firstRetryMs: 500,
} as const;

/** Why this cannot be a key, or undefined; says nothing of the key itself. */
export function keyProblem(apiKey: string): string | undefined {
  const key = apiKey.trim();
  if (key === '') return 'there is no key: set OPENAI_API_KEY';
  if (!/^[\x21-\x7e]+$/.test(key))
    return 'OPENAI_API_KEY has characters that no key has: blanks, line ends or letters beyond ASCII';
  return undefined;
}

/** A base URL as it may stand in messages: without user, password and query. */
export function showURL(baseURL: string): string {
  try {
    const url = new URL(baseURL);
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  } catch {
    return baseURL;
  }
}

/** What may be a secret in the query of a base URL: servers repeat what they were asked. A version of the API is none, nor is
 *  what is too short for one. */
export function hiddenIn(baseURL: string): readonly string[] {
  if (!URL.canParse(baseURL)) return [];
  return [...new URL(baseURL).searchParams]
    .filter(([name, value]) => value.length >= 8 && !/^(?:api[-_]?)?version$/i.test(name))
    .map(([, value]) => value);
}

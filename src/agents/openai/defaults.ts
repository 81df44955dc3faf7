/** Default settings, and what a key and a base URL look like: all that choosing this agent needs of it. */

/** The largest token budget of an answer: models whose limit is 65,536 would refuse a full doubling. */
export const mostOutputTokens = 65_000;

export const openaiDefaults = {
  baseURL: 'https://api.openai.com/v1',
  model: 'gpt-5.2',
  maxOutputTokens: 64_000,
  mostOutputTokens,
  maxRetries: 2,
  maxWaitMs: 60_000,
  idleMs: 2_400_000,
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

/** A base URL for messages: without user, password and query. */
export function showURL(baseURL: string): string {
  try {
    const url = new URL(baseURL);
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  } catch {
    return baseURL;
  }
}

/** Values in the query of a base URL that may be secrets, which servers may repeat; not an API version, nor a value that
 *  is too short. */
export function hiddenIn(baseURL: string): readonly string[] {
  if (!URL.canParse(baseURL)) return [];
  return [...new URL(baseURL).searchParams]
    .filter(([name, value]) => value.length >= 8 && !/^(?:api[-_]?)?version$/i.test(name))
    .map(([, value]) => value);
}

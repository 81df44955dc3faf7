/** What goes wrong with GitHub, by what helps. */
import { localTime } from '../core/amounts.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';

export type GitHubTrouble =
  /** It asks to wait until then. */
  | { readonly kind: 'limit'; readonly until: Date }
  /** It cannot be reached, or fails itself: another time it may answer. A change may have been made. */
  | { readonly kind: 'outage' }
  /** It does not take the token. */
  | { readonly kind: 'token' }
  /** The token may not do that, or there is no such thing. */
  | { readonly kind: 'access'; readonly status: number }
  /** The request is wrong. */
  | { readonly kind: 'rejected'; readonly status: number }
  /** A signal has ended it. */
  | { readonly kind: 'interrupted' };

/** Thrown by all that asks GitHub; `gitHubRefusal` is what people see of it. */
export class GitHubError extends Error {
  readonly trouble: GitHubTrouble;
  constructor(message: string, trouble: GitHubTrouble) {
    super(message);
    this.trouble = trouble;
  }
}

/** What `ask` answers; undefined where the token may not have it, or it is gone. With `status` only where GitHub answers so. */
export async function orNone<T>(ask: () => Promise<T>, status?: number): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    const { trouble } = error instanceof GitHubError ? error : {};
    if (trouble?.kind === 'access' && (status === undefined || trouble.status === status)) return undefined;
    throw error;
  }
}

/** Exit code of what waiting helps, as that of a suspended run. */
const suspended = 75;

/** What people see of it; `tail` says what was done before. */
export function gitHubRefusal({ message, trouble }: GitHubError, now: Date, tail = ''): Refusal {
  const no = (why: string, fix: string | undefined, exit?: number) =>
    refused('github', `${why}${tail}`, fix, exit);
  switch (trouble.kind) {
    case 'limit': {
      const until = trouble.until.toISOString();
      return no(message, `run the same command again at ${localTime(until, now)} (${until})`, suspended);
    }
    case 'outage':
      return no(message, 'run the same command again later', suspended);
    case 'token':
      return no(message, 'set GITHUB_TOKEN (or GITHUB_TOKEN_FILE) to a token that is valid');
    case 'access':
      return no(message, 'check the name, and what the token may do there: docs/github.md lists it');
    case 'rejected':
      return no(message, undefined, 1);
    case 'interrupted':
      return no(message, undefined, 130);
  }
}

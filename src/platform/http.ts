/** The only module that sends HTTP requests, except the agents' own clients. */
import { systemWords } from './files/write.ts';

export type Post = (request: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}) => Promise<{ readonly status: number } | { readonly unreachable: string }>;

/** Sends a POST request and reads nothing of the answer but its status. Redirects are not followed; never rejects. */
export const realPost: Post = async ({ url, headers, body, timeoutMs }) => {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return { status: response.status };
  } catch (error) {
    // The reason is in the cause; the message of fetch itself is "fetch failed".
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return { unreachable: systemWords(cause) };
  }
};

/** HTTP requests that are answered by a status or a text; the agents' clients make their own. */
import { systemWords } from './files/write.ts';
import { outgoing, rootCause } from './outgoing.ts';

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
    const response = await outgoing(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return { status: response.status };
  } catch (error) {
    return { unreachable: unreachableWords(error) };
  }
};

export type HttpRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For the whole of it. */
  readonly timeoutMs: number;
  /** A longer body of the answer is no answer. */
  readonly mostBytes: number;
  /** Only so many of the last bytes are kept. */
  readonly tailBytes?: number;
  readonly signal?: AbortSignal;
};

export type HttpAnswer = {
  readonly status: number;
  /** The value of a header, undefined without it. */
  readonly header: (name: string) => string | undefined;
  readonly body: string;
};

/** Sends a request and reads the whole answer. Redirects are answers like others; never rejects. */
export type HttpSend = (request: HttpRequest) => Promise<HttpAnswer | { readonly unreachable: string }>;

export const realSend: HttpSend = async (request) => {
  const { method, url, headers, body, timeoutMs, mostBytes, signal } = request;
  try {
    const ends = [AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])];
    const response = await outgoing(url, {
      ...{ method, headers, redirect: 'manual', signal: AbortSignal.any(ends) },
      ...(body === undefined ? {} : { body }),
    });
    const text = await bodyOf(response, request);
    if (text === undefined) return { unreachable: `the answer is longer than ${mostBytes} bytes` };
    const header = (name: string) => response.headers.get(name) ?? undefined;
    return { status: response.status, header, body: text };
  } catch (error) {
    return { unreachable: unreachableWords(error) };
  }
};

/** Undefined for a body of more than `mostBytes`. */
async function bodyOf(
  response: Response,
  { mostBytes, tailBytes = mostBytes }: Pick<HttpRequest, 'mostBytes' | 'tailBytes'>,
): Promise<string | undefined> {
  let pieces: Uint8Array[] = [];
  let size = 0;
  let kept = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > mostBytes) return undefined;
    pieces.push(piece);
    kept += piece.length;
    // Seldom, so that a long body is not copied again and again.
    if (kept <= 2 * tailBytes) continue;
    pieces = [Buffer.concat(pieces).subarray(-tailBytes)];
    kept = tailBytes;
  }
  return Buffer.concat(pieces).subarray(-tailBytes).toString('utf8');
}

const unreachableWords = (error: unknown): string => systemWords(rootCause(error));

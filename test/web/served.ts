/** `factory serve` in this process, and requests to it. */
import { request } from 'node:http';
import { cleanEnv } from '../support/cli.ts';
import { call, type Flags } from '../support/verb.ts';

export type Answered = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
};

type Sent = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Serves the folder until it is disposed of. */
export async function served(cwd: string, flags: Flags = {}, env: Readonly<Record<string, string>> = {}) {
  const stop = new AbortController();
  let err = '';
  let ended: Promise<unknown> = Promise.resolve();
  const url = await new Promise<URL>((found, failed) => {
    const doors = {
      ...{ cwd, env: cleanEnv({ HOME: cwd, ...env }), signal: () => stop.signal },
      out: (text: string) => found(new URL(text.trim())),
      err: (text: string) => {
        err += text;
      },
    };
    ended = call(['serve'], { port: 0, ...flags }, doors);
    ended.then(() => failed(new Error(`serve ended: ${err}`)), failed);
  });
  const token = url.searchParams.get('token') ?? '';
  const port = Number(/ at \S+:(\d+)/.exec(err)?.[1] ?? url.port);
  /** Sends the path unchanged, with its dots; with the token unless `headers` has another `authorization`. */
  const ask = (path: string, { method = 'GET', headers = {}, body }: Sent = {}): Promise<Answered> =>
    new Promise((done, failed) => {
      const all = { authorization: `Bearer ${token}`, ...headers };
      const sent = request({ host: '127.0.0.1', port, path, method, headers: all }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => void pieces.push(piece));
        response.on('error', failed);
        response.on('end', () =>
          done({
            ...{ status: response.statusCode ?? 0, headers: response.headers },
            text: Buffer.concat(pieces).toString(),
          }),
        );
      });
      sent.on('error', failed);
      sent.end(body);
    });
  return {
    url,
    token,
    port,
    err: () => err,
    ask,
    json: async (path: string) => JSON.parse((await ask(path)).text),
    post: (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    async [Symbol.asyncDispose]() {
      stop.abort('SIGINT');
      await ended;
    },
  };
}
export type Served = Awaited<ReturnType<typeof served>>;

/** A proxy on loopback that notes what it is asked: whole requests and tunnels, all of which it takes to one port of this host. */
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

export interface HttpProxy extends AsyncDisposable {
  readonly port: number;
  /** `GET http://host/path` or `CONNECT host:port`, in order. */
  readonly asked: readonly string[];
  readonly headers: readonly IncomingHttpHeaders[];
}

/** `refuses`: the status that every request gets. */
export async function httpProxy(target: number, refuses?: number): Promise<HttpProxy> {
  const asked: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((near, out) => {
    asked.push(`${near.method} ${near.url}`);
    headers.push(near.headers);
    if (refuses !== undefined) {
      out.writeHead(refuses).end();
      return;
    }
    const { pathname, search } = new URL(near.url ?? '');
    const to = { host: '127.0.0.1', port: target, path: `${pathname}${search}` };
    const far = request({ ...to, method: near.method, headers: near.headers }, (answer) => {
      out.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(out);
    });
    near.pipe(far);
  });
  server.on(
    'connect',
    (near: IncomingHttpHeaders & { url: string; headers: IncomingHttpHeaders }, socket) => {
      asked.push(`CONNECT ${near.url}`);
      headers.push(near.headers);
      if (refuses !== undefined) {
        socket.end(`HTTP/1.1 ${refuses} No\r\n\r\n`);
        return;
      }
      const far = connect(target, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      socket.pipe(far).pipe(socket);
      far.on('error', () => socket.destroy());
      socket.on('error', () => far.destroy());
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on a port, so it is no pipe's name
  return {
    ...{ port, asked, headers },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

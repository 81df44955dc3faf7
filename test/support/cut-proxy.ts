/** A TCP proxy that a test cuts: as a network between hosts and their database. */
import { connect, createServer, type Socket } from 'node:net';

export interface CutProxy extends AsyncDisposable {
  readonly port: number;
  /** Ends all connections, and refuses new ones until it is mended. */
  cut(): void;
  /** Nothing passes any more, and no one is told: a cable that was pulled. */
  pull(): void;
  mend(): void;
}

/** Passes everything on to a port of this host. */
export async function cutProxy(port: number): Promise<CutProxy> {
  let state: 'whole' | 'cut' | 'pulled' = 'whole';
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    keep(near);
    if (state === 'cut') return near.destroy();
    if (state === 'pulled') return near.pause();
    const far = connect(port, '127.0.0.1');
    keep(far);
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof at === 'object' && at !== null ? at.port : 0,
    cut() {
      state = 'cut';
      drop();
    },
    pull() {
      state = 'pulled';
      for (const socket of sockets) socket.unpipe().pause();
    },
    mend() {
      if (state === 'pulled') drop();
      state = 'whole';
    },
    async [Symbol.asyncDispose]() {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The only module that checks whether a host accepts connections. */
import { connect } from 'node:net';

export type Reach = (place: { readonly host: string; readonly port: number }) => Promise<boolean>;

/** Milliseconds within which a connection must succeed. */
const patienceMs = 5000;

/** Whether a TCP connection succeeds. Nothing is sent; never rejects. */
export const realReach: Reach = ({ host, port }) =>
  new Promise((done) => {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) return done(false);
    const socket = connect({ host, port });
    const end = (reached: boolean): void => {
      socket.destroy();
      done(reached);
    };
    socket.setTimeout(patienceMs, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });

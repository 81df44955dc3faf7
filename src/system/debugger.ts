/** Node's debugger, through which anybody who may connect to this machine's loopback is as good as we are. */
import { setTimeout } from 'node:timers/promises';

const lookAfterMs = 150;

/** Where a signal opens it, if nothing else is said. */
const usualPort = '9229';

/** Shuts it where a signal opened it before we heeded that one. One that was asked for by name stays, and so does one that
 *  listens elsewhere: a module that was loaded before us has opened that, as editors do. */
export async function shutDebugger(): Promise<void> {
  // Node may have been built without one.
  if (!process.features.inspector) return;
  const asked = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  if (/(^|\s|=)--inspect(?!-port|-publish)/.test(asked)) return;
  // Node opens it twice for one signal, the second time at the first turn of its loop. To look is not free: a run that is
  // over by then is not held up.
  await setTimeout(lookAfterMs, undefined, { ref: false });
  const { close, url } = await import('node:inspector');
  const at = url();
  if (at === undefined) return;
  const port = /--(?:inspect|debug)-port[\s=](?:\S*:)?(\d+)/.exec(asked)?.[1] ?? usualPort;
  // Of 0 the system chooses one.
  if (Number(port) === 0 || new URL(at).port === port) close();
}

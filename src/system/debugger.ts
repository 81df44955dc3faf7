/** Node's debugger, through which anybody who may connect to this machine's loopback is as good as we are. */

/** Shuts it where a signal opened it before we heeded that one; one that was asked for by name stays. */
export async function shutDebugger(): Promise<void> {
  // Node may have been built without one.
  if (!process.features.inspector) return;
  const asked = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  if (/(^|\s|=)--inspect(?!-port|-publish)/.test(asked)) return;
  // Node opens it twice for one signal, the second time at the first turn of its loop.
  await new Promise((turn) => setImmediate(turn));
  const { close, url } = await import('node:inspector');
  if (url() !== undefined) close();
}

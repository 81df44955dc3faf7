/** Hears of changes of a queue in PostgreSQL: by a notice of the process that made one, and by a timer where a job becomes due. */
import type { Clock } from '../core/contracts/clock.ts';
import type { Boss } from './pg-boss.ts';
import { channelOf, nextDue } from './postgres-rows.ts';

/** Changes that come together are one. */
const gatherMs = 20;
/** How long to trust the time of the next due job, and to wait before another attempt to listen. */
const longestWaitMs = 10_000;

/** Calls `changed` until the returned function is called. */
export function hearChanges(
  {
    boss,
    schema,
    name,
    clock,
  }: {
    readonly boss: Boss;
    readonly schema: string;
    readonly name: () => string | undefined;
    readonly clock: Clock;
  },
  changed: () => void,
): () => void {
  const ended = new AbortController();
  let listener: { close(): Promise<void> } | undefined;
  let gathering = false;
  /** Ends the present wait for the next due job: it may be another now. */
  let again = new AbortController();
  const heard = () => {
    if (gathering || ended.signal.aborted) return;
    gathering = true;
    void clock.sleep(gatherMs, ended.signal).then(() => {
      gathering = false;
      again.abort();
      if (!ended.signal.aborted) changed();
    });
  };

  const listen = async () => {
    while (!ended.signal.aborted && listener === undefined) {
      const made = await boss
        .getDb()
        .listen(channelOf(schema), heard, heard)
        .catch(() => undefined);
      if (ended.signal.aborted) await made?.close();
      else if (made === undefined) await clock.sleep(longestWaitMs, ended.signal);
      else listener = made;
    }
  };

  const msUntilDue = async (): Promise<number> => {
    const queue = name();
    if (queue === undefined) return longestWaitMs;
    const { rows } = await boss.getDb().executeSql(nextDue(schema), [queue]);
    return rows[0]?.['ms'] === null ? longestWaitMs : Number(rows[0]?.['ms']);
  };
  const wakeWhenDue = async () => {
    while (!ended.signal.aborted) {
      again = new AbortController();
      const ms = await msUntilDue().catch(() => longestWaitMs);
      const wait = Math.min(Math.max(ms, 0), longestWaitMs);
      await clock.sleep(wait, AbortSignal.any([again.signal, ended.signal]));
      if (!again.signal.aborted && ms <= wait) heard();
    }
  };

  void listen();
  void wakeWhenDue();
  return () => {
    ended.abort();
    void listener?.close().catch(() => {});
  };
}

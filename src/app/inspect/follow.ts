/** Follows a run from outside: its events, and what its running node prints and its model says. */
import type { Clock } from '../../core/contracts/clock.ts';
import type { JsonObject } from '../../core/json.ts';
import type { LiveText } from '../../core/records/live.ts';
import { watchFolder } from '../../platform/files/watch.ts';
import type { JournalPosition } from '../../run/journal-read.ts';
import { liveTextReader, type ReadText } from '../../run/live-texts.ts';
import { ownerOf } from '../../run/lock.ts';
import type { RunReader } from '../../run/open-run.ts';
import { isAtWork, summaryOf } from '../../run/summary.ts';

export type Followed =
  /** A record of `events.jsonl`, unchecked; `runEventSchema` (core/events.ts) types those of this version. */
  | { readonly kind: 'event'; readonly record: JsonObject; readonly seq: number }
  /** A piece of what a running execution prints or says. `begins`: it is the first piece of that execution, or of the
   *  newest part of a very long output; what was shown of the execution before is replaced. */
  | { readonly kind: 'text'; readonly text: LiveText; readonly begins: boolean }
  /** A damaged line of `events.jsonl`. */
  | { readonly kind: 'unreadable'; readonly line: number }
  /** Everything so far was yielded. Comes after every look, at least every second. */
  | { readonly kind: 'caught_up' };

export type FollowOptions = {
  readonly clock: Clock;
  /** Yield only events with a greater `seq`. */
  readonly after?: number;
  /** Where to begin to read; the beginning of the file without it. */
  readonly from?: JournalPosition | undefined;
  /** `ended`: until no process works for the run. `aborted`: until `signal` fires; a resume is followed too. */
  readonly until: 'ended' | 'aborted';
  readonly signal?: AbortSignal | undefined;
  /** Yield live texts too. */
  readonly texts?: boolean;
};

/** Milliseconds: of a pause after each look, in which changes are collected; until the next look without a change; the same
 *  while the run is about to end, and where changes are not noticed. */
const pauseMs = 40;
const slowMs = 1000;
const quickMs = 100;
/** Events in memory at once. */
const mostEvents = 1000;

/** Yields the events of a run so far, then those and the texts that come, in the order of their times.
 *
 *      for await (const one of followRun(openRun(dir), { clock, until: 'aborted', signal, texts: true, after: lastSeq }))
 *        if (one.kind === 'event') send('event', one.seq, one.record);
 *
 *  It notices changes by a watch on the run directory and holds nothing of the run: leaving the loop ends it. The texts of
 *  an execution begin with its first one, also for a reader that comes late; of one that ended quickly there are none, and
 *  whole outputs are in the folder of the execution. Texts of nodes that see the holdout are never among them. */
export async function* followRun(run: RunReader, options: FollowOptions): AsyncGenerator<Followed> {
  const { clock, signal, until } = options;
  const { dir } = run;
  const bell = openBell(dir, clock);
  const reader = options.texts === true ? liveTextReader(dir) : undefined;
  const events = eventReader(run, options);
  try {
    while (signal?.aborted !== true) {
      // Asked before the last look, so that the last words are not missed.
      const goesOn = until === 'aborted' || isAtWork(await summaryOf('', dir, clock));
      const seen = await look(events, reader);
      yield* seen;
      if (seen.length >= mostEvents) continue;
      yield { kind: 'caught_up' };
      // Its owner writes the last events after the line that ends the run.
      if (!goesOn && (events.ends() || !(await isOwned(dir, clock)))) return;
      await bell.wait(events.ends() ? quickMs : slowMs, signal);
    }
  } finally {
    bell.close();
    reader?.close();
  }
}

const isOwned = (dir: string, clock: Clock): Promise<boolean> =>
  ownerOf(dir, clock).then(
    (owner) => owner !== undefined,
    () => false,
  );

type Timed = { readonly at: string; readonly item: Followed };

async function look(
  events: ReturnType<typeof eventReader>,
  reader: ReturnType<typeof liveTextReader> | undefined,
): Promise<readonly Followed[]> {
  const fresh = [...(await events.read())];
  if (reader === undefined || fresh.length >= mostEvents) return fresh.map(({ item }) => item);
  const texts = [...reader.read()];
  // The start of their execution is among the events that are there now. The rest of a file that is replaced meanwhile belongs
  // to an execution whose end is among them.
  fresh.push(...(await events.read()));
  if (fresh.length > 0) texts.push(...reader.read(false));
  return merged(fresh, texts.map(timedText));
}

const timedText = ({ text, begins }: ReadText): Timed => ({
  at: text.at,
  item: { kind: 'text', text, begins },
});

/** Both in their own order, and each text before the first event that is later. */
function merged(events: readonly Timed[], texts: readonly Timed[]): readonly Followed[] {
  const all: Followed[] = [];
  let next = 0;
  for (const event of events) {
    for (let text = texts[next]; text !== undefined && text.at < event.at; text = texts[next]) {
      all.push(text.item);
      next += 1;
    }
    all.push(event.item);
  }
  return [...all, ...texts.slice(next).map(({ item }) => item)];
}

const ends = /^Pipeline(?:Completed|Overridden|Failed|Interrupted|Parked)$/;

/** Reads on in `events.jsonl` at each call. */
function eventReader(run: RunReader, { from, after = Number.NEGATIVE_INFINITY }: FollowOptions) {
  let cursor = from;
  let last = '';
  return {
    async read(): Promise<readonly Timed[]> {
      const found: Timed[] = [];
      for await (const entry of run.view('events', cursor)) {
        cursor = entry.cursor;
        if (entry.kind === 'unreadable') {
          found.push({ at: '', item: { kind: 'unreadable', line: entry.cursor.line } });
          continue;
        }
        const { record } = entry;
        last = String(record['type']);
        const seq = Number(record['seq']);
        if (!(seq <= after)) found.push({ at: String(record['at']), item: { kind: 'event', record, seq } });
        if (found.length >= mostEvents) break;
      }
      return found;
    },
    /** Whether the last event says that the run ends. */
    ends: () => ends.test(last),
  };
}

/** Rings when a file of the run changes. */
function openBell(dir: string, clock: Clock) {
  let rings: (() => void) | undefined;
  let isRung = false;
  const close = watchFolder(dir, () => {
    isRung = true;
    rings?.();
  });
  return {
    /** Settles at the next change, at the latest after `most` milliseconds. */
    async wait(most: number, signal?: AbortSignal): Promise<void> {
      await clock.sleep(pauseMs, signal);
      if (!isRung) {
        const rung = new AbortController();
        rings = () => rung.abort();
        const over = signal === undefined ? rung.signal : AbortSignal.any([signal, rung.signal]);
        await clock.sleep(close === undefined ? quickMs : most, over);
        rings = undefined;
      }
      isRung = false;
    },
    close: () => close?.(),
  };
}

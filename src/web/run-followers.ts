/** One follower of a run for all clients of its stream: it begins with the first one, ends with the last one, and makes each
 *  message once. */

import { type Bell, openBell } from '../app/inspect/bell.ts';
import { shownEvent } from '../app/inspect/events.ts';
import { pauseMs, slowMs } from '../app/inspect/follow.ts';
import { type EarlierItems, openLooks, type RunItem, type RunLooks } from '../app/inspect/looks.ts';
import type { RunRow } from '../app/inspect/run-row.ts';
import { type Withheld, withheldReader } from '../app/inspect/withheld.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { RunReader } from '../run/open-run.ts';
import type { ShownLive } from './contract.ts';
import { MessageLog, type MessagePiece } from './message-log.ts';
import { rowIdentity, rowMessage } from './served-runs.ts';
import { message } from './sse.ts';

export type FollowerHost = {
  readonly clock: Clock;
  readonly open: (dir: string) => RunReader;
  /** The row of a run as clients are shown it; undefined if there is no such run. */
  readonly row: (id: string) => Promise<RunRow | undefined>;
  /** Called whenever the row of a run has changed. */
  readonly changed: (id: string) => void;
  readonly closing: AbortSignal;
};

/** Of a run after a look. */
export type RunNow = {
  readonly row: ShownRow;
  readonly last: number;
  readonly soFar: EarlierItems;
  /** The number of the piece that comes next in the log. */
  readonly piece: number;
};

type ShownRow = { readonly message: string; readonly identity: string };

export interface RunFollower {
  readonly log: MessageLog;
  /** The run as the next look finds it; undefined once it was removed, or if `signal` fires before. */
  now(signal: AbortSignal): Promise<RunNow | undefined>;
  /** The messages of what was seen of the run before; not those of nodes whose texts are withheld. */
  text(seen: RunItem): string;
  /** The message of a run that was removed; empty while it is there. */
  farewell(): string;
  leave(): void;
}

export interface RunFollowers {
  /** The follower of that run; each `join` needs a `leave`. */
  join(run: { readonly id: string; readonly dir: string }): RunFollower;
}

/** Characters of one piece: a page takes many events at once faster than one by one. */
export const pieceLength = 64 * 1024;

/** Milliseconds between two looks of a run that changes: in them, messages are collected, which are written once for each client.
 *  `bytes`: how much the last look has sent to each. */
export const pauseAfter = (clients: number, bytes: number): number =>
  Math.min(slowMs, pauseMs + clients + Math.round((clients * bytes) / 100_000));

export function openRunFollowers(host: FollowerHost): RunFollowers {
  const followers = new Map<string, Follower>();
  return {
    join(run) {
      const there = followers.get(run.id);
      const follower = there ?? new Follower(host, run);
      followers.set(run.id, follower);
      const forget = (): void => {
        if (followers.get(run.id) === follower) followers.delete(run.id);
      };
      if (there === undefined) void follower.follow().finally(forget);
      follower.clients += 1;
      return follower.forClient(forget);
    },
  };
}

type Newcomer = {
  readonly resolve: (now: RunNow | undefined) => void;
  readonly reject: (error: unknown) => void;
};

class Follower {
  readonly log = new MessageLog();
  clients = 0;
  readonly #host: FollowerHost;
  readonly #id: string;
  readonly #bell: Bell;
  readonly #looks: RunLooks;
  readonly #readWithheld: () => Promise<Withheld>;
  readonly #ends = new AbortController();
  #newcomers: Newcomer[] = [];
  #withheld: Withheld = () => true;
  #row = { identity: '', startedAt: '' };
  #last = 0;
  #farewell = '';

  constructor(host: FollowerHost, { id, dir }: { readonly id: string; readonly dir: string }) {
    const reader = host.open(dir);
    this.#host = host;
    this.#id = id;
    this.#bell = openBell(dir, host.clock);
    this.#looks = openLooks(reader, { texts: true });
    this.#readWithheld = withheldReader(reader);
  }

  /** For one client; `forget` is called when it is the last one that leaves. */
  forClient(forget: () => void): RunFollower {
    return {
      log: this.log,
      now: (signal) => this.#now(signal),
      text: (seen) => this.#textOf(seen),
      farewell: () => this.#farewell,
      leave: () => {
        this.clients -= 1;
        if (this.clients > 0) return;
        forget();
        this.#ends.abort();
      },
    };
  }

  /** Until the last client has left, the run is removed or the server stops. */
  async follow(): Promise<void> {
    const signal = AbortSignal.any([this.#ends.signal, this.#host.closing]);
    let error: unknown;
    try {
      this.#withheld = await this.#readWithheld();
      // What there is already, each client reads at its own pace.
      do this.#note(await this.#looks.look());
      while (this.#looks.isCut());
      while (!signal.aborted) {
        const bytes = await this.#look();
        if (this.#farewell !== '') break;
        if (!this.#looks.isCut()) await this.#bell.wait(pauseAfter(this.clients, bytes), slowMs, signal);
      }
    } catch (thrown) {
      error = thrown;
    } finally {
      this.#bell.close();
      this.#looks.close();
    }
    this.log.close(error);
    for (const { resolve, reject } of this.#newcomers)
      if (error === undefined) resolve(undefined);
      else reject(error);
  }

  /** Adds what is new to the log, and answers those who have come before. The bytes that each client is sent. */
  async #look(): Promise<number> {
    const came = this.#newcomers;
    this.#newcomers = [];
    const seen = await this.#looks.look();
    const row = await this.#host.row(this.#id);
    if (row === undefined || this.#isOther(row)) {
      // What was seen last may be of the run that is in its place, and that one may have a holdout.
      this.#farewell = message('gone', { run_id: this.#id });
      this.log.add([this.#piece(this.#farewell)]);
      for (const { resolve } of came) resolve(undefined);
      return 0;
    }
    const shown = { message: rowMessage(row), identity: rowIdentity(row) };
    const isChanged = shown.identity !== this.#row.identity;
    if (isChanged) this.#withheld = await this.#readWithheld();
    const pieces = this.#piecesOf(seen);
    if (isChanged) {
      this.#row = { identity: shown.identity, startedAt: row.started_at || this.#row.startedAt };
      this.#host.changed(this.#id);
      pieces.push(this.#piece(shown.message));
    }
    this.log.add(pieces);
    if (this.#looks.isCut()) this.#newcomers.unshift(...came);
    else {
      const now = { row: shown, last: this.#last, soFar: this.#looks.soFar(), piece: this.log.end };
      for (const { resolve } of came) resolve(now);
    }
    return pieces.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Another run has the same name now. */
  #isOther({ started_at }: RunRow): boolean {
    const { startedAt } = this.#row;
    return startedAt !== '' && started_at !== '' && started_at !== startedAt;
  }

  #piecesOf(seen: readonly RunItem[]): MessagePiece[] {
    const pieces: MessagePiece[] = [];
    let text = '';
    for (const one of seen) {
      text += this.#textOf(one);
      this.#note([one]);
      if (text.length < pieceLength) continue;
      pieces.push(this.#piece(text));
      text = '';
    }
    return text === '' ? pieces : [...pieces, this.#piece(text)];
  }

  #note(seen: readonly RunItem[]): void {
    for (const one of seen) if (one.kind === 'event') this.#last = one.seq;
  }

  #piece(text: string): MessagePiece {
    return { bytes: Buffer.from(text), last: this.#last, row: this.#row.identity };
  }

  #textOf(seen: RunItem): string {
    if (seen.kind === 'event') return message('event', shownEvent(seen.record, this.#withheld), seen.seq);
    if (seen.kind === 'unreadable' || this.#withheld(seen.text.node)) return '';
    const live: ShownLive = { ...seen.text, begins: seen.begins };
    return message('live', live);
  }

  async #now(signal: AbortSignal): Promise<RunNow | undefined> {
    if (this.log.isOver) await this.log.next(this.log.end, signal);
    if (this.log.isOver || signal.aborted) return undefined;
    return new Promise((resolve, reject) => {
      const left = (): void => resolve(undefined);
      const settled = (): void => signal.removeEventListener('abort', left);
      signal.addEventListener('abort', left);
      this.#newcomers.push({
        resolve: (now) => {
          settled();
          resolve(now);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      this.#bell.ring();
    });
  }
}

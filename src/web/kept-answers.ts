/** Answers about a run, made once for all clients that ask the same: pages ask again whenever the run has changed. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../core/contracts/clock.ts';
import { layout } from '../core/records/layout.ts';
import { fileIdentity } from '../platform/files/read.ts';
import type { AskedRun } from './web.ts';

export interface KeptAnswers {
  /** What `make` answers, or what it has answered to the same question since the files of the run were last written. */
  answer(run: AskedRun, question: string, make: () => Promise<Response>): Promise<Response>;
  /** The run has changed in more than its files: what was made until now is not answered any more. */
  drop(id: string): void;
}

/** Milliseconds for which an answer is kept: times in it are those of when it was made. */
const freshMs = 250;
/** After an answer was made, the next is begun so many times as long later, at most `longestRest`: a large run that changes all the
 *  time does not keep a processor busy. Those who ask meanwhile wait, and share it. */
const restFactor = 9;
const longestRest = 1000;

type Stored = {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly bytes: ArrayBuffer;
};

type Kept = {
  readonly stored: Promise<Stored>;
  /** Of the files that it was made from. */
  is: string;
  /** Monotonic milliseconds: until when it is answered, and when the next may be made. */
  freshUntil: number;
  restsUntil: number;
};

export function openKeptAnswers(clock: Clock, closing: AbortSignal): KeptAnswers {
  const kept = new Map<string, Map<string, Kept>>();
  // Each answer waits for it: Node prints a warning for more than ten.
  setMaxListeners(0, closing);
  const made = (run: AskedRun, question: string, is: string, make: () => Promise<Response>): Kept => {
    const began = clock.monotonic();
    const stored = make().then(storedOf);
    const own: Kept = {
      stored,
      is,
      freshUntil: Number.POSITIVE_INFINITY,
      restsUntil: Number.POSITIVE_INFINITY,
    };
    const ofRun = kept.get(run.id) ?? new Map<string, Kept>();
    kept.set(run.id, ofRun.set(question, own));
    const forget = (): void => {
      if (ofRun.get(question) !== own) return;
      ofRun.delete(question);
      if (ofRun.size === 0) kept.delete(run.id);
    };
    stored.then(async () => {
      const now = clock.monotonic();
      own.freshUntil = now + freshMs;
      own.restsUntil = now + Math.min(longestRest, restFactor * (now - began));
      await clock.sleep(Math.max(own.freshUntil, own.restsUntil) - now, closing);
      forget();
    }, forget);
    return own;
  };
  return {
    async answer(run, question, make) {
      for (;;) {
        const is = identityOf(run.dir);
        const now = clock.monotonic();
        const last = kept.get(run.id)?.get(question);
        if (last?.is === is && now < last.freshUntil) return responseOf(await last.stored);
        if (last === undefined || now >= last.restsUntil || closing.aborted)
          return responseOf(await made(run, question, is, make).stored);
        if (last.restsUntil === Number.POSITIVE_INFINITY) await last.stored.catch(() => {});
        else await clock.sleep(last.restsUntil - now, closing);
      }
    },
    drop(id) {
      for (const one of kept.get(id)?.values() ?? []) one.is = '';
    },
  };
}

const storedOf = async (response: Response): Promise<Stored> => ({
  status: response.status,
  headers: [...response.headers],
  bytes: await response.arrayBuffer(),
});

const responseOf = ({ status, headers, bytes }: Stored): Response =>
  new Response(bytes, { status, headers: headers.map(([name, value]): [string, string] => [name, value]) });

/** Changes with every line that the run writes, and with what people add to it. */
function identityOf(dir: string): string {
  const { manifest, checkpoint, journal, events, trace, result, audit, locks, acts, answers, notes } =
    layout(dir);
  return [manifest, checkpoint, journal, events, trace, result, audit, locks, acts, answers, notes]
    .map(fileIdentity)
    .join('|');
}

/** What the page knows of the server, its queue and a run: signals, filled by one stream at a time. */
import { batch, signal } from '@preact/signals';
import type { StoredEvent } from '../../app/answers.ts';
import type { RunView } from '../../app/inspect/shapes.ts';
import type { QueueReport } from '../../core/records/queue-report.ts';
import type { ApiError, ServerInfo } from '../contract.ts';
import { api, queueStream, RequestError, readProblem, runStream } from './api.ts';
import { later } from './later.ts';
import { connection, openFeed } from './live.ts';

export const server = signal<ServerInfo | null>(null);

/** The queue, as the view of it was sent; null until then. */
export const queue = signal<QueueReport | null>(null);
/** Why the queue cannot be shown. */
export const queueProblem = signal<string | null>(null);
/** How many jobs need a person; null until the first answer. */
export const jobsForPeople = signal<number | null>(null);

export const runView = signal<RunView | null>(null);
export const runViewAt = signal(0);
/** Why the run cannot be shown. */
export const runProblem = signal<string | null>(null);
export const events = signal<readonly StoredEvent[]>([]);
/** True once all events up to now were received. */
export const caughtUp = signal(false);

/** What a running execution prints and says up to now, by channel. */
type RunningTexts = Readonly<Record<string, string>>;
/** By `NODE@VISIT`: branches run at once. */
const liveTexts = signal<ReadonlyMap<string, RunningTexts>>(new Map());
export const liveTextsOf = ({ node, visit }: { node: string; visit: number }): RunningTexts | undefined =>
  liveTexts.value.get(`${node}@${visit}`);

/** A piece of what a running node prints. */
interface LivePiece {
  readonly node: string;
  readonly visit: number;
  readonly channel: string;
  readonly text: string;
  /** It is the first of its execution: what was shown before is of one that was interrupted. */
  readonly begins: boolean;
}

/** A longer live text keeps its second half: the whole is in the run directory. */
const mostLive = 4_000_000;

export async function loadServer(): Promise<void> {
  try {
    server.value = await api.server();
  } catch (error) {
    if (error instanceof RequestError && error.status === 401) connection.value = { kind: 'token' };
  }
}

/** Keeps `queue` up to date; answers a function that ends that. */
export function watchQueue(): () => void {
  return openFeed({
    url: () => queueStream,
    on: {
      queue: (report: QueueReport) =>
        batch(() => {
          queue.value = report;
          queueProblem.value = null;
          jobsForPeople.value = report.counts.needs_person;
        }),
      problem: ({ message, fix }: ApiError) => {
        queueProblem.value = [message, fix].filter(Boolean).join('. Fix: ');
      },
    },
  });
}

/** Asks how many jobs need a person. A page has one stream, which is another view's: so this is asked for now and then. */
export async function readJobsForPeople(): Promise<void> {
  try {
    jobsForPeople.value = (await api.queue(0)).counts.needs_person;
  } catch {
    // The view of the queue says what is wrong.
    jobsForPeople.value = null;
  }
}

/** Keeps `runView`, `events` and `liveTexts` up to date for one run; answers a function that ends that. */
export function watchRun(id: string): () => void {
  let open = true;
  let last = 0;
  let arrived: StoredEvent[] = [];
  let gone = false;
  batch(() => {
    if (runView.value?.run_id !== id) runView.value = null;
    runProblem.value = null;
    events.value = [];
    liveTexts.value = new Map();
    caughtUp.value = false;
  });
  const view = repeated(async () => {
    const answer = await api.run(id).catch((error: unknown) => {
      if (open && !gone) runProblem.value = readProblem(error) || null;
    });
    if (!open || !answer) return;
    batch(() => {
      runView.value = answer;
      runViewAt.value = Date.now();
      runProblem.value = null;
    });
  });
  const show = later(() => {
    if (!open || arrived.length === 0) return;
    const fresh = arrived;
    arrived = [];
    events.value = events.value.length === 0 ? fresh : [...events.value, ...fresh];
    if (caughtUp.value) view();
  });
  const live = liveWriter();
  view();
  const take = (event: StoredEvent) => {
    if (event.seq <= last) return;
    last = event.seq;
    arrived.push(event);
    if (event.type === 'StageCompleted' || event.type === 'StageFailed') live.ended(String(event['node_id']));
  };
  const connect = () =>
    openFeed({
      url: () => runStream(id, last),
      // A connection begins with the whole live text again.
      opened: live.clear,
      on: {
        run: () => {
          if (caughtUp.value) view();
        },
        event: (event: StoredEvent) => {
          take(event);
          show();
        },
        ready: () => {
          show();
          if (caughtUp.value) view();
          caughtUp.value = true;
        },
        live: live.add,
        gone: () => {
          gone = true;
          runProblem.value = 'This run was removed.';
        },
      },
    });
  let close = () => {};
  void earlierEvents(id, take, () => open).then(() => {
    show();
    if (open) close = connect();
  });
  return () => {
    open = false;
    close();
  };
}

/** Reads the events up to now in large answers, which takes a fraction of the time of a stream. Where that fails, the stream
 *  begins with the first event. */
async function earlierEvents(
  id: string,
  take: (event: StoredEvent) => void,
  isCurrent: () => boolean,
): Promise<void> {
  try {
    for (let after = 0, more = true; more && isCurrent(); ) {
      const page = await api.events(id, after);
      for (const event of page.events) take(event);
      more = page.more && page.last > after;
      after = page.last;
    }
  } catch {
    // The stream reports what is wrong.
  }
}

function liveWriter() {
  /** By node: an earlier execution of it has ended. */
  const running = new Map<string, { readonly visit: number; readonly texts: Record<string, string> }>();
  const show = later(() => {
    liveTexts.value = new Map(
      [...running].map(([node, { visit, texts }]) => [`${node}@${visit}`, { ...texts }]),
    );
  });
  return {
    clear: () => running.clear(),
    ended: (node: string) => running.delete(node),
    add: ({ node, visit, channel, text, begins }: LivePiece) => {
      const before = running.get(node);
      const texts = begins || before?.visit !== visit ? {} : before.texts;
      running.set(node, { visit, texts });
      const all = (texts[channel] ?? '') + text;
      texts[channel] = all.length > mostLive ? all.slice(all.indexOf('\n', mostLive / 2) + 1) : all;
      show();
    },
  };
}

/** Never twice at a time, and with pauses as long as it takes: a large run does not keep the server busy. */
function repeated(act: () => Promise<void>): () => void {
  let busy = false;
  let again = false;
  const start = async () => {
    busy = true;
    again = false;
    const startedAt = performance.now();
    await act();
    setTimeout(
      () => {
        busy = false;
        if (again) void start();
      },
      Math.max(250, 3 * (performance.now() - startedAt)),
    );
  };
  return () => {
    again = true;
    if (!busy) void start();
  };
}

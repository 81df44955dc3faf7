/** The events of a run: a page of them, and all of them as they come. */
import { listEvents, shownEvent } from '../../app/inspect/events.ts';
import { followRun } from '../../app/inspect/follow.ts';
import { textsWithheld } from '../../app/inspect/withheld.ts';
import { openRun } from '../../run/open-run.ts';
import type { ShownLive } from '../contract.ts';
import { eventStream, message } from '../sse.ts';
import type { AskedRun, Handlers, Web } from '../web.ts';
import { rowIdentity, servedActs } from './runs.ts';

export const eventsApi: Pick<Handlers, 'events' | 'stream'> = {
  events: async ({ run, query }) => listEvents(run.dir, query.after, query.limit),
  stream: async ({ web, run, query, request }) => {
    const last = request.headers.get('Last-Event-ID') ?? '';
    const after = /^\d{1,15}$/.test(last) ? Number(last) : (query.after ?? 0);
    return eventStream((signal) => runChanges(web, run, after, signal), web, request);
  },
};

/** Characters of one piece of a stream: a page takes many events at once faster than one by one. */
const pieceLength = 64 * 1024;

/** The row, the events after `after`, and everything that comes, as messages. Ends when the run is removed. */
async function* runChanges(
  web: Web,
  { id, dir }: AskedRun,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let known = '';
  let piece = '';
  let last = after;
  let isReady = false;
  const reader = openRun(dir);
  let withheld = await textsWithheld(reader);
  const row = async (): Promise<string | undefined> => {
    const read = await web.runs.row(id);
    if (read === undefined) return undefined;
    const shown = { ...read, ...servedActs(read, web) };
    const is = rowIdentity(shown);
    if (is === known) return '';
    known = is;
    return message('run', shown);
  };
  yield (await row()) ?? '';
  const { clock } = web;
  for await (const one of followRun(reader, { clock, after, until: 'aborted', signal, texts: true })) {
    if (one.kind === 'event') {
      last = one.seq;
      piece += message('event', shownEvent(one.record, withheld), one.seq);
    } else if (one.kind === 'text') {
      const live: ShownLive = { ...one.text, begins: one.begins };
      if (!withheld(live.node)) piece += message('live', live);
    } else if (one.kind === 'caught_up') {
      const changed = await row();
      if (changed === undefined) return yield `${piece}${message('gone', { run_id: id })}`;
      if (changed !== '') withheld = await textsWithheld(reader);
      piece += changed;
      if (!isReady) piece += message('ready', { last });
      isReady = true;
    }
    if (piece === '' || (one.kind !== 'caught_up' && piece.length < pieceLength)) continue;
    yield piece;
    piece = '';
  }
}

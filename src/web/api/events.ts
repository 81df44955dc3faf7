/** The events of a run: a page of them, and all of them as they come. */
import { followRun } from '../../app/inspect/follow.ts';
import { textsWithheld, type Withheld } from '../../app/inspect/withheld.ts';
import type { JsonObject } from '../../core/json.ts';
import { layout } from '../../core/records/layout.ts';
import { readJournal } from '../../run/journal-read.ts';
import type { EventPage, ShownLive, StoredEvent } from '../contract.ts';
import { eventStream, message } from '../sse.ts';
import type { AskedRun, Handlers, Web } from '../web.ts';
import { rowIdentity, servedActs } from './runs.ts';

export const eventsApi: Pick<Handlers, 'events' | 'stream'> = {
  events: async ({ run, query }) => eventsAfter(run.dir, query.after, query.limit),
  stream: async ({ web, run, query, request }) => {
    const last = request.headers.get('Last-Event-ID') ?? '';
    const after = /^\d{1,15}$/.test(last) ? Number(last) : (query.after ?? 0);
    return eventStream((signal) => runChanges(web, run, after, signal), web, request);
  },
};

async function eventsAfter(dir: string, after: number, limit: number): Promise<EventPage> {
  const withheld = await textsWithheld(dir);
  const events: StoredEvent[] = [];
  let more = false;
  for await (const entry of readJournal(layout(dir).events)) {
    if (entry.kind !== 'record' || !(Number(entry.record['seq']) > after)) continue;
    more = events.length === limit;
    if (more) break;
    events.push(shownEvent(entry.record, withheld));
  }
  return { events, last: events.at(-1)?.seq ?? after, more };
}

/** Fields in which an event quotes what a node has printed or said. */
const quoting = ['failure_reason', 'error', 'notes', 'reason', 'detail'] as const;

/** An event of a node whose texts are withheld has them empty. */
function shownEvent(record: JsonObject, withheld: Withheld): StoredEvent {
  const node = record['node_id'];
  const hidden = typeof node === 'string' && withheld(node) ? quoting.filter((key) => key in record) : [];
  const shown = { ...record, ...Object.fromEntries(hidden.map((key) => [key, ''])) };
  // The journal gives each record these fields.
  return shown as StoredEvent;
}

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
  let withheld = await textsWithheld(dir);
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
  for await (const one of followRun(dir, { clock, after, until: 'aborted', signal, texts: true })) {
    if (one.kind === 'event') {
      last = one.seq;
      piece += message('event', shownEvent(one.record, withheld), one.seq);
    } else if (one.kind === 'text') {
      const live: ShownLive = { ...one.text, begins: one.begins };
      if (!withheld(live.node)) piece += message('live', live);
    } else if (one.kind === 'caught_up') {
      const changed = await row();
      if (changed === undefined) return yield `${piece}${message('gone', { run_id: id })}`;
      if (changed !== '') withheld = await textsWithheld(dir);
      piece += changed;
      if (!isReady) piece += message('ready', { last });
      isReady = true;
    }
    if (piece === '' || (one.kind !== 'caught_up' && piece.length < pieceLength)) continue;
    yield piece;
    piece = '';
  }
}

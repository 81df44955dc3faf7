/** The events of a run: a page of them, and all of them as they come. */
import { listEvents } from '../../app/inspect/events.ts';
import { runMessages } from '../run-messages.ts';
import { eventStream } from '../sse.ts';
import type { Handlers } from '../web.ts';

export const eventsApi: Pick<Handlers, 'events' | 'stream'> = {
  events: async ({ run, query }) => listEvents(run.dir, query.after, query.limit),
  stream: async ({ web, run, query, request }) => {
    const last = request.headers.get('Last-Event-ID') ?? '';
    const after = /^\d{1,15}$/.test(last) ? Number(last) : (query.after ?? 0);
    return eventStream((signal) => runMessages(web.followers, run, after, signal), web, request);
  },
};

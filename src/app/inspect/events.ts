/** The events of a run as commands and endpoints show them. */
import type { JsonObject } from '../../core/json.ts';
import { openRun } from '../../run/open-run.ts';
import type { EventPage, StoredEvent } from '../answers.ts';
import { textsWithheld, type Withheld } from './withheld.ts';

/** At most `limit` events of the run in `dir`, those with a greater `seq` than `after`. */
export async function listEvents(dir: string, after: number, limit: number): Promise<EventPage> {
  const reader = openRun(dir);
  const withheld = await textsWithheld(reader);
  const events: StoredEvent[] = [];
  let more = false;
  for await (const entry of reader.view('events')) {
    if (entry.kind !== 'record' || !(Number(entry.record['seq']) > after)) continue;
    more = events.length === limit;
    if (more) break;
    // The journal gives each record these fields.
    events.push(shownEvent(entry.record, withheld) as StoredEvent);
  }
  return { events, last: events.at(-1)?.seq ?? after, more };
}

/** Fields in which an event quotes what a node has printed or said. */
const quoting = ['failure_reason', 'error', 'notes', 'reason', 'detail'] as const;

/** An event of a node whose texts are withheld has them empty. */
export function shownEvent(record: JsonObject, withheld: Withheld): JsonObject {
  const node = record['node_id'];
  const hidden = typeof node === 'string' && withheld(node) ? quoting.filter((key) => key in record) : [];
  return { ...record, ...Object.fromEntries(hidden.map((key) => [key, ''])) };
}

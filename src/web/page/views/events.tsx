/** The events of a run as they were written. */
import { computed, signal } from '@preact/signals';
import type { StoredEvent } from '../../../app/answers.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { executionPath } from '../selection.ts';
import { follow } from '../settings.ts';
import { caughtUp, events } from '../store.ts';
import { nodeNamed } from '../text/address.ts';
import { eventLine } from '../text/event-line.ts';
import { clockTime, exactTime } from '../text/format.ts';
import { Shape } from './icon.tsx';
import { Windowed } from './windowed.tsx';

const search = signal('');

const found = computed(() => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return events.value;
  return events.value.filter((event) => {
    const { what, at = '' } = eventLine(event);
    const text = `${event.type} ${at} ${what}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
});

export function EventsPanel({ run }: { run: RunView }) {
  const rows = found.value;
  return (
    <div class="events">
      <p class="tools">
        <input
          type="search"
          placeholder="Search events"
          aria-label="Search events"
          value={search.value}
          onInput={(event) => {
            search.value = event.currentTarget.value;
          }}
        />
        <span class="quiet" role="status">
          {!caughtUp.value
            ? 'Reading the events…'
            : rows.length === events.value.length
              ? `${rows.length} events`
              : `${rows.length} of ${events.value.length} events`}
        </span>
      </p>
      <Windowed
        count={rows.length}
        height={24}
        label="Events"
        toEnd={follow.value}
        row={(index) => {
          const event = rows[index];
          return event && <EventRow key={event.seq} event={event} run={run} />;
        }}
      />
    </div>
  );
}

function EventRow({ event, run }: { event: StoredEvent; run: RunView }) {
  const { what, state, at } = eventLine(event);
  const node = at === undefined ? undefined : nodeNamed(at);
  return (
    <li class="event-row">
      <time dateTime={event.at} title={exactTime(event.at)} class="number quiet">
        {clockTime(event.at)}
      </time>
      <span class="number quiet seq">{event.seq}</span>
      {state === undefined ? <span /> : <Shape state={state} />}
      {node === undefined ? <span /> : <a href={executionPath(run.run_id, node.id, node.visit)}>{at}</a>}
      <span class="what" title={`${event.type}: ${what}`}>
        {state !== undefined && <span class="hidden">{lookOf(state).word}: </span>}
        {what}
      </span>
    </li>
  );
}

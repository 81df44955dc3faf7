/** What the queue lives from: workers, caps, holds of accounts, schedules. */
import type { ComponentChildren } from 'preact';
import { countedItems, localTime } from '../../../core/amounts.ts';
import type {
  QueueCapRow,
  QueueHoldRow,
  QueueScheduleRow,
  QueueWorkerRow,
} from '../../../core/records/queue-report.ts';
import { slowNow } from '../clock.ts';
import { pathOf } from '../text/address.ts';
import { agoText, exactTime } from '../text/format.ts';
import { capAmountText, capParts, capTitle, workerState } from '../text/queue.ts';
import { Shape } from './icon.tsx';
import { Ago } from './parts.tsx';

function Facts({ title, count, children }: { title: string; count: number; children: ComponentChildren }) {
  if (count === 0) return null;
  return (
    <section class="queue-part" aria-label={title}>
      <h2>
        {title} <span class="number quiet">{count}</span>
      </h2>
      {children}
    </section>
  );
}

/** A time to come: when, and how long until then. */
function At({ time }: { time: string }) {
  return (
    <time dateTime={time} title={exactTime(time)}>
      {localTime(time, new Date(slowNow.value))} <span class="quiet">({agoText(time, slowNow.value)})</span>
    </time>
  );
}

const runLink = (run: string) => (
  <a key={run} class="path" href={pathOf({ view: 'run', run, tab: 'graph' })}>
    {run}
  </a>
);

export function WorkerTable({ workers }: { workers: readonly QueueWorkerRow[] }) {
  return (
    <Facts title="Workers" count={workers.length}>
      <div class="scroll">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Host</th>
              <th scope="col" class="right">
                Slots
              </th>
              <th scope="col">Labels</th>
              <th scope="col">Since</th>
              <th scope="col">Notes</th>
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => (
              <WorkerLine key={worker.name} worker={worker} />
            ))}
          </tbody>
        </table>
      </div>
    </Facts>
  );
}

function WorkerLine({ worker }: { worker: QueueWorkerRow }) {
  const { word, state } = workerState(worker);
  return (
    <tr>
      <td class="state">
        <Shape state={state} /> {word}
      </td>
      <th scope="row" title={worker.name}>
        {worker.host} <span class="quiet number">{worker.pid}</span>
      </th>
      <td class="right number">
        {worker.busy} of {worker.slots}
      </td>
      <td>{worker.labels === null ? <span class="quiet">any</span> : worker.labels.join(', ')}</td>
      <td class="number">
        <Ago time={worker.since} />
      </td>
      <td class="wide">
        {worker.refuses}
        {worker.leaves.length > 0 && (
          <details>
            <summary>leaves {countedItems(worker.leaves.length, 'run')} to others</summary>
            <ul class="bullets">
              {worker.leaves.map(({ run_id, why }) => (
                <li key={run_id}>
                  {runLink(run_id)}: {why}
                </li>
              ))}
            </ul>
          </details>
        )}
        <span class="quiet">
          {worker.take_overs > 0 && `took over ${countedItems(worker.take_overs, 'job')}`}
        </span>
      </td>
    </tr>
  );
}

export function CapList({ caps }: { caps: readonly QueueCapRow[] }) {
  return (
    <Facts title="Caps" count={caps.length}>
      <ul class="caps">
        {caps.map((cap) => (
          <Cap key={`${cap.measure} ${cap.label ?? ''}`} cap={cap} />
        ))}
      </ul>
    </Facts>
  );
}

function Cap({ cap }: { cap: QueueCapRow }) {
  const { limit, spent, reserved, rest, resets_at, stops } = cap;
  const { spent: used, reserved: kept } = capParts(cap);
  const amount = (of: number) => capAmountText(cap, of);
  const isFull = stops.length > 0 || rest <= 0;
  const words = `${amount(spent)} of ${amount(limit)}${reserved > 0 ? `, ${amount(reserved)} reserved` : ''}`;
  return (
    <li class={isFull ? 'cap full' : 'cap'}>
      <div class="cap-words">
        <strong>{capTitle(cap)}</strong> <span class="number">{words}</span>
      </div>
      <div class="cap-bar" aria-hidden="true">
        <span class="cap-spent" style={{ width: `${used}%` }} />
        <span class="cap-reserved" style={{ width: `${kept}%` }} />
      </div>
      <div class="quiet">
        {rest > 0 ? `${amount(rest)} left` : 'nothing left'}
        {resets_at !== null && (
          <>
            , resets at <At time={resets_at} />
          </>
        )}
        {stops.length > 0 && <> · holds back {stops.map(runLink).flatMap((one) => [one, ' '])}</>}
      </div>
    </li>
  );
}

export function HoldList({ holds }: { holds: readonly QueueHoldRow[] }) {
  return (
    <Facts title="Accounts on hold" count={holds.length}>
      <ul>
        {holds.map((hold) => (
          <li key={`${hold.agent} ${hold.endpoint} ${hold.model} ${hold.since}`} class="hold">
            <Shape state="suspended" /> <strong>{hold.agent}</strong> {hold.model}{' '}
            <span class="quiet path">{hold.endpoint}</span>
            <div>
              no calls until <At time={hold.until} />
              <span class="quiet">
                , since <Ago time={hold.since} />
              </span>
            </div>
            {hold.runs.length > 0 && (
              <div class="quiet">
                {countedItems(hold.runs.length, 'run waits', 'runs wait')} for it:{' '}
                {hold.runs.map(runLink).flatMap((one) => [one, ' '])}
              </div>
            )}
          </li>
        ))}
      </ul>
    </Facts>
  );
}

export function ScheduleTable({ schedules }: { schedules: readonly QueueScheduleRow[] }) {
  return (
    <Facts title="Schedules" count={schedules.length}>
      <div class="scroll">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Next</th>
              <th scope="col">When</th>
              <th scope="col">Submits</th>
              <th scope="col">Latest run</th>
            </tr>
          </thead>
          <tbody>
            {schedules.map(({ name, cron, zone, command, next, last, last_run, paused, problem }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="number">
                  {paused ? (
                    <span class="state">
                      <Shape state="suspended" /> paused
                    </span>
                  ) : problem !== '' ? (
                    <span class="tone-bad">{problem}</span>
                  ) : next === null ? (
                    <span class="quiet">never</span>
                  ) : (
                    <At time={next} />
                  )}
                </td>
                <td>
                  <code>{cron}</code> <span class="quiet">{zone}</span>
                </td>
                <td class="wide">
                  <code>{command}</code>
                </td>
                <td class="number">
                  {last_run === null ? (
                    <span class="quiet">none</span>
                  ) : (
                    <a href={pathOf({ view: 'run', run: last_run, tab: 'graph' })} title={last_run}>
                      <Ago time={last} />
                    </a>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Facts>
  );
}

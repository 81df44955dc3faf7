/** A run in the list. */
import { useComputed } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { RunRow as Run } from '../../../app/inspect/run-row.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { stateOrWait } from '../../../app/inspect/wait-words.ts';
import { costWords, localTime } from '../../../core/amounts.ts';
import { changeWords } from '../../../core/fork-words.ts';
import { slowNow } from '../clock.ts';
import { go } from '../place.ts';
import { drawnRow, entry, panel, selected, wantsFocus } from '../run-choice.ts';
import { receivedAt } from '../run-feed.ts';
import { pathOf } from '../text/address.ts';
import { Shape } from './icon.tsx';
import { Ago, Elapsed } from './parts.tsx';
import { Countdown } from './waiting.tsx';

export const addressOfRun = (run: string): string => pathOf({ view: 'run', run, tab: 'graph' });

/** The row that has the focus; one that moves to another section is drawn anew, and gets it back. */
let focused: string | null = null;

export function keepFocus(): void {
  if (focused !== null && document.activeElement === document.body)
    drawnRow(focused)?.focus({ preventScroll: true });
}

export function RunLine({ run }: { run: Run }) {
  const link = useRef<HTMLAnchorElement>(null);
  const here = useComputed(() => selected.value === run.run_id).value;
  const isEntry = useComputed(() => entry.value === run.run_id).value;
  useLayoutEffect(() => {
    if (!here || !wantsFocus.now) return;
    wantsFocus.now = false;
    link.current?.focus({ preventScroll: true });
    link.current?.scrollIntoView({ block: 'nearest' });
  }, [here]);
  return (
    <a
      ref={link}
      href={addressOfRun(run.run_id)}
      class="run-row"
      data-row={run.run_id}
      aria-current={here ? 'true' : undefined}
      tabIndex={isEntry ? 0 : -1}
      onClick={(event) => select(run, here, event)}
      onFocus={() => {
        selected.value = run.run_id;
        focused = run.run_id;
      }}
      onBlur={(event) => {
        // A row that is removed with the focus in it has no next element either, but is not in the page any more.
        if (event.currentTarget.isConnected && event.relatedTarget !== null) focused = null;
      }}
    >
      <Cells run={run} />
    </a>
  );
}

function select(run: Run, isSelected: boolean, event: MouseEvent): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  // On a phone there is no room for the panel: the run opens.
  if (matchMedia('(max-width: 720px)').matches) return;
  event.preventDefault();
  if (isSelected && panel.value && event.detail > 1) go(addressOfRun(run.run_id));
  selected.value = run.run_id;
  panel.value = true;
}

function Cells({ run }: { run: Run }) {
  const state = stateOrWait(run.status, run.waiting);
  return (
    <>
      <Shape state={state} />
      <span class="hidden">{lookOf(state).word}: </span>
      <span class="headline" title={run.headline}>
        {run.headline || lookOf(run.status).word}
      </span>
      <span class="title" title={`${run.title}\n${run.pipeline}`}>
        <Origin run={run} />
        {run.title}
      </span>
      <span class="at" title={run.at_node ?? ''}>
        {run.delivered === true ? 'delivered' : (run.at_node ?? '')}
      </span>
      <span class="progress number">{progressText(run)}</span>
      <Elapsed ms={run.elapsed_ms} received={receivedAt(run)} runs={run.status === 'running'} />
      <span class="number cost">{costWords(run.spent)}</span>
      {run.status === 'running' && run.waiting?.until != null ? (
        <span class="when quiet">
          <Countdown until={run.waiting.until} />
        </span>
      ) : run.wake_at === null ? (
        <span class="when quiet">
          <Ago time={run.ended_at ?? run.started_at} />
        </span>
      ) : (
        <Wakes at={run.wake_at} />
      )}
      <code class="id" title={run.run_id}>
        {run.run_id.slice(0, 10)}
      </code>
    </>
  );
}

/** That the run repeats another one, or began with it. */
function Origin({ run: { replay_of, forked_from } }: { run: Run }) {
  if (replay_of !== null) return <small title={`replay of ${replay_of}`}>replay · </small>;
  if (forked_from === null) return null;
  const { run_id, node, visit, before, changed } = forked_from;
  const title = `forked ${before ? 'before' : 'after'} ${node}@${visit} of ${run_id}`;
  return (
    <small title={title}>
      {['fork', ...(changed.length > 0 ? [changeWords(changed)] : [])].join(' ')} ·{' '}
    </small>
  );
}

/** What the columns are. */
export const RunHeads = () => (
  <div class="run-row run-heads quiet" aria-hidden="true">
    <span />
    <span>what happens</span>
    <span>title</span>
    <span class="at">node</span>
    <span class="progress">orders</span>
    <span class="number">time</span>
    <span class="number cost">cost</span>
    <span class="when">when</span>
    <span class="id">run</span>
  </div>
);

/** A longer wait is a time, not a countdown. */
const hour = 3_600_000;

/** When a suspended run can resume: short, so that the column has room for it; its title is whole. */
function Wakes({ at }: { readonly at: string }) {
  const time = localTime(at, new Date(slowNow.value));
  if (Date.parse(at) - slowNow.value < hour)
    return (
      <span class="when quiet">
        <Countdown until={at} />
      </span>
    );
  return (
    <span class="when quiet" title={`resumes at ${time}`}>
      until {time.replace(/^\d{4}-/, '')}
    </span>
  );
}

function progressText({ progress }: Run): string {
  if (progress === null) return '';
  return progress.current === null
    ? `${progress.done} of ${progress.total}`
    : `${progress.current} of ${progress.total}`;
}

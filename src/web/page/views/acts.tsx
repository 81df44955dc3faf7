/** What can be done with a run, as buttons. */
import { signal, useSignal } from '@preact/signals';
import type { RunRow } from '../../../app/inspect/run-row.ts';
import { api, requestMessage } from '../api.ts';
import { server } from '../store.ts';
import { firstAct, forkPlace } from '../text/first-act.ts';
import { DismissButton } from './dismiss.tsx';

/** The dialog that is open, and for which run. `at` is where a fork begins. */
export const openDialog = signal<{
  readonly kind: 'deliver' | 'fork' | 'replay' | 'remove';
  readonly run: RunRow;
  readonly at?: string;
} | null>(null);

const buttonClass = (isFirst: boolean): string => (isFirst ? 'button primary' : 'button');

/** Buttons for `acts`: the one that does the run's first action stands out. A read-only server has none. */
export function ActButtons({ run }: { run: RunRow }) {
  const busy = useSignal('');
  // What came of an act, until the run changes.
  const answer = useSignal({ text: '', status: run.status });
  if (server.value?.read_only !== false) return null;
  const ask = (name: string, request: () => Promise<unknown>, done: string) => async () => {
    busy.value = name;
    const { status } = run;
    answer.value = { text: '', status };
    try {
      await request();
      answer.value = { text: done, status };
    } catch (error) {
      answer.value = { text: requestMessage(error), status };
    }
    busy.value = '';
  };
  const can = (act: RunRow['acts'][number]) => run.acts.includes(act);
  const first = firstAct(run);
  return (
    <>
      {can('deliver') && (
        <button
          type="button"
          class={buttonClass(first === 'deliver')}
          onClick={() => {
            openDialog.value = { kind: 'deliver', run };
          }}
        >
          Deliver…
        </button>
      )}
      {can('resume') && (
        <button
          type="button"
          class={buttonClass(first === 'resume')}
          disabled={busy.value !== ''}
          onClick={ask('resume', () => api.resume(run.run_id, { now: run.wake_at !== null }), 'Resuming…')}
        >
          {run.wake_at === null ? 'Resume' : 'Resume now'}
        </button>
      )}
      {can('stop') && (
        <button
          type="button"
          class="button"
          disabled={busy.value !== ''}
          onClick={ask('stop', () => api.stop(run.run_id, { after_node: false }), 'Stopping…')}
        >
          Stop
        </button>
      )}
      {can('stop') && (
        <button
          type="button"
          class="button"
          title="The nodes that run now finish first"
          disabled={busy.value !== ''}
          onClick={ask(
            'stop',
            () => api.stop(run.run_id, { after_node: true }),
            'Stopping after the nodes that run now…',
          )}
        >
          Stop after node
        </button>
      )}
      {can('fork') && (
        <button
          type="button"
          class={buttonClass(first === 'fork')}
          onClick={() => {
            openDialog.value = { kind: 'fork', run, ...forkPlace(run) };
          }}
        >
          Fork…
        </button>
      )}
      <MoreActs run={run} />
      <DismissButton run={run} />
      <span role="status" class="said">
        {answer.value.status === run.status && answer.value.text}
      </span>
    </>
  );
}

/** Acts that few runs need. */
function MoreActs({ run }: { run: RunRow }) {
  const acts = (['replay', 'remove'] as const).filter((act) => run.acts.includes(act));
  if (acts.length === 0) return null;
  return (
    <details class="more-acts">
      <summary class="button">More</summary>
      {acts.map((kind) => (
        <button
          key={kind}
          type="button"
          class="button"
          onClick={() => {
            openDialog.value = { kind, run };
          }}
        >
          {kind === 'replay' ? 'Replay…' : 'Remove…'}
        </button>
      ))}
    </details>
  );
}

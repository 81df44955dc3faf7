/** What can be done with a run, as buttons. */
import { signal, useSignal } from '@preact/signals';
import type { RunRow } from '../../../app/inspect/shapes.ts';
import { api, requestMessage } from '../api.ts';
import { server } from '../store.ts';

/** The dialog that is open, and for which run. `at` is where a fork begins. */
export const openDialog = signal<{
  readonly kind: 'deliver' | 'fork';
  readonly run: RunRow;
  readonly at?: string;
} | null>(null);

/** Buttons for `acts`: what goes on first. A read-only server has none. */
export function ActButtons({ run }: { run: RunRow }) {
  const busy = useSignal('');
  const said = useSignal('');
  if (server.value?.read_only !== false) return null;
  const ask = (name: string, request: () => Promise<unknown>, done: string) => async () => {
    busy.value = name;
    said.value = '';
    try {
      await request();
      said.value = done;
    } catch (error) {
      said.value = requestMessage(error);
    }
    busy.value = '';
  };
  const can = (act: RunRow['acts'][number]) => run.acts.includes(act);
  return (
    <>
      {can('deliver') && (
        <button
          type="button"
          class={run.delivered === true ? 'button' : 'button primary'}
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
          class="button primary"
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
          onClick={ask('stop', () => api.stop(run.run_id), 'Stopping after the current step…')}
        >
          Stop
        </button>
      )}
      {can('fork') && (
        <button
          type="button"
          class="button"
          onClick={() => {
            openDialog.value = { kind: 'fork', run };
          }}
        >
          Fork…
        </button>
      )}
      <span role="status" class="said">
        {said.value}
      </span>
    </>
  );
}

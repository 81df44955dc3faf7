/** What a folder without runs shows: how to get the first one. */
import { useSignal } from '@preact/signals';
import { api, requestMessage } from '../api.ts';
import { go } from '../place.ts';
import { server } from '../store.ts';
import { pathOf } from '../text/address.ts';
import { Command } from './parts.tsx';

/** The bundled pipeline that turns a spec into commits; without a spec it builds its example with prepared answers. */
export const mainJob = 'compile-and-build';

export function NoRuns() {
  const problem = useSignal('');
  const starts = useSignal(false);
  const start = async () => {
    starts.value = true;
    problem.value = '';
    try {
      const { run_id } = await api.start({ pipeline: mainJob });
      go(pathOf({ view: 'run', run: run_id, tab: 'graph' }));
    } catch (error) {
      problem.value = requestMessage(error);
    }
    starts.value = false;
  };
  return (
    <div class="empty">
      <h1>No runs yet</h1>
      <p>
        A run takes a spec through a pipeline to verified commits. The demo builds a link checker with
        prepared answers: it needs no key and no network, and takes about fifteen seconds.
      </p>
      <p>
        <Command text={`factory run ${mainJob}`} />
      </p>
      {server.value?.read_only === false && (
        <p class="buttons">
          <button type="button" class="button primary" disabled={starts.value} onClick={start}>
            {starts.value ? 'Starting…' : 'Run the demo'}
          </button>
          <a class="button" href="/new">
            New run from a spec
          </a>
        </p>
      )}
      <p role="alert">{problem.value}</p>
      <p class="quiet">
        Runs of <code>{server.value?.runs_dir}</code> appear here by themselves.
      </p>
    </div>
  );
}

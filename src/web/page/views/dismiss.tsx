/** Takes a run out of those that need attention. */
import { useSignal } from '@preact/signals';
import type { RunRow } from '../../../app/inspect/run-row.ts';
import { api, requestMessage } from '../api.ts';

export function DismissButton({ run }: { run: RunRow }) {
  const problem = useSignal('');
  if (!run.acts.includes('dismiss')) return null;
  const dismiss = async () => {
    try {
      await api.dismiss(run.run_id);
    } catch (error) {
      problem.value = requestMessage(error);
    }
  };
  return (
    <>
      <button
        type="button"
        class="button"
        title="Take it out of those that need attention, until something happens to it"
        onClick={dismiss}
      >
        Dismiss
      </button>
      {problem.value !== '' && (
        <span role="status" class="said">
          {problem.value}
        </span>
      )}
    </>
  );
}

/** The dialogs that replay and remove a run. */
import { useSignal } from '@preact/signals';
import type { RunRow } from '../../../app/inspect/run-row.ts';
import { typedCommand } from '../../../app/typed-command.ts';
import { removeArguments, replayArguments } from '../../command-line.ts';
import { api } from '../api.ts';
import { address, go } from '../place.ts';
import { pathOf } from '../text/address.ts';
import { openDialog } from './acts.tsx';
import { TickBox } from './fields.tsx';
import { Command, Dialog } from './parts.tsx';
import { useRequest } from './request.ts';

const close = () => {
  openDialog.value = null;
};

export function ReplayDialog({ run }: { run: RunRow }) {
  const tools = useSignal(false);
  const { busy, problem, send } = useRequest<{ run_id: string }>();
  const body = { run_tools: tools.value };
  const submit = async (event: Event) => {
    event.preventDefault();
    const started = await send(() => api.replay(run.run_id, body));
    if (started === null) return;
    close();
    go(pathOf({ view: 'run', run: started.run_id, tab: 'graph' }));
  };
  return (
    <Dialog title={`Replay ${run.title}`} closed={close}>
      <form onSubmit={submit}>
        <p>A replay is a new run that repeats this one from its record: no model is asked.</p>
        <TickBox name="Run tools and verification again" value={tools} />
        <Command text={typedCommand('factory', replayArguments(run.run_id, body))} />
        <p role="alert" class="tone-bad">
          {problem.value}
        </p>
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy.value}>
            {busy.value ? 'Starting…' : 'Replay'}
          </button>
        </p>
      </form>
    </Dialog>
  );
}

export function RemoveDialog({ run }: { run: RunRow }) {
  const force = useSignal(false);
  const { busy, problem, send } = useRequest<{ run_id: string }>();
  const body = { force: force.value };
  const isKept = run.delivered === false || run.status === 'unreadable';
  const submit = async (event: Event) => {
    event.preventDefault();
    if ((await send(() => api.remove(run.run_id, body))) === null) return;
    close();
    const { value: at } = address;
    if (at.view === 'run' && at.run === run.run_id) go(pathOf({ view: 'runs' }));
  };
  return (
    <Dialog title={`Remove ${run.title}`} closed={close}>
      <form onSubmit={submit}>
        <p>
          This removes the run <code>{run.run_id}</code>: its records, its workspace and its commits. It
          cannot be undone.
        </p>
        {run.status.startsWith('paused_') && (
          <p class="tone-warn">The run is suspended and can be resumed.</p>
        )}
        {isKept && (
          <TickBox
            name={
              run.status === 'unreadable'
                ? 'Remove it although it cannot be read'
                : 'Remove its commits, which were never delivered'
            }
            value={force}
          />
        )}
        <Command text={typedCommand('factory', removeArguments(run.run_id, body))} />
        <p role="alert" class="tone-bad">
          {problem.value}
        </p>
        <p class="buttons">
          <button type="submit" class="danger" disabled={busy.value || (isKept && !force.value)}>
            {busy.value ? 'Removing…' : 'Remove'}
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}

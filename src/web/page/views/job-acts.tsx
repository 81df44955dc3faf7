/** What can be done with a job of the queue: the usual act as a button, all of them in a dialog. */
import { signal, useSignal } from '@preact/signals';
import { typedCommand } from '../../../app/typed-command.ts';
import type { QueueJobRow } from '../../../core/records/queue-report.ts';
import { dropArguments, holdArguments, moveArguments } from '../../command-line.ts';
import type { MoveBody } from '../../contract.ts';
import { api, requestMessage } from '../api.ts';
import { pathOf } from '../text/address.ts';
import { Field } from './fields.tsx';
import { Command, Dialog } from './parts.tsx';

/** The job whose dialog is open. */
const changing = signal<QueueJobRow | null>(null);

export function JobButtons({ job }: { job: QueueJobRow }) {
  const busy = useSignal(false);
  const problem = useSignal('');
  const now = async () => {
    busy.value = true;
    problem.value = '';
    try {
      await api.moveJob(job.run_id, { to: 'now' });
    } catch (error) {
      problem.value = requestMessage(error);
    }
    busy.value = false;
  };
  const asks = job.state === 'held' && job.reason === 'question';
  const isMovable = job.state === 'later' || (job.state === 'held' && !asks && job.reason !== 'after');
  return (
    <>
      {asks && (
        <a class="button small" href={pathOf({ view: 'run', run: job.run_id, tab: 'graph' })}>
          Answer<span class="hidden"> {job.title}</span>
        </a>
      )}
      {isMovable && (
        <button type="button" class="small" disabled={busy.value} onClick={now}>
          {job.state === 'later' ? 'Run now' : 'Release'}
          <span class="hidden"> {job.title}</span>
        </button>
      )}
      <button
        type="button"
        class="small"
        onClick={() => {
          changing.value = job;
        }}
      >
        Change…<span class="hidden"> {job.title}</span>
      </button>
      <span role="alert" class="tone-bad said">
        {problem.value}
      </span>
    </>
  );
}

export function JobDialog() {
  const job = changing.value;
  return job === null ? null : <ChangeDialog key={job.run_id} job={job} />;
}

type Act = 'now' | 'first' | 'priority' | 'hold' | 'drop';

/** What each act does, for a job in its state. */
function actsOf({ state, reason }: QueueJobRow): readonly (readonly [Act, string])[] {
  const drop = ['drop', 'Drop it from the queue: its run directory stays'] as const;
  if (state === 'running')
    return [
      ['hold', 'Hold it: its run stops after the node that runs now'],
      ['drop', 'Drop it: its run is stopped now; its run directory stays'],
    ];
  const now = ['now', state === 'held' ? 'Release it: it is due now' : 'Make it due now'] as const;
  return [
    ...(state === 'waiting' ? [] : [now]),
    ['first', 'Put it first: before all that wait now'],
    ['priority', 'Set its priority: a higher one goes first'],
    ...(state === 'held' && reason === 'person' ? [] : [['hold', 'Hold it until it is released'] as const]),
    drop,
  ];
}

function ChangeDialog({ job }: { job: QueueJobRow }) {
  const acts = actsOf(job);
  const act = useSignal<Act>(acts[0]?.[0] ?? 'hold');
  const priority = useSignal(String(job.priority));
  const busy = useSignal(false);
  const problem = useSignal('');
  const moved = (): MoveBody =>
    act.value === 'now' || act.value === 'first' ? { to: act.value } : { priority: Number(priority.value) };
  const argv =
    act.value === 'hold'
      ? holdArguments(job.run_id)
      : act.value === 'drop'
        ? dropArguments(job.run_id)
        : moveArguments(job.run_id, moved());
  const submit = async (event: Event) => {
    event.preventDefault();
    busy.value = true;
    problem.value = '';
    try {
      if (act.value === 'hold') await api.holdJob(job.run_id);
      else if (act.value === 'drop') await api.dropJob(job.run_id);
      else await api.moveJob(job.run_id, moved());
      changing.value = null;
    } catch (error) {
      problem.value = requestMessage(error);
    }
    busy.value = false;
  };
  return (
    <Dialog
      title={`Change ${job.title}`}
      closed={() => {
        changing.value = null;
      }}
    >
      <form onSubmit={submit}>
        <fieldset class="form">
          <legend class="hidden">What to do</legend>
          {acts.map(([one, words]) => (
            <label key={one}>
              <input
                type="radio"
                name="act"
                checked={act.value === one}
                onChange={() => {
                  act.value = one;
                }}
              />{' '}
              {words}
            </label>
          ))}
          {act.value === 'priority' && (
            <div class="inset">
              <Field name="Priority, from -999 to 999" value={priority} required />
            </div>
          )}
        </fieldset>
        <Command text={typedCommand('factory', argv)} />
        <p role="alert" class="tone-bad">
          {problem.value}
        </p>
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy.value}>
            {busy.value ? 'Changing…' : 'Change'}
          </button>
        </p>
      </form>
    </Dialog>
  );
}

/** The dialogs of the acts that ask for something first. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { DeliveryReport } from '../../../app/answers.ts';
import type { RunRow } from '../../../app/inspect/run-row.ts';
import { deliverArguments, typedCommand } from '../../../app/typed-command.ts';
import { forkArguments } from '../../command-line.ts';
import type { DeliverBody } from '../../contract.ts';
import { api, requestMessage } from '../api.ts';
import { go } from '../place.ts';
import { runView } from '../store.ts';
import { pathOf } from '../text/address.ts';
import { openDialog } from './acts.tsx';
import { Field, RadioChoice, TickBox } from './fields.tsx';
import { ForkSettings, useForkSettings } from './fork-dialog.tsx';
import { Command, Dialog } from './parts.tsx';
import { useRequest } from './request.ts';
import { RemoveDialog, ReplayDialog } from './run-dialogs.tsx';

const close = () => {
  openDialog.value = null;
};

export function Dialogs() {
  const open = openDialog.value;
  if (open === null) return null;
  switch (open.kind) {
    case 'deliver':
      return <DeliverDialog run={open.run} />;
    case 'fork':
      return <ForkDialog run={open.run} at={open.at} />;
    case 'replay':
      return <ReplayDialog run={open.run} />;
    case 'remove':
      return <RemoveDialog run={open.run} />;
  }
}

/** The command that delivers it: its next one, or one of its card. */
function deliveryOffered(run: RunRow): string {
  const view = runView.peek();
  const actions = view?.run_id === run.run_id ? (view.card?.actions ?? []) : [];
  return actions.find(({ kind }) => kind === 'deliver')?.command ?? run.next;
}

function DeliverDialog({ run }: { run: RunRow }) {
  // The command that the run names knows whether there is a repository to deliver to.
  const offer = deliveryOffered(run);
  const offered = / deliver .*--to (\S+)/.exec(offer)?.[1];
  const where = useSignal<'branch' | 'to'>(offered === undefined ? 'branch' : 'to');
  const branch = useSignal(`factory/${run.run_id}`);
  const to = useSignal(offered ?? '');
  const reuse = useSignal(false);
  const push = useSignal(false);
  const { busy, problem, answer, send } = useRequest<DeliveryReport>();
  // Only a run whose scenarios are too weak is delivered after a failure.
  const weak = run.status === 'failed';
  const overridden = run.status === 'overridden' || (weak && / deliver .*--overridden/.test(offer));
  const body: Partial<DeliverBody> = {
    ...(where.value === 'to'
      ? { to: to.value.trim() }
      : { branch: branch.value.trim(), reuse: reuse.value, push: push.value }),
    ...(overridden ? { overridden } : {}),
    ...(weak ? { accept_weak: true } : {}),
  };
  if (answer.value !== null) return <DeliveredDialog run={run} result={answer.value} />;
  const submit = (event: Event) => {
    event.preventDefault();
    void send(() => api.deliver(run.run_id, body));
  };
  return (
    <Dialog title={`Deliver ${run.title}`} closed={close}>
      <form onSubmit={submit}>
        <fieldset class="form">
          <legend class="hidden">Where to</legend>
          <RadioChoice
            name="A branch of the source repository"
            chosen={where.value === 'branch'}
            choose={() => {
              where.value = 'branch';
            }}
          />
          {where.value === 'branch' && (
            <div class="form inset">
              <Field name="Branch" value={branch} required />
              <TickBox name="The branch exists: fast-forward it" value={reuse} />
              <TickBox name="Push it to the first remote" value={push} />
            </div>
          )}
          <RadioChoice
            name="A new repository"
            chosen={where.value === 'to'}
            choose={() => {
              where.value = 'to';
            }}
          />
          {where.value === 'to' && (
            <div class="form inset">
              <Field name="New or empty directory" value={to} required />
            </div>
          )}
        </fieldset>
        {(overridden || weak) && <p class="tone-warn">Delivered in spite of a failure: {run.headline}</p>}
        <Command text={typedCommand('factory', deliverArguments(run.run_id, body))} />
        <p role="alert" class="tone-bad">
          {problem.value}
        </p>
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy.value}>
            {busy.value ? 'Delivering…' : 'Deliver'}
          </button>
        </p>
      </form>
    </Dialog>
  );
}

function DeliveredDialog({ run, result }: { run: RunRow; result: DeliveryReport }) {
  return (
    <Dialog title={`Delivered ${run.title}`} closed={close}>
      <div class="form" role="status">
        <p>
          {result.commits.length} {result.commits.length === 1 ? 'commit is' : 'commits are'} on{' '}
          <code>{result.to ?? result.branch}</code>
          {result.pushed?.ok === true && ', pushed'}
          {result.pushed?.ok === false && `, not pushed: ${result.pushed.why}`}.
        </p>
        <ul class="bullets">
          {result.commits.map(({ commit, subject }) => (
            <li key={commit}>
              <code>{commit.slice(0, 10)}</code> {subject}
            </li>
          ))}
        </ul>
        {result.notes.map((note) => (
          <p key={note}>{note}</p>
        ))}
        {result.needed.length > 0 && (
          <p>
            The checks need files that no commit has, so they are not delivered: {result.needed.join(', ')}
          </p>
        )}
        {result.pushed?.ok === false && (
          <Command text={result.pushed.by_hand} label="Copy the command that pushes it" />
        )}
        {result.next !== '' && <Command text={result.next} label="Copy the next command" />}
        <p class="buttons">
          <button type="button" onClick={close}>
            Close
          </button>
        </p>
      </div>
    </Dialog>
  );
}

function ForkDialog({ run, at }: { run: RunRow; at: string | undefined }) {
  const view = useSignal(runView.peek()?.run_id === run.run_id ? runView.peek() : null);
  const chosen = useSignal(at ?? '');
  useEffect(() => {
    if (view.value !== null) return;
    api.run(run.run_id).then(
      (answer) => {
        view.value = answer;
      },
      (error: unknown) => {
        problem.value = requestMessage(error);
      },
    );
  }, []);
  const executions = view.value?.executions.map(({ node, visit }) => `${node}@${visit}`) ?? [];
  const point = chosen.value || view.value?.cause?.node || executions.at(-1) || '';
  const before = useSignal(true);
  const { busy, problem, send } = useRequest<{ run_id: string }>();
  const settings = useForkSettings(run.run_id, point);
  const note = useSignal('');
  const body = {
    ...{ at: point, before: before.value, ...settings.set },
    ...(note.value.trim() === '' ? {} : { note: note.value }),
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const forked = await send(() => api.fork(run.run_id, body));
    if (forked === null) return;
    close();
    go(pathOf({ view: 'run', run: forked.run_id, tab: 'graph' }));
  };
  return (
    <Dialog title={`Fork ${run.title}`} closed={close}>
      <form onSubmit={submit}>
        <p>A fork is a new run that begins with the state of this one. This run stays unchanged.</p>
        <label class="field">
          <span>Execution</span>
          <select
            value={point}
            onChange={(event) => {
              chosen.value = event.currentTarget.value;
            }}
          >
            {executions.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <fieldset class="form">
          <legend class="hidden">Where to begin</legend>
          <RadioChoice
            name="Before it: it is executed again"
            chosen={before.value}
            choose={() => {
              before.value = true;
            }}
          />
          <RadioChoice
            name="After it: its result is kept"
            chosen={!before.value}
            choose={() => {
              before.value = false;
            }}
          />
        </fieldset>
        <NoteField value={note} />
        <ForkSettings {...settings} />
        <Command text={typedCommand('factory', forkArguments(run.run_id, body))} />
        <p role="alert" class="tone-bad">
          {problem.value}
        </p>
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy.value || point === ''}>
            {busy.value ? 'Forking…' : 'Fork'}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
function NoteField({ value }: { value: { value: string } }) {
  return (
    <label class="field">
      <span>Hint for its first agent</span>
      <textarea
        rows={2}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

/** A run in the side panel of the list. */
import type { RunRow } from '../../../app/inspect/run-row.ts';
import { stateOrWait } from '../../../app/inspect/wait-words.ts';
import { costWords, countedItems, localTime } from '../../../core/amounts.ts';
import { changeWords } from '../../../core/fork-words.ts';
import { slowNow } from '../clock.ts';
import { receivedAt } from '../run-feed.ts';
import { pathOf } from '../text/address.ts';
import { comparisonOf } from '../text/comparison.ts';
import { tokensText } from '../text/format.ts';
import { ActButtons } from './acts.tsx';
import { State } from './icon.tsx';
import { Ago, Command, Elapsed } from './parts.tsx';
import { QuestionPanel } from './question.tsx';
import { WaitLine } from './waiting.tsx';

export function SummaryPanel({ run, close }: { run: RunRow; close: () => void }) {
  const { spent, progress } = run;
  return (
    <>
      <header>
        <h2>{run.title}</h2>
        <button type="button" class="plain" aria-label="Close the summary" onClick={close}>
          ✕
        </button>
      </header>
      <p>
        <State state={stateOrWait(run.status, run.waiting)} worded />
        <br />
        {run.question === null && run.headline}
      </p>
      {run.question === null && <WaitLine waiting={run.waiting} />}
      <QuestionPanel run={run} />
      {run.question === null && run.reason !== '' && run.reason !== run.headline && (
        <p class="reason">{run.reason}</p>
      )}
      {run.next !== '' && (
        <p>
          {run.action !== null && <span class="quiet">{run.action.words}</span>}
          <Command text={run.next} label="Copy the next command" />
        </p>
      )}
      <p class="buttons">
        <a class="button" href={pathOf({ view: 'run', run: run.run_id, tab: 'graph' })}>
          Open
        </a>
        <ActButtons run={run} />
      </p>
      <dl class="facts">
        <Fact name="Started">
          <Ago time={run.started_at} />
        </Fact>
        <Fact name="Time">
          <Elapsed ms={run.elapsed_ms} received={receivedAt(run)} runs={run.status === 'running'} />
        </Fact>
        <Fact name="Cost">{costWords(spent)}</Fact>
        {spent.calls > 0 && (
          <Fact name="Model">
            {countedItems(spent.calls, 'call')}, {tokensText(spent.input_tokens)} tokens in,{' '}
            {tokensText(spent.output_tokens)} out
          </Fact>
        )}
        {progress !== null && (
          <Fact name="Work orders">
            {progress.done} of {progress.total}
            {progress.current !== null && `, ${progress.current} now`}
          </Fact>
        )}
        {run.at_node !== null && <Fact name="Node">{run.at_node}</Fact>}
        {run.wake_at !== null && (
          <Fact name="Resumes at">{localTime(run.wake_at, new Date(slowNow.value))}</Fact>
        )}
        <Fact name="Pipeline">
          <code>{run.pipeline}</code>
        </Fact>
        {run.forked_from !== null && (
          <Fact name="Forked from">
            <a href={pathOf({ view: 'run', run: run.forked_from.run_id, tab: 'graph' })}>
              {run.forked_from.node}@{run.forked_from.visit}
            </a>{' '}
            {changeWords(run.forked_from.changed)}
          </Fact>
        )}
        {run.replay_of !== null && (
          <Fact name="Replay of">
            <a href={pathOf({ view: 'run', run: run.replay_of, tab: 'graph' })}>{run.replay_of}</a>
          </Fact>
        )}
        <Fact name="Run">
          <code>{run.run_id}</code> <a href={pathOf(comparisonOf(run))}>compare…</a>
        </Fact>
      </dl>
    </>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The head of a run: the cause before the state, and the next action with it. */
import type { RunView } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { stateOrWait } from '../../../app/inspect/wait-words.ts';
import { costWords, countedItems, localTime } from '../../../core/amounts.ts';
import { changedFilesWords } from '../../../core/changed-files-words.ts';
import { changeWords } from '../../../core/fork-words.ts';
import { strengthWords } from '../../../core/strength.ts';
import { slowNow } from '../clock.ts';
import { follow } from '../settings.ts';
import { runViewAt } from '../store.ts';
import { pathOf } from '../text/address.ts';
import { comparisonOf } from '../text/comparison.ts';
import { pathEnd, tokensText } from '../text/format.ts';
import { ActButtons } from './acts.tsx';
import { BranchCards } from './branches.tsx';
import { CardOfRun } from './card.tsx';
import { State } from './icon.tsx';
import { Ago, Command, Elapsed } from './parts.tsx';
import { QuestionPanel } from './question.tsx';
import { WaitLine } from './waiting.tsx';

export function Headline({ run }: { run: RunView }) {
  const { cause } = run;
  const hasCard = cause !== null && run.question === null;
  return (
    <header class="run-head">
      <div class="run-first">
        <h1>
          <State state={stateOrWait(run.status, run.waiting)} />{' '}
          {cause === null || run.question !== null ? run.title : cause.headline}
        </h1>
        <Meta run={run} />
      </div>
      {run.status === 'running' && run.waiting !== null ? (
        <WaitLine waiting={run.waiting} node={run.at_node} />
      ) : (
        cause === null && <p>{run.status === 'completed' ? madeText(run) : run.headline}</p>
      )}
      <QuestionPanel run={run} />
      <BranchCards run={run} />
      <div class="buttons">
        <ActButtons run={run} />
        {run.status === 'running' && (
          <button
            type="button"
            class="button"
            aria-pressed={follow.value}
            title="Select the running node and keep the end of its output in view (f)"
            onClick={() => {
              follow.value = !follow.value;
            }}
          >
            {follow.value ? 'Following' : 'Follow'}
          </button>
        )}
        {run.next !== '' && !hasCard && <Command text={run.next} label="Copy the next command" />}
        {run.next === '' && run.status === 'completed' && (
          <Command text={`${run.run_dir}/workspace`} label="Copy the path of its files" />
        )}
      </div>
      {hasCard && <CardOfRun run={run} />}
      <Origin run={run} />
      <p class="hidden" role="status">
        {`${lookOf(stateOrWait(run.status, run.waiting)).word}: ${cause?.headline ?? run.headline}`}
      </p>
    </header>
  );
}

function Meta({ run }: { run: RunView }) {
  const { spent } = run;
  const tokens = spent.input_tokens + spent.output_tokens;
  return (
    <p class="meta quiet">
      <Elapsed ms={run.elapsed_ms} received={runViewAt.value} runs={run.status === 'running'} />
      <span class="number">{costWords(spent)}</span>
      {tokens > 0 && (
        <span class="number" title={`${spent.input_tokens} in, ${spent.output_tokens} out`}>
          {tokensText(tokens)} tokens
        </span>
      )}
      <span title={run.agent}>{short(run.agent)}</span>
      <span
        title={[sandboxWords(run), ...run.not_enforced.map((what) => `not enforced: ${what}`)].join('\n')}
      >
        sandbox {run.sandbox?.used ?? 'none'}
        {run.not_enforced.length > 0 && ' (in part)'}
      </span>
    </p>
  );
}

const sandboxWords = ({ sandbox }: RunView): string =>
  sandbox === null ? 'none' : `${sandbox.used} (${sandbox.why})`;

/** A text without the explanation in brackets that follows it. */
const short = (text: string): string => text.replace(/ \(.*$/s, '');

function Origin({ run }: { run: RunView }) {
  const { forked_from, replay_of, progress } = run;
  return (
    <p class="origin quiet">
      {run.cause !== null && (
        <span>
          {run.question === null && `${run.title}, `}
          {lookOf(run.status).word}
          {run.wake_at !== null && `, resumes at ${localTime(run.wake_at, new Date(slowNow.value))}`}
        </span>
      )}
      {progress !== null && (
        <span>
          work orders {progress.done} of {progress.total}
          {progress.current !== null && `, ${progress.current} now`}
        </span>
      )}
      {run.changed !== null && (
        <a href={pathOf({ view: 'run', run: run.run_id, tab: 'changes' })}>
          {changedFilesWords(run.changed)}
        </a>
      )}
      <span>
        started <Ago time={run.started_at} />
      </span>
      <code title={run.run_dir}>{run.run_id}</code>
      <code title={run.pipeline}>{pathEnd(run.pipeline, 2)}</code>
      {run.spec !== null && <code title={run.spec}>{pathEnd(run.spec, 2)}</code>}
      {forked_from !== null && (
        <a href={pathOf({ view: 'run', run: forked_from.run_id, tab: 'graph' })}>
          forked {forked_from.before ? 'before' : 'after'} {forked_from.node}@{forked_from.visit}
        </a>
      )}
      {forked_from !== null && forked_from.changed.length > 0 && (
        <span>{changeWords(forked_from.changed)}</span>
      )}
      {replay_of !== null && (
        <a href={pathOf({ view: 'run', run: replay_of, tab: 'graph' })}>replay of {replay_of}</a>
      )}
      <a href={pathOf(comparisonOf(run))}>compare{(forked_from ?? replay_of) === null && '…'}</a>
    </p>
  );
}

/** What a completed run has made, and how far it was checked. */
function madeText({ result, headline, delivered }: RunView): string {
  if (result === null) return headline;
  const { commits, proof, evidence, audit } = result;
  const judged = evidence?.judged;
  const made = commits.filter(({ commit }) => commit !== null).length;
  return [
    made > 0 ? countedItems(made, 'commit') : headline,
    ...(proof === null ? [] : [proof.length > 0 ? 'proof holds' : 'proof without commands']),
    ...(evidence?.unjudged !== undefined
      ? [evidence.unjudged]
      : judged === undefined
        ? []
        : [`scenarios ${judged.passed} of ${judged.total}`, strengthWords(judged.strength)]),
    ...(audit === undefined
      ? []
      : [`audit: ${audit.findings === 0 ? 'nothing found' : countedItems(audit.findings, 'finding')}`]),
    ...(delivered === true ? ['delivered'] : []),
  ]
    .filter(Boolean)
    .join(' · ');
}

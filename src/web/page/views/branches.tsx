/** The branches of a run that have not met yet: a card for each, with what it does now. */
import type { BranchRow } from '../../../app/inspect/execution-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { nextTryIn, stateOrWait, waitLine } from '../../../app/inspect/wait-words.ts';
import { now } from '../clock.ts';
import { executionPath } from '../selection.ts';
import { liveTextsOf, runViewAt } from '../store.ts';
import { nodeNamed } from '../text/address.ts';
import { countdownText, durationText } from '../text/format.ts';
import { lastLine } from '../text/output-lines.ts';
import { Shape } from './icon.tsx';

export function BranchCards({ run }: { run: RunView }) {
  const open = new Set(
    run.branches.filter(({ call, state }) => !call && !hasEnded(state)).map(({ opened_by }) => opened_by),
  );
  const shown = run.branches.filter(({ opened_by }) => open.has(opened_by));
  if (shown.length === 0) return null;
  return (
    <ul class="branch-cards" aria-label="Branches">
      {shown.map((branch) => (
        <Card key={branch.group} branch={branch} run={run} />
      ))}
    </ul>
  );
}

const hasEnded = (state: BranchRow['state']): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled';

function Card({ branch, run }: { branch: BranchRow; run: RunView }) {
  const { id, title, reason, executions, took_ms, waiting } = branch;
  const state = stateOrWait(branch.state, waiting);
  const last = executions.at(-1);
  const at = last === undefined ? undefined : nodeNamed(last);
  const live = branch.state === 'running' ? Math.max(0, now.value - runViewAt.value) : 0;
  const doing =
    waiting !== null && !hasEnded(branch.state)
      ? waitLine(waiting, nextTryIn(waiting, now.value, countdownText))
      : at === undefined || state !== 'running'
        ? reason
        : runningWords(at);
  const inside = (
    <>
      <span class="branch-head">
        <Shape state={state} />
        <span class="hidden">{lookOf(state).word}: </span>
        <strong class="name">{title}</strong>
        {title !== id && <span class="quiet name">{id}</span>}
        <span class="quiet number">
          {branch.state === 'waiting' ? lookOf(state).word : durationText(took_ms + live)}
        </span>
      </span>
      <span class="quiet doing">
        {[...(at === undefined || at.id === id || hasEnded(branch.state) ? [] : [at.id]), doing]
          .filter(Boolean)
          .join(' · ')}
      </span>
    </>
  );
  return (
    <li class={`branch-card edge-${lookOf(state).tone}`}>
      {at === undefined ? (
        <span title={reason}>{inside}</span>
      ) : (
        <a href={executionPath(run.run_id, at.id, at.visit)} title={reason || doing}>
          {inside}
        </a>
      )}
    </li>
  );
}

/** The last line that the execution has printed, or that its model has said. */
function runningWords({ id, visit = 1 }: { readonly id: string; readonly visit?: number }): string {
  const texts = liveTextsOf({ node: id, visit }) ?? {};
  const text = texts['answer'] ?? texts['stdout'] ?? texts['stderr'] ?? texts['reasoning'] ?? '';
  return lastLine(text.slice(-4000));
}

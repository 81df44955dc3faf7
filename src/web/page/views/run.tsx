/** A run: what one needs to know, its executions on the left, the tabs, the selected node. */
import { effect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { addKeys } from '../keys.ts';
import { connection } from '../live.ts';
import { address, go } from '../place.ts';
import { runAddress, selectedExecution } from '../selection.ts';
import { follow } from '../settings.ts';
import { runProblem, runView, watchRun } from '../store.ts';
import { pathOf, type RunTab } from '../text/address.ts';
import { CostPanel } from './costs.tsx';
import { EventsPanel } from './events.tsx';
import { GraphPanel } from './graph.tsx';
import { Headline } from './headline.tsx';
import { laterView } from './later-view.tsx';
import { NodePage } from './node.tsx';
import { Orders } from './orders.tsx';
import { Tabs } from './parts.tsx';
import { Splitter, split } from './splitter.tsx';
import { SteerPanel } from './steer.tsx';

const ChangesPanel = laterView(() => import('./changes.tsx').then((part) => part.ChangesPanel));
const EvidencePanel = laterView(() => import('./evidence.tsx').then((part) => part.EvidencePanel));
const TimelinePanel = laterView(() => import('./timeline.tsx').then((part) => part.TimelinePanel));

const tabs: readonly { readonly id: RunTab; readonly title: string }[] = [
  { id: 'graph', title: 'Graph' },
  { id: 'timeline', title: 'Timeline' },
  { id: 'events', title: 'Events' },
  { id: 'changes', title: 'Changes' },
  { id: 'evidence', title: 'Evidence' },
  { id: 'cost', title: 'Cost' },
];

export function RunPage({ id }: { id: string }) {
  useEffect(() => watchRun(id), [id]);
  useEffect(() => addKeys(runKeys), []);
  useEffect(() => effect(followRunning), []);
  useEffect(
    () => () => {
      follow.value = false;
    },
    [id],
  );
  const run = runView.value;
  useEffect(() => {
    document.title = `${run?.title ?? id} · factory`;
  }, [run?.title, id]);
  if (run === null || run.run_id !== id)
    return runProblem.value === null ? (
      connection.value === null && <p class="loading">Reading the run…</p>
    ) : (
      <div class="empty">
        <h1>This run cannot be shown</h1>
        <p>{runProblem.value}</p>
        <p>
          <a href="/">All runs</a>
        </p>
      </div>
    );
  return <RunBody run={run} />;
}

function RunBody({ run }: { run: RunView }) {
  const at = runAddress();
  if (at === undefined) return null;
  const tab = at.tab;
  return (
    <div
      class={at.node === undefined ? 'run' : 'run with-node'}
      style={{ '--upper': `${split.value}fr`, '--lower': `${100 - split.value}fr` }}
    >
      {runProblem.value !== null && <p class="bar">{runProblem.value}</p>}
      <Headline run={run} />
      <SteerPanel run={run} />
      <Orders run={run} />
      <div class="run-main">
        <Tabs
          label="Run"
          tabs={tabs}
          shown={tab}
          href={(one) => pathOf({ ...at, tab: one })}
          panel="run-panel"
        />
        <div id="run-panel" role="tabpanel" aria-label={tab} class={`run-panel panel-${tab}`}>
          <Panel run={run} tab={tab} />
        </div>
      </div>
      {at.node !== undefined && (
        <>
          <Splitter />
          <NodePage run={run} name={at.node} />
        </>
      )}
    </div>
  );
}

function Panel({ run, tab }: { run: RunView; tab: RunTab }) {
  switch (tab) {
    case 'graph':
      return <GraphPanel run={run} />;
    case 'timeline':
      return <TimelinePanel run={run} />;
    case 'events':
      return <EventsPanel run={run} />;
    case 'changes':
      return <ChangesPanel run={run} />;
    case 'evidence':
      return <EvidencePanel run={run} />;
    case 'cost':
      return <CostPanel run={run} />;
  }
}

/** In follow mode the running node is the selected one. */
function followRunning(): void {
  const view = runView.value;
  if (!follow.value || view === null) return;
  if (view.status !== 'running') follow.value = false;
  const one = view.executions.findLast(({ state }) => state === 'running') ?? view.executions.at(-1);
  const at = address.peek();
  if (one === undefined || at.view !== 'run' || at.run !== view.run_id) return;
  if (at.node?.id === one.node && at.node.visit === one.visit) return;
  // The texts are those that its type of node has; other tabs stay.
  const tab = ['changes', 'context', 'files'].includes(at.node?.tab ?? '') ? at.node?.tab : undefined;
  const node = { id: one.node, visit: one.visit, ...(tab === undefined ? {} : { tab }) };
  go({ ...at, node }, 'replace');
}

const moveFocus = (step: number) => () => {
  const all = [...document.querySelectorAll<HTMLElement>('.orders [data-move]')];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const chosen = all.findIndex((one) => one.getAttribute('aria-current') === 'true');
  const next = all[at >= 0 ? at + step : chosen >= 0 ? chosen + step : 0];
  next?.focus();
};

/** Selects an earlier or later execution of the node. */
const otherVisit = (step: number) => () => {
  const one = selectedExecution.value;
  const at = runAddress();
  if (one === undefined || at?.node === undefined) return false;
  const visit = one.visit + step;
  if (!runView.value?.executions.some((other) => other.node === one.node && other.visit === visit)) return;
  go({ ...at, node: { ...at.node, visit } });
  return;
};

const runKeys = {
  j: moveFocus(1),
  k: moveFocus(-1),
  '[': otherVisit(-1),
  ']': otherVisit(1),
  f: () => {
    follow.value = !follow.value;
  },
  '/': () => {
    const box = document.querySelector<HTMLElement>('.node-page [type=search], .run-panel [type=search]');
    if (box === null) return false;
    box.focus();
    return true;
  },
  Escape: () => {
    const at = runAddress();
    const focused = document.activeElement as HTMLElement | null;
    if (focused?.matches('[type=search]')) focused.blur();
    else if (at?.node !== undefined) go(pathOf({ view: 'run', run: at.run, tab: at.tab }));
  },
};

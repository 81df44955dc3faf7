/** An execution of a node: its outcome, why the next edge, and its texts. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ExecutionRow, ExecutionView } from '../../../app/inspect/execution-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { stateOrWait } from '../../../app/inspect/wait-words.ts';
import { countedItems, usdWords } from '../../../core/amounts.ts';
import { isAgentType } from '../../../core/graph.ts';
import { api, readProblem } from '../api.ts';
import { now } from '../clock.ts';
import { reconnected } from '../live.ts';
import { address } from '../place.ts';
import { executionPath, selectedExecution } from '../selection.ts';
import { follow } from '../settings.ts';
import { liveTextsOf, runViewAt, server } from '../store.ts';
import { type NodeTab, pathOf } from '../text/address.ts';
import { durationText, tokensText } from '../text/format.ts';
import { openDialog } from './acts.tsx';
import { State } from './icon.tsx';
import { laterView } from './later-view.tsx';
import { ContextChanges, Conversation, Files } from './node-texts.tsx';
import { Output, TextView } from './output.tsx';
import { Tabs } from './parts.tsx';
import { AnsweredQuestion } from './question.tsx';
import { WaitLine } from './waiting.tsx';

const ChangedFiles = laterView(() => import('./changes.tsx').then((part) => part.ChangedFiles));

const SessionPanel = laterView(() => import('./session.tsx').then((part) => part.SessionPanel));

const nodePage = signal<{ readonly key: string; readonly view: ExecutionView } | null>(null);
const problem = signal('');

/** As in app.css. */
const oneColumn = '(max-width: 900px), (max-height: 499px)';

const titles: Readonly<Record<NodeTab, string>> = {
  session: 'Session',
  output: 'Output',
  prompt: 'Prompt',
  answer: 'Answer',
  changes: 'Changes',
  context: 'Context',
  files: 'Files',
};

export function NodePage({
  run,
  name,
}: {
  run: RunView;
  name: { id: string; visit?: number; tab?: NodeTab };
}) {
  const row = selectedExecution.value;
  const key = row === undefined ? '' : `${run.run_id} ${row.node}@${row.visit}`;
  useLoaded(run, row, key);
  const element = useRef<HTMLElement>(null);
  const loaded = nodePage.value?.key === key;
  useEffect(() => {
    // Where the page is one column, the node is below what it was chosen from.
    if (matchMedia(oneColumn).matches && !follow.value) element.current?.scrollIntoView();
  }, [key, loaded]);
  if (row === undefined) return <NotExecuted run={run} node={name.id} />;
  const view = loaded ? (nodePage.value?.view ?? null) : null;
  const isAgent = isAgentType(row.type);
  const tab = name.tab ?? (isAgent ? 'session' : 'output');
  const at = address.value;
  return (
    <section ref={element} class="node-page" aria-label={`Execution ${row.node}@${row.visit}`}>
      <NodeHead run={run} row={row} view={view} />
      <Tabs
        label="Execution"
        tabs={Object.entries(titles)
          .map(([id, title]) => ({ id: id as NodeTab, title }))
          .filter(({ id }) => isAgent || id !== 'session')}
        shown={tab}
        href={(one) => (at.view === 'run' ? pathOf({ ...at, node: { ...name, tab: one } }) : '')}
        panel="node-panel"
      />
      <div id="node-panel" role="tabpanel" aria-label={titles[tab]} class="node-panel">
        {problem.value !== '' && <p class="bar">{problem.value}</p>}
        {view?.withheld === true && (
          <p class="note">Texts are withheld until the run has ended: they may contain the holdout.</p>
        )}
        {view === null ? (
          <Running row={row} tab={tab} />
        ) : (
          <NodePanel run={run} row={row} view={view} tab={tab} />
        )}
      </div>
    </section>
  );
}

/** Reads the execution again whenever its row has changed. */
function useLoaded(run: RunView, row: ExecutionRow | undefined, key: string): void {
  const version =
    row &&
    JSON.stringify([row.state, row.ended_at, row.attempts, row.waiting, row.next, run.status === 'running']);
  useEffect(() => {
    if (row === undefined) return;
    let current = true;
    api.execution(run.run_id, row.node, row.visit).then(
      (view) => {
        if (!current) return;
        nodePage.value = { key, view };
        problem.value = '';
      },
      (error: unknown) => {
        if (current) problem.value = readProblem(error);
      },
    );
    return () => {
      current = false;
    };
  }, [key, version, reconnected.value]);
}

function NotExecuted({ run, node }: { run: RunView; node: string }) {
  const known = run.graph.nodes.find(({ id }) => id === node);
  return (
    <section class="node-page" aria-label={`Node ${node}`}>
      <header class="node-head">
        <h2>{node}</h2>
        <Close run={run} />
      </header>
      <p class="loading">
        {known === undefined ? 'The pipeline has no such node.' : `${known.label}: not executed so far.`}
      </p>
    </section>
  );
}

function Close({ run }: { run: RunView }) {
  const at = address.value;
  return (
    <a
      class="button plain"
      href={pathOf({ view: 'run', run: run.run_id, tab: at.view === 'run' ? at.tab : 'graph' })}
      aria-label="Close the node"
      title="Close (Esc)"
    >
      ✕
    </a>
  );
}

function NodeHead({ run, row, view }: { run: RunView; row: ExecutionRow; view: ExecutionView | null }) {
  const visits = run.executions.filter(({ node }) => node === row.node).map(({ visit }) => visit);
  const live = row.state === 'running' ? Math.max(0, now.value - runViewAt.value) : 0;
  const codes = view?.commands.map(({ exit_code }) => exit_code).filter((code) => code !== null) ?? [];
  return (
    <header class="node-head">
      <div class="node-first">
        <h2>
          <State state={stateOrWait(row.state, row.waiting)} worded /> {row.node}
          {visits.length > 1 && <span class="quiet"> @{row.visit}</span>}
        </h2>
        {visits.length > 1 && <Visits run={run} row={row} visits={visits} />}
        <span class="quiet figures">
          {[
            ...(row.class === null ? [] : [row.class]),
            durationText(row.took_ms + live),
            ...(codes.length > 0 ? [`exit ${codes.at(-1)}`] : []),
            ...(row.attempts > 1 ? [countedItems(row.attempts, 'attempt')] : []),
            ...(row.waited_ms > 0 ? [`waited ${durationText(row.waited_ms)}`] : []),
            ...(row.usage === null ? [] : usageWords(row)),
            ...(row.replayed ? ['replayed'] : []),
          ].join(' · ')}
        </span>
        <span class="grow" />
        {server.value?.read_only === false && run.acts.includes('fork') && (
          <button
            type="button"
            class="small"
            onClick={() => {
              openDialog.value = { kind: 'fork', run, at: `${row.node}@${row.visit}` };
            }}
          >
            Fork here…
          </button>
        )}
        <Close run={run} />
      </div>
      <WaitLine waiting={row.waiting} />
      {row.reason !== '' && <p class="reason">{row.reason}</p>}
      {row.reason === '' && row.notes !== '' && <p class="quiet reason">{row.notes}</p>}
      <AnsweredQuestion row={row} view={view} />
      <Why run={run} row={row} view={view} />
    </header>
  );
}

function usageWords({ usage, cost_usd, model_ms }: ExecutionRow): readonly string[] {
  if (usage === null) return [];
  return [
    usage.model,
    `${tokensText(usage.input_tokens)} in, ${tokensText(usage.output_tokens)} out`,
    usdWords(cost_usd),
    ...(model_ms > 0 ? [`model ${durationText(model_ms)}`] : []),
  ];
}

function Visits({ run, row, visits }: { run: RunView; row: ExecutionRow; visits: readonly number[] }) {
  const at = visits.indexOf(row.visit);
  const [before, after] = [visits[at - 1], visits[at + 1]];
  return (
    <span class="visits">
      {before === undefined ? (
        <span />
      ) : (
        <a
          href={executionPath(run.run_id, row.node, before)}
          aria-label={`Earlier execution, ${row.node}@${before}`}
        >
          ‹
        </a>
      )}
      <span class="quiet number">
        {at + 1} of {visits.length}
      </span>
      {after === undefined ? (
        <span />
      ) : (
        <a
          href={executionPath(run.run_id, row.node, after)}
          aria-label={`Later execution, ${row.node}@${after}`}
        >
          ›
        </a>
      )}
    </span>
  );
}

/** Why the next edge, and why not the others. */
function Why({ run, row, view }: { run: RunView; row: ExecutionRow; view: ExecutionView | null }) {
  if (row.how === '' && row.next === null) return null;
  const edges = view?.edges ?? [];
  return (
    <div class="why-edge">
      <details>
        <summary>why this edge: {row.how}</summary>
        <ul>
          {edges.map((edge) => (
            <li key={`${edge.to} ${edge.condition}`}>
              <State state={edge.matched ? 'success' : 'skipped'} /> {edge.to}{' '}
              <code class="quiet">{edge.condition}</code> {edge.why_not}
            </li>
          ))}
        </ul>
      </details>
      {row.next !== null && (
        <a href={executionPath(run.run_id, row.next)} aria-label={`Next node: ${row.next}`}>
          → {row.next}
        </a>
      )}
    </div>
  );
}

/** What is known of an execution before its page is read. */
function Running({ row, tab }: { row: ExecutionRow; tab: NodeTab }) {
  const live = liveTextsOf(row);
  const text = tab === 'output' ? live?.['stdout'] : tab === 'answer' ? live?.['answer'] : undefined;
  if (text !== undefined) return <TextView name={tab} text={text} live />;
  return problem.value === '' ? <p class="loading">Reading the execution…</p> : null;
}

interface PanelProps {
  readonly run: RunView;
  readonly row: ExecutionRow;
  readonly view: ExecutionView;
}

function NodePanel({ run, row, view, tab }: PanelProps & { tab: NodeTab }) {
  switch (tab) {
    case 'session':
      return <SessionPanel run={run} row={row} view={view} />;
    case 'output':
      return <Output run={run} view={view} />;
    case 'prompt':
      return <Conversation run={run} view={view} both />;
    case 'answer':
      return <Conversation run={run} view={view} both={false} />;
    case 'changes':
      return (
        <div class="changes">
          <ChangedFiles run={run} query={{ at: `${row.node}@${row.visit}` }} version={row.took_ms} />
        </div>
      );
    case 'context':
      return <ContextChanges view={view} />;
    case 'files':
      return <Files run={run} view={view} />;
  }
}

/** The executions of a run by work order, or by part of the pipeline; those of a plain pipeline in one list. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { ExecutionGroup, ExecutionRow } from '../../../app/inspect/execution-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { stateOrWait } from '../../../app/inspect/wait-words.ts';
import { aheadWords } from '../../../core/ahead-words.ts';
import { countedItems } from '../../../core/amounts.ts';
import { now } from '../clock.ts';
import { address, go } from '../place.ts';
import { executionPath, selectedExecution } from '../selection.ts';
import { runViewAt } from '../store.ts';
import { pathOf } from '../text/address.ts';
import { durationText } from '../text/format.ts';
import { Shape } from './icon.tsx';
import { Countdown } from './waiting.tsx';

/** Groups that the reader has unfolded or folded; the others are unfolded while they run, or if they failed. */
const unfolded = signal<ReadonlyMap<string, boolean>>(new Map());

export function Orders({ run }: { run: RunView }) {
  const rows = new Map(run.executions.map((one) => [`${one.node}@${one.visit}`, one]));
  const orders = run.groups.some(({ kind }) => kind === 'order');
  const opened = new Map<string, ExecutionGroup[]>();
  for (const group of run.groups) {
    const by = group.opened_by ?? '';
    opened.set(by, [...(opened.get(by) ?? []), group]);
  }
  // Branches and calls are shown after the execution that has opened them.
  const groups = opened.get('') ?? [];
  const [only] = groups;
  const all = { run, rows, opened };
  return (
    <nav class="orders" aria-label={orders ? 'Work orders' : 'Nodes'}>
      <h2>{orders ? 'Work orders' : 'Nodes'}</h2>
      <Levels run={run} />
      {groups.length === 0 && <p class="quiet">Nothing has been executed.</p>}
      {groups.length === 1 && only?.kind === 'part' ? (
        <Attempts group={only} {...all} />
      ) : (
        <ul>
          {groups.map((group) => (
            <Group key={group.id} group={group} {...all} />
          ))}
        </ul>
      )}
    </nav>
  );
}

/** Which orders can be asked for together, and how many were asked for before their turn. */
function Levels({ run: { levels, ahead } }: { run: RunView }) {
  if (ahead === null && levels.length === 0) return null;
  const words = ahead === null ? '' : aheadWords(ahead);
  if (levels.length === 0) return <p class="quiet">{words}</p>;
  return (
    <details class="levels">
      <summary class="quiet">
        {countedItems(levels.length, 'level')}
        {words !== '' && ` · ${words}`}
      </summary>
      <p class="quiet">The orders of one level can be asked for together.</p>
      <ol>
        {levels.map((level) => (
          <li key={level.join()}>{level.join(', ')}</li>
        ))}
      </ol>
    </details>
  );
}

interface Rows {
  readonly run: RunView;
  readonly rows: ReadonlyMap<string, ExecutionRow>;
  /** Branches and calls, by `NODE@VISIT` of what has opened them. */
  readonly opened: ReadonlyMap<string, readonly ExecutionGroup[]>;
}

function Group({ group, ...all }: Rows & { group: ExecutionGroup }) {
  const { run } = all;
  const at = address.value;
  const named = at.view === 'run' && at.group === group.id;
  const selected = holds(group, selectedExecution.value?.group, all);
  const open =
    unfolded.value.get(group.id) ??
    (named ||
      selected ||
      group.state === 'running' ||
      group.state === 'suspended' ||
      (group.state === 'failed' && run.status !== 'completed'));
  const toggle = () => {
    unfolded.value = new Map(unfolded.value).set(group.id, !open);
    if (!open && at.view === 'run' && group.kind === 'order' && at.node === undefined)
      go(pathOf({ view: 'run', run: run.run_id, tab: at.tab, group: group.id }), 'replace');
  };
  const live = group.state === 'running' ? Math.max(0, now.value - runViewAt.value) : 0;
  return (
    <li>
      <button
        type="button"
        class="group"
        data-move
        aria-expanded={open}
        aria-current={named ? 'true' : undefined}
        disabled={group.attempts.length === 0}
        onClick={toggle}
      >
        <Shape state={group.state} />
        <span class="hidden">{lookOf(group.state).word}: </span>
        <span class="name" title={group.title}>
          {group.kind === 'order' && <strong>{group.id} </strong>}
          {group.kind !== 'order' || group.title !== group.id ? group.title : ''}
          {group.kind === 'branch' && group.title !== group.id && <span class="quiet"> {group.id}</span>}
        </span>
        {group.attempts.length > 1 && (
          <span class="quiet number" title={countedItems(group.attempts.length, 'attempt')}>
            ×{group.attempts.length}
          </span>
        )}
        <span class="quiet number">
          {group.attempts.length > 0 ? durationText(group.took_ms + live) : lookOf(group.state).word}
        </span>
      </button>
      {open && <Attempts group={group} {...all} />}
    </li>
  );
}

/** Whether the group, or one of a branch in it, is the one of that id. */
function holds(group: ExecutionGroup, id: string | undefined, all: Rows): boolean {
  if (id === undefined || group.id === id) return id !== undefined;
  if (all.opened.size < 2) return false;
  const inner = group.attempts.flatMap(({ executions }) =>
    executions.flatMap((name) => all.opened.get(name) ?? []),
  );
  return inner.some((one) => holds(one, id, all));
}

function Attempts({ group, ...all }: Rows & { group: ExecutionGroup }) {
  const { run, rows, opened } = all;
  const several = group.attempts.length > 1;
  return (
    <ul class="attempts">
      {group.attempts.map((attempt) => (
        <li key={attempt.number}>
          {several && (
            <p class="attempt">
              <Shape state={attempt.state} />
              <span>
                attempt {attempt.number}
                <span class="hidden"> {lookOf(attempt.state).word}</span>
              </span>
              <span class="quiet why" title={attempt.why}>
                {attempt.why}
              </span>
            </p>
          )}
          <ul class={several ? 'executions inner' : 'executions'}>
            {attempt.executions.map((name) => {
              const row = rows.get(name);
              const inner = opened.get(name) ?? [];
              return (
                row && (
                  <Execution key={name} row={row} run={run}>
                    {inner.length > 0 && (
                      <ul class="branches" aria-label={`Branches of ${name}`}>
                        {inner.map((one) => (
                          <Group key={one.id} group={one} {...all} />
                        ))}
                      </ul>
                    )}
                  </Execution>
                )
              );
            })}
          </ul>
        </li>
      ))}
    </ul>
  );
}

function Execution({
  row,
  run,
  children,
}: {
  row: ExecutionRow;
  run: RunView;
  children?: ComponentChildren;
}) {
  const selected = selectedExecution.value;
  const here = selected?.node === row.node && selected.visit === row.visit;
  const state = stateOrWait(row.state, row.waiting);
  const live = row.state === 'running' ? Math.max(0, now.value - runViewAt.value) : 0;
  return (
    <li>
      <a
        href={executionPath(run.run_id, row.node, row.visit)}
        class="execution"
        data-move
        aria-current={here ? 'true' : undefined}
        title={row.reason || row.notes || row.label}
      >
        <Shape state={state} />
        <span class="hidden">{lookOf(state).word}: </span>
        <span class="name">
          {row.node}
          {row.visit > 1 && <span class="quiet"> @{row.visit}</span>}
        </span>
        <span class="quiet number">
          {state === 'waits' && row.waiting?.until != null ? (
            <Countdown until={row.waiting.until} />
          ) : (
            durationText(row.took_ms + live)
          )}
        </span>
      </a>
      {children}
    </li>
  );
}

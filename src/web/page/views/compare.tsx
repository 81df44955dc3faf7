/** Two runs side by side: where their ways part, what they were started with, nodes and changed files. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { NodeFigures, Parting, RunComparison } from '../../../app/compare/shape.ts';
import type { RunRow } from '../../../app/inspect/run-row.ts';
import { costWords, countedItems } from '../../../core/amounts.ts';
import { api, requestMessage } from '../api.ts';
import { executionPath } from '../selection.ts';
import { pathOf } from '../text/address.ts';
import { differenceCells, figureWords, shortCells } from '../text/comparison.ts';
import { durationText } from '../text/format.ts';
import { State } from './icon.tsx';
import { Ago, Command } from './parts.tsx';

export function Compare({ a, b }: { a: string; b: string | undefined }) {
  return b === undefined ? <ChooseOther a={a} /> : <Comparison a={a} b={b} />;
}

/** The answer to one request, or why there is none. */
function useAnswer<T>(ask: () => Promise<T>) {
  const answer = useSignal<T | null>(null);
  const problem = useSignal('');
  useEffect(() => {
    ask().then(
      (value) => {
        answer.value = value;
      },
      (error: unknown) => {
        problem.value = requestMessage(error);
      },
    );
  }, []);
  return { answer: answer.value, problem: problem.value };
}

const most = 200;

function ChooseOther({ a }: { a: string }) {
  const { answer, problem } = useAnswer(() => api.runs({ limit: String(most) }));
  const rows = answer?.runs ?? [];
  const own = rows.find(({ run_id }) => run_id === a);
  const isNear = (row: RunRow) => row.pipeline === own?.pipeline || row.forked_from?.run_id === a;
  const others = rows.filter(({ run_id }) => run_id !== a);
  const sorted = [...others.filter(isNear), ...others.filter((row) => !isNear(row))];
  return (
    <div class="compare">
      <h1>Compare {own?.title ?? a} with…</h1>
      {problem !== '' && <p class="bar">{problem}</p>}
      {answer === null && problem === '' && <p class="loading">Reading the runs…</p>}
      {answer !== null && sorted.length === 0 && <p>There is no other run.</p>}
      <ul class="compare-choice">
        {sorted.map((row) => (
          <li key={row.run_id}>
            <a href={pathOf({ view: 'compare', a, b: row.run_id })}>
              <State state={row.status} /> {row.title}
            </a>{' '}
            <span class="quiet">
              {row.headline} · <Ago time={row.started_at} /> · <code>{row.run_id}</code>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Comparison({ a, b }: { a: string; b: string }) {
  const { answer: view, problem } = useAnswer(() => api.compare(a, b));
  if (view === null)
    return problem === '' ? <p class="loading">Comparing the runs…</p> : <p class="bar">{problem}</p>;
  const differing = view.files?.filter(({ same }) => !same) ?? [];
  const alike = (view.files?.length ?? 0) - differing.length + view.files_left_out;
  return (
    <div class="compare">
      <h1>{view.line}</h1>
      <div class="compare-runs">
        <Run name="A" run={view.a} />
        <Run name="B" run={view.b} />
      </div>
      {view.parting !== null && <PartingTable view={view} parting={view.parting} />}
      {view.inputs.length > 0 && (
        <section>
          <h2>Started with</h2>
          <Sides head="">
            {view.inputs.map(({ name, a: was, b: is }) => (
              <TextRow key={name} cells={[name, was ?? 'none', is ?? 'none']} />
            ))}
          </Sides>
        </section>
      )}
      <section>
        <h2>Nodes</h2>
        <Sides head="">
          {view.nodes.map(({ node, a: was, b: is }) => (
            <tr key={node} class={was?.state === is?.state ? '' : 'other'}>
              <th scope="row">{node}</th>
              <NodeCell run={a} node={node} figures={was} />
              <NodeCell run={b} node={node} figures={is} />
            </tr>
          ))}
        </Sides>
      </section>
      <section>
        <h2>Changed files</h2>
        {view.files === null && <p>They are unknown: a snapshot cannot be read.</p>}
        {differing.length > 0 && (
          <Sides head="">
            {differing.map(({ path, a: was, b: is }) => (
              <tr key={path}>
                <th scope="row" class="path">
                  {path}
                </th>
                <FileCell run={a} what={was} />
                <FileCell run={b} what={is} />
              </tr>
            ))}
          </Sides>
        )}
        {view.files !== null && (
          <p class="quiet">
            {alike > 0
              ? `${countedItems(alike, 'changed file')} the same in both`
              : differing.length === 0 && 'Neither run has changed a file.'}
          </p>
        )}
      </section>
      <Command text={`factory compare ${a} ${b}`} />
    </div>
  );
}

function Run({ name, run }: { name: string; run: RunComparison['a'] }) {
  return (
    <section class="compare-run" aria-label={`Run ${name}`}>
      <h2>
        <span class="badge">{name}</span> <State state={run.status} worded />{' '}
        <a href={pathOf({ view: 'run', run: run.run_id, tab: 'graph' })}>{run.title}</a>
      </h2>
      <p>{run.headline}</p>
      <p class="quiet">
        {countedItems(run.executions, 'execution')} · {durationText(run.elapsed_ms)} · {costWords(run.spent)}{' '}
        · started <Ago time={run.started_at} /> · <code>{run.run_id}</code>
        {run.forked_from !== null &&
          ` · forked ${run.forked_from.before ? 'before' : 'after'} ${run.forked_from.node}@${run.forked_from.visit}`}
      </p>
    </section>
  );
}

function PartingTable({ view, parting }: { view: RunComparison; parting: Parting }) {
  const { a, b, differs } = parting;
  return (
    <section>
      <h2>Execution {parting.index}</h2>
      <Sides head="">
        <tr>
          <th scope="row">execution</th>
          <EndCell run={view.a.run_id} end={a} />
          <EndCell run={view.b.run_id} end={b} />
        </tr>
        {differs
          .filter(({ what }) => what !== 'node')
          .map((one) => (
            <TextRow key={`${one.what} ${one.name}`} cells={differenceCells(one)} />
          ))}
        {(a?.reason ?? '') !== (b?.reason ?? '') && (
          <TextRow cells={['reason', a?.reason ?? '', b?.reason ?? '']} />
        )}
      </Sides>
    </section>
  );
}

function EndCell({ run, end }: { run: string; end: Parting['a'] }) {
  if (end === null) return <td class="quiet">has ended</td>;
  return (
    <td>
      <State state={end.state} />{' '}
      <a href={executionPath(run, end.node, end.visit)}>
        {end.node}@{end.visit}
      </a>{' '}
      <span class="quiet number">{durationText(end.took_ms)}</span>
    </td>
  );
}

function NodeCell({ run, node, figures }: { run: string; node: string; figures: NodeFigures | null }) {
  if (figures === null) return <td class="quiet">not executed</td>;
  return (
    <td>
      <State state={figures.state} /> <a href={executionPath(run, node)}>{figures.state}</a>{' '}
      <span class="quiet number">{figureWords(figures)}</span>
    </td>
  );
}

function FileCell({ run, what }: { run: string; what: string | null }) {
  if (what === null) return <td class="quiet">unchanged</td>;
  return (
    <td>
      <a href={pathOf({ view: 'run', run, tab: 'changes' })}>{what}</a>
    </td>
  );
}

/** A name and what each run has, long texts folded. */
function TextRow({ cells: [name, a, b] }: { cells: readonly [string, string, string] }) {
  const [was, is] = shortCells(a, b);
  const isFolded = was !== a || is !== b;
  return (
    <tr>
      <th scope="row">{name}</th>
      {[
        { side: 'a', short: was, whole: a },
        { side: 'b', short: is, whole: b },
      ].map(({ side, short, whole }) => (
        <td key={side} class="text">
          {isFolded ? (
            <details>
              <summary>{short}</summary>
              <pre>{whole}</pre>
            </details>
          ) : (
            whole
          )}
        </td>
      ))}
    </tr>
  );
}

function Sides({ head, children }: { head: string; children: preact.ComponentChildren }) {
  return (
    <div class="scroll">
      <table class="table sides">
        <thead>
          <tr>
            {head === '' ? <td /> : <th>{head}</th>}
            <th>A</th>
            <th>B</th>
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

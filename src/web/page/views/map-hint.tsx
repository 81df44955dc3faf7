/** What is shown next to a node that the pointer rests on: the last lines of its output; and of an edge, why it was taken. */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ExecutionRow, ExecutionView } from '../../../app/inspect/execution-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { stateOrWait } from '../../../app/inspect/wait-words.ts';
import type { GraphMap } from '../../../app/picture/map-shape.ts';
import { api } from '../api.ts';
import { addKeys } from '../keys.ts';
import { executionPath } from '../selection.ts';
import { liveTextsOf } from '../store.ts';
import { type Eye, type FrameSize, seenBox } from '../text/map-eye.ts';
import { type EdgePiece, latestIn, takenBy } from '../text/map-marks.ts';
import { lastLines } from '../text/output-lines.ts';
import { State } from './icon.tsx';
import { WaitLine } from './waiting.tsx';

/** A node of the map, or an edge by its place. */
export interface Pointed {
  readonly node?: string;
  readonly edge?: number;
}

interface HintProps {
  readonly run: RunView;
  readonly map: GraphMap;
  readonly pointed: Signal<Pointed | null>;
  readonly eye: Eye;
  readonly size: FrameSize;
}

export function MapHint({ run, map, pointed, eye, size }: HintProps) {
  const at = pointed.value;
  useEffect(
    () =>
      addKeys({
        Escape: () => {
          if (pointed.value === null) return false;
          pointed.value = null;
          return true;
        },
      }),
    [],
  );
  if (at === null) return null;
  const edge = at.edge === undefined ? undefined : map.edges[at.edge];
  const node = map.nodes.find(({ id }) => id === at.node);
  const box = edge?.box ?? node?.box;
  if (box === undefined) return null;
  const [left, top] = seenBox(eye, size);
  const place = {
    left: `${Math.max(8, Math.min((box[0] + (edge === undefined ? 0 : box[2] / 2) - left) * eye.scale, size.width - 408))}px`,
    ...belowOrAbove(
      (box[1] - top) * eye.scale,
      (box[1] + box[3] - top) * eye.scale,
      size.height,
      edge !== undefined,
    ),
  };
  return (
    <div class={edge === undefined ? 'map-hint' : 'map-hint of-edge'} style={place}>
      {edge !== undefined ? (
        <EdgeHint run={run} edge={edge} close={() => (pointed.value = null)} />
      ) : (
        <NodeHint run={run} row={latestIn(run, map).get(at.node ?? '')} />
      )}
    </div>
  );
}

/** Where there is more room; of an edge, which may be longer than the frame, in its visible middle. */
function belowOrAbove(top: number, bottom: number, height: number, isEdge: boolean) {
  if (isEdge) return { top: `${Math.max(8, (Math.max(0, top) + Math.min(height, bottom)) / 2)}px` };
  return bottom > height / 2 ? { bottom: `${height - top + 6}px` } : { top: `${bottom + 6}px` };
}

const shownLines = 8;

function NodeHint({ run, row }: { run: RunView; row: ExecutionRow | undefined }) {
  const view = useExecution(run.run_id, row);
  if (row === undefined) return <p class="quiet">not reached</p>;
  const live = row.state === 'running' ? liveTextsOf(row) : undefined;
  const text = live?.['answer'] ?? live?.['stdout'] ?? live?.['stderr'] ?? textOf(view);
  const lines = lastLines(text, shownLines);
  return (
    <>
      <p>
        <State state={stateOrWait(row.state, row.waiting)} worded /> {row.node}
        {row.visit > 1 && <span class="quiet"> @{row.visit}</span>}
      </p>
      <WaitLine waiting={row.waiting} />
      {row.reason !== '' && <p class="reason">{row.reason}</p>}
      {lines.length > 0 ? (
        <pre>{lines.join('\n')}</pre>
      ) : (
        <p class="quiet">
          {view?.withheld === true
            ? 'Texts are withheld until the run has ended.'
            : view === null && row.state !== 'running'
              ? 'Reading the output…'
              : 'No output.'}
        </p>
      )}
    </>
  );
}

const textOf = (view: ExecutionView | null): string =>
  view?.output.findLast(({ text }) => text.trim() !== '')?.text ?? view?.answer?.text ?? '';

/** The page of an execution; null until it is read. */
function useExecution(run: string, row: ExecutionRow | undefined): ExecutionView | null {
  const loaded = useSignal<{ readonly key: string; readonly view: ExecutionView } | null>(null);
  const key = row === undefined ? '' : `${row.node}@${row.visit} ${row.state}`;
  useEffect(() => {
    if (row === undefined) return;
    let current = true;
    api.execution(run, row.node, row.visit).then(
      (view) => {
        if (current) loaded.value = { key, view };
      },
      () => {},
    );
    return () => {
      current = false;
    };
  }, [run, key]);
  return loaded.value?.key === key ? loaded.value.view : null;
}

const shownExecutions = 6;

function EdgeHint({ run, edge, close }: { run: RunView; edge: EdgePiece; close: () => void }) {
  const executions = takenBy(run, edge);
  const [part] = edge.parts;
  return (
    <>
      <header>
        <strong>
          {part?.from ?? edge.from} → {part?.to ?? edge.to}
        </strong>
        <button type="button" class="plain" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {edge.parts
        .filter(({ condition }) => condition !== '')
        .map(({ from, condition }) => (
          <p key={`${from} ${condition}`}>
            {edge.parts.length > 1 && `${from}: `}
            <code>{condition}</code>
          </p>
        ))}
      {executions.length === 0 ? (
        <OtherEdge run={run} edge={edge} />
      ) : (
        <ul>
          {executions.slice(0, shownExecutions).map((row) => (
            <li key={`${row.node}@${row.visit}`}>
              <a href={executionPath(run.run_id, row.node, row.visit)}>
                {row.node}@{row.visit}
              </a>{' '}
              {row.how || lookOf(row.state).word}
            </li>
          ))}
          {executions.length > shownExecutions && (
            <li class="quiet">and {executions.length - shownExecutions} more before</li>
          )}
        </ul>
      )}
    </>
  );
}

/** Why the latest execution left by another edge. */
function OtherEdge({ run, edge: { parts } }: { run: RunView; edge: EdgePiece }) {
  const [part] = parts;
  const row = run.executions.findLast(({ node }) => node === part?.from);
  const view = useExecution(run.run_id, row);
  if (row === undefined) return <p class="quiet">{part?.from ?? 'Its node'} was not reached.</p>;
  const why = view?.edges.find(
    ({ to, condition }) => to === part?.to && condition === part.condition,
  )?.why_not;
  return (
    <p>
      The run left by another edge.{' '}
      <a href={executionPath(run.run_id, row.node, row.visit)}>
        {row.node}@{row.visit}
      </a>
      : {why || row.how}
    </p>
  );
}

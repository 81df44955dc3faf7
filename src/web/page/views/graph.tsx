/** The graph of a run: the server's drawing with live states, to zoom and to pan, and the same as a list. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import { countedItems, usdWords } from '../../../core/amounts.ts';
import { api, readProblem } from '../api.ts';
import { reconnected } from '../live.ts';
import { go } from '../place.ts';
import { executionPath, selectedExecution } from '../selection.ts';
import { durationText } from '../text/format.ts';
import { useView, type ZoomView, zoomed } from './zoom.ts';

export function GraphPanel({ run }: { run: RunView }) {
  const frame = useRef<HTMLDivElement>(null);
  const problem = useSignal('');
  const drawn = useSignal(0);
  const view = useView(frame);
  // Counts on nodes and edges are part of the drawing: it is asked for again when an execution was counted.
  const counted = run.graph.nodes.map(({ executions }) => executions).join();
  useEffect(() => {
    let current = true;
    api.graph(run.run_id).then(
      (text) => {
        if (!current || frame.current === null) return;
        show(frame.current, text, view);
        problem.value = '';
        drawn.value++;
      },
      (error: unknown) => {
        if (current) problem.value = readProblem(error);
      },
    );
    return () => {
      current = false;
    };
  }, [run.run_id, counted, reconnected.value]);
  const selected = selectedExecution.value?.node;
  const version = drawn.value;
  useEffect(() => {
    if (frame.current !== null && version > 0) mark(frame.current, run, selected);
  }, [run, selected, version]);
  useEffect(() => {
    if (version > 0) view.focus(selected);
  }, [selected, version > 0]);
  const choose = (event: MouseEvent) => {
    const node = (event.target as Element).closest('[data-node]')?.getAttribute('data-node');
    if (node && !view.moved()) go(executionPath(run.run_id, node));
  };
  return (
    <div class="graph">
      {problem.value !== '' && <p class="loading">The graph cannot be drawn: {problem.value}</p>}
      <div class="zoom-buttons">
        <button type="button" class="small" aria-label="Zoom in" onClick={() => view.zoom(0.8)}>
          +
        </button>
        <button type="button" class="small" aria-label="Zoom out" onClick={() => view.zoom(1.25)}>
          −
        </button>
        <button type="button" class="small" onClick={view.fit}>
          Fit
        </button>
      </div>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list of nodes is the way for the keyboard */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: as above */}
      <div ref={frame} class="drawing" onClick={choose} {...view.handlers} />
      <NodeList run={run} frame={frame} />
    </div>
  );
}

/** Puts a drawing into the frame without scripts, with the part that was in view before. */
function show(frame: HTMLElement, text: string, view: ZoomView): void {
  // Its own styles are for a file; the page has rules for the same classes, and its policy refuses others.
  const bare = text.replace(/<style[\s\S]*?<\/style>/g, '');
  const svg = new DOMParser().parseFromString(bare, 'image/svg+xml').documentElement;
  if (svg.localName !== 'svg') throw new Error('the drawing is no SVG');
  for (const one of svg.querySelectorAll('script, style, foreignObject')) one.remove();
  svg.setAttribute('aria-hidden', 'true');
  svg.removeAttribute('role');
  frame.replaceChildren(document.importNode(svg, true));
  zoomed(frame, view);
}

/** Marks states, the selected node and its edges on the drawing. */
function mark(frame: HTMLElement, run: RunView, selected: string | undefined): void {
  const states = new Map(run.graph.nodes.map(({ id, state }) => [id, state]));
  for (const node of frame.querySelectorAll('[data-node]')) {
    const id = node.getAttribute('data-node') ?? '';
    const before = node.getAttribute('data-state') ?? '';
    const state = states.get(id);
    node.classList.toggle('selected', id === selected);
    if (state === undefined || state === before) continue;
    if (before !== '') node.classList.remove(before);
    node.classList.add(state);
    node.setAttribute('data-state', state);
    node.querySelector('use.sign')?.setAttribute('href', `#sign-${state}`);
  }
}

/** The nodes as a list, for screen readers and the keyboard; it is seen while one of its links has the focus. */
function NodeList({ run, frame }: { run: RunView; frame: { readonly current: HTMLElement | null } }) {
  const point = (id: string, on: boolean) => () => {
    frame.current?.querySelector(`[data-node="${CSS.escape(id)}"]`)?.classList.toggle('pointed', on);
  };
  const leaving = new Map<string, Edges>();
  for (const edge of run.graph.edges) {
    const others = leaving.get(edge.from);
    if (others === undefined) leaving.set(edge.from, [edge]);
    else others.push(edge);
  }
  return (
    <ol class="node-list" aria-label="Nodes of the graph">
      {run.graph.nodes.map((node) => (
        <li key={node.id}>
          <a
            href={executionPath(run.run_id, node.id)}
            onFocus={point(node.id, true)}
            onBlur={point(node.id, false)}
          >
            {node.label}: {lookOf(node.state).word}
            {node.executions > 0 &&
              `, ${countedItems(node.executions, 'execution')}, ${durationText(node.took_ms)}, ${usdWords(node.cost_usd)}`}
            {edgesText(leaving.get(node.id) ?? [])}
          </a>
        </li>
      ))}
    </ol>
  );
}

type Edges = RunView['graph']['edges'][number][];

function edgesText(edges: Edges): string {
  if (edges.length === 0) return '';
  return `, leads to ${edges.map(({ to, taken }) => (taken > 0 ? `${to} (taken ${taken}×)` : to)).join(', ')}`;
}

/** The nodes of the map as a list, for screen readers and the keyboard; an entry is seen while it has the focus. The list is one stop of
 *  the tabulator: arrows move on the map. */
import { type Signal, useSignal } from '@preact/signals';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { lookOf } from '../../../app/inspect/states.ts';
import type { GraphMap, MapBox } from '../../../app/picture/map-shape.ts';
import { countedItems, usdWords } from '../../../core/amounts.ts';
import { executionPath } from '../selection.ts';
import { durationText } from '../text/format.ts';
import { type Direction, nextBox } from '../text/map-eye.ts';
import { type NodeMark, type NodePiece, takenCounts } from '../text/map-marks.ts';
import type { Pointed } from './map-hint.tsx';
import type { MapActions } from './map-pointer.ts';

type NodeView = RunView['graph']['nodes'][number];

/** Where there is no map: all nodes of the pipeline. */
export function RunNodes({ run }: { run: RunView }) {
  return (
    <ol class="node-list" aria-label="Nodes of the graph">
      {run.graph.nodes.map((node) => (
        <li key={node.id}>
          <a href={executionPath(run.run_id, node.id)}>{nodeWords(node)}</a>
        </li>
      ))}
    </ol>
  );
}

const nodeWords = (node: NodeView, mark?: NodeMark): string =>
  [
    `${node.label}: ${lookOf(mark?.state ?? node.state).word}`,
    ...(mark === undefined || mark.wait === '' ? [] : [mark.wait]),
    ...(node.executions > 0
      ? [countedItems(node.executions, 'execution'), durationText(node.took_ms), usdWords(node.cost_usd)]
      : []),
  ].join(', ');

interface ListProps {
  readonly run: RunView;
  readonly map: GraphMap;
  readonly marks: ReadonlyMap<string, NodeMark>;
  readonly pointed: Signal<Pointed | null>;
  readonly actions: MapActions;
}

/** An entry: a node, or the box of what was opened. */
interface Entry {
  readonly key: string;
  readonly box: MapBox;
  readonly node?: NodePiece;
  readonly fold?: string;
  readonly label: string;
}

export function MapList({ run, map, marks, pointed, actions }: ListProps) {
  const entries = entriesOf(map);
  const current = useSignal('');
  const at = Math.max(
    0,
    entries.findIndex(({ key }) => key === current.value),
  );
  const views = new Map(
    [run.graph, ...run.graph.children].flatMap(({ nodes }) => nodes.map((one) => [one.id, one])),
  );
  const leads = leadsFrom(run, map);
  const keys = (event: KeyboardEvent) => {
    const entry = entries[at];
    if (entry === undefined || !event.key.startsWith('Arrow') || event.shiftKey) return;
    event.preventDefault();
    const next = nextBox(
      entries.map(({ box }) => box),
      entry.box,
      event.key as Direction,
    );
    const list = event.currentTarget as HTMLElement;
    if (next !== undefined) list.querySelectorAll<HTMLElement>('a, button')[next]?.focus();
  };
  return (
    <ol class="node-list" aria-label="Nodes of the graph" onKeyDown={keys}>
      {entries.map((entry, index) => {
        const props = {
          tabIndex: index === at ? 0 : -1,
          onFocus: () => {
            current.value = entry.key;
            if (entry.node !== undefined) {
              actions.show(entry.node.id);
              pointed.value = { node: entry.node.id };
            }
          },
          onBlur: () => {
            if (pointed.value?.node !== undefined) pointed.value = null;
          },
        };
        const fold = entry.fold ?? entry.node?.opens ?? undefined;
        const view = entry.node && views.get(entry.node.id);
        return (
          <li key={entry.key}>
            {fold !== undefined ? (
              <button
                {...props}
                type="button"
                aria-expanded={entry.fold !== undefined}
                onClick={() => actions.toggle(fold)}
              >
                {entry.label}
                {entry.node !== undefined && foldedWords(entry.node, marks)}
                {entry.node !== undefined && leads.get(entry.node.id)}
              </button>
            ) : (
              <a {...props} href={executionPath(run.run_id, entry.node?.id ?? '')}>
                {view === undefined ? entry.label : nodeWords(view, marks.get(view.id))}
                {entry.node !== undefined && leads.get(entry.node.id)}
              </a>
            )}
          </li>
        );
      })}
    </ol>
  );
}

/** In the order of the pipeline, what is open before the first node in it. */
function entriesOf(map: GraphMap): readonly Entry[] {
  const boxes = map.boxes.flatMap(({ fold, label, nodes, box }) =>
    fold === null ? [] : [{ fold, label, nodes: new Set(nodes), box }],
  );
  const seen = new Set<string>();
  return map.nodes
    .filter(({ leads }) => leads === null)
    .flatMap((node): Entry[] => {
      const before = boxes.filter(({ fold, nodes }) => nodes.has(node.id) && !seen.has(fold));
      for (const { fold } of before) seen.add(fold);
      return [
        ...before.map(({ fold, label, box }) => ({
          key: `fold ${fold}`,
          fold,
          label,
          box: [box[0], box[1], box[2], 16] as MapBox,
        })),
        { key: node.id, node, label: node.label, box: node.box },
      ];
    });
}

function foldedWords({ id, of }: NodePiece, marks: ReadonlyMap<string, NodeMark>): string {
  const mark = marks.get(id);
  return [
    `: ${lookOf(mark?.state ?? 'none').word}`,
    ...(mark === undefined || mark.words === '' ? [] : [mark.words]),
    countedItems(of.length, 'node'),
  ].join(', ');
}

/** `, leads to check (taken 2×), exit` by the node. */
function leadsFrom(run: RunView, map: GraphMap): ReadonlyMap<string, string> {
  const counts = takenCounts(run, map);
  const ends = new Map(map.nodes.map(({ id, leads }) => [id, leads ?? id]));
  const all = new Map<string, string[]>();
  for (const [at, { from, to }] of map.edges.entries()) {
    const count = counts[at] ?? 0;
    const words = `${ends.get(to) ?? to}${count > 0 ? ` (taken ${count}×)` : ''}`;
    all.set(from, [...(all.get(from) ?? []), words]);
  }
  return new Map([...all].map(([from, words]) => [from, `, leads to ${words.join(', ')}`]));
}

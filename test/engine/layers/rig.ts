/** One node in front of one layer: a context in which nothing but the records is real, and a `next` that a test gives. */
import { mkdirSync } from 'node:fs';
import { kinds } from '../../../src/app/kinds.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
import { kindOf } from '../../../src/core/pipeline.ts';
import { layout } from '../../../src/core/records/layout.ts';
import { openRecords } from '../../../src/engine/commit.ts';
import { outermostContext } from '../../../src/engine/execute-node.ts';
import { openBudget } from '../../../src/engine/layers/budget.ts';
import type { Execute, Executed, Layer, LayerContext } from '../../../src/engine/layers/layer.ts';
import { attemptContext } from '../../../src/engine/node-context.ts';
import type { Run } from '../../../src/engine/run-context.ts';
import { graphOf } from '../../support/graph.ts';
import { prepared } from '../prepared-run.ts';

/** A workspace with the paths of these files; their content is their hash. */
export const tree = (files: Readonly<Record<string, string>>) => ({
  id: JSON.stringify(files),
  tree: new Map(
    Object.entries(files).map(([path, hash]) => [path, { kind: 'file' as const, mode: 0o644, hash }]),
  ),
});

export type Rig = {
  readonly context: LayerContext;
  readonly events: readonly { readonly type: string }[];
  /** Runs the layer around `next`, which ends with this outcome, or as it answers. */
  through(layer: Layer, next: Outcome | Execute): Promise<Executed>;
  close(): Promise<void>;
};

/** The context of node `a`, which `attributes` describe, as the layers inside `retry` get it. */
export async function rig(
  dir: string,
  attributes: string,
  more: Partial<Pick<Run, 'caps' | 'signal' | 'snapshots' | 'snapshot'>> & {
    readonly run?: Partial<Run>;
    readonly parts?: Partial<LayerContext>;
  } = {},
): Promise<Rig> {
  const graph = graphOf(`a [${attributes}]; b; a -> b`);
  const events: { readonly type: string }[] = [];
  const watcher = {
    event: (event: { type: string }) => events.push(event),
    streamed() {},
    output() {},
    spent() {},
  };
  const ready = await prepared(dir, graph, { kinds, run: { watcher, ...more.run } });
  const { run: _, parts: __, ...others } = more;
  const run: Run = { ...ready, ...others };
  const node = graph.nodes.get('a');
  const kind = node === undefined ? undefined : kindOf(node, kinds);
  if (node === undefined || kind === undefined) throw new Error('no node a');
  const nodeDir = layout(dir).node('a');
  mkdirSync(nodeDir, { recursive: true });
  const execution = { node, kind, visit: 1, state: ready.state, nodeDir, earlierVisits: '', began: 0 };
  const records = openRecords(run);
  const outer = outermostContext(run, records, { ...execution, contextBefore: {} }, run.snapshot);
  const budget = openBudget(outer);
  const timeout = { ms: 60_000, explicit: false, runLeftMs: 60_000 };
  const context = attemptContext(outer.with({ budget }), { number: 1, call: 1, timeout }).with(
    more.parts ?? {},
  );
  return {
    context,
    events,
    through: (layer, next) =>
      layer(typeof next === 'function' ? next : async ({ before }) => ({ outcome: next, snapshot: before }))(
        context,
      ),
    close: ready.close,
  };
}

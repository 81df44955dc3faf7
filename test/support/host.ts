/** The context of a run without a watcher. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPipeline } from '../../src/app/read-pipeline.ts';
import type { Host } from '../../src/app/types.ts';
import type { Graph } from '../../src/core/graph.ts';
import { realClock } from '../../src/platform/clock.ts';

export const plainFlags = { vars: {}, allowDirty: false, acceptChanges: false };

/** The real clock, no watcher, and of the environment only PATH and `env`. */
export const quietDoors = (cwd: string, env: Readonly<Record<string, string>> = {}): Host => ({
  cwd,
  env: { PATH: process.env['PATH'], ...env },
  clock: realClock,
  signal: new AbortController().signal,
  watcher: { event: () => {}, streamed: () => {}, output: () => {}, spent: () => {} },
  log: () => {},
});

/** Writes `p.dot` and an empty folder `runs` into `dir`; the graph of the pipeline. */
export async function pipelineIn(dir: string, dot: string): Promise<Graph> {
  writeFileSync(join(dir, 'p.dot'), dot);
  mkdirSync(join(dir, 'runs'), { recursive: true });
  const { graph } = await readPipeline('p.dot', dir);
  if (graph === undefined) throw new Error('the pipeline has errors');
  return graph;
}

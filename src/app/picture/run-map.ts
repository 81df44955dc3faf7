/** The map of a run's pipeline. It shows nothing of what ran, so that it is made once for each pipeline and each set of open folds. */
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { sha256 } from '../../core/sha256.ts';
import { nextTurn } from '../../platform/turns.ts';
import { openRun } from '../../run/open-run.ts';
import { pipelineGraph } from '../inspect/pipeline-graph.ts';
import { storedGraph } from '../read-pipeline.ts';

type MapText = string | Refusal;

/** The latest maps, the oldest first. */
const kept = new Map<string, Promise<MapText>>();
const mostKept = 12;

/** The map of the run in `dir` as JSON, or why there is none. `open`: the folds that are open. */
export async function runMap(dir: string, open: readonly string[]): Promise<MapText> {
  const read = await openRun(dir).manifest();
  if (!read.ok) return refused('manifest', read.why);
  const { manifest } = read;
  const key = keyOf(manifest, open);
  const made = kept.get(key) ?? mapText(manifest, open);
  // The latest is the last one.
  kept.delete(key);
  kept.set(key, made);
  for (const old of kept.keys()) if (kept.size > mostKept) kept.delete(old);
  return made;
}

const keyOf = ({ pipeline, pipeline_path, pipelines }: Manifest, open: readonly string[]): string =>
  sha256(JSON.stringify([pipeline_path, pipeline, pipelines, [...open].sort()]));

async function mapText(manifest: Manifest, open: readonly string[]): Promise<MapText> {
  const graph = storedGraph(manifest);
  if (graph === undefined) return refused('run-files', 'the pipeline of the run cannot be read');
  await nextTurn();
  const { drawnMap } = await import('./map.ts');
  const map = await drawnMap(pipelineGraph(graph), new Set(open));
  return 'problems' in map ? map : JSON.stringify(map);
}

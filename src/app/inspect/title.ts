/** The title of a run. */
import { basename, join } from 'node:path';
import type { Graph } from '../../core/graph.ts';
import { once } from '../../core/once.ts';
import { pipelineFacts } from '../../core/pipeline.ts';
import { type Manifest, manifestSchema } from '../../core/records/manifest.ts';
import { storedText } from '../../run/inputs.ts';
import { manifestJson, runIds } from '../../run/runs.ts';
import { storedGraph } from '../read-pipeline.ts';

type RecordedText = Pick<Manifest, 'pipeline' | 'pipeline_path'>;
type TitledRun = RecordedText & Pick<Manifest, 'variables'> & { readonly name?: string | undefined };
export type Graphs = (run: RecordedText) => Graph | undefined;

/** Characters of a spec that are searched for its heading. */
const searched = 16 * 1024;

/** The name that it was given, else the pipeline's label, the first heading of its spec, or the name of the file. */
export async function titleOf(runDir: string, run: TitledRun, graphs: Graphs = storedGraph): Promise<string> {
  if (run.name !== undefined) return oneLineOf(run.name);
  const hash = run.variables['spec']?.file?.sha256;
  const spec = hash === undefined ? undefined : storedText(runDir, hash);
  return titleIn(recordedFacts(run, graphs).label, spec, run.pipeline_path);
}

/** What the manifest keeps of the pipeline. Runs of earlier versions have only its text. */
export function recordedFacts(run: RecordedText, graphs: Graphs): ReturnType<typeof pipelineFacts> {
  const { label, branches } = run.pipeline;
  if (label !== undefined && branches !== undefined) return { label, branches };
  const graph = graphs(run);
  return graph === undefined ? { label: '', branches: false } : pipelineFacts(graph);
}

/** The same of a run that has not begun; `spec` is the text of its spec, if it has one. */
export function titleIn(label: string, spec: string | undefined, pipelinePath: string): string {
  const shown = oneLineOf(label);
  if (shown !== '') return shown;
  const heading = oneLineOf(/^#{1,6}[ \t]+(.+?)[ \t]*#*$/m.exec(spec?.slice(0, searched) ?? '')?.[1] ?? '');
  return heading === '' ? basename(pipelinePath) : heading;
}

const titledSchema = once(() =>
  manifestSchema().pick({ pipeline: true, pipeline_path: true, variables: true, name: true }),
);

/** The titles of all runs in a directory whose manifest can be read. */
export async function runTitles(
  runsDir: string,
): Promise<readonly { readonly id: string; readonly title: string }[]> {
  const titles: { readonly id: string; readonly title: string }[] = [];
  const graphs = openGraphs();
  for (const id of await runIds(runsDir)) {
    const dir = join(runsDir, id);
    const manifest = titledSchema().safeParse(manifestJson(dir)).data;
    if (manifest !== undefined) titles.push({ id, title: await titleOf(dir, manifest, graphs) });
  }
  return titles;
}

/** Pipelines of runs of earlier versions, by the hash of their text: many runs have the same. */
export function openGraphs(): Graphs {
  const read = new Map<string, Graph | undefined>();
  return (run) => {
    const { sha256 } = run.pipeline;
    if (read.size > 200) read.clear();
    if (!read.has(sha256)) read.set(sha256, storedGraph(run));
    return read.get(sha256);
  };
}

/** Shown in lists: without line ends and control characters, and not longer than a line. */
const oneLineOf = (text: string): string =>
  text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, 200);

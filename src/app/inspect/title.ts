/** The title of a run. */
import { basename, join } from 'node:path';
import type { Graph } from '../../core/graph.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { readSome } from '../../platform/files/read.ts';

/** Bytes of a spec that are searched for its heading. */
const searched = 16 * 1024;

/** The pipeline's label, else the first heading of its spec, else the name of the file. */
export async function titleOf(
  runDir: string,
  { variables, pipeline_path }: Pick<Manifest, 'variables' | 'pipeline_path'>,
  graph: Pick<Graph, 'settings'> | undefined,
): Promise<string> {
  const label = oneLineOf(graph?.settings.label ?? '');
  if (label !== '') return label;
  const stored = variables['spec']?.file?.stored;
  const spec =
    stored === undefined ? undefined : await readSome(join(layout(runDir).inputs, stored), searched);
  const heading = oneLineOf(/^#{1,6}[ \t]+(.+?)[ \t]*#*$/m.exec(spec ?? '')?.[1] ?? '');
  return heading === '' ? basename(pipeline_path) : heading;
}

/** Shown in lists: without line ends and control characters, and not longer than a line. */
const oneLineOf = (text: string): string =>
  text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, 200);

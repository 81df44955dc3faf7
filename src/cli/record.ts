/** `factory record export`: the recorded answers of a run as an agent script. */

import { exportScript } from '../app/export-script.ts';
import { storedGraphInPlace } from '../app/read-pipeline.ts';
import { readRecordedRun } from '../app/run/replay-seed.ts';
import { allNodes } from '../core/graph.ts';
import { backendOf } from '../core/pipeline.ts';
import { quoteWord } from '../core/policy/words.ts';
import { layout } from '../core/records/layout.ts';
import { bodiesIn } from '../run/exchanges.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { findNamed } from './find-run.ts';
import type { CliIo } from './io.ts';
import { writeOutput } from './output.ts';
import type { VerbResult } from './verb.ts';

export type RecordOptions = { readonly output?: string; readonly runsdir?: string };

/** Writes the script to `--output`, or to standard output. */
export async function recordExport(run: string, options: RecordOptions, io: CliIo): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const { dir } = found;
  const record = await readRecordedRun(dir);
  if ('problems' in record) return record;
  const at = layout(dir);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents });
  const { script, unanswered } = await exportScript({ ...record, body: bodiesIn(dir) }, snapshots);
  const text = `${JSON.stringify(script, null, 2)}\n`;
  const { output } = options;
  if (output === undefined) io.out(text);
  else {
    const to = await writeOutput(output, text, { inputs: [dir] }, io.cwd);
    if (typeof to === 'object') return to;
  }
  for (const { node, call } of unanswered)
    io.err(`factory: call ${call} of node "${node}" has no recorded answer: the script fails it\n`);
  const graph = storedGraphInPlace(record.manifest);
  for (const node of graph === undefined ? [] : allNodes(graph).values()) {
    const backend = backendOf(node);
    if (Object.hasOwn(script.answers, node.id) && backend !== '' && backend !== 'scripted')
      io.err(
        `factory: node "${node.id}" names its agent (${backend}); --agent scripted does not override it\n`,
      );
  }
  if (output !== undefined) {
    const count = Object.values(script.answers).flat().length;
    io.err(
      `${output} has ${count} ${count === 1 ? 'answer' : 'answers'} of run ${found.id}; use it with --agent scripted --script ${quoteWord(output)}\n`,
    );
  }
  return 0;
}
